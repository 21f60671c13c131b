"""Looks in one place: colour tokens, fonts, spacing, and the stylesheet made of them.

Widgets take colours from `theme().tokens` while painting and repaint on `theme().changed`; nobody writes a colour
of its own. Every text token keeps a contrast of at least 4.5:1 on `bg` and `panel` (a test computes it).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from worldline.core import paths

ThemeName = Literal["system", "light", "dark", "contrast"]

SPACE_XS, SPACE_S, SPACE_M, SPACE_L, SPACE_XL = 4, 8, 12, 16, 24
RADIUS = 6
TEXT_WIDTH = 860
"""The widest column of running text; what belongs to it is as wide."""
ICON = 16
STATUS_HEIGHT = 32


@dataclass(eq=False, repr=False)
class Tokens:
    """Never changed. Colours as `#RRGGBB`. `text` … `info` are for text and glyphs, the others are grounds."""

    bg: str
    panel: str
    line: str
    rim: str
    """Around what floats over the rest: menus, popovers, lists of completions."""
    edge: str
    """Lines that mean something, such as those between nodes: at least 3:1."""
    text: str
    muted: str
    accent: str
    ok: str
    bad: str
    warn: str
    info: str
    add: str
    remove: str
    add_word: str
    remove_word: str
    hover: str
    selected: str
    on_accent: str
    """Text on a ground of `accent`."""
    dark: bool = False

    def color(self, name: str) -> QColor:
        """The colour of a token by name; a `#RRGGBB` is passed through (colours of labels)."""
        return QColor(name if name.startswith("#") else getattr(self, name))


LIGHT = Tokens(
    bg="#FBFBFA", panel="#FFFFFF", line="#E4E4E1", rim="#CBCBC7", edge="#868B92", text="#1D1F23", muted="#5F646C", accent="#2A66D0",
    ok="#1B7547", bad="#BE342A", warn="#8F5B00", info="#6B4FBB", add="#DDF4E4", remove="#FCE7E4",
    add_word="#B4E6C4", remove_word="#F5BDB7", hover="#F4F4F2", selected="#EDF3FD", on_accent="#FFFFFF",
)  # fmt: skip
DARK = Tokens(
    bg="#16181C", panel="#1C1F24", line="#2C3038", rim="#454B56", edge="#727985", text="#E6E7EA", muted="#9AA1AC", accent="#6AA5FF",
    ok="#58C28B", bad="#FF8077", warn="#E7B04B", info="#B9A2FF", add="#173325", remove="#3B1E1C",
    add_word="#22543A", remove_word="#6A302C", hover="#24282E", selected="#22324C", on_accent="#0B1220", dark=True,
)  # fmt: skip
CONTRAST_LIGHT = Tokens(
    bg="#FFFFFF", panel="#FFFFFF", line="#5A5A5A", rim="#5A5A5A", edge="#5A5A5A", text="#000000", muted="#333333", accent="#0038A8",
    ok="#00531F", bad="#9B0000", warn="#5F3B00", info="#3F1F9C", add="#D0F5DA", remove="#FFE0DD",
    add_word="#9FE3B4", remove_word="#FFB0A8", hover="#EDEDED", selected="#DAE7FF", on_accent="#FFFFFF",
)  # fmt: skip
CONTRAST_DARK = Tokens(
    bg="#000000", panel="#000000", line="#A0A0A0", rim="#A0A0A0", edge="#A0A0A0", text="#FFFFFF", muted="#D6D6D6", accent="#8CC2FF",
    ok="#7FF0B0", bad="#FFA39C", warn="#FFD27A", info="#D8CAFF", add="#06351C", remove="#4A1210",
    add_word="#0B5E32", remove_word="#7C211D", hover="#1F1F1F", selected="#082E5C", on_accent="#000000", dark=True,
)  # fmt: skip


_CJK = ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei UI", "Source Han Sans SC", "WenQuanYi Micro Hei")
_CJK_CODE = ("Noto Sans Mono CJK SC", *_CJK)


@lru_cache(maxsize=4)
def _present(families: tuple[str, ...]) -> list[str]:
    """Named, because the platform's own fallback takes the first weight it finds, which may be bold."""
    return [name for name in families if QFontDatabase.hasFamily(name)]


