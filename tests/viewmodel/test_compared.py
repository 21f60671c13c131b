"""What the changes pane compares, and what taking a file from it asks for."""

from __future__ import annotations

import pytest

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind
from worldline.protocol.model import FileChange
from worldline.viewmodel.compared import DISK, Compared
from worldline.viewmodel.tree_model import TreeModel


def uid(seq: int) -> str:
    return f"{seq:016x}"


@pytest.fixture
def compared() -> Compared:
    """1 – 2 – 3 (a prompt) – 4 (changed two files) – 5, and another attempt 6 that left at 2."""
    tree = TreeModel()
    for seq, (parent, files) in enumerate(((0, 0), (1, 0), (2, 0), (3, 2), (4, 0), (2, 0)), 1):
        kind = NodeKind.USER if seq in (3, 6) else NodeKind.ASSISTANT
        tree.append(NodeHeader(seq, uid(seq), parent, kind, seq, "", files=files))
    result = Compared(tree)
    result.node = uid(5)
    return result


def test_a_step_without_files_is_compared_with_where_its_attempt_began(compared: Compared) -> None:
    assert compared.against == "attempt" and compared.pair() == (uid(2), uid(5))
    assert compared.before() == uid(2)
    compared.node = uid(2)
    assert compared.pair() == ("base", uid(2)) and compared.before() == uid(1), "no other attempt yet"


def test_an_attempt_does_not_begin_where_another_is_forked_off_in_its_middle(compared: Compared) -> None:
    compared._tree.append(NodeHeader(7, uid(7), 4, NodeKind.USER, 7, ""))
    assert compared.pair() == (uid(2), uid(5)), "as before"
    compared.node = uid(7)
    assert compared.pair() == (uid(4), uid(7)), "the new one begins there"


def test_a_step_with_files_is_compared_with_the_step_before(compared: Compared) -> None:
    compared.node = uid(4)
    assert compared.pair() == ("parent", uid(4)) and compared.before() == uid(3)
    compared.wanted = "base"
    assert compared.pair() == ("base", uid(4)) and compared.before() == uid(1), "what was chosen counts"


def test_the_disk_is_the_newer_side(compared: Compared) -> None:
    assert not compared.with_disk
    compared.wanted = DISK
    assert compared.with_disk and compared.pair() == (uid(5), DISK) and compared.before() == uid(5)


@pytest.mark.parametrize(
    ("status", "revert", "path", "remove"),
    [
        ("M", False, "new", None), ("M", True, "new", None),
        ("A", False, "new", None), ("A", True, "new", "new"),
        ("D", False, "new", "new"), ("D", True, "new", None),
        ("R", False, "new", "old"), ("R", True, "old", "new"),
    ],
)  # fmt: skip
def test_taking_a_file_names_what_goes(
    compared: Compared, status: str, revert: bool, path: str, remove: str | None
) -> None:
    change = FileChange(path="new", old_path="old" if status == "R" else "", status=status)
    params = compared.taking_file("new", change, revert=revert)
    assert params["node"] == (uid(2) if revert else uid(5))
    assert (params["path"], params.get("remove")) == (path, remove)


def test_a_hunk_is_taken_from_the_newer_side_or_undone_from_the_older(compared: Compared) -> None:
    taken = compared.taking_hunk("a", None, 1, context=3, revert=False)
    assert (taken["node"], taken["against"], taken["undo"], taken["hunks"]) == (uid(5), uid(2), False, [1])
    undone = compared.taking_hunk("a", None, 1, context=3, revert=True)
    assert (undone["node"], undone["against"], undone["undo"]) == (uid(2), uid(5), True)
    compared.wanted = DISK
    assert compared.taking_hunk("a", None, 0, context=3, revert=True)["against"] == DISK
