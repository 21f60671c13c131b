"""One branch as Markdown: what was asked, answered and done, from the root to a node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from worldline.core.background import while_ran
from worldline.core.kinds import NodeKind
from worldline.session.model import NodeBody
from worldline.session.reader import SessionReader

_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)
_REPLIES = (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT)
_CALLS = (NodeKind.TOOL, NodeKind.IMPORTED_TOOL)
_SUMMARIES = (
    NodeKind.COMPACTION, NodeKind.BRANCH_SUMMARY, NodeKind.IMPORTED_COMPACTION, NodeKind.IMPORTED_SUMMARY,
)  # fmt: skip
_OUTPUT_LIMIT = 20_000


def branch_text(session: SessionReader, uid: str) -> str:
    """Markdown of the path to `uid`."""
    info = session.info()
    when = datetime.fromtimestamp(info["created"] / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts = [f"# {info['title'] or 'Session'}", f"{when} · {info['workspace'].get('root', '')}".rstrip(" ·")]
    for body in session.path_bodies(uid):
        parts += node_parts(body)
    return "\n\n".join(p for p in parts if p) + "\n"


def node_parts(body: NodeBody) -> list[str]:
    """The Markdown paragraphs of one node; empty for a node that says nothing to a reader."""
    if body.kind in _PROMPTS:
        return ["## You", content_text((body.message or {}).get("content"))]
    if body.kind in _REPLIES:
        return ["## Agent", content_text((body.message or {}).get("content"))]
    if body.kind in _CALLS:
        return _call(body)
    if body.kind in _SUMMARIES:
        return ["## Summary of what came before", str(body.detail.get("summary") or "")]
    if body.kind is NodeKind.EXTERNAL_CHANGE:
        commands = body.detail.get("commands")
        how = while_ran([str(one) for one in commands]) if commands else "by hand"
        return [f"*The files were changed here {how}.*"]
    return []


def _call(body: NodeBody) -> list[str]:
    call = body.detail.get("call") or {}
    arguments = call.get("input") or {}
    shown = arguments.get("command") or arguments.get("path") or arguments.get("pattern") or ""
    name = call.get("name") or "tool"
    head = f"**{name}** `{shown}`" if shown and "`" not in str(shown) else f"**{name}** {shown}".rstrip()
    result = content_text(_result_content(body.end_message))
    if len(result) > _OUTPUT_LIMIT:
        result = result[:_OUTPUT_LIMIT] + f"\n… {len(result) - _OUTPUT_LIMIT} more characters"
    return [f"{head} · {body.outcome.value}", fenced(result) if result else ""]


def _result_content(message: dict[str, Any] | None) -> Any:
    for block in (message or {}).get("content") or []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            return block.get("content")
    return None


def fenced(text: str) -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def content_text(content: Any) -> str:
    """Text of a content; thinking is left out, other blocks are named."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else []:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            parts.append(str(block.get("text") or ""))
        elif kind == "image":
            parts.append("*[image]*")
    return "\n\n".join(p for p in parts if p.strip())
