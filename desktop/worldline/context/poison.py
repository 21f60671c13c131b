"""From the text of a refusal to the block that caused it.

One bad image, tool input or thinking block makes every later request fail. The block is found by `messages.I.content.J`
or by what the text names, and replaced by a note in the view; history keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from worldline.context.blocks import THINKING
from worldline.context.model import View, ViewOptions

_PLACE = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_CALL = re.compile(r"\b((?:toolu|call|srvtoolu)_[A-Za-z0-9_-]+)")
_OVERFLOW = re.compile(
    r"prompt is too long|exceed context limit|context window|context length|context size|maximum context|"
    r"too long for requested model|greater than the context",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"\bimages?\b", re.IGNORECASE)
_THINKING = re.compile(r"thinking|signature", re.IGNORECASE)
MIN_BYTES = 200_000


@dataclass(slots=True)
class Poison:
    """What to change in the options so that the request does not fail in the same way again."""

    blocks: dict[tuple[str, int], str] = field(default_factory=dict)
    drop_thinking: bool = False

    def __bool__(self) -> bool:
        return bool(self.blocks) or self.drop_thinking


def find_poison(view: View, text: str, paths: Sequence[str] = ()) -> Poison:
    """What a 400 complains about. `paths` are places that an error names in its details. Empty if the text is about
    no block of history (an overflow, a parameter, something made up in the view)."""
    found = Poison()
    places = [m for source in (text, *paths) for m in _PLACE.finditer(source)]
    if not places and _OVERFLOW.search(text):
        return found
    why = _short(text)
    for place in places:
        index = int(place[1])
        if index >= len(view.messages):
            continue
        if place[2] is not None:
            _add(found, view, index, int(place[2]), why)
        else:
            _whole_message(found, view, index, text, why)
    if not found and _IMAGE.search(text):
        _newest_image(found, view, why)
    if not found and _CALL.search(text):
        _by_call(found, view, text, why)
    if (
        not found
        and not places
        and _THINKING.search(text)
        and "thinking.type" not in text
        and "budget" not in text
    ):
        found.drop_thinking = True
    return found


def shrunk(options: ViewOptions, view: View) -> ViewOptions:
    """After a 413 about bytes: options whose view has a good deal fewer. At `MIN_BYTES` nothing shrinks any more."""
    return replace(options, max_bytes=max(MIN_BYTES, min(options.max_bytes, view.bytes) * 3 // 5))


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


def _add(found: Poison, view: View, index: int, block: int, why: str) -> None:
    if block >= len(view.origin[index]):
        return
    if view.messages[index]["content"][block]["type"] in THINKING:
        # Part of a reply's thinking cannot be taken out, and what is bound to it would fail next.
        found.drop_thinking = True
        return
    uid, place = view.origin[index][block]
    if place >= 0:
        found.blocks[(uid, place)] = why


def _whole_message(found: Poison, view: View, index: int, text: str, why: str) -> None:
    content = view.messages[index]["content"]
    if any(b["type"] in THINKING for b in content) and _THINKING.search(text):
        found.drop_thinking = True
        return
    for block, value in enumerate(content):
        named = (_IMAGE.search(text) and _holds_image(value)) or (
            value.get("id") or value.get("tool_use_id") or "\0"
        ) in text
        if named:
            _add(found, view, index, block, why)


def _holds_image(block: dict[str, object]) -> bool:
    content = block.get("content")
    return block.get("type") == "image" or (
        isinstance(content, list) and any(b.get("type") == "image" for b in content if isinstance(b, dict))
    )


def _newest_image(found: Poison, view: View, why: str) -> None:
    for index in range(len(view.messages) - 1, -1, -1):
        content = view.messages[index]["content"]
        for block in range(len(content) - 1, -1, -1):
            if _holds_image(content[block]) and view.origin[index][block][1] >= 0:
                found.blocks[view.origin[index][block]] = why
                return


def _by_call(found: Poison, view: View, text: str, why: str) -> None:
    ids = set(_CALL.findall(text))
    for index, message in enumerate(view.messages):
        for block, value in enumerate(message["content"]):
            if value["type"] == "tool_use" and value["id"] in ids:
                _add(found, view, index, block, why)
