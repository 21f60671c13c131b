"""Taking and reverting files and hunks from the changes pane, on a real engine: what was there is saved each time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox

from worldline.core.kinds import NodeKind
from worldline.rehearsal.events import Call

from .desk import Desk, edit, read

pytestmark = pytest.mark.slow


def confirm(one: Desk) -> str:
    """Say yes to the question of the pane, wait until it is done; what was asked."""
    boxes = [box for box in one.window.findChildren(QMessageBox) if box.isVisible()]
    assert len(boxes) == 1
    asked = boxes[0].text()
    nodes = len(one.state.tree)
    one.window.notices.items.pop("taken", None)
    next(b for b in boxes[0].buttons() if boxes[0].buttonRole(b) is QMessageBox.ButtonRole.AcceptRole).click()
    one.qtbot.waitUntil(lambda: "taken" in one.window.notices.items, timeout=20_000)
    one.qtbot.waitUntil(lambda: len(one.state.tree) > nodes, timeout=20_000)
    assert one.state.tree.kind_of(len(one.state.tree) - 1) is NodeKind.JUMP
    return asked


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text()


def test_hunks_are_taken_and_reverted_as_they_are_shown(desk: Callable[..., Desk]) -> None:
    one = desk(a_txt="".join(f"line {n}\n" for n in range(1, 61)))
    file = one.folder / "a.txt"
    done = one.agent(
        read("a.txt"), edit("a.txt", "line 3\n", "agent 3\n"), edit("a.txt", "line 12\n", "agent 12\n"),
        edit("a.txt", "line 50\n", "agent 50\n"),
    )[-1]  # fmt: skip
    # With more context two of the hunks become one: the number that is sent must be counted the same way.
    one.look("a.txt", "base", node=done)
    hunks = one.pane.panel.view.model.hunks
    assert len(hunks) == 3
    one.pane.panel._on_context()
    one.qtbot.waitUntil(lambda: len(one.pane.panel.view.model.hunks) == 2, timeout=10_000)
    one.pane._on_hunk("revert", 1)
    confirm(one)
    assert "agent 3\n" in file.read_text() and "agent 12\n" in file.read_text()
    assert "line 50\n" in file.read_text() and "agent 50" not in file.read_text()
    one.look("a.txt", "base", node=done)
    one.pane._on_hunk("revert", 0)
    confirm(one)
    assert "agent" not in file.read_text()
    one.pane._on_hunk("take", 1)
    confirm(one)
    assert file.read_text().count("agent") == 1 and "agent 50\n" in file.read_text()
    # Compared with the disk there is one way only, back.
    one.state.select("")
    file.write_text(file.read_text().replace("line 1\n", "mine 1\n").replace("line 59\n", ""))
    one.look("a.txt", "disk")
    assert not one.pane.panel.view.can_take and not one.pane.panel._entries["take"].isVisible()
    assert len(one.pane.panel.view.model.hunks) == 2
    one.pane._on_hunk("revert", 1)
    confirm(one)
    assert "mine 1\n" in file.read_text() and "line 59\n" in file.read_text()


def test_files_that_came_went_or_were_renamed_are_reverted_and_taken(desk: Callable[..., Desk]) -> None:
    one = desk(gone_txt="gone\n", old_txt="".join(f"{n}\n" for n in range(30)), run_sh="echo\n")
    folder = one.folder
    command = "rm gone.txt; mv old.txt new.txt; echo x >>new.txt; echo n >made.txt; chmod +x run.sh"
    done = one.agent(Call("bash", {"command": command}))[-1]
    before = sorted(os.listdir(folder))
    for path, question in (
        ("gone.txt", "back"),
        ("new.txt", "back"),
        ("made.txt", "away"),
        ("run.sh", "back"),
    ):
        one.look(path, "parent", node=done)
        one.pane._on_action("revert")
        assert question in confirm(one)
    assert sorted(os.listdir(folder)) == sorted([".git", "a.txt", "gone.txt", "old.txt", "run.sh"])
    assert text(folder, "gone.txt") == "gone\n" and "x" not in text(folder, "old.txt")
    assert not os.access(folder / "run.sh", os.X_OK)
    for path, question in (
        ("gone.txt", "away"),
        ("new.txt", "Take"),
        ("made.txt", "Take"),
        ("run.sh", "Take"),
    ):
        one.look(path, "parent", node=done)
        one.pane._on_action("take")
        assert question in confirm(one)
    assert sorted(os.listdir(folder)) == before
    assert text(folder, "new.txt").endswith("x\n") and os.access(folder / "run.sh", os.X_OK)
    # A hunk of a renamed file goes to where the file is now; the only hunk of a new file takes the file away.
    one.look("new.txt", "parent", node=done)
    one.pane._on_hunk("revert", 0)
    confirm(one)
    assert (
        text(folder, "new.txt") == "".join(f"{n}\n" for n in range(30)) and not (folder / "old.txt").exists()
    )
    one.look("made.txt", "parent", node=done)
    one.pane._on_hunk("revert", 0)
    confirm(one)
    assert not (folder / "made.txt").exists()
