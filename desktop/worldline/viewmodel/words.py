"""Texts of the window that are made without Qt: the translator is handed in when the window starts."""

from __future__ import annotations

from collections.abc import Callable

Translator = Callable[[str, str], str]


def _source(_context: str, text: str) -> str:
    return text


_translator: Translator = _source


def set_translator(translator: Translator) -> None:
    global _translator
    _translator = translator


def translate(context: str, text: str) -> str:
    """The text in the language of the window; the English source without one."""
    return _translator(context, text)
