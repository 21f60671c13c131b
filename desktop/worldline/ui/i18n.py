"""Languages: English in the source, others from `resources/i18n/worldline_<lang>.qm`.

Widgets say `self.tr("…")`, everything else `translate("context", "…")` from `viewmodel.words`.
"""

from __future__ import annotations

import logging

from PySide6.QtCore import QCoreApplication, QLocale, QTranslator

from worldline.core import paths
from worldline.viewmodel import words

log = logging.getLogger("worldline.ui")

LANGUAGES = {"en": "English", "zh_CN": "简体中文"}


def choose(wanted: str = "") -> str:
    """The language to use: the wanted one when we have it, else the system's, else English."""
    for name in (wanted, QLocale.system().name()):
        for code in LANGUAGES:
            if name and (name == code or name.split("_")[0].split("-")[0] == code.split("_")[0]):
                return code
    return "en"


def install(app: QCoreApplication, wanted: str = "") -> str:
    """Translate everything made from now on; returns the language in use. Call before the first widget."""
    code = choose(wanted)
    QLocale.setDefault(QLocale(code))
    words.set_translator(QCoreApplication.translate)
    # English has a file as well: its plurals.
    translator = QTranslator(app)
    file = paths.resources_dir() / "i18n" / f"worldline_{code}.qm"
    if translator.load(str(file)):
        app.installTranslator(translator)
    else:
        log.warning("the translation %s cannot be loaded", file)
    return code
