"""The folders of sessions in the window: real repositories, the real command in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests_support import git, repository_with_own_work, session_in_own_folder
from worldline.client.folders import FolderJob
from worldline.core import paths
from worldline.protocol.folders import SessionFolder
from worldline.ui.dialogs.folder_jobs import open_folders
from worldline.ui.dialogs.folders import FoldersDialog
from worldline.ui.dialogs.session_delete import SessionDeleteDialog
from worldline.ui.dialogs.session_files import read_session, trash_dir
from worldline.ui.dialogs.sessions import SessionsDialog

LONG = 60_000


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository_with_own_work(tmp_path / "project")


@pytest.fixture
def session() -> Path:
    return paths.sessions_dir() / "made.worldline"


@pytest.fixture
def work(repo: Path, session: Path) -> Path:
    return session_in_own_folder(repo, session, {"a.txt": "beta\n"})


def kept_open(dialog: Any, qtbot: Any) -> Any:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    return dialog


def is_looked(dialog: FoldersDialog) -> bool:
    folder = dialog.chosen()
    return folder is not None and folder.looked


def lost(dialog: FoldersDialog) -> list[str]:
    return [dialog.lost.item(at).text() for at in range(dialog.lost.count())]


def question(dialog: FoldersDialog) -> Any:
    assert dialog.question is not None
    return dialog.question


def test_a_folder_goes_after_a_question_that_names_what_is_lost(
    repo: Path, session: Path, work: Path, qtbot: Any
) -> None:
    session.unlink()
    shutil.rmtree(paths.stores_dir())  # else what is kept of its steps has a line of its own
    dialog = kept_open(open_folders(None), qtbot)
    assert not dialog.remove_button.isEnabled(), "before it is known what would be lost"
    qtbot.waitUntil(lambda: is_looked(dialog), timeout=LONG)
    qtbot.waitUntil(lambda: "1 folder" in dialog.total.text(), timeout=LONG)
    row = [dialog.table.item(0, column).text() for column in range(4)]
    assert row[0] == "No session file any more" and "project" in row[1] and row[3].startswith("1 thing")
    assert lost(dialog) == ["changed file a.txt"] and "would be nowhere" in dialog.what.text()
    dialog.remove_button.click()
    texts = [label.text() for label in question(dialog).findChildren(type(dialog.what))]
    assert "•  changed file a.txt" in texts and str(work) in texts
    QTest.keyClick(question(dialog), Qt.Key.Key_Return)  # Cancel is the default
    assert work.is_dir()
    # What was confirmed is not there any more: nothing goes, and it is looked at again.
    dialog.ask()
    (work / "later.txt").write_text("l")
    question(dialog).accept()
    qtbot.waitUntil(lambda: len(lost(dialog)) == 2, timeout=LONG)
    assert work.is_dir() and lost(dialog)[1] == "untracked file later.txt"
    dialog.ask()
    question(dialog).accept()
    assert not dialog.remove_button.isEnabled()
    qtbot.waitUntil(lambda: dialog.table.rowCount() == 0, timeout=LONG)
    assert not work.exists() and "is removed" in dialog.what.text() and "none" in dialog.total.text()
    assert str(work) not in git(repo, "worktree", "list")


def test_one_in_use_or_a_link_cannot_be_chosen(qtbot: Any) -> None:
    dialog = kept_open(FoldersDialog(), qtbot)
    used = SessionFolder(path="/d/a", name="a", looked=True, in_use="A session works in it (process 7).")
    link = SessionFolder(path="/d/b", name="b", looked=True, problem="It is a link to another place.")
    free = SessionFolder(path="/d/c", name="c", looked=True, lose=["x"] * 200, lose_more=50, lose_id="i")
    for folder in (used, link, free):
        dialog.show_folder(folder)
    for row, (may, said) in enumerate(((False, "process 7"), (False, "link"), (True, "250 thing"))):
        dialog.table.selectRow(row)
        assert dialog.remove_button.isEnabled() is may and said in dialog.what.text()
    assert lost(dialog)[-1] == "… and 50 more"
    wanted: list[tuple[str, str]] = []
    dialog.remove_wanted.connect(lambda path, lose_id: wanted.append((path, lose_id)))
    dialog.ask()
    assert any("… and 238 more" in label.text() for label in question(dialog).findChildren(type(dialog.what)))
    question(dialog).accept()
    assert wanted == [("/d/c", "i")]
    dialog.show_folder(free)
    assert not dialog.remove_button.isEnabled(), "it is being removed"


def test_a_copy_that_is_kept_ready_has_a_name_and_can_go(qtbot: Any) -> None:
    dialog = kept_open(FoldersDialog(), qtbot)
    copy = SessionFolder(
        path="/d/project-0",
        name="project-0",
        session="ready",
        repository="/d/project",
        looked=True,
        bytes=3_000_000,
        note="Sooner.",
    )
    dialog.show_folder(copy)
    row = [dialog.table.item(0, column).text() for column in range(4)]
    assert (
        row[:2] == ["Kept ready for the next session", "/d/project"]
        and row[2].startswith("3")
        and row[3] == "nothing"
    )
    assert dialog.what.text() == "Nothing would be lost. Sooner."
    wanted: list[tuple[str, str]] = []
    dialog.remove_wanted.connect(lambda path, lose_id: wanted.append((path, lose_id)))
    dialog.ask()
    question(dialog).accept()
    assert wanted == [("/d/project-0", "")]


def test_a_refusal_is_told_with_what_to_do_next(work: Path, qtbot: Any) -> None:
    job = FolderJob.of_removal(str(work / "a.txt"), "")
    with qtbot.waitSignal(job.failed, timeout=LONG) as caught:
        job.start()
    assert caught.args[0]["kind"] == "refused" and caught.args[0]["hint"]
    assert work.is_dir()


@pytest.fixture
def browser(session: Path, work: Path, qtbot: Any) -> SessionsDialog:
    made: SessionsDialog = kept_open(SessionsDialog(), qtbot)
    made.show()
    qtbot.waitUntil(lambda: made.chosen() is not None and not made._waiting, timeout=LONG)
    return made


def delete_dialog(browser: SessionsDialog, qtbot: Any) -> SessionDeleteDialog:
    browser.trash_button.click()
    dialog = browser.findChildren(SessionDeleteDialog)[-1]
    assert not dialog.also.isEnabled() and not dialog.also.isChecked(), "never by default"
    qtbot.waitUntil(dialog.also.isEnabled, timeout=LONG)
    return dialog


def test_deleting_a_session_leaves_its_folder(
    browser: SessionsDialog, session: Path, work: Path, qtbot: Any
) -> None:
    assert read_session(session).folder == str(work)
    dialog = delete_dialog(browser, qtbot)
    assert dialog.lose_id is None
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert session.exists()
    delete_dialog(browser, qtbot).accept()
    assert not session.exists() and work.is_dir() and list(trash_dir().glob("made-*.worldline"))


def test_deleting_a_session_with_its_folder(
    browser: SessionsDialog, session: Path, work: Path, qtbot: Any
) -> None:
    (work / "since.txt").write_text("s")
    dialog = delete_dialog(browser, qtbot)
    texts = [label.text() for label in dialog.findChildren(type(dialog.state))]
    assert "•  untracked file since.txt" in texts
    assert any("nodes keep their files" in text for text in texts)
    dialog.also.click()
    assert dialog.delete_button.text() == "Move to the trash, remove the folder" and dialog.lose_id
    dialog.delete_button.click()
    qtbot.waitUntil(lambda: "its folder is removed" in browser._note.text(), timeout=LONG)
    assert not session.exists() and not work.exists()


def test_what_came_after_the_look_keeps_the_folder(
    browser: SessionsDialog, session: Path, work: Path, qtbot: Any
) -> None:
    dialog = delete_dialog(browser, qtbot)
    dialog.also.click()
    assert dialog.lose_id == ""
    (work / "since.txt").write_text("s")
    dialog.delete_button.click()
    qtbot.waitUntil(lambda: "Its folder stays" in browser._note.text(), timeout=LONG)
    assert not session.exists() and (work / "since.txt").exists()


def test_what_is_kept_of_a_deleted_session_is_shown_and_goes_by_its_own_question(qtbot: Any) -> None:
    store = SessionFolder(
        kind="store", path="/data/stores/shop-1a2b", name="shop-1a2b", session="trash", title="Fix prices",
        repository="/home/me/shop", looked=True, bytes=5_000_000, lose=["the files of 3 steps in shop-1a2b"], lose_id="0a",
        note="Its session is in the trash.",
    )  # fmt: skip
    dialog = FoldersDialog()
    qtbot.addWidget(dialog)
    dialog.show_folder(store)
    shown = [dialog.table.item(0, column).text() for column in range(4)]
    assert "in the trash" in shown[0] and "Files of its steps" in shown[1] and shown[3].startswith("1 thing")
    wanted: list[tuple[str, str]] = []
    dialog.remove_wanted.connect(lambda path, lose: wanted.append((path, lose)))
    dialog.ask()
    question = dialog.question
    assert question is not None and "files of the steps" in question.windowTitle()
    question.accept()
    assert wanted == [("/data/stores/shop-1a2b", "0a")]