class Theme(QObject):
    """The one theme of the process. Lives in the GUI thread."""

    about_to_change = Signal()
    """Colours or fonts change at once after this; whoever has widgets that nobody sees lets go of them."""
    changed = Signal()
    resized = Signal()
    """All text is larger or smaller from now on: widgets have the size that they were made with."""

    def __init__(self) -> None:
        super().__init__()
        self.name: ThemeName = "system"
        self.tokens = LIGHT
        self.styled = False
        """Qt draws in the style Fusion already."""
        self._motion: bool | None = None
        self._dark: bool | None = None
        self.larger = 0
        """Pixels that all text is larger than normal."""

    # Fonts are made on every call: a QFont made before the QApplication has no family.
    def font_ui(self, delta: int = 0, *, bold: bool = False) -> QFont:
        """The system's font at 13 px; `delta` in pixels (section titles +2, captions -1)."""
        font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont))
        font.setFamilies([QFontInfo(font).family(), *_present(_CJK)])
        font.setPixelSize(13 + self.larger + delta)
        if bold:
            font.setWeight(QFont.Weight.DemiBold)
        return font

    def font_code(self, delta: int = 0) -> QFont:
        font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setFamilies([QFontInfo(font).family(), *_present(_CJK_CODE)])
        font.setPixelSize(12 + self.larger + delta)
        return font

    @property
    def reduced_motion(self) -> bool:
        """True when the person or the platform asks for less movement."""
        if self._motion is not None:
            return self._motion
        return not QApplication.isEffectEnabled(Qt.UIEffect.UI_General) if QApplication.instance() else True

    def set_reduced_motion(self, on: bool | None) -> None:
        """None = as the platform says."""
        self._motion = on
        self.changed.emit()

    @staticmethod
    def allowed(pixels: int) -> int:
        """The nearest size that can be read."""
        return max(-2, min(8, pixels))

    def set_larger(self, pixels: int) -> None:
        """Size of all text against the normal one."""
        before, self.larger = self.larger, self.allowed(pixels)
        self._refresh()
        if self.larger != before:
            self.resized.emit()

    def pretend_dark(self, dark: bool | None) -> None:
        """Take the desktop for dark or light, whatever it says (pictures of high contrast). None = as it says."""
        self._dark = dark
        self._refresh()

    def set_name(self, name: ThemeName) -> None:
        """Choose a theme; `system` follows light and dark of the desktop."""
        self.name = name
        self._refresh()

    def follow_system(self) -> None:
        """Apply now and whenever the desktop switches between light and dark. Call once, after the QApplication."""
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        desktop = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        dark = desktop if self._dark is None else self._dark
        choices = {"light": LIGHT, "dark": DARK, "contrast": CONTRAST_DARK if dark else CONTRAST_LIGHT}
        self.tokens = choices.get(self.name, DARK if dark else LIGHT)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            self.about_to_change.emit()
            if not self.styled:
                # Each time it goes through all widgets; once is enough.
                app.setStyle("Fusion")
                self.styled = True
            app.setFont(self.font_ui())
            app.setPalette(self.palette())
            _set_stylesheet(app, self.stylesheet())
        self.changed.emit()

    def palette(self) -> QPalette:
        t = self.tokens
        palette = QPalette()
        roles = {
            QPalette.ColorRole.Window: t.bg,
            QPalette.ColorRole.WindowText: t.text,
            QPalette.ColorRole.Base: t.panel,
            QPalette.ColorRole.AlternateBase: t.bg,
            QPalette.ColorRole.Text: t.text,
            QPalette.ColorRole.Button: t.panel,
            QPalette.ColorRole.ButtonText: t.text,
            QPalette.ColorRole.Highlight: t.selected,
            QPalette.ColorRole.HighlightedText: t.text,
            QPalette.ColorRole.ToolTipBase: t.panel,
            QPalette.ColorRole.ToolTipText: t.text,
            QPalette.ColorRole.PlaceholderText: t.muted,
            QPalette.ColorRole.Link: t.accent,
            QPalette.ColorRole.LinkVisited: t.info,
            QPalette.ColorRole.Mid: t.line,
            QPalette.ColorRole.Light: t.panel,
            QPalette.ColorRole.Dark: t.line,
            QPalette.ColorRole.Accent: t.accent,
        }
        for role, value in roles.items():
            palette.setColor(role, QColor(value))
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText, QPalette.ColorRole.WindowText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(t.muted))
        return palette

    def stylesheet(self) -> str:
        icons = (paths.resources_dir() / "icons").as_posix()
        text = _STYLE.replace("@icons", icons).replace("@tick", "tick-dark" if self.tokens.dark else "tick")
        for field in fields(self.tokens):
            if field.name != "dark":
                text = text.replace(f"@{field.name};", f"{getattr(self.tokens, field.name)};")
                text = text.replace(f"@{field.name} ", f"{getattr(self.tokens, field.name)} ")
        return text


