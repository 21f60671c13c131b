"""Rows of a diff on screen, words that differ, files as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.viewmodel.diff import DiffModel, language_of, word_spans
from worldline.viewmodel.diff_files import FileNode, by_path, file_tree, found


def diff(*rows: tuple[str, str]) -> DiffModel:
    old = new = 0
    made = []
    for kind, text in rows:
        old += kind in " -"
        new += kind in " +"
        made.append(
            DiffRow(kind=kind, text=text, old=old if kind in " -" else 0, new=new if kind in " +" else 0)
        )  # type: ignore[arg-type]
    return DiffModel(FileDiff(change=FileChange(path="a.py", status="M"), rows=made))


def test_side_by_side_puts_replaced_lines_on_one_row() -> None:
    model = diff(("@", "@@"), (" ", "a"), ("-", "b"), ("-", "c"), ("+", "B"), (" ", "d"), ("+", "e"))
    left, right = model.pairs()
    assert list(zip(left, right, strict=True)) == [(0, 0), (1, 1), (2, 4), (3, -1), (5, 5), (-1, 6)]
    assert model.partner(2) == 4 and model.partner(3) == -1
    assert model.changes() == [2, 6] and model.hunk_of(5) == 0


@given(st.lists(st.tuples(st.sampled_from(" +-@"), st.text(max_size=8)), max_size=60))
def test_every_line_is_on_screen_exactly_once(rows: list[tuple[str, str]]) -> None:
    model = diff(*rows)
    left, right = model.pairs()
    assert [at for at in left if at >= 0] == [at for at, row in enumerate(model.rows) if row.kind in " -@"]
    assert [at for at in right if at >= 0] == [at for at, row in enumerate(model.rows) if row.kind in " +@"]


def test_words_that_differ_are_marked_and_lines_with_nothing_in_common_are_not() -> None:
    mine, theirs = word_spans("return text.split(sep)", "return split_quoted(text, sep)")
    assert "return text.split(sep)"[slice(*mine[0])].startswith((".", "text"))
    assert all("return" not in "return split_quoted(text, sep)"[a:b] for a, b in theirs)
    assert word_spans("abc def", "!!! ???") == ([], [])
    assert word_spans("x" * 5000, "y" * 5000) == ([], [])


@given(st.text(max_size=80), st.text(max_size=80))
def test_spans_lie_in_their_lines(a: str, b: str) -> None:
    for line, spans in zip((a, b), word_spans(a, b), strict=True):
        assert all(0 <= start < end <= len(line) for start, end in spans)


def test_files_become_a_tree_with_joined_folders() -> None:
    changes = [
        FileChange(path=path, status="M") for path in ("src/a/b/x.py", "src/a/b/y.py", "src/z.py", "top.md")
    ]

    def shape(nodes: Iterator[FileNode]) -> list[object]:
        return [node.name if node.change else [node.name, shape(node.children)] for node in nodes]

    assert shape(file_tree(changes)) == [["src", [["a/b", ["x.py", "y.py"]], "z.py"]], "top.md"]


@given(
    st.sets(
        st.lists(st.sampled_from(["a", "a-b", "a.b", "A", "b", "é", "0"]), min_size=1, max_size=4).map(
            "/".join
        )
    )
)
def test_every_file_is_in_its_folder_once_and_all_stand_in_order(paths: set[str]) -> None:
    found: list[str] = []

    def look(nodes: Iterator[FileNode], above: str) -> list[FileNode]:
        kept = list(nodes)
        order = [(node.change is not None, node.name) for node in kept]
        assert order == sorted(order) and len(set(order)) == len(order)
        for node in kept:
            if node.change is not None:
                assert node.change.path == above + node.name and "/" not in node.name
                found.append(node.change.path)
            else:
                inside = look(node.children, f"{above}{node.name}/")
                assert len(inside) > 1 or inside[0].change is not None, "it would have been joined"
        return kept

    look(file_tree(by_path(FileChange(path=path, status="M") for path in paths)), "")
    assert sorted(found) == sorted(paths)


def test_a_file_is_found_by_its_path_and_by_nothing_like_it() -> None:
    changes = by_path(FileChange(path=path, status="M") for path in ("b", "a/x", "a", "c"))
    assert [found(changes, path) for path in ("a", "a/x", "b", "c")] == changes
    assert [found(changes, path) for path in ("", "a/", "bb", "d")] == [None] * 4 and found([], "a") is None


class Counting(Sequence[FileChange]):
    """Says how often somebody looked at one of many files."""

    def __init__(self, files: list[FileChange]) -> None:
        self.files, self.looks = files, 0

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return self.files[at]


def test_a_tree_of_very_many_files_looks_at_a_few_of_them() -> None:
    paths = sorted(f"src/part{n % 300:03d}/file{n:06d}.py" for n in range(60_000))
    files = Counting([FileChange.model_construct(path=path, status="M") for path in paths])
    (src,) = file_tree(files)
    first = next(src.children)
    assert next(first.children).change is files.files[0]
    assert found(files, paths[-1]) is files.files[-1]
    assert files.looks < 10_000, "sixty thousand would hold the window"


def test_languages_are_known_by_the_name_of_the_file() -> None:
    assert (
        language_of("a/b.PY") == "python" and language_of("Makefile") == "makefile" and language_of("x") == ""
    )


def test_numbers_have_room_also_where_the_file_ends_without_a_newline() -> None:
    """The sign beside them was cut off: the last row, which has no number, was taken for the largest."""
    model = diff(*[("+", "x")] * 3_000, ("\\", ""))
    assert model.rows[-1].new == 0 and model.widest_number == 3_000
    assert diff().widest_number == 99
