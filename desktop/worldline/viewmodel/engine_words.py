"""Sentences of the engine in the language of the window.

The engine speaks English, on the wire and in the session file: what is stored must not depend on who looks at it. The
window translates where it takes the texts in. A catalogue holds the sentences as templates with named places,
`"Trying again in {seconds} s ({attempt} of {of})."`; names, paths, commands and numbers pass through a place as they
are, a place written `{~why}` holds a sentence of the engine itself and is translated as well. A text of several
sentences is translated piece by piece; what no template fits stays English. No Qt, any thread.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from worldline.core import paths

if TYPE_CHECKING:
    from worldline.viewmodel.engine_catalogue import Catalogue

log = logging.getLogger("worldline.viewmodel")

_LONGEST = 800
"""Longer texts are the output of something, not sentences of ours; and matching takes a time that grows with its square."""

_catalogue: Catalogue | None = None
_file: Path | None = None
"""Where the catalogue is that has not been read yet."""
_tools: Catalogue | None = None
"""What tools say of their failures, to the model. Apart from the other: their sentences are short, and templates of them
would fit what they are not meant for."""
_tools_file: Path | None = None


def use(language: str, folder: Path | None = None) -> None:
    """Translate into this language from now on. English needs no catalogue; a language without one stays English."""
    global _catalogue, _file, _tools, _tools_file
    _catalogue = _tools = None
    _say.cache_clear()
    here = folder or paths.resources_dir() / "i18n"
    _file = None if language == "en" else here / f"engine_{language}.json"
    _tools_file = None if language == "en" else here / f"tools_{language}.json"


def catalogue() -> Catalogue | None:
    """The one in use; None = English. Read when the first sentence comes: the first picture shows none."""
    global _catalogue, _file
    if _file is not None:
        _catalogue, _file = _read(_file), None
    return _catalogue


def _read(file: Path) -> Catalogue | None:
    import json

    from worldline.viewmodel.engine_catalogue import Catalogue

    try:
        return Catalogue(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        log.warning("the engine's sentences stay English: %s cannot be read (%s)", file, error)
        return None


@lru_cache(maxsize=4096)
def _say(text: str) -> str:
    known = catalogue()
    return text if known is None else known.text(text)


def say(text: str) -> str:
    """The engine's text in the language of the window; unchanged where no template fits."""
    if catalogue() is None or not text or len(text) > _LONGEST:
        return text
    return _say(text)


def failure(text: str) -> str:
    """What a tool said of its failure, in the language of the window: the model was told it in English."""
    global _tools, _tools_file
    if catalogue() is None or not text or len(text) > _LONGEST:
        return text
    if _tools_file is not None:
        _tools, _tools_file = _read(_tools_file), None
    return _tools.text(text) if _tools is not None and _tools.fits(text) else _say(text)


# What crosses -------------------------------------------------------------------------------------------------------

_SENTENCES = frozenset(
    {
        "sentence", "last_stop_detail", "fallback_why", "retry_why", "cost_note", "cache_note", "sandbox_why", "sandbox_problem",
        "saved_note", "read_only_why", "detail", "why", "effect", "reach", "copy_first", "reason", "lossy", "note", "summary",
        "undo_label", "recovered", "fix", "problem", "problems", "notes", "warnings", "lose", "in_use",
    }
)  # fmt: skip
_OPAQUE = frozenset(
    {
        "rows",
        "headers",
        "bodies",
        "input",
        "data",
        "message",
        "messages",
        "request",
        "call",
        "items",
        "labels",
    }
)
"""Parts that hold what was said, done or written, never a sentence for the person."""
_EVENTS = frozenset(
    {
        "status",
        "run_started",
        "run_ended",
        "approval_asked",
        "effect_changed",
        "diagnosed",
        "progress",
        "writing_ended",
    }
)
_UNTOUCHED = frozenset({"headers", "bodies", "blob", "search", "labels", "patch", "complete"})


def event(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A notification with its sentences translated."""
    if catalogue() is None or method not in _EVENTS:
        return params
    if method == "progress":
        return {**params, "text": say(str(params.get("text", "")))}
    return {
        key: _approval(value) if key == "approval" else _field(key, value) for key, value in params.items()
    }


def result(method: str, answer: Any) -> Any:
    """The answer to a command with its sentences translated."""
    if catalogue() is None or method in _UNTOUCHED:
        return answer
    if method == "diagnostics":
        # The items of a queue hold what the person wrote; these hold what the engine says.
        return {**answer, "items": [_walk(item) for item in answer["items"]]}
    return _walk(answer)


def message(fields: dict[str, Any]) -> dict[str, Any]:
    """One message of the protocol with its sentences translated; of an approval its title and marks as well."""
    if catalogue() is None:
        return fields
    return _approval(fields) if "marks" in fields else cast(dict[str, Any], _walk(fields))


def hello(answer: dict[str, Any]) -> dict[str, Any]:
    """What the engine tells first."""
    if catalogue() is None:
        return answer
    said: dict[str, Any] = _walk(answer)
    said["approvals"] = [_approval(approval) for approval in answer.get("approvals", [])]
    return said


def error(refusal: dict[str, Any]) -> dict[str, Any]:
    """A refusal: message and hint."""
    if catalogue() is None:
        return refusal
    return {
        key: say(value) if key in ("message", "hint") and isinstance(value, str) else value
        for key, value in refusal.items()
    }


def _approval(approval: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = _walk(approval)
    said["title"] = say(str(approval.get("title", "")))
    said["marks"] = [[start, end, say(what)] for start, end, what in approval.get("marks", [])]
    return said


def _walk(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _field(key, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_walk(part) for part in value]
    return value


def _field(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key in _SENTENCES:
        if isinstance(value, str):
            return say(value)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return [say(part) for part in value]
    return _walk(value)
