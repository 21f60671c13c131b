"""Contrast of every text colour on every ground it stands on; icons can all be drawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QSize, QTimer
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QVBoxLayout, QWidget

from worldline import ui
from worldline.core import paths
from worldline.ui import icons
from worldline.ui.gallery import GALLERY
from worldline.ui.theme import CONTRAST_DARK, CONTRAST_LIGHT, DARK, LIGHT, Tokens, theme

INKS = ("text", "muted", "accent", "ok", "bad", "warn", "info")
THEMES = {"light": LIGHT, "dark": DARK, "contrast-light": CONTRAST_LIGHT, "contrast-dark": CONTRAST_DARK}


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""

    def luminance(value: str) -> float:
        color = QColor(value)
        parts = []
        for channel in (color.redF(), color.greenF(), color.blueF()):
            parts.append(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_text_can_be_read(name: str) -> None:
    tokens: Tokens = THEMES[name]
    least = 7.0 if name.startswith("contrast") else 4.5
    low = {}
    for ink in INKS:
        # Code in all colours of its language stands on the grounds of a diff; its marked words are in plain ink.
        for ground in ("bg", "panel", "hover", "selected", "add", "remove"):
            low[ink, ground] = contrast(getattr(tokens, ink), getattr(tokens, ground))
    for ground in ("add_word", "remove_word"):
        low["text", ground] = contrast(tokens.text, getattr(tokens, ground))
    low["on_accent", "accent"] = contrast(tokens.on_accent, tokens.accent)
    assert {pair: round(value, 2) for pair, value in low.items() if value < least} == {}


@pytest.mark.parametrize("name", THEMES)
def test_lines_and_glyphs_can_be_seen(name: str) -> None:
    tokens: Tokens = THEMES[name]
    least = 4.5 if name.startswith("contrast") else 3.0
    for ink in ("edge", "accent", "ok", "bad", "warn", "info", "muted"):
        for ground in ("bg", "panel"):
            assert contrast(getattr(tokens, ink), getattr(tokens, ground)) >= least, (ink, ground)
    if name.startswith("contrast"):
        # Frames of fields are all that shows where one may write.
        assert contrast(tokens.line, tokens.panel) >= 4.5


def test_marked_words_are_in_plain_ink(qapp: Any) -> None:
    from worldline.ui.syntax.lines import LinePainter

    line = LinePainter().layout("return call(12)", "python", ((0, 6, "add_word"),))
    marked = [piece for piece in line.formats() if piece.start == 0 and piece.length == 6]
    assert marked[-1].format.foreground().color() == theme().tokens.color("text")


def test_placeholders_are_as_dark_as_other_quiet_text(qtbot: Any) -> None:
    """A style sheet makes them half transparent when it does not say otherwise."""
    from PySide6.QtGui import QPalette
    from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

    theme().set_name("light")
    for made in (QLineEdit(), QPlainTextEdit()):
        qtbot.addWidget(made)
        made.show()
        made.ensurePolished()
        color = made.palette().color(QPalette.ColorRole.PlaceholderText)
        assert color.name() == theme().tokens.color("muted").name() and color.alpha() == 255


def test_high_contrast_follows_a_dark_desktop(qapp: Any) -> None:
    try:
        theme().set_name("contrast")
        theme().pretend_dark(True)
        assert theme().tokens is CONTRAST_DARK
        theme().pretend_dark(False)
        assert theme().tokens is CONTRAST_LIGHT
    finally:
        theme().pretend_dark(None)
        theme().set_name("light")


def test_an_icon_follows_the_theme(qtbot: Any) -> None:
    from PySide6.QtWidgets import QLabel, QToolButton

    button, label = QToolButton(), QLabel()
    for one in (button, label):
        qtbot.addWidget(one)
        icons.keep(one, "eye")
    light = button.icon().pixmap(16, 16).toImage(), label.pixmap().toImage()
    theme().set_name("dark")
    dark = button.icon().pixmap(16, 16).toImage(), label.pixmap().toImage()
    assert light[0] != dark[0] and light[1] != dark[1]
    icons.keep(button, "copy")
    assert len(button.children()) == 1


def test_every_icon_can_be_drawn(qapp: Any) -> None:
    names = sorted(path.stem for path in (paths.resources_dir() / "icons").glob("*.svg"))
    assert len(names) > 60
    for name in names:
        picture = icons.pixmap(name, "accent", 16, 2.0).toImage()
        assert picture.width() == 32
        assert any(picture.pixelColor(x, y).alpha() for x in range(32) for y in range(32)), name


def test_the_stylesheet_has_no_token_left(qapp: Any) -> None:
    for name in ("light", "dark", "contrast"):
        theme().set_name(name)
        assert re.findall(r"@\w+", theme().stylesheet()) == []


class Styled(QObject):
    """Counts how often each widget is told that its style has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.times: Counter[int] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange:
            self.times[id(watched)] += 1
        return False


