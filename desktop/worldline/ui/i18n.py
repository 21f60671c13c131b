"""Languages: English in the source, others from `resources/i18n/worldline_<lang>.qm`.

Widgets say `self.tr("…")`, everything else `translate("context", "…")` from `viewmodel.words`.
"""

from __future__ import annotations

import logging
import os

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QObject, QTranslator, Signal

from worldline.core import paths
from worldline.viewmodel import engine_words, words

log = logging.getLogger("worldline.ui")

LANGUAGES = {"en": "English", "zh_CN": "简体中文"}


in_use = ""
"""The language of this window, "" before `install`."""

LOOSE = ("", "dialog", "desk", "label", "window", "self._dialog", "self._view", "self.edit")
"""Contexts of texts that are said through another object (`dialog.tr(…)`): the tool that collects texts cannot know
its class. They are looked through when a class has no such text; a test holds the list complete."""


class _Translator(QTranslator):
    def translate(
        self, context: str | bytes, text: str | bytes, said: str | bytes | None = None, n: int = -1
    ) -> str | None:
        for place in (context, *LOOSE):
            found = super().translate(place, text, said, n)  # type: ignore[arg-type]
            if found:
                return found
        # Nothing must come back as nothing: an empty text would be shown as such.
        return None


def choose(wanted: str = "") -> str:
    """The language to use: the wanted one when we have it, else the system's, else English."""
    for name in (wanted, QLocale.system().name()):
        for code in LANGUAGES:
            if name and (name == code or name.split("_")[0].split("-")[0] == code.split("_")[0]):
                return code
    return "en"


class _Language(QObject):
    changed = Signal()
    """Another language is in use: what is made from now on speaks it, what is there does not."""


_language: _Language | None = None
_translator: QTranslator | None = None
_of_qt: QTranslator | None = None
"""The words of the toolkit itself: Cancel, Copy, and the dialogs that choose files."""


def language() -> _Language:
    """Says when the language changes. One for the process, made at the first call."""
    global _language
    if _language is None:
        _language = _Language()
    return _language


def change(wanted: str) -> None:
    """Change the language of the window while it is open; "" = as the system."""
    app = QCoreApplication.instance()
    before = in_use
    if app is not None and install(app, wanted) != before:
        language().changed.emit()


def install(app: QCoreApplication, wanted: str = "") -> str:
    """Translate everything made from now on; returns the language in use. Call before the first widget."""
    global in_use, _translator, _of_qt
    code = in_use = choose(wanted)
    for old in (_translator, _of_qt):
        if old is not None:
            app.removeTranslator(old)
    _of_qt = None
    QLocale.setDefault(QLocale(code))
    # The engine writes some sentences for people too (demo, plans); one that is started speaks the window's language.
    os.environ["WORLDLINE_LANG"] = code
    words.set_translator(QCoreApplication.translate)
    engine_words.use(code)
    if code != "en":
        _of_qt = QTranslator(app)
        if _of_qt.load(f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
            app.installTranslator(_of_qt)
        else:
            log.warning("the toolkit has no translation into %s here", code)
    # English has a file as well: its plurals.
    translator = _translator = QTranslator(app) if code == "en" else _Translator(app)
    file = paths.resources_dir() / "i18n" / f"worldline_{code}.qm"
    if translator.load(str(file)):
        app.installTranslator(translator)
    else:
        log.warning("the translation %s cannot be loaded", file)
    return code
