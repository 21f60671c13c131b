"""The least that the API insists on: calls and results in pairs, no empty messages. A server that is given a full
checker uses that instead."""

from __future__ import annotations

from typing import Any


def check_pairing(body: dict[str, Any]) -> list[str]:
    """What the API would refuse, in its words."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    found: list[str] = []
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        content = message.get("content") if isinstance(message, dict) else None
        if not content:
            found.append(
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
            continue
        blocks = content if isinstance(content, list) else []
        results = [b.get("tool_use_id", "") for b in blocks if b.get("type") == "tool_result"]
        missing = [uid for uid in open_calls if uid not in results]
        if missing:
            found.append(
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        for at, uid in enumerate(results):
            if uid not in open_calls:
                found.append(
                    f"messages.{index}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {uid}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
        open_calls = []
        for at, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                uid = str(block.get("id", ""))
                if uid in seen:
                    found.append(f"messages.{index}.content.{at}: `tool_use` ids must be unique")
                seen.add(uid)
                open_calls.append(uid)
    if open_calls:
        found.append(
            f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(open_calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )
    return found
