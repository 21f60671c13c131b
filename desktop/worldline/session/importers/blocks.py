"""Content blocks of other agents, as blocks of the Messages API."""

from __future__ import annotations

from typing import Any

from worldline.core.call_words import subject_of
from worldline.core.jsontext import clean_text
from worldline.session.importers.lines import parse


def api_blocks(content: Any) -> list[dict[str, Any]]:
    """Any content (text, blocks of several dialects, nothing) as request-ready blocks. Unknown blocks become text
    that says what they were, so that nothing disappears."""
    if isinstance(content, str):
        return [{"type": "text", "text": clean_text(content)}] if content else []
    if not isinstance(content, list):
        return []
    blocks: list[dict[str, Any]] = []
    for raw in content:
        if isinstance(raw, str):
            blocks.append({"type": "text", "text": clean_text(raw)})
        elif isinstance(raw, dict):
            block = _block(raw)
            if block is not None:
                blocks.append(block)
    return blocks


def _block(raw: dict[str, Any]) -> dict[str, Any] | None:
    kind = raw.get("type")
    if kind in ("text", "input_text", "output_text", "summary_text"):
        text = raw.get("text")
        return {"type": "text", "text": clean_text(text)} if isinstance(text, str) and text else None
    if kind == "thinking":
        signature = raw.get("signature") or raw.get("thinkingSignature")
        thinking = str(raw.get("thinking") or "")
        if isinstance(signature, str):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        return {"type": "thinking", "thinking": thinking, "signature": ""}
    if kind == "redacted_thinking":
        return {"type": "redacted_thinking", "data": str(raw.get("data") or "")}
    if kind in ("toolCall", "tool_use"):
        return call_block(raw.get("id"), raw.get("name"), raw.get("arguments", raw.get("input")))
    if kind == "image":
        return _image(raw)
    if kind == "tool_result":
        return {
            "type": "tool_result",
            "tool_use_id": str(raw.get("tool_use_id") or ""),
            "content": api_blocks(raw.get("content")),
            "is_error": bool(raw.get("is_error")),
        }
    return {"type": "text", "text": f"[{kind} block, not shown here]"}


def _image(raw: dict[str, Any]) -> dict[str, Any] | None:
    source = raw.get("source")
    if isinstance(source, dict):
        return {"type": "image", "source": source}
    data, media = raw.get("data"), raw.get("mimeType")
    if isinstance(data, str) and isinstance(media, str):
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
    return {"type": "text", "text": "[image that is not in the file]"}


def call_block(uid: Any, name: Any, arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments)
        except ValueError:
            arguments = {"__unparsed": arguments}
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"__unparsed": arguments}
    return {"type": "tool_use", "id": str(uid or ""), "name": str(name or "tool"), "input": arguments}


def call_words(call: dict[str, Any]) -> str:
    """A call for the tree: its tool, and what it is about."""
    about = " ".join(subject_of(call["input"])[:800].split())
    return f"{call['name']} {about}".rstrip()[:200]


def tool_calls_of(message: dict[str, Any], content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of a reply, each once: some writers store a call both as a block and in a `tool_calls` field."""
    calls: list[dict[str, Any]] = []
    known: set[str] = set()
    for block in [b for b in content if b["type"] == "tool_use"]:
        if block["id"] in known:
            content.remove(block)  # the same call twice in one reply: the API takes it once
        else:
            known.add(block["id"])
            calls.append(block)
    extra = message.get("tool_calls")
    for raw in extra if isinstance(extra, list) else []:
        if not isinstance(raw, dict) or str(raw.get("id") or "") in known:
            continue
        function = raw.get("function")
        function = function if isinstance(function, dict) else raw
        block = call_block(raw.get("id"), function.get("name"), function.get("arguments"))
        known.add(block["id"])
        calls.append(block)
        content.append(block)
    return calls
