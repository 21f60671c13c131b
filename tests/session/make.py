"""Drafts for tests."""

from __future__ import annotations

from typing import Any

from worldline.core.kinds import NodeKind, Outcome
from worldline.session.model import NodeDraft, NodeEnd


def root(**more: Any) -> NodeDraft:
    return NodeDraft(NodeKind.ROOT, None, state="s0", **more)


def user(parent: str, words: str = "do it", **more: Any) -> NodeDraft:
    return NodeDraft(
        NodeKind.USER, parent, {"role": "user", "content": [{"type": "text", "text": words}]}, **more
    )


def assistant(parent: str, words: str = "yes", **more: Any) -> NodeDraft:
    message = {"role": "assistant", "content": [{"type": "text", "text": words}]}
    return NodeDraft(NodeKind.ASSISTANT, parent, message, outcome=Outcome.OK, **more)


def tool(parent: str, name: str = "bash", command: str = "ls", **more: Any) -> NodeDraft:
    detail = {"call": {"id": "toolu_1", "name": name, "input": {"command": command}}}
    return NodeDraft(NodeKind.TOOL, parent, detail=detail, tool=name, preview=command, **more)


def tool_end(output: str = "done", outcome: Outcome = Outcome.OK, **more: Any) -> NodeEnd:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}
    return NodeEnd(outcome, {"role": "user", "content": [block]}, **more)
