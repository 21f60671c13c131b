"""The one shape in which results reach the model: bounded, printable, without inner paths and secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from worldline.core.errors import ToolError
from worldline.core.jsontext import clean_text
from worldline.tools.model import ToolResult

RESULT_LIMIT = 60_000
"""UTF-8 bytes of text in one result: about 20,000 tokens at most."""
ERROR_LIMIT = 6_000

_ANSI = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC; only up to the next escape, or many of them take for ever
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]",
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TRACE = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+", re.MULTILINE)

Mask = Callable[[str], tuple[str, int]]
"""Text → text with secrets masked, and how many there were."""


def no_mask(text: str) -> tuple[str, int]:
    return text, 0


def strip_ansi(text: str) -> str:
    return _ANSI.sub("", text)


def printable(text: str) -> str:
    """Control characters but tab and newline as visible signs (NUL → ␀), lone surrogates replaced."""
    text = clean_text(text).replace("\r\n", "\n")
    return _CONTROL.sub(lambda m: "␡" if m[0] == "\x7f" else chr(0x2400 + ord(m[0])), text)


def cut(text: str, limit: int, hint: str = "") -> str:
    """`text` within `limit` UTF-8 bytes: its head and its tail, with a line between that says what is left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    head = data[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = data[-(limit // 3) :].decode("utf-8", "ignore")
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out:,} bytes left out here{'; ' + hint if hint else ''} …]\n{tail}"


def hide_paths(text: str, root: Path, hidden: Iterable[Path] = ()) -> str:
    """Show the workspace as relative; paths of the app itself not at all."""
    for name in sorted({str(root), str(root.resolve())}, key=len, reverse=True):
        if name == "/":
            continue
        text = text.replace(name + "/", "").replace(name, ".")
    for path in hidden:
        text = text.replace(str(path), "(app data)")
    return text


class Envelope:
    """Makes tool_result blocks for one session."""

    def __init__(self, root: Path, mask: Mask = no_mask, hidden: Iterable[Path] = ()) -> None:
        self.root = root
        self.mask = mask
        self.hidden = tuple(hidden)

    def clean_error(self, error: ToolError) -> tuple[ToolError, int]:
        """`error` as it may be stored and sent."""
        masked = 0

        def tidy(value: Any, limit: int = 2_000) -> Any:
            nonlocal masked
            if isinstance(value, dict):
                return {tidy(str(key)): tidy(item) for key, item in value.items()}
            if isinstance(value, list | tuple):
                return [tidy(item) for item in value[:100]]
            if not isinstance(value, str):
                return value
            text, count = self.mask(printable(strip_ansi(_TRACE.sub("", value))))
            masked += count
            return cut(hide_paths(text, self.root, self.hidden), limit)

        clean = ToolError(
            error_class=error.error_class,
            type=error.type,
            message=tidy(error.message),
            hint=tidy(error.hint),
            next=tidy(error.next, 1_000),
            retryable=error.retryable,
            details=tidy(error.details),
        )
        if len(json.dumps(clean.as_result(), ensure_ascii=False, default=str)) > ERROR_LIMIT:
            clean = clean.model_copy(update={"details": {}})
        return clean, masked

    def mask_stored(self, result: ToolResult) -> int:
        """Mask secrets in what the session keeps besides the block: details for the window, the whole output."""
        masked = 0

        def tidy(value: Any) -> Any:
            nonlocal masked
            if isinstance(value, str):
                text, count = self.mask(value)
                masked += count
                return text
            if isinstance(value, dict):
                return {key: tidy(item) for key, item in value.items()}
            return [tidy(item) for item in value] if isinstance(value, list) else value

        result.detail = tidy(result.detail)
        if result.full_output is not None:
            text, count = self.mask(result.full_output.decode("utf-8", "surrogateescape"))
            if count:
                result.full_output = text.encode("utf-8", "surrogateescape")
                masked += count
        return masked

    def block(
        self, call_id: str, content: list[dict[str, Any]], error: ToolError | None = None
    ) -> tuple[dict[str, Any], int]:
        """The tool_result for a call. An error comes first, then what the tool produced all the same."""
        masked = 0
        parts: list[dict[str, Any]] = []
        budget = RESULT_LIMIT
        if error is not None:
            error, masked = self.clean_error(error)
            parts.append(
                {
                    "type": "text",
                    "text": json.dumps(error.as_result(), ensure_ascii=False, default=str, indent=1),
                }
            )
        for part in content:
            if part.get("type") != "text":
                parts.append(part)
                continue
            text, count = self.mask(printable(str(part["text"])))
            masked += count
            text = cut(text, max(budget, 500), "ask for a smaller part")
            budget -= len(text.encode())
            if text.strip():
                parts.append({"type": "text", "text": text})
        if not parts:
            parts.append({"type": "text", "text": "(no output)"})
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": parts}
        if error is not None:
            block["is_error"] = True
        return block, masked
