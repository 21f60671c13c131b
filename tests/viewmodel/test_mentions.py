"""Naming files in a message."""

from __future__ import annotations

import pytest

from worldline.viewmodel.mentions import completed, named, open_mention, relative


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("@", ""), ("see @pars", "pars"), ("看看@文件", "文件"), ("(@src/a", "src/a"), ("see @src/@types/x", "src/@types/x"),
        ('see @"my no', "my no"), ('see @"my notes/', "my notes/"), ('@"a b" and @c', "c"), ("a @b @c", "c"),
        ("mail me@example", None), ("a.b@c", None), ("see @a b", None), ("", None), ('@"a b" ', None), ("x @a/ ", None),
        ("@größe/ü", "größe/ü"),
    ],
)  # fmt: skip
def test_the_mention_that_is_being_written(before: str, word: str | None) -> None:
    found = open_mention(before)
    assert (found.word if found else None) == word
    if found:
        assert before[len(before) - found.length :].lstrip('"') == found.word


def test_a_path_that_would_end_early_stands_in_quotes() -> None:
    assert named("src/a.py") == "src/a.py" and named("文件.txt") == "文件.txt"
    assert named("my notes.txt") == '"my notes.txt"'
    assert completed("src/a.py") == "src/a.py " and completed("src/") == "src/"
    assert completed("my notes.txt") == '"my notes.txt" ' and completed("my dir/") == '"my dir/'


def test_a_dropped_file_is_named_from_the_folder_of_the_agent() -> None:
    assert relative("/w/p/src/a.py", "/w/p") == "src/a.py"
    assert relative("/w/p/src/a.py", "/w/p/") == "src/a.py"
    assert relative("/w/project/a", "/w/p") == "/w/project/a" and relative("/x", "") == "/x"
