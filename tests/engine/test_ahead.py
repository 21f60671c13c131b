"""The view of a long session is there before the first message, made in short steps, and it is the right one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench, Open
from worldline.context import incremental
from worldline.context.model import ViewOptions
from worldline.context.source import path_nodes
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome
from worldline.engine import ahead
from worldline.protocol.commands import Prompt
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd


def grow(path: Path, turns: int) -> None:
    with SessionDocument.open(path) as doc, doc.transaction():
        for n in range(turns):
            use = {"type": "tool_use", "id": f"toolu_{n}", "name": "read", "input": {"path": f"f{n}"}}
            result = {
                "type": "tool_result",
                "tool_use_id": f"toolu_{n}",
                "content": [{"type": "text", "text": f"line {n}"}],
            }
            for kind, role, content in (
                (NodeKind.USER, "user", [{"type": "text", "text": f"request {n}"}]),
                (NodeKind.ASSISTANT, "assistant", [{"type": "text", "text": f"look {n}"}, use]),
            ):
                doc.append(
                    NodeDraft(kind, doc.cursor, {"role": role, "content": content}, outcome=Outcome.OK)
                )
            tool = doc.append(
                NodeDraft(
                    NodeKind.TOOL, doc.cursor, detail={"call": use}, outcome=Outcome.RUNNING, tool="read"
                )
            )
            doc.finish(tool.uid, NodeEnd(Outcome.OK, {"role": "user", "content": [result]}))
            done = {"role": "assistant", "content": [{"type": "text", "text": f"done {n}"}]}
            doc.append(NodeDraft(NodeKind.ASSISTANT, doc.cursor, done, outcome=Outcome.OK))


@pytest.fixture
async def long(bench: Open) -> Bench:
    first = await bench()
    await first.actor.close()
    grow(Path(first.doc.path), 300)
    return await bench(session=first.doc.path)


async def test_it_is_made_in_steps_and_the_first_message_only_adds_to_it(
    long: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = incremental.build

    def build(path: Any, options: Any, **more: Any) -> Any:
        sizes.append(len(path))
        return real(path, options, **more)

    monkeypatch.setattr(incremental, "build", build)
    memory = long.actor.shared.memory
    await (await long.actor.maker()).build_ahead(lambda: True)
    assert len(sizes) == 7 and max(sizes) <= ahead.STEP + 4 and memory.views.extended == 6
    long.script("Here.")
    assert await long.ask("go on") == "completed"
    assert max(sizes[7:]) < 10, "the first message adds to what is there"
    view = build_view(
        path_nodes(long.doc.path_bodies(long.nodes("user")[-1].uid)), ViewOptions(model="rehearsal")
    )
    assert long.sent()["messages"] == view.messages


async def test_a_message_comes_first(long: Bench) -> None:
    maker = await long.actor.maker()
    long.script("Here.")
    working = asyncio.create_task(maker.build_ahead(lambda: not long.actor.runs.busy))
    await asyncio.sleep(0)
    await long.actor.runs.prompt(Prompt(text="now"))
    await long.actor.runs.idle()
    await working
    assert long.reason() == "completed" and len(long.sent()["messages"]) == 1201