def test_a_change_of_theme_styles_each_widget_once(qapp: QApplication, qtbot: Any) -> None:
    """Qt styles a widget once more for every widget above it; in a window that is ten times the work."""
    outer = QWidget()
    qtbot.addWidget(outer)
    inner: list[QWidget] = [outer]
    for _ in range(6):
        frame = QFrame(inner[-1])
        QVBoxLayout(inner[-1]).addWidget(frame)
        inner.append(frame)
    label, never = QLabel("text", inner[-1]), QLabel("not shown", inner[-1])
    label.setProperty("role", "caption")
    never.hide()
    outer.show()
    qtbot.waitExposed(outer)
    styled = Styled()
    qapp.installEventFilter(styled)
    theme().set_name("dark")
    qapp.removeEventFilter(styled)
    assert {styled.times[id(widget)] for widget in (*inner, label)} == {1}
    assert label.palette().color(label.foregroundRole()) == theme().tokens.color("muted")
    never.show()
    assert never.palette().color(never.foregroundRole()) == theme().tokens.color("text")


def _picture(view: QWidget, qtbot: Any) -> QImage:
    """Of a view that has the focus and for which nothing is waited any more."""
    view.activateWindow()
    qtbot.waitExposed(view)

    def rested() -> bool:
        QApplication.processEvents()
        return not any(timer.isActive() for timer in view.findChildren(QTimer) if timer.isSingleShot())

    qtbot.waitUntil(rested, timeout=30_000)
    return view.grab().toImage()


def _difference(first: QImage, second: QImage) -> str:
    """Where two pictures differ, "" = nowhere."""
    if first == second:
        return ""
    if first.size() != second.size():
        return f"{first.size()} and {second.size()}"
    places = [(x, y) for y in range(first.height()) for x in range(first.width())
              if first.pixel(x, y) != second.pixel(x, y)]  # fmt: skip
    (left, right), (top, bottom) = ((min(part), max(part)) for part in zip(*places, strict=True))
    return f"{len(places)} pixels between ({left}, {top}) and ({right}, {bottom})"


@pytest.fixture
def still(qapp: QApplication) -> Iterator[None]:
    """No cursor that comes and goes in pictures."""
    before = qapp.cursorFlashTime()
    qapp.setCursorFlashTime(0)
    yield
    qapp.setCursorFlashTime(before)
    theme().pretend_dark(None)
    theme().set_name("light")


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_what_is_open_looks_as_if_made_in_the_new_theme(name: str, still: None, qtbot: Any) -> None:
    """No colour is kept in a widget, an item, a text or a picture when the theme is another one."""

    def show(size: QSize | None = None) -> QWidget:
        view = GALLERY[name]()
        qtbot.addWidget(view)
        if size is not None:
            view.resize(size)
        view.show()
        return view

    theme().set_name("light")
    there = show()
    before = _picture(there, qtbot)
    for chosen, dark in (("dark", None), ("contrast", False), ("contrast", True), ("light", None)):
        theme().pretend_dark(dark)
        theme().set_name(chosen)  # type: ignore[arg-type]
        now = _picture(there, qtbot)
        assert now != before, "nothing has changed"
        anew = show(there.size())
        assert _difference(now, _picture(anew, qtbot)) == "", (chosen, dark)
        anew.hide()
        before = now


def test_no_item_is_given_a_colour_of_its_own() -> None:
    """It would keep it when the theme changes: `inks` gives it the name of one."""
    root = Path(ui.__path__[0])
    found = [
        f"{file.relative_to(root)}:{number}"
        for file in root.rglob("*.py")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if re.search(r"\b(item|cell|row|head)\w*\.set(Foreground|Background)\(", line)
    ]
    assert found == []


def test_icons_are_drawn_once_for_all_colours(qapp: QApplication) -> None:
    for name in ("search", "fold"):
        red, blue = (icons.pixmap(name, color, 32).toImage() for color in ("#FF0000", "#0000FF"))
        alpha = [(x, y, red.pixelColor(x, y).alpha()) for x in range(32) for y in range(32)]
        assert alpha == [(x, y, blue.pixelColor(x, y).alpha()) for x in range(32) for y in range(32)]
        solid = [(x, y) for x, y, much in alpha if much == 255]
        assert solid
        assert {red.pixelColor(x, y).name() for x, y in solid} == {"#ff0000"}
        assert {blue.pixelColor(x, y).name() for x, y in solid} == {"#0000ff"}
