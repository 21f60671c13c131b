"""What comes from files, models and servers is shown as it is: it is never taken for markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QLabel, QWidget

from worldline.ui import recents
from worldline.ui.markdown.code_block import CodeBlock
from worldline.ui.start_view import StartView
from worldline.ui.status_bar import Popover
from worldline.viewmodel.chat_markdown import pieces

ODD = "<img src='/etc/hostname'><b>odd</b>"


def not_plain(widget: QWidget) -> list[str]:
    """Labels that would draw what they hold as markup."""
    return [
        f"{type(label.parent()).__name__}: {label.text()}"
        for label in widget.findChildren(QLabel)
        if "<" in label.text() and label.textFormat() is not Qt.TextFormat.PlainText
    ]


def test_what_a_segment_explains(qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    popover = Popover(owner, ODD, [(ODD, ODD)], ODD)
    assert len([one for one in popover.findChildren(QLabel) if one.text() == ODD]) == 4
    assert not_plain(popover) == []


def test_the_start_view(qtbot: Any, tmp_path: Path, monkeypatch: Any) -> None:
    recent = recents.Recent(tmp_path / "x.worldline", ODD, f"/tmp/{ODD}", 0.0, 1)
    monkeypatch.setattr("worldline.ui.start_view.recent_sessions", lambda _settings: [recent])
    view = StartView(QSettings(str(tmp_path / "w.ini"), QSettings.Format.IniFormat))
    qtbot.addWidget(view)
    view.say(f"{ODD} is not there.")
    assert not_plain(view) == []


def test_the_language_of_a_code_block(qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    block = CodeBlock(owner)
    block.set_piece(pieces("```<b>odd</b>\nx\n```\n")[0])
    assert [one.text() for one in block.findChildren(QLabel) if "<" in one.text()] == ["<b>odd</b>"]
    assert not_plain(block) == []
