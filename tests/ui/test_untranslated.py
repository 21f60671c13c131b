"""No view and no dialog says anything in English when the language is Chinese, but what people, models and tools said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QTableWidget,
    QTabWidget,
    QTreeWidget,
    QWidget,
)

from worldline.core import paths
from worldline.ui import gallery, gallery_data, gallery_kept, i18n
from worldline.ui.chat.message_rows import ReplyRow, UserRow
from worldline.ui.gallery import GALLERY
from worldline.ui.markdown.code_block import CodeBlock
from worldline.ui.markdown.prose import Prose
from worldline.ui.syntax.code_view import CodeView
from worldline.viewmodel import engine_words, words

from . import fake_engine, sample

ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[ ,;:’'-]+[a-z]{2,})+")
"""Two words one after the other, the second in small letters: a name or a command alone is none."""
NAMES = (
    "Model Context Protocol",
    "Messages API",
    "Qt for Python",
    "git ",
    "sk-ant-",
    "Bash(",
)


def _constants(module: Any) -> set[str]:
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    found = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {" ".join(text.split()) for text in found if len(text) > 3}


SAMPLES = (
    _constants(gallery)
    | _constants(gallery_kept)
    | _constants(gallery_data)
    | _constants(sample)
    | _constants(fake_engine)
)
"""What stands in the sample was said by somebody; the engine's sentences in it are translated on the way."""

SAID = (Prose, CodeBlock, CodeView, ReplyRow, UserRow)
"""They hold messages, commands and output, in whatever language these are."""


@pytest.fixture
def chinese(qapp: Any) -> Iterator[None]:
    translator = i18n._Translator()
    assert translator.load(str(paths.resources_dir() / "i18n" / "worldline_zh_CN.qm"))
    qapp.installTranslator(translator)
    words.set_translator(qapp.translate)
    engine_words.use("zh_CN")
    QLocale.setDefault(QLocale("zh_CN"))
    yield
    qapp.removeTranslator(translator)
    words.set_translator(words._source)
    engine_words.use("en")
    QLocale.setDefault(QLocale("en"))


def _texts(root: QWidget) -> Iterator[str]:
    """Everything that is seen, shown on hover or read out, below a widget."""
    for widget in [root, *root.findChildren(QWidget)]:
        if isinstance(widget, SAID):
            continue
        yield from (
            widget.toolTip(),
            widget.accessibleName(),
            widget.accessibleDescription(),
            widget.windowTitle(),
        )
        if isinstance(widget, QLabel | QAbstractButton):
            yield widget.text()
        elif isinstance(widget, QComboBox):
            yield from (widget.itemText(at) for at in range(widget.count()))
        elif isinstance(widget, QLineEdit | QPlainTextEdit):
            yield widget.placeholderText()
        elif isinstance(widget, QListWidget):
            for at in range(widget.count()):
                yield from widget.item(at).text().split("\n")
        elif isinstance(widget, QTableWidget):
            for column in range(widget.columnCount()):
                head = widget.horizontalHeaderItem(column)
                yield head.text() if head is not None else ""
                cells = [widget.item(row, column) for row in range(widget.rowCount())]
                yield from (cell.text() for cell in cells if cell is not None)
        elif isinstance(widget, QTreeWidget):
            for at in range(widget.topLevelItemCount()):
                item = widget.topLevelItem(at)
                yield item.text(0) if item is not None else ""
        elif isinstance(widget, QTabWidget):
            yield from (widget.tabText(at) for at in range(widget.count()))
    for action in root.findChildren(QAction):
        yield from (action.text(), action.toolTip())


def english(text: str) -> str:
    """The English in a text that should have none, "" when there is none."""
    flat = " ".join(text.split())
    if any(flat.strip(" …“”") in one for one in SAMPLES) or any(name in flat for name in NAMES):
        return ""
    for said in sorted(SAMPLES, key=len, reverse=True):
        if " " in said or len(said) > 8:
            flat = flat.replace(said, " ")
    return flat if ENGLISH.search(flat) else ""


def test_what_it_looks_for_is_found() -> None:
    assert english("Search the sessions")
    assert english("会话 that cannot be read")
    assert not english("Rehearsal (large)") and not english("src/shop/parser.py")
    assert not english("pytest -q") and not english("运行 python3 -m unittest")


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_nothing_is_left_in_english(name: str, chinese: None, qtbot: Any) -> None:
    widget = GALLERY[name]()
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    QApplication.processEvents()
    left = sorted({text for one in _texts(widget) if (text := english(one))})
    assert not left, "\n".join(left)


def test_the_window_with_all_its_actions_is_chinese(chinese: None, window_of: Any) -> None:
    window = window_of()
    palette = window.commands.open_palette()
    texts = [*_texts(window), *_texts(palette)]
    for notice in window.notices.items.values():
        texts.append(notice.text.text())
    for name in ("model", "context", "cost", "cache", "sandbox", "effects", "saved", "state"):
        popover = window.status.explain(name)
        texts += _texts(popover)
        popover.close()
    palette.close()
    left = sorted({text for one in texts if (text := english(one))})
    assert not left, "\n".join(left)
