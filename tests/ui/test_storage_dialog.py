"""The storage dialog: what is taken, what would be lost, and that nothing goes before it was named."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind
from worldline.protocol.commands import Pruned
from worldline.ui import gallery_data as sample
from worldline.ui.dialogs.base import Dialog
from worldline.ui.dialogs.folders import FoldersDialog
from worldline.ui.dialogs.sessions import SessionsDialog
from worldline.ui.dialogs.storage import StorageDialog
from worldline.ui.dialogs.storage_session import open_storage
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.viewmodel.storage import lost_groups, share, this_session
from worldline.viewmodel.tree_model import TreeModel

from .answering import Engine, engine, state

__all__ = ["engine", "state"]


def test_lost_nodes_are_told_by_their_prompts() -> None:
    tree = TreeModel()
    kinds = [NodeKind.ROOT, NodeKind.USER, NodeKind.TOOL, NodeKind.TOOL, NodeKind.USER, NodeKind.TOOL]
    parents = [0, 1, 2, 3, 1, 5]
    tree.extend(
        NodeHeader(seq=at, uid=f"{at:016x}", parent=parent, kind=kind, created=1000 * at, preview=f"p{at}")
        for at, (kind, parent) in enumerate(zip(kinds, parents, strict=True), 1)
    )
    groups = lost_groups(tree, [f"{at:016x}" for at in (1, 3, 4, 6, 99)])
    assert [(group.prompt, group.steps, group.newest) for group in groups] == [
        (4, 1, 6000),
        (1, 2, 4000),
        (-1, 2, 1000),
    ]


def test_bars_are_shares_of_the_largest() -> None:
    storage = sample.storage()
    assert share(storage.sessions[0], storage) == 1.0
    here = this_session(storage)
    assert here is not None and 0.2 < share(here, storage) < 0.3


@pytest.fixture
def dialog(qtbot: Any) -> Iterator[StorageDialog]:
    made = StorageDialog()
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    yield made


def removed(dialog: StorageDialog) -> list[object]:
    asked: list[object] = []
    dialog.prune_wanted.connect(lambda days, lose_id: asked.append((days, lose_id)))
    return asked


def test_nothing_can_be_removed_before_it_was_looked_at(dialog: StorageDialog) -> None:
    assert not dialog.remove_button.isEnabled()
    dialog.show_plan(Pruned(freed_bytes=0, states_removed=0, states_kept=9), [])
    assert not dialog.remove_button.isEnabled() and "Nothing to remove" in dialog.what.text()
    dialog.show_plan(*sample.pruning())
    assert dialog.remove_button.isEnabled() and dialog.lost.count() == 3
    dialog.ask_plan()
    assert not dialog.remove_button.isEnabled()
    dialog.show_plan(*sample.pruning())
    dialog.show_problem("A run is going on.")
    assert not dialog.remove_button.isEnabled() and dialog.lost.isHidden()


def test_what_is_lost_is_named_and_cancel_is_the_default(dialog: StorageDialog, qtbot: Any) -> None:
    asked = removed(dialog)
    dialog.old.setChecked(True)
    dialog.show_plan(*sample.pruning())
    QTest.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    question = dialog.question
    assert isinstance(question, Dialog)
    qtbot.waitUntil(question.isVisible, timeout=2000)
    said = " ".join(label.text() for label in question.findChildren(type(dialog.what)))
    assert (
        "54" in question.windowTitle() and "Try it with the csv module" in said and "cannot be undone" in said
    )
    QTest.keyClick(question, Qt.Key.Key_Return)
    assert asked == [] and not question.isVisible()
    QTest.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    question = dialog.question
    assert isinstance(question, Dialog)
    next(b for b in question.findChildren(QPushButton) if b.text() == "Remove").click()
    assert asked == [(30, sample.pruning()[0].lose_id)]


def test_all_that_is_lost_is_named_and_in_which_session(qtbot: Any) -> None:
    dialog = StorageDialog(session="Prices")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    plan, groups = sample.pruning()
    dialog.show_plan(plan, [(f"prompt {n}", groups[0][1]) for n in range(40)])
    dialog._ask()
    question = dialog.question
    assert isinstance(question, Dialog)
    said = " ".join(label.text() for label in question.findChildren(type(dialog.what)))
    (rows,) = question.findChildren(QListWidget)
    assert "“Prices”" in said and rows.count() == 40 and "prompt 39" in rows.item(39).text()
    question.reject()


def test_a_read_only_session_is_looked_at_only(qtbot: Any) -> None:
    dialog = StorageDialog(read_only=True)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show_plan(*sample.pruning())
    assert not dialog.remove_button.isEnabled() and dialog.remove_button.toolTip()


def test_another_session_is_opened_from_the_list(dialog: StorageDialog) -> None:
    opened: list[str] = []
    dialog.session_wanted.connect(opened.append)
    dialog.show_storage(sample.storage())
    assert dialog.chosen_path() == "" and not dialog.open_button.isEnabled()
    dialog.table.selectRow(0)
    QTest.keyClick(dialog.table, Qt.Key.Key_Return)
    assert opened == ["/data/1.worldline"]


def test_a_loss_that_nobody_has_seen_is_shown_first(state: SessionState, engine: Engine, qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    dialog = open_storage(state, owner)
    plan = {"freed_bytes": 1, "states_removed": 1, "states_kept": 9, "nodes": [], "lose_id": "seen"}
    engine.take("prune")[0][2](plan)
    dialog._ask()
    assert dialog.question is not None
    dialog.question.accept()
    (asked,) = engine.take("prune")
    assert asked[1] == {"older_than_days": None, "dry_run": False, "lose_id": "seen"}
    asked[3]({"message": "It is not what you have seen.", "hint": "Look again.", "kind": "changed"})
    assert not dialog.remove_button.isEnabled()
    (again,) = engine.take("prune")
    assert again[1]["dry_run"]
    again[2]({**plan, "lose_id": "other"})
    assert dialog.what.text().startswith("It is not what you have seen. Look again. 1 state(s) can go")
    assert dialog.remove_button.isEnabled()
    dialog.close()


@pytest.mark.slow
def test_on_the_real_engine(demo: MainWindow, qtbot: Any) -> None:
    """One demo for both: making it takes longer than all that is looked at."""
    look_at_what_is_old(demo, qtbot)
    remove_what_no_step_needs(demo, qtbot)


def look_at_what_is_old(demo: MainWindow, qtbot: Any) -> None:
    """Everything is young, so nothing is offered by age; the wish to be reminded is kept in the settings."""
    state = demo.state
    demo.actions_list["storage"].trigger()
    dialogs = demo.findChildren(StorageDialog)
    assert len(dialogs) == 1
    dialog = dialogs[0]
    qtbot.waitUntil(lambda: dialog.table.rowCount() >= 1 and dialog._plan is not None, timeout=20_000)
    assert "(this one)" in dialog.table.item(dialog.table.currentRow(), 0).text()
    assert dialog.table.item(dialog.table.currentRow(), 2).text() not in ("", "0 B")
    QTest.mouseClick(dialog.old, Qt.MouseButton.LeftButton, pos=dialog.old.rect().center())
    assert dialog._plan is None
    qtbot.waitUntil(lambda: dialog._plan is not None, timeout=20_000)
    assert not dialog.lost.isVisible()
    dialog.keep.setCurrentIndex(dialog.keep.findData(90))
    dialog.keep.activated.emit(dialog.keep.currentIndex())
    known: list[dict[str, Any]] = []
    qtbot.waitUntil(
        lambda: (state.request("retention", {}, known.append), bool(known and known[-1]["days"] == 90))[1],
        timeout=20_000,
    )
    # From here and from the sessions it is one click to the folders.
    dialog.folders_button.click()
    demo.actions_list["import"].trigger()
    demo.findChildren(SessionsDialog)[-1].folders_button.click()
    demo.actions_list["folders"].trigger()
    lists = demo.findChildren(FoldersDialog)
    assert len(lists) == 3
    for one in lists:
        qtbot.waitUntil(lambda one=one: "none" in one.total.text(), timeout=60_000)
        one.reject()


def remove_what_no_step_needs(demo: MainWindow, qtbot: Any) -> None:
    """A state that no node needs, made by hand in the store."""
    import pygit2

    state = demo.state
    info = state.info
    from worldline.session.document import SessionDocument

    doc = SessionDocument.open(Path(info["path"]), mode="read")
    store = pygit2.Repository(doc.info()["workspace"]["store"])
    some = next(header.state for header in doc.headers() if header.state)
    doc.close()
    commit = store[some]
    who = pygit2.Signature("Worldline", "worldline@localhost", int(time.time()), 0)
    assert isinstance(commit, pygit2.Commit)
    store.create_commit(None, who, who, "loose", commit.tree.id, [])
    dialog = open_storage(state, demo)
    qtbot.waitUntil(dialog.remove_button.isEnabled, timeout=20_000)
    assert "no step loses anything" in dialog.what.text()
    dialog.remove_button.click()
    question = dialog.question
    assert isinstance(question, Dialog) and "no step needs" in question.windowTitle()
    next(b for b in question.findChildren(QPushButton) if b.text() == "Remove").click()
    qtbot.waitUntil(lambda: "free again" in dialog.what.text(), timeout=20_000)
    assert " states removed" in dialog.what.text() and not dialog.remove_button.isEnabled()
    dialog.ask_plan()
    qtbot.waitUntil(lambda: "Nothing to remove" in dialog.what.text(), timeout=20_000)
    dialog.reject()


def test_the_reminder_leads_to_what_is_old(window_of: Any, qtbot: Any) -> None:
    window = window_of(retention={"days": 45, "nodes": 7})
    qtbot.waitUntil(lambda: "retention" in window.notices.items, timeout=5000)
    notice = window.notices.items["retention"]
    assert "7 step" in notice.text.text()
