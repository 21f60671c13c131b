"""Paths for view building, made from messages or at random."""

from __future__ import annotations

import base64
import functools
import io
import json
from pathlib import Path
from typing import Any

from worldline.context.checker import check
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome

CASES = Path(__file__).resolve().parent / "data" / "cases.jsonl"


def cases(kind: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return [row for row in rows if row["payload"]["kind"] == kind]


def node(
    uid: str,
    kind: NodeKind,
    content: Any = None,
    *,
    outcome: Outcome = Outcome.OK,
    model: str = "",
    **detail: Any,
) -> PathNode:
    role = "assistant" if kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT) else "user"
    message = None if content is None else {"role": role, "content": content}
    if model:
        detail["model"] = model
    return PathNode(uid, kind, outcome, message, detail=detail)


def user(uid: str, text: Any) -> PathNode:
    return node(uid, NodeKind.USER, text if isinstance(text, list) else [{"type": "text", "text": text}])


def reply(uid: str, *content: Any, model: str = "claude-sonnet-5-5", **detail: Any) -> PathNode:
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    return node(uid, NodeKind.ASSISTANT, blocks, model=model, **detail)


def use(use_id: str, name: str = "run_command", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": name, "input": arguments}


def thought(text: str = "hm", signature: str = "c2ln") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def tool(
    uid: str, use_id: str, result: Any = "done", *, error: bool = False, outcome: Outcome = Outcome.OK
) -> PathNode:
    made = PathNode(
        uid, NodeKind.TOOL, outcome, None, call={"id": use_id, "name": "run_command", "input": {}}
    )
    if result is not None:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": use_id, "content": result}
        if error:
            block["is_error"] = True
        made.end_message = {"role": "user", "content": [block]}
    return made


def from_messages(messages: list[dict[str, Any]]) -> list[PathNode]:
    """A path of nodes that hold these messages as they are."""
    path = [PathNode("root", NodeKind.ROOT, Outcome.NONE, None)]
    for index, message in enumerate(messages):
        kind = NodeKind.ASSISTANT if message["role"] == "assistant" else NodeKind.USER
        detail = {"model": message["model"]} if "model" in message else {}
        stored = {k: v for k, v in message.items() if k != "model"}
        path.append(PathNode(f"n{index}", kind, Outcome.NONE, stored, detail=detail))
    return path


def body(view: View, model: str = "claude-sonnet-5-5") -> dict[str, Any]:
    return {"model": model, "max_tokens": 1000, "messages": view.messages}


def text_of(block: dict[str, Any]) -> str:
    content = block.get("content", block.get("text", ""))
    return content if isinstance(content, str) else " ".join(b.get("text", "") for b in content)


def view_of(path: list[PathNode], **options: Any) -> View:
    return build_view(path, ViewOptions(**options))


@functools.lru_cache(maxsize=64)
def png(width: int, height: int, shade: int = 0) -> str:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), (shade % 256, shade // 256, 90)).save(out, format="PNG")
    return base64.b64encode(out.getvalue()).decode()


def image(width: int, height: int, shade: int = 0) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": png(width, height, shade)}
    return {"type": "image", "source": source}


def kinds(view: View) -> list[str]:
    return [r.kind for r in view.repairs]


def shape(view: View) -> list[list[str]]:
    return [
        [m["role"][0], *(text_of(b) if b["type"] != "tool_use" else b["id"] for b in m["content"])]
        for m in view.messages
    ]


def root() -> PathNode:
    return node("root", NodeKind.ROOT, outcome=Outcome.NONE)


def accepted(view: View) -> View:
    assert check(body(view)) == []
    return view
