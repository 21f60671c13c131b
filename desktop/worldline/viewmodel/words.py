"""Texts of the window that are made without Qt: the translator is handed in when the window starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Made = TypeVar("Made")
Translator = Callable[[str, str], str]


def _source(_context: str, text: str) -> str:
    return text


_translator: Translator = _source
_language = 0
"""Counts the changes of the translator."""


def set_translator(translator: Translator) -> None:
    global _translator, _language
    _translator = translator
    _language += 1


def language() -> int:
    """Another number whenever texts are in another language from then on."""
    return _language


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """What `make` gives, made at the first call and again when the translator has changed: for tables of texts that are
    looked into for every row of a picture."""
    kept: list[tuple[int, Made]] = []

    def table() -> Made:
        if not kept or kept[0][0] != _language:
            kept[:] = [(_language, make())]
        return kept[0][1]

    return table


def translate(context: str, text: str) -> str:
    """The text in the language of the window; the English source without one."""
    return _translator(context, text)


def refusal(error: Mapping[str, Any]) -> str:
    """What the engine refused and what to do next, in one line."""
    return f"{error.get('message', '')} {error.get('hint', '')}".strip()


def spoken_tool(name: str) -> str:
    """A tool without a word of its own: those of MCP servers say whose they are, `words: count words`."""
    server, mark, tool = name.removeprefix("mcp__").partition("__")
    if name.startswith("mcp__") and mark:
        return f"{server}: {tool}".replace("_", " ")
    return name.replace("_", " ")
