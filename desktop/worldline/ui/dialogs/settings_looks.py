"""Looks: theme, language, size of the text, movement. Kept by the window, not by the engine."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from worldline.ui import i18n
from worldline.ui.dialogs.settings_pages import Page, translate
from worldline.ui.i18n import LANGUAGES
from worldline.ui.preferences import settings as window_settings
from worldline.ui.theme import theme


class AppearancePage(Page):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Appearance"), parent)
        settings = window_settings()
        self.theme_box = QComboBox(self)
        for value, text in (("system", self.tr("as the system")), ("light", self.tr("light")), ("dark", self.tr("dark")),
                            ("contrast", self.tr("high contrast"))):  # fmt: skip
            self.theme_box.addItem(text, value)
        self._show_theme()
        theme().changed.connect(self._show_theme)
        self.theme_box.activated.connect(self._on_theme)
        self.row(self.tr("Theme"), self.theme_box)
        self.size_box = QComboBox(self)
        for pixels, text in ((-1, self.tr("small")), (0, self.tr("normal")), (2, self.tr("large")),
                            (4, self.tr("very large"))):  # fmt: skip
            self.size_box.addItem(text, pixels)
        self.size_box.setCurrentIndex(max(0, self.size_box.findData(theme().larger)))
        self.size_box.activated.connect(self._on_size)
        self.row(self.tr("Size of the text"), self.size_box)
        self.language = QComboBox(self)
        self.language.addItem(self.tr("as the system"), "")
        for code, name in LANGUAGES.items():
            self.language.addItem(name, code)
        self.language.setCurrentIndex(max(0, self.language.findData(str(settings.value("language", "")))))
        self.language.activated.connect(self._on_language)
        self.row(self.tr("Language"), self.language)
        self.motion = QCheckBox(self.tr("Less movement"), self)
        self.motion.setChecked(theme().reduced_motion)
        self.motion.clicked.connect(self._on_motion)
        self.row(self.tr("Motion"), self.motion)
        self.finish()

    def _show_theme(self) -> None:
        self.theme_box.setCurrentIndex(max(0, self.theme_box.findData(theme().name)))

    def _on_theme(self) -> None:
        theme().set_name(self.theme_box.currentData())
        window_settings().setValue("theme", self.theme_box.currentData())

    def _on_language(self) -> None:
        window_settings().setValue("language", self.language.currentData())
        i18n.change(str(self.language.currentData()))

    def _on_size(self) -> None:
        theme().set_larger(int(self.size_box.currentData()))
        window_settings().setValue("text_size", self.size_box.currentData())

    def _on_motion(self, on: bool) -> None:
        theme().set_reduced_motion(on)
        window_settings().setValue("reduced_motion", on)

    def load(self, values: dict[str, Any]) -> None:
        return
