"""What a request says, as the rules of a scenario ask for it. A pure view of the request, so that the same
conversation gets the same answer on every branch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_REMINDER = re.compile(r"\s*(<|\[)")
_CJK = re.compile(r"[\u3400-\u9fff]")


PICTURE_TOKENS = 1600


def _pictures(part: Any) -> Iterable[str]:
    """The data of all pictures in a part of a request, those of tool results too."""
    if isinstance(part, list):
        for one in part:
            yield from _pictures(one)
    elif isinstance(part, dict):
        source = part.get("source")
        if part.get("type") == "image" and isinstance(source, dict):
            yield str(source.get("data") or "")
        else:
            yield from _pictures(part.get("content"))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def _result_text(block: dict[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


def _prompt_of(message: dict[str, Any]) -> str:
    """The person's words in a user message: its last text; "" when it only hands results over.

    A message may begin with a summary or notes of the program. Beside other blocks, a text that starts with `<` or `[`
    is a reminder of the program, not the person.
    """
    blocks = _blocks(message)
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    if len(blocks) > 1:
        texts = [text for text in texts if not _REMINDER.match(text)]
    texts = [text for text in texts if text.strip()]
    return texts[-1] if texts else ""


@dataclass
class Conversation:
    """One request to `/v1/messages`."""

    body: dict[str, Any]
    count: int = 0
    """How many such requests came before it."""

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @cached_property
    def system(self) -> str:
        raw = self.body.get("system")
        return raw if isinstance(raw, str) else json.dumps(raw or "", ensure_ascii=False)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        raw = self.body.get("messages")
        return [m for m in raw if isinstance(m, dict)] if isinstance(raw, list) else []

    @cached_property
    def prompt_index(self) -> int:
        """Index of the message that holds the person's last words; -1 = none."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index].get("role") == "user" and _prompt_of(self.messages[index]):
                return index
        return -1

    @cached_property
    def prompt(self) -> str:
        return _prompt_of(self.messages[self.prompt_index]) if self.prompt_index >= 0 else ""

    @cached_property
    def prompts(self) -> list[str]:
        found = [_prompt_of(m) for m in self.messages if m.get("role") == "user"]
        return [text for text in found if text]

    @cached_property
    def step(self) -> int:
        """How many answers the last words have had: 0 for the first answer to them."""
        after = self.messages[self.prompt_index + 1 :]
        return sum(1 for message in after if message.get("role") == "assistant")

    @cached_property
    def results(self) -> list[dict[str, Any]]:
        """The tool results of the last message."""
        if not self.messages or self.messages[-1].get("role") != "user":
            return []
        return [block for block in _blocks(self.messages[-1]) if block.get("type") == "tool_result"]

    @cached_property
    def result(self) -> str:
        return "\n".join(_result_text(block) for block in self.results)

    @property
    def result_is_error(self) -> bool:
        return any(block.get("is_error") is True for block in self.results)

    @cached_property
    def last_tool(self) -> str:
        """Name of the last tool that was called."""
        for message in reversed(self.messages):
            for block in reversed(_blocks(message)):
                if block.get("type") == "tool_use":
                    return str(block.get("name", ""))
        return ""

    @cached_property
    def said(self) -> str:
        """All text of the conversation, prompts, replies and results."""
        parts: list[str] = []
        for message in self.messages:
            for block in _blocks(message):
                kind = block.get("type")
                if kind == "text":
                    parts.append(str(block.get("text", "")))
                elif kind == "tool_result":
                    parts.append(_result_text(block))
                elif kind == "tool_use":
                    parts.append(json.dumps(block.get("input"), ensure_ascii=False))
        return "\n".join(parts)

    @property
    def chinese(self) -> bool:
        return bool(_CJK.search(self.prompt))

    @cached_property
    def denied(self) -> bool:
        """The last results hold a permission error."""
        if not self.results:
            return False
        found = re.search(
            r'"(class|error_class)":\s*"permission"|permission_denied|approval_timeout', self.result
        )
        return bool(found)

    def input_tokens(self) -> int:
        """An estimate: four characters a token, and for a picture what the real service takes at most."""
        keys = ("system", "tools", "messages")
        text, pictures = 0, 0
        for key in keys:
            text += len(json.dumps(self.body.get(key) or "", ensure_ascii=False))
        for data in _pictures(self.messages):
            text -= len(data)
            pictures += 1
        return max(1, text // 4 + pictures * PICTURE_TOKENS)

    def prefixes(self) -> Iterable[str]:
        """Text of system and tools, then of each message, to be hashed one after the other."""
        yield json.dumps([self.model, self.body.get("system"), self.body.get("tools")], sort_keys=True)
        for message in self.messages:
            yield re.sub(r',?\s*"cache_control": \{[^}]*\}', "", json.dumps(message, sort_keys=True))
