"""Folding and filters: which rows are seen, and that the picture holds still while the agent works."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui import sample
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.viewmodel import tree_text
from worldline.viewmodel.headers import header_of
from worldline.viewmodel.tree_items import TreeItems
from worldline.viewmodel.tree_model import NodeLabel, TreeModel


def model() -> TreeModel:
    result = TreeModel()
    result.extend(header_of(raw) for raw in sample.session())
    return result


def shown(items: TreeItems) -> list[int]:
    return [items.row(item) + 1 for item in range(len(items))]


def test_linear_runs_fold_and_what_matters_stays() -> None:
    tree = model()
    items = TreeItems(tree)
    items.show(keep=[26])
    assert shown(items) == [1, 2, 3, 9, 10, 11, 12, 13, 14, 15, 23, 24, 25, 26, 27]
    item = items.item(4)
    assert items.is_folded(item)
    assert (items.row(item), items.last_row(item)) == (2, 7)
    text = tree_text.fold_text(tree, range(2, 8))
    assert text.text == "6 steps: read 2, search 1, edit 1"
    assert text.side == [("+61", "ok"), ("−3", "bad")]


def test_a_step_that_changed_what_runs_later_is_not_folded_away() -> None:
    raws = [dict(raw) for raw in sample.session()]
    raws[4]["flags"] = int(raws[4].get("flags", 0)) | NodeFlag.CODE_RUNS_LATER
    tree = TreeModel()
    tree.extend(header_of(raw) for raw in raws)
    items = TreeItems(tree)
    items.show(keep=[26])
    assert 5 in shown(items)
    items.open_run(6)
    items.close_run(6)
    assert 5 in shown(items)


def test_a_run_opens_and_closes_again() -> None:
    items = TreeItems(model())
    items.show()
    before = shown(items)
    assert items.open_run(5)
    assert set(range(3, 9)) <= set(shown(items))
    assert not items.open_run(5)
    assert items.close_run(5)
    assert shown(items) == before


def test_a_run_the_person_opened_stays_open_when_the_tree_is_folded_anew() -> None:
    items = TreeItems(model())
    items.show()
    items.open_run(4)
    items.show()
    assert not items.is_folded(items.item(4)) and items.row(items.item(4)) == 4


def test_new_rows_are_never_folded_by_themselves() -> None:
    tree = model()
    items = TreeItems(tree)
    items.show()
    before = shown(items)
    for seq in range(28, 40):
        tree.append(header_of(sample.step(seq, seq - 1, "read", "a.py")))
        items.follow()
    assert shown(items) == before + list(range(28, 40))
    items.show()
    assert items.is_folded(items.item(30))


def test_filters() -> None:
    tree = model()
    items = TreeItems(tree)
    cases = {
        "prompts": [2, 24, 27],
        "failures": [9, 11, 12, 13, 14],
        "files": [8, 20, 21],
        "effects": [25],
        "labelled": [],
    }
    for name, wanted in cases.items():
        items.show(filter_name=name)
        assert shown(items) == wanted
    tree.set_label(21, NodeLabel("good", ""))
    items.show(filter_name="labelled", keep=[0])
    assert shown(items) == [1, 22]
    items.show(text="TOKENIZER")
    assert shown(items) == [15, 20]
    items.show(text="gramm")
    assert shown(items) == [18]


def test_text_search_finds_what_python_finds() -> None:
    tree = TreeModel()
    texts = ["Äpfel und Birnen", "ab", "b", "aab", "解析器", "", "xab b"]
    for seq, text in enumerate(texts, 1):
        tree.append(NodeHeader(seq, f"{seq:016x}", seq - 1, NodeKind.USER, 0, text))
    for needle in ("ab", "b", "äpfel", "解析", "bb", "x"):
        wanted = [row for row, text in enumerate(texts) if needle.casefold() in text.casefold()]
        assert tree.rows_with_text(needle) == wanted


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["tool", "assistant", "user"]), min_size=1, max_size=60), st.data())
def test_items_are_a_monotone_map(kinds: list[str], data: st.DataObject) -> None:
    tree = TreeModel()
    for seq, kind in enumerate(kinds, 1):
        parent = data.draw(st.integers(max(seq - 3, min(1, seq - 1)), seq - 1)) if seq > 1 else 0
        tree.append(NodeHeader(seq, f"{seq:016x}", parent, NodeKind.of(kind), 0, "", Outcome.OK))
    items = TreeItems(tree)
    items.show()
    covered = []
    for item in range(len(items)):
        rows = list(range(items.row(item), items.last_row(item) + 1))
        assert all(items.item(row) == item for row in rows)
        covered += rows
    assert covered == list(range(len(kinds)))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["tool", "assistant", "user"]), min_size=1, max_size=60), st.data())
def test_folding_all_at_once_gives_what_the_rule_says(kinds: list[str], data: st.DataObject) -> None:
    tree = TreeModel()
    for seq, kind in enumerate(kinds, 1):
        parent = data.draw(st.integers(max(seq - 2, min(1, seq - 1)), seq - 1)) if seq > 1 else 0
        flag = data.draw(st.sampled_from([NodeFlag.NONE] * 8 + [NodeFlag.IRREVERSIBLE, NodeFlag.HIDDEN]))
        tree.append(NodeHeader(seq, f"{seq:016x}", parent, NodeKind.of(kind), 0, "", Outcome.OK, flag))
    keep = data.draw(st.integers(0, len(kinds) - 1))
    items = TreeItems(tree)
    items.show(keep=[keep])
    wanted, row = [], 0
    while row < len(kinds):
        end = row
        while (
            end < len(kinds)
            and end != keep
            and items._foldable(end)
            and (end == row or tree.parent[end] == end - 1)
        ):
            end += 1
        step = end - row if end - row >= 3 else 1
        wanted.append((row, row + step - 1))
        row += step
    assert [(items.row(i), items.last_row(i)) for i in range(len(items))] == wanted


def test_rows_out_of_order_are_refused() -> None:
    tree = model()
    for seq, parent in ((30, 1), (28, 29)):
        with pytest.raises(ValueError):
            tree.append(NodeHeader(seq, "f" * 16, parent, NodeKind.USER, 0, ""))


def test_ids_are_found_wherever_they_are() -> None:
    tree = model()
    assert [tree.row(sample.uid(seq)) for seq in (1, 14, 27)] == [0, 13, 26]
    assert tree.row("f" * 16) == -1
    assert tree.row("not an id") == -1
    tree.append(NodeHeader(28, "imported:7", 27, NodeKind.USER, 0, ""))
    assert tree.uid(27) == "imported:7"
    assert tree.row("imported:7") == 27


def test_a_node_as_a_sentence() -> None:
    tree = model()
    assert tree_text.sentence(tree, 8) == "step: run pytest -q, failed, checks failed"
    assert "you are here" in tree_text.sentence(tree, 26, cursor=True)
    assert "2 branches start here" in tree_text.sentence(tree, 1)
    assert tree_text.sentence(tree, 13).endswith("stopped by a brake")
