"""What the files of a step lack: paths that could not be captured, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.viewmodel import engine_words


def gap_lines(detail: Mapping[str, Any], limit: int = 20) -> list[str]:
    """`path: reason`, in the language of the window; what is more than `limit` is counted in the last line."""
    rows = [row for row in detail.get("not_captured") or [] if isinstance(row, dict)]
    lines = [f"{row.get('path', '')}: {engine_words.say(str(row.get('reason', '')))}" for row in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"+ {len(rows) - limit}")
    return lines
