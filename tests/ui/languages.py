"""The language of the window in tests."""

from __future__ import annotations

import os

from PySide6.QtWidgets import QApplication

from worldline.ui import i18n
from worldline.viewmodel import engine_words, words


def forget_language() -> None:
    """As before anything was translated: tests read the words of the code, in whatever order they come."""
    app = QApplication.instance()
    if i18n._translator is not None and app is not None:
        i18n.install(app, "en")
        app.removeTranslator(i18n._translator)
    i18n._translator, i18n.in_use = None, ""
    os.environ.pop("WORLDLINE_LANG", None)
    words.set_translator(words._source)
    engine_words.use("en")
