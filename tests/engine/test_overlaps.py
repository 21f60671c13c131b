"""What the person does while something else is only about to happen: none of it overlaps, none of it is lost."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core.errors import BadInput, WorkspaceError, WorldlineError
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol.commands import CompactNow, ContextEdit, GoOn, Jump, Prompt, QueueEdit, Stop
from worldline.rehearsal.events import Call, Reply
from worldline.tools.process_table import KEEP_ENDED, ProcessEntry, ProcessTable
from worldline.workspace import guard

SLEEPS = Reply(text="A while.", calls=[Call("bash", {"command": "sleep 30"})])


async def steps() -> None:
    """Let everything that is ready run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_jump_waits_for_a_starting_message_and_stops_its_run(bench: Any) -> None:
    b = await bench()
    b.script("First.")
    await b.ask("one")
    b.script(SLEEPS)
    root = b.doc.resolve("root")
    async with b.actor.shared.turnstile:
        prompt = asyncio.ensure_future(b.actor.runs.prompt(Prompt(text="two")))
        await steps()
        jump = asyncio.ensure_future(b.actor.jumps.jump(Jump(node=root)))
        await steps()
    started = await prompt
    await jump
    assert not b.actor.runs.busy
    assert b.doc.cursor == root
    assert b.reason(started.run) == "aborted"
    assert b.names().index("run_ended") < len(b.names()) - 1 - b.names()[::-1].index("cursor_moved")


async def test_going_on_beside_a_starting_message_is_refused(bench: Any) -> None:
    b = await bench()
    b.script("First.")
    await b.ask("one")
    b.script("Second.")
    async with b.actor.shared.turnstile:
        prompt = asyncio.ensure_future(b.actor.runs.prompt(Prompt(text="two")))
        await steps()
        more = asyncio.ensure_future(b.actor.runs.go_on(GoOn()))
        compact = asyncio.ensure_future(b.actor.handle("compact", CompactNow()))
        await steps()
        with pytest.raises(BadInput, match="being changed"):
            b.actor.edits.context_edit(ContextEdit(node=b.doc.cursor, replacement=""))
    await prompt
    for refused in (more, compact):
        with pytest.raises(BadInput, match="A run is going on"):
            await refused
    await b.actor.runs.idle()
    assert [r.stop_reason.value for r in b.doc.runs()] == ["completed", "completed"]


async def test_a_stop_before_the_run_begins_counts(bench: Any) -> None:
    b = await bench()
    go = threading.Event()
    held = asyncio.ensure_future(b.actor.shared.work.call(lambda _: go.wait(PATIENCE_S)))
    prompt = asyncio.ensure_future(b.actor.runs.prompt(Prompt(text="one")))
    await steps()
    b.actor.runs.stop()
    go.set()
    with pytest.raises(WorldlineError, match="stopped before"):
        await prompt
    await held
    assert not b.doc.runs() and not b.nodes("user") and not b.server.message_requests
    b.script("Now.")
    assert await b.ask("two") == "completed"


async def test_closing_keeps_a_starting_message_from_running(bench: Any) -> None:
    b = await bench()
    go = threading.Event()
    held = asyncio.ensure_future(b.actor.shared.work.call(lambda _: go.wait(PATIENCE_S)))
    prompt = asyncio.ensure_future(b.actor.runs.prompt(Prompt(text="one")))
    await steps()
    closing = asyncio.ensure_future(b.actor.close())
    await steps()
    go.set()
    with pytest.raises(WorldlineError):
        await prompt
    await held
    await closing
    again = await bench(session=b.actor.shared.doc.path)
    assert not again.doc.runs() and not again.server.message_requests


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_queued_message_is_not_sent_on_another_branch(bench: Any, elsewhere: bool) -> None:
    """The person goes to another node in the moment in which the run ends that it waited for: it waits for them."""
    b = await bench()
    b.script("First.", "Second.", "Third.")
    await b.ask("one")
    go_to = b.nodes("user")[0].uid if elsewhere else b.doc.cursor
    b.actor.runs.gate.clear()
    await b.actor.runs.prompt(Prompt(text="two"))
    async with b.actor.shared.turnstile:
        if elsewhere:
            jump = asyncio.ensure_future(b.actor.jumps.jump(Jump(node=go_to)))
            await steps()
        await b.actor.runs.prompt(Prompt(text="queued", when="interrupt"))
        await b.actor.runs.settled()
        await steps()
    if elsewhere:
        await jump
    await b.actor.runs.idle()
    sent = [h.preview for h in b.nodes("user")]
    assert sent == (["one", "two"] if elsewhere else ["one", "two", "queued"])
    assert [item.text for item in b.actor.runs.queue.items] == (["queued"] if elsewhere else [])


