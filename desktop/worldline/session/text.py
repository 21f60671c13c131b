"""The words of a node: what search finds and what the one-line preview shows."""

from __future__ import annotations

from typing import Any

from worldline.core.jsontext import clean_text

MAX_PREVIEW = 200
MAX_TEXT = 4_000_000
"""Characters indexed of one node. Longer outputs are found by what is in their first part."""

_MUTE = frozenset(
    {
        "type",
        "id",
        "tool_use_id",
        "data",
        "signature",
        "media_type",
        "cache_control",
        "role",
        "hash",
        "digest",
        "blob",
        "raw",
    }
)


def words_of(*values: Any) -> str:
    """All strings inside JSON values that a person may look for, in order; ids, signatures and image data are left out."""
    found: list[str] = []
    room = MAX_TEXT
    stack = list(reversed(values))
    while stack and room > 0:
        value = stack.pop()
        if isinstance(value, str):
            if value:
                found.append(value[:room])
                room -= len(value)
        elif isinstance(value, dict):
            stack.extend(part for key, part in reversed(value.items()) if key not in _MUTE)
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return "\n".join(found)


def blobs_in(value: Any) -> list[str]:
    """Hashes of outputs that are stored apart and only referred to ({"blob": hash})."""
    found = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            blob = item.get("blob")
            if isinstance(blob, str):
                found.append(blob)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return found


def preview_of(text: str) -> str:
    """First words on one line."""
    # Most texts are decided by little more than what is shown.
    head = " ".join(clean_text(text[: MAX_PREVIEW + 40]).replace("\0", " ").split())
    if len(head) > MAX_PREVIEW:
        return head[: MAX_PREVIEW - 1] + "…"
    head = " ".join(clean_text(text[: MAX_PREVIEW * 2]).replace("\0", " ").split())
    if len(head) <= MAX_PREVIEW < len(text) // 2:  # much of it is white space: look further
        head = " ".join(clean_text(text[: MAX_PREVIEW * 4]).replace("\0", " ").split())
    return head if len(head) <= MAX_PREVIEW else head[: MAX_PREVIEW - 1] + "…"


def message_text(message: dict[str, Any] | None) -> str:
    """The text blocks of a message, for its preview."""
    if not message:
        return ""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        str(block["text"])
        for block in content
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    if texts:
        return "\n".join(texts)
    return " ".join(
        str(block.get("name", "")) for block in content if isinstance(block, dict) and "name" in block
    )
