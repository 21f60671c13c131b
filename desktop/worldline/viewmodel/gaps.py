"""What the files of a step lack: paths that could not be captured, and why. And what else there is to say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.viewmodel import engine_words

_MARK = "case_collision: "
"""How the engine marks names that would be one on another system."""


def gap_lines(detail: Mapping[str, Any], limit: int = 20) -> list[str]:
    """`path: reason` of what was not captured, in the language of the window; what is more than `limit` is counted in the
    last line."""
    return _lines(detail.get("not_captured"), limit)


def remark_lines(detail: Mapping[str, Any], limit: int = 20) -> list[str]:
    """The same of what was captured and is worth knowing: histories that are not copied, names that clash."""
    return _lines(detail.get("remarks"), limit)


def all_lines(detail: Mapping[str, Any]) -> list[str]:
    return gap_lines(detail) + remark_lines(detail)


def _lines(listed: object, limit: int) -> list[str]:
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    lines = [f"{row.get('path', '')}: {_reason(row)}" for row in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"+ {len(rows) - limit}")
    return lines


def _reason(row: dict[str, Any]) -> str:
    return engine_words.say(str(row.get("reason", ""))).removeprefix(_MARK)
