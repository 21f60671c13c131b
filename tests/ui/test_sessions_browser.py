"""The sessions browser on real files: the real importer, renaming through a real engine, the trash folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QDialog, QMessageBox

from tests_support import halt_imports
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.ui.dialogs.session_files import read_session, to_trash, trash_dir
from worldline.ui.dialogs.sessions import SessionsDialog

PI = "\n".join(
    (
        '{"type":"session","version":3,"id":"0000000a-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/tmp/x"}',
        '{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"fix the parser"}}',
        '{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}',
    )
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "home"))
    place = tmp_path / "sessions"
    place.mkdir()
    return place


def make(folder: Path, title: str) -> Path:
    path = folder / f"{title.replace(' ', '-')}.worldline"
    doc = SessionDocument.create(path, title=title, workspace={"root": "/home/me/shop"}, app_version="0")
    doc.append(NodeDraft(kind=NodeKind.ROOT, parent=None, preview="start"))
    doc.close()
    return path


@pytest.fixture
def dialog(folder: Path, qtbot: Any) -> SessionsDialog:
    make(folder, "fix the parser")
    make(folder, "rewrite the report")
    (folder / "broken.worldline").write_bytes(b"nothing of the kind")
    made = SessionsDialog(folder=folder)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: made.list.count() == 3, timeout=5000)
    return made


def texts(dialog: SessionsDialog) -> list[str]:
    items = [dialog.list.item(at) for at in range(dialog.list.count())]
    return [item.text() for item in items if not item.isHidden()]


def test_sessions_are_listed_with_their_folder_also_broken_ones(dialog: SessionsDialog) -> None:
    assert sum("/home/me/shop" in text for text in texts(dialog)) == 2
    assert any("Cannot be read" in text for text in texts(dialog))
    dialog.search.setText("report")
    assert [text.split("\n")[0] for text in texts(dialog)] == ["rewrite the report"]
    assert dialog._note.text() == "1 session(s) found."
    dialog.search.clear()
    assert len(texts(dialog)) == 3 and "found" not in dialog._note.text()


def choose(dialog: SessionsDialog, title: str) -> None:
    for at in range(dialog.list.count()):
        if dialog.list.item(at).text().startswith(title):
            dialog.list.setCurrentRow(at)


def test_deleting_names_what_goes_and_moves_it_to_the_trash(
    dialog: SessionsDialog, folder: Path, qtbot: Any
) -> None:
    choose(dialog, "fix the parser")
    dialog.trash_button.click()
    box = dialog.findChild(QMessageBox)
    assert box is not None and "fix the parser" in box.text() and str(trash_dir()) in box.informativeText()
    assert box.defaultButton() is box.button(QMessageBox.StandardButton.Cancel)
    box.reject()
    assert (folder / "fix-the-parser.worldline").exists()
    session = dialog.chosen()
    assert session is not None
    dialog.trash(session)
    assert not (folder / "fix-the-parser.worldline").exists() and dialog.list.count() == 2
    [kept] = trash_dir().glob("fix-the-parser-*.worldline")
    assert read_session(kept).title == "fix the parser"


def test_a_session_that_is_open_is_not_thrown_away(folder: Path) -> None:
    path = make(folder, "open one")
    doc = SessionDocument.open(path)
    try:
        with pytest.raises(OSError, match="open in another program"):
            to_trash(path)
    finally:
        doc.close()
    assert path.exists()


def drop(dialog: QDialog, *files: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    event = QDropEvent(
        QPointF(9, 9),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    dialog.dropEvent(event)  # type: ignore[attr-defined]


def test_dropped_files_are_imported_with_a_report(
    dialog: SessionsDialog, folder: Path, tmp_path: Path, qtbot: Any
) -> None:
    good, bad = tmp_path / "pi.jsonl", tmp_path / "notes.txt"
    good.write_text(PI, "utf-8")
    bad.write_text("no session", "utf-8")
    drop(dialog, good, bad)
    assert dialog.importing.cancel_button.isVisible() and dialog.importing.bar.isVisible()
    qtbot.waitUntil(lambda: dialog.importing.report_button.isVisible(), timeout=30_000)
    assert dialog.list.count() == 4 and "1 file(s) imported." in dialog._note.text()
    assert (
        "pi.jsonl" in dialog.importing.report
        and "✓" in dialog.importing.report
        and "✗" in dialog.importing.report
    )
    assert not dialog.importing.cancel_button.isVisible()


def test_an_import_can_be_cancelled_and_leaves_nothing_half_done(
    dialog: SessionsDialog, folder: Path, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    halt_imports(monkeypatch, tmp_path / "halts", "nodes")
    large = tmp_path / "large.jsonl"
    lines = PI.split("\n")[:2]
    for at in range(40_000):
        before = f"b{at - 1}" if at else "a1"
        lines.append(
            f'{{"type":"message","id":"b{at}","parentId":"{before}","timestamp":"2026-01-01T00:00:02.000Z",'
            f'"message":{{"role":"user","content":"message {at}"}}}}'
        )
    large.write_text("\n".join(lines), "utf-8")
    drop(dialog, large)
    qtbot.waitUntil(lambda: dialog.importing.bar.value() > 0, timeout=30_000)
    dialog.importing.cancel_button.click()
    qtbot.waitUntil(lambda: "cancelled" in dialog._note.text(), timeout=30_000)
    assert sorted(one.name for one in folder.glob("*.worldline")) == [
        "broken.worldline", "fix-the-parser.worldline", "rewrite-the-report.worldline",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_session_is_renamed_by_an_engine(dialog: SessionsDialog, folder: Path, qtbot: Any) -> None:
    choose(dialog, "rewrite the report")
    session = dialog.chosen()
    assert session is not None
    dialog.set_title(session, "the report in SQL")
    qtbot.waitUntil(lambda: not dialog._note.text().startswith("Renaming"), timeout=30_000)
    assert any("the report in SQL" in text for text in texts(dialog)), dialog._note.text()
    assert read_session(folder / "rewrite-the-report.worldline").title == "the report in SQL"


def test_looking_at_a_session_is_no_use_of_it(folder: Path) -> None:
    path = make(folder, "long ago")
    os.utime(path, (1_000_000, 1_000_000))
    # Whoever reads a session makes these anew.
    for end in ("-shm", ".lock"):
        path.with_name(path.name + end).write_bytes(b"")
    assert read_session(path).changed == 1_000_000
    path.with_name(path.name + "-wal").write_bytes(b"")
    assert read_session(path).changed > 1_000_000
