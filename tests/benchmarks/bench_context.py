"""View of a path of 5,000 messages, against joining the stored bytes. Prints milliseconds of CPU."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from worldline.context.incremental import ViewBuilder
from worldline.context.model import PathNode, ViewOptions
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome


def make_path(turns: int) -> list[PathNode]:
    path: list[PathNode] = []
    for i in range(turns):
        path.append(
            _message(f"u{i}", NodeKind.USER, "user", [{"type": "text", "text": f"request {i} " * 20}])
        )
        call = {"type": "tool_use", "id": f"t{i}", "name": "read_file", "input": {"path": f"f{i}.py"}}
        path.append(
            _message(f"a{i}", NodeKind.ASSISTANT, "assistant", [{"type": "text", "text": "look " * 40}, call])
        )
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{i}",
            "content": [{"type": "text", "text": "line of a file\n" * 150}],
        }
        node = PathNode(
            f"x{i}", NodeKind.TOOL, Outcome.OK, None, {"role": "user", "content": [result]}, {"id": f"t{i}"}
        )
        path.append(node)
        path.append(
            _message(f"b{i}", NodeKind.ASSISTANT, "assistant", [{"type": "text", "text": "done " * 30}])
        )
    return path


def _message(uid: str, kind: NodeKind, role: str, content: list[dict[str, Any]]) -> PathNode:
    return PathNode(uid, kind, Outcome.OK, {"role": role, "content": content}, detail={"model": "m"})


def measure(turns: int = 1_250, rounds: int = 7) -> dict[str, float]:
    """Median milliseconds of CPU: first build, further full builds, a view extended by one step, join of stored bytes,
    one json.dumps of the view."""
    path = make_path(turns)
    stored = [json.dumps(n.message or n.end_message).encode() for n in path]
    options = ViewOptions(model="m")
    first = _timed(lambda: build_view(path, options))
    again = sorted(_timed(lambda: build_view(path, options)) for _ in range(rounds))[rounds // 2]
    builder = ViewBuilder()
    builder.build(path[: -4 * rounds], options)
    extended = sorted(
        _timed(partial(builder.build, path[:end], options))
        for end in range(len(path) - 4 * rounds + 1, len(path) + 1)
    )
    assert builder.extended == 4 * rounds
    join = sorted(_timed(lambda: b",".join(stored)) for _ in range(rounds))[rounds // 2]
    view = build_view(path, options)
    dumps = _timed(lambda: json.dumps(view.messages, ensure_ascii=False))
    return {
        "messages": len(path),
        "mb": view.bytes / 1e6,
        "first": first,
        "again": again,
        "extended": extended[len(extended) // 2],
        "worst": extended[-1],
        "join": join,
        "dumps": dumps,
    }


def _timed(call: Any) -> float:
    start = time.thread_time()
    call()
    return (time.thread_time() - start) * 1000


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:>10}: {value:,.2f}")
