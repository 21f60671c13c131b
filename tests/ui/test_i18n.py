"""Every text of the window in every language, and the compiled files as the sources give them."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from worldline.ui import i18n
from worldline.ui.chat import words
from worldline.ui.dialogs.question import ask_first

from .languages import forget_language

ROOT = Path(__file__).resolve().parent.parent.parent


def translations() -> ModuleType:
    spec = importlib.util.spec_from_file_location("translations", ROOT / "packaging" / "translations.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_untranslated_and_what_ships_is_compiled() -> None:
    assert translations().check() == []


@pytest.mark.parametrize("language", sorted(i18n.LANGUAGES))
def test_placeholders_survive_translation(language: str) -> None:
    text = (ROOT / "resources" / "i18n" / f"worldline_{language}.ts").read_text("utf-8")
    for message in re.findall(r"<message.*?</message>", text, re.DOTALL):
        source = re.search(r"<source>(.*?)</source>", message, re.DOTALL)
        assert source is not None
        forms = re.findall(r"<numerusform>(.*?)</numerusform>", message, re.DOTALL) or re.findall(
            r"<translation>(.*?)</translation>", message, re.DOTALL
        )
        for form in forms:
            wanted, got = (sorted(re.findall(r"\{\w*\}|%n", one)) for one in (source.group(1), form))
            assert wanted == got, source.group(1)


def test_the_language_of_the_system_is_followed_when_we_have_it() -> None:
    assert i18n.choose("zh_CN") == "zh_CN"
    assert i18n.choose("zh-Hans") == "zh_CN"
    assert i18n.choose("zh") == "zh_CN"
    assert i18n.choose("en") == "en"
    assert i18n.choose("fr") in i18n.LANGUAGES


def test_the_tree_speaks_chinese(qapp: Any) -> None:
    from PySide6.QtCore import QLocale, QTranslator

    from worldline.core import paths
    from worldline.viewmodel import tree_words, words

    translator = QTranslator()
    assert translator.load(str(paths.resources_dir() / "i18n" / "worldline_zh_CN.qm"))
    qapp.installTranslator(translator)
    words.set_translator(qapp.translate)
    try:
        assert tree_words.verb("read") == "读取"
    finally:
        qapp.removeTranslator(translator)
        words.set_translator(words._source)
        QLocale.setDefault(QLocale("en"))
    assert tree_words.verb("read") == "read"


def test_texts_said_through_another_object_are_found_too(qapp: Any) -> None:
    text = (ROOT / "resources" / "i18n" / "worldline_zh_CN.ts").read_text("utf-8")
    names = {match or "" for match in re.findall(r"<name>(.*?)</name>", text)}
    loose = {name for name in names if not re.fullmatch(r"_?[A-Z]\w*", name)}
    sources = "".join(p.read_text("utf-8") for p in (ROOT / "desktop" / "worldline").rglob("*.py"))
    loose -= set(re.findall(r'translate\(\s*"(\w+)"', sources))
    assert loose <= set(i18n.LOOSE), "these contexts are no classes: add them to i18n.LOOSE"
    translator = i18n._Translator()
    assert translator.load(str(ROOT / "resources" / "i18n" / "worldline_zh_CN.qm"))
    assert translator.translate("TreeView", "Go here") == "前往这里"
    assert translator.translate("TreeView", "no such text") is None


def test_every_kind_of_diagnostic_has_words(qapp: Any) -> None:
    named: set[str] = set()
    for path in (ROOT / "desktop").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "diagnose" and call.args:
                kind = call.args[0]
                named.update([kind.value] if isinstance(kind, ast.Constant) else [])
    assert "cache_miss" in named and len(named) > 20
    i18n.install(qapp, "zh_CN")
    try:
        assert [kind for kind in sorted(named) if words.diagnostic(kind).isascii()] == []
    finally:
        i18n.install(qapp, "en")


def test_buttons_of_the_toolkit_speak_the_language_too(qapp: QApplication, qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    try:
        i18n.install(qapp, "zh_CN")
        box = ask_first(owner, "关闭", "？", "", "关闭并结束", lambda: None)
        assert {one.text() for one in box.buttons()} == {"取消", "关闭并结束"}
        box.reject()
        i18n.install(qapp, "en")
        box = ask_first(owner, "Close", "?", "", "Close and end it", lambda: None)
        assert {one.text() for one in box.buttons()} == {"Cancel", "Close and end it"}
        box.reject()
    finally:
        forget_language()