def _set_stylesheet(app: QApplication, text: str) -> None:
    """As `QApplication.setStyleSheet`, with each widget styled once.

    Qt goes through the descendants of every widget it has styled before, so that one that is eight levels down has its
    turn eight times: 75 ms for a window. When the style is told to let go of the application it knows of no widget, and
    what Qt does with each is done here.
    """
    style = app.style() if app.styleSheet() else None
    if style is None:
        app.setStyleSheet(text)
        return
    style.unpolish(app)
    app.setStyleSheet(text)
    style.polish(app)
    # Those that were never shown are styled when they are.
    for widget in app.allWidgets():
        if widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            widget.style().polish(widget)
            app.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


_theme: Theme | None = None


def theme() -> Theme:
    """The theme of this process, made at the first call."""
    global _theme
    if _theme is None:
        _theme = Theme()
    return _theme


def caption(widget: QWidget) -> None:
    """Small, muted text: a section head or a side note. Never markup, whoever wrote it."""
    if isinstance(widget, QLabel):
        widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setProperty("role", "caption")
    widget.setFont(theme().font_ui(-1))


_STYLE = """
QToolTip { background: @panel; color: @text; border: 1px solid @rim; padding: 6px 8px; }
QMainWindow, QDialog { background: @bg; }
QMainWindow::separator, QSplitter::handle { background: @line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QLabel[role="caption"] { color: @muted; }
QLabel[role="title"] { font-weight: 600; }
QLabel[role="error"] { color: @bad; }
#status-bar { background: @bg; border-top: 1px solid @line; }
QFrame[role="bar"] { background: @panel; border: none; border-bottom: 1px solid @line; }
QFrame[role="notice"] { background: @hover; border: none; border-top: 1px solid @line; }
QFrame[role="looking"] { background: @selected; border: none; border-bottom: 1px solid @line; }
QFrame[role="float"] { background: @panel; border: 1px solid @rim; border-radius: 6px; }
QListView[role="float"] { background: @panel; border: 1px solid @rim; padding: 3px; }
QPushButton, QToolButton[role="button"] {
  background: @panel; color: @text; border: 1px solid @line; border-radius: 6px; padding: 5px 12px; min-height: 18px; outline: none;
}
QPushButton:hover, QToolButton[role="button"]:hover { background: @hover; }
QPushButton:pressed { background: @selected; }
QPushButton:focus, QToolButton[role="button"]:focus { border: 2px solid @accent; padding: 4px 11px; }
QPushButton:disabled { color: @muted; }
QPushButton[role="primary"] { background: @accent; color: @on_accent; border-color: @accent; font-weight: 600; }
QPushButton[role="primary"]:focus { border: 2px solid @text; }
QPushButton[role="primary"]:disabled { background: @hover; color: @muted; border-color: @line; }
QPushButton[role="danger"] { color: @bad; }
QPushButton[role="danger"]:disabled { color: @muted; }
QPushButton[role="link"] { background: transparent; border: none; color: @accent; padding: 2px 4px; }
QPushButton[role="link"]:focus { border: 1px solid @accent; padding: 1px 3px; border-radius: 4px; }
QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:disabled { color: @muted; }
QToolButton { background: transparent; color: @text; border: 1px solid transparent; border-radius: 6px; padding: 3px; }
QToolButton:hover { background: @hover; }
QToolButton:checked { background: @selected; }
QToolButton:focus { border-color: @accent; }
QToolButton:disabled, QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QComboBox:disabled,
QSpinBox:disabled, QDoubleSpinBox:disabled, QCheckBox:disabled, QRadioButton:disabled { color: @muted; }
QToolButton::menu-indicator { image: none; width: 0; }
QLineEdit, QPlainTextEdit, QTextEdit, QComboBox, QSpinBox, QDoubleSpinBox {
  background: @panel; color: @text; border: 1px solid @line; border-radius: 6px; padding: 4px 8px;
  selection-background-color: @accent; selection-color: @on_accent;
}
QLineEdit, QPlainTextEdit, QTextEdit { placeholder-text-color: @muted; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QComboBox:focus, QSpinBox:focus { border-color: @accent; }
QSpinBox QLineEdit, QDoubleSpinBox QLineEdit { border: none; padding: 0 5px; background: transparent; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0; border: none; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url("@icons/combo.svg"); width: 14px; height: 14px; }
QComboBox QAbstractItemView { background: @panel; border: 1px solid @rim; selection-background-color: @selected; }
QMenu { background: @panel; color: @text; border: 1px solid @rim; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: @selected; }
QMenu::item:disabled { color: @muted; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QTabBar::tab { background: transparent; color: @muted; padding: 7px 12px; border: none; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:focus { color: @accent; }
QTabWidget::pane { border: none; }
QListView, QTreeView, QTableView, QListWidget, QTreeWidget {
  background: @panel; color: @text; border: none; outline: none; selection-background-color: @selected;
  selection-color: @text;
}
QListView::item, QListWidget::item { padding: 5px 8px; border-radius: 4px; }
QListView::item:selected, QListWidget::item:selected { background: @selected; color: @text; }
QHeaderView::section {
  background: @panel; color: @muted; border: none; border-bottom: 1px solid @line; padding: 5px 8px; font-weight: 400;
}
QTableView { alternate-background-color: @bg; }
QTableView::item { padding: 0 5px; border: none; }
QTableView::item:selected { background: @selected; color: @text; }
QDialog QListWidget, QDialog QTableWidget, QDialog QTreeWidget { border: 1px solid @line; border-radius: 6px; }
QDialog QListWidget { padding: 3px; }
QDialog QListWidget[role="nav"] { background: transparent; border: none; padding: 0; }
QDialog QTableWidget QHeaderView::section:first { border-top-left-radius: 6px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QProgressBar { background: @line; border: none; border-radius: 2px; height: 4px; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @line; border-radius: 4px; min-height: 24px; min-width: 24px; margin: 1px; }
QScrollBar::handle:hover { background: @muted; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QCheckBox, QRadioButton { spacing: 8px; }
QRadioButton::indicator { width: 12px; height: 12px; border: 1px solid @muted; border-radius: 7px; background: @panel; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 4px solid @accent; background: @panel; }
QRadioButton::indicator:hover { border-color: @accent; }
QCheckBox::indicator { width: 12px; height: 12px; border: 1px solid @muted; border-radius: 3px; background: @panel; }
QCheckBox::indicator:hover { border-color: @accent; }
QCheckBox::indicator:checked { border-color: @accent; background: @accent; image: url("@icons/@tick.svg"); }
QCheckBox, QRadioButton { border: 1px solid transparent; border-radius: 4px; padding: 1px 5px 1px 0; }
QCheckBox:focus, QRadioButton:focus { border-color: @accent; }

"""
