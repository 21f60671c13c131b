"""View of a path of 5,000 messages, against joining the stored bytes. Prints milliseconds of CPU and exits with 1 when a
step or a jump takes longer than it may."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from worldline.agent.conversation import conversation_seqs
from worldline.context.incremental import ViewBuilder
from worldline.context.memory import ViewMemory
from worldline.context.model import PathNode, ViewOptions
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome
from worldline.engine.ahead import STEP
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd
from worldline.workspace import nogc

GOALS = {"opened": 10.0, "extended": 10.0, "jump": 10.0, "return": 10.0, "look": 10.0}
"""Milliseconds."""


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
    """Median milliseconds of CPU: first build, further full builds, a view extended by one step, a jump back to any earlier
    prompt with another one in its place (`jump`) and to the end of the branch that was left (`return`), the same in a
    session on disk whose nodes were read before (`look`), join of stored bytes, one json.dumps of the view."""
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
    jumps, returns = [], []
    for at in range(40, len(path), len(path) // 40 // 4 * 4):
        fork = [
            *path[:at],
            _message("other", NodeKind.USER, "user", [{"type": "text", "text": "another way"}]),
        ]
        jumps.append(_timed(partial(builder.build, fork, options)))
        returns.append(_timed(partial(builder.build, path, options)))
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
        "jump": statistics.median(jumps),
        "return": statistics.median(returns),
        **_looks(path, options),
        "join": join,
        "dumps": dumps,
    }


def _looks(path: list[PathNode], options: ViewOptions) -> dict[str, float]:
    """Building ahead after opening, in steps; the first view that is asked for then; and from a place in a session to
    the view there, half of the session away each time."""
    steps: list[float] = []
    with tempfile.TemporaryDirectory() as folder, SessionDocument.create(Path(folder) / "s.worldline") as doc:
        uids = [""]
        with doc.transaction():
            for node in path:
                draft = NodeDraft(node.kind, uids[-1] or None, node.message, detail=dict(node.detail))
                if node.call:
                    draft.detail["call"] = node.call
                uids.append(doc.append(draft).uid)
                if node.end_message:
                    doc.finish(uids[-1], NodeEnd(Outcome.OK, node.end_message))
        memory = ViewMemory(doc)
        seqs = conversation_seqs(doc, uids[-1])
        # As the engine does before anybody asks (`engine.ahead`).
        for end in range(STEP, len(seqs) + STEP, STEP):
            with nogc.paused():
                steps.append(_timed(lambda end=end: memory.views.build(memory.path(seqs[:end]), options)))
        opened = _timed(lambda: memory.views.build(memory.path(seqs), options))

        def look(uid: str) -> None:
            memory.views.build(memory.path(conversation_seqs(doc, uid)), options)

        look(uids[-1])
        before = memory.views.extended
        took = []
        for at in range(41, len(path) // 2, len(path) // 20 // 4 * 4):
            took += [_timed(partial(look, uids[at])), _timed(partial(look, uids[at + len(path) // 2]))]
        assert memory.views.extended == before + len(took)
        return {
            "steps": sum(steps),
            "worst step": max(steps),
            "opened": opened,
            "look": statistics.median(took),
        }


def _timed(call: Any) -> float:
    start = time.thread_time()
    call()
    return (time.thread_time() - start) * 1000


def main() -> int:
    missed = 0
    for name, value in measure().items():
        goal = GOALS.get(name)
        said = "" if goal is None else f"   goal {goal:g}  {'ok' if value <= goal else 'MISSED'}"
        missed += goal is not None and value > goal
        print(f"{name:>10}: {value:10,.2f}{said}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
