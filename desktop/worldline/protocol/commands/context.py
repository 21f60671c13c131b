"""What the model is sent: the request itself and the person's edits of it."""

from __future__ import annotations

from typing import Any, Literal

from worldline.protocol.model import Diagnostic
from worldline.protocol.wire import Message


class View(Message):
    request: dict[str, Any]
    origin: list[str] = []
    """For each message of the request the uid of the node it came from ("" = made for the view)."""
    diagnostics: list[Diagnostic] = []
    tokens: int = 0
    bytes: int = 0


class CompactNow(Message):
    instructions: str = ""
    how: Literal["summary", "drop_results"] = "summary"
    """drop_results: leave out older large tool results only; nothing is summarised."""


class ContextEdit(Message):
    node: str
    replacement: str | None = None
    """None = leave it out; text = say this instead."""
    scope: Literal["node", "turn"] = "node"
    """turn: the prompt before the node and everything up to the next prompt; a replacement stands once for all."""
    restore: bool = False
    """Take back what earlier edits of this branch did to it: the original is sent again."""
