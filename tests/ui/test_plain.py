"""What comes from files, models and servers is shown as it is: it is never taken for markup."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from worldline import ui
from worldline.ui import recents
from worldline.ui.chat.chooser import Chooser
from worldline.ui.markdown.code_block import CodeBlock
from worldline.ui.plain import as_tip
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


def test_a_tooltip_says_what_it_is_given() -> None:
    assert as_tip("a\nb & c") == "a\nb & c"
    for text in (ODD, "if a < b:\n    return <x>", "x\n\n<!-- y -->"):
        shown = QTextDocument()
        shown.setHtml(as_tip(text))
        assert shown.toPlainText().replace("\u2028", "\n") == text


def test_the_name_of_a_model_in_a_tooltip(qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    chooser = Chooser("Model", owner)
    chooser.add(ODD, "m", ODD)
    assert chooser._menu.actions()[0].toolTip() == as_tip(ODD) != ODD


def _is_ours(node: ast.expr) -> bool:
    """A text of the catalogue as it stands, or one that `as_tip` has looked at."""
    if isinstance(node, ast.IfExp):
        return _is_ours(node.body) and _is_ours(node.orelse)
    if isinstance(node, ast.Call):
        return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in (
            "tr", "translate", "as_tip",
        )  # fmt: skip
    return isinstance(node, ast.Constant)


# Made of texts of the catalogue by whoever calls it, and imported before the first paint.
OWN_WORDS = {"tree/pane.py"}


def test_no_tooltip_is_made_of_texts_that_qt_may_take_for_markup() -> None:
    root = Path(ui.__path__[0])
    found = []
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "setToolTip"
                and not _is_ours(node.args[0])
                and file.relative_to(root).as_posix() not in OWN_WORDS
            ):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


def test_an_entry_of_a_choice_is_found_by_typing_a_part_of_it(qtbot: Any) -> None:
    """All models of a service begin with the same letter, which is all that Qt looks at."""
    owner = QWidget()
    qtbot.addWidget(owner)
    chooser = Chooser("Model", owner)
    for name in ("Claude Opus 5.5", "Claude Sonnet 5.5", "Claude Haiku 5"):
        chooser.add(name, name.split()[1].lower())
    chooser.set_value("sonnet")
    chosen: list[str] = []
    chooser.chosen.connect(chosen.append)
    menu = chooser.menu()
    menu._pause.setInterval(3_600_000)  # however slow the machine is
    menu.popup(owner.mapToGlobal(owner.rect().center()))
    assert menu.activeAction().text() == "Claude Sonnet 5.5", "it begins at what is chosen"
    QTest.keyClicks(menu, "hai")
    assert menu.activeAction().text() == "Claude Haiku 5"
    QTest.keyClick(menu, Qt.Key.Key_Backspace)
    QTest.keyClicks(menu, "i 5")
    QTest.keyClick(menu, Qt.Key.Key_Return)
    assert chosen == ["haiku"] and chooser.value == "haiku" and not menu.isVisible()