async def test_a_queued_message_that_was_overtaken_is_sent_once(bench: Any) -> None:
    b = await bench()
    b.script("First.", "Second.")
    number = b.actor.runs.queue.add(Prompt(text="queued"))
    async with b.actor.shared.turnstile:
        prompt = asyncio.ensure_future(b.actor.runs.prompt(Prompt(text="typed")))
        await steps()
        b.actor.runs.queue_edit(QueueEdit(id=number, send=True))
        await steps()
    await prompt
    await b.actor.runs.idle()
    assert [h.preview for h in b.nodes("user")] == ["typed", "queued"]
    assert len([r for r in b.doc.records("queue") if "prompt" in r.data]) == 1
    await b.actor.close()
    again = await bench(session=b.actor.shared.doc.path)
    assert again.actor.runs.queue.items == []


async def test_a_pause_pressed_during_the_last_answer_does_not_hold_the_next_run(bench: Any) -> None:
    b = await bench()
    b.script("First.")
    await b.actor.runs.prompt(Prompt(text="one"))
    while not b.server.message_requests:
        await asyncio.sleep(0.005)
    b.actor.runs.pause(True)
    await asyncio.wait_for(b.actor.runs.idle(), PATIENCE_S)
    b.script("Second.")
    assert await asyncio.wait_for(b.ask("two"), PATIENCE_S) == "completed"


async def test_a_session_that_never_saw_its_files_gets_its_root_later(bench: Any, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    file = tmp_path / "early.worldline"
    died = SessionActor(OpenRequest(session=file, workspace=folder), lambda *_: None, ActorOptions())
    await died.close()  # before `start`: as after a kill during the first capture
    b = await bench(session=file)
    assert [h.kind.value for h in b.doc.headers()] == ["root"]
    b.script("Here.")
    assert await b.ask("one") == "completed"


async def test_where_no_workspace_can_be_opened_that_is_said(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await bench()
    b.script("First.")
    await b.ask("one")
    await b.actor.close()
    monkeypatch.setattr(guard, "HAS_WORKSPACES", False)
    with pytest.raises(WorkspaceError, match="Linux or macOS"):
        await bench(workspace=tmp_path)
    again = await bench(session=b.actor.shared.doc.path)
    assert [h.kind.value for h in again.doc.headers()] == ["root", "user", "assistant"]
    with pytest.raises(WorkspaceError, match="Linux or macOS"):
        await again.actor.runs.prompt(Prompt(text="two"))
    assert not again.actor.runs.busy and len(again.doc.runs()) == 1


async def test_a_compaction_can_be_stopped(bench: Any) -> None:
    b = await bench()
    long = " ".join(f"word{n}" for n in range(4000))
    echo = [Call("bash", {"command": "echo 1"})]
    b.script(*[Reply(text=f"{n} {long}", calls=echo) for n in range(8)], "Done.")
    await b.ask("make it long", mode="work")
    b.script(Reply(text="a summary", fault="hang-before-headers"))
    compact = asyncio.ensure_future(b.actor.handle("compact", CompactNow()))
    sent = len(b.server.message_requests)
    while len(b.server.message_requests) == sent and not compact.done():
        await asyncio.sleep(0.01)
    await b.actor.handle("stop", Stop())
    with pytest.raises(WorldlineError, match="compaction was stopped"):
        await compact
    assert b.actor.shared.status.now.state == "ready" and not b.nodes("compaction")
    b.script("Third.")
    assert await b.ask("three") == "completed"


async def test_the_file_is_given_back_though_something_before_it_breaks(bench: Any) -> None:
    b = await bench()

    async def broken() -> list[int]:
        raise OSError("a process that cannot be ended")

    b.actor.processes.add(
        ProcessEntry(
            pid=1, command="x", node="", alive=lambda: True, exit_code=lambda: None, output=bytes, stop=broken
        )
    )
    with pytest.raises(OSError, match="cannot be ended"):
        await b.actor.close()
    again = await bench(session=b.actor.shared.doc.path)
    assert not again.actor.shared.info.read_only


def test_ended_processes_are_forgotten_in_time() -> None:
    table = ProcessTable()
    for number in range(30):
        table.add(
            ProcessEntry(
                pid=number, command="x", node="", alive=lambda: False, exit_code=lambda: 0, output=bytes,
                stop=lambda: asyncio.sleep(0, []),
            )
        )  # fmt: skip
        table.refresh()
    assert len(table.entries()) == KEEP_ENDED + 1
    assert table.get("p30") is not None and table.get("p1") is None
