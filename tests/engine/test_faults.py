"""What goes wrong around a run: the model, the store, our own code. The session survives all of it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engine.support import call, prose, reply
from tests_support import PATIENCE_S
from worldline.core.errors import SessionError
from worldline.protocol.commands import CompactNow, Prompt
from worldline.rehearsal.catalog import FAULTS
from worldline.rehearsal.events import Reply

RUNS = int(os.environ.get("WORLDLINE_FAULT_RUNS", "12"))
"""60 make more than two hundred turns, and about a minute."""


@pytest.mark.slow
async def test_many_turns_under_random_faults(bench: Any, server: Any) -> None:
    """Every run ends with exactly one stop reason, every started call has an end, every request is acceptable."""
    b = await bench(limits={"turns": 12})
    rng = random.Random(7)
    # Left out: faults whose point is to wait. The provider's own tests sit through those.
    waits = (
        "hang",
        "stall",
        "pings",
        "headers-only",
        "stop-only",
        "forever",
        "slow",
        "rate-limit",
        "retry-after",
        "limit",
    )
    names = [n for n in FAULTS if not any(word in n for word in waits)]
    turns = 0

    def answer(talk: Any) -> Reply:
        nonlocal turns
        turns += 1
        kind = rng.randrange(7)
        if kind < 3:
            return reply(f"Step {turns}.", call("bash", command=f"echo {turns}"))
        if kind == 3:
            return reply(
                "",
                call("write", path=f"f{turns}.txt", content="x\n"),
                call("list_dir"),
                call("read", path="no"),
            )
        if kind == 4:
            return Reply(blocks=[])
        return reply(f"Done with {turns}.")

    server.scenario.answerer = answer
    for number in range(RUNS):
        if rng.random() < 0.5:
            server.drill(rng.choice(names))
        await asyncio.wait_for(b.ask(f"goal {number}"), PATIENCE_S)
        server.clear_drills()
    runs = b.doc.runs()
    assert len(runs) == number + 1
    assert all(r.stop_reason is not None for r in runs)
    assert b.names().count("run_ended") == len(runs)
    assert all(h.outcome.value not in ("running", "waiting") for h in b.nodes())
    known = {"completed", "max_turns", "provider_error", "overloaded", "rate_limited", "auth_error", "quota",
             "network_error", "context_limit", "output_limit", "refusal", "empty_reply", "repeated_calls",
             "repeated_failures", "unknown"}  # fmt: skip
    assert {r.stop_reason.value for r in runs} <= known
    server.scenario.answerer = None
    server.scenario.queue = [Reply(text="Still here.")]
    assert await b.ask("and after all that?") == "completed"


class Full(SessionError):
    kind = "not_saved"


async def test_a_full_disk_ends_the_run_and_is_told(bench: Any, monkeypatch: Any) -> None:
    """No further call runs unsaved; when there is room again, the next message works."""
    b = await bench()
    b.script(
        reply("", call("bash", command="echo 1")), reply("", call("bash", command="touch second")), "Done."
    )
    room = [True]
    real = type(b.doc).transaction

    def transaction(self: Any) -> Any:
        if not room[0]:
            raise Full("The session could not be saved: the disk is full.", "Free some space.")
        return real(self)

    monkeypatch.setattr(type(b.doc), "transaction", transaction)
    end = type(b.doc).finish

    def finish(self: Any, uid: str, how: Any) -> Any:
        room[0] = False
        return end(self, uid, how)

    monkeypatch.setattr(type(b.doc), "finish", finish)
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.actor.runs.idle()
    status = b.actor.shared.status.now
    assert status.last_stop == "store_error" and not status.saved
    assert not (b.root / "second").exists()
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert ended.run.stop_reason == "store_error"
    assert ended.run.detail.count("could not be saved") == 1
    monkeypatch.setattr(type(b.doc), "finish", end)
    room[0] = True
    b.script("Here again.")
    assert await b.ask("and now?") == "completed"
    assert b.actor.shared.status.now.saved
    assert [r.stop_reason.value for r in b.doc.runs()] == ["store_error", "completed"]


async def test_a_real_full_disk(bench: Any) -> None:
    """SQLite's own limit stands for the disk."""
    b = await bench()
    b.script(
        *[reply("", call("bash", command=f"echo {i}; head -c 3000 /dev/urandom | base64")) for i in range(40)]
    )
    connection: sqlite3.Connection = b.doc._db
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 20}")
    await b.actor.runs.prompt(Prompt(text="fill it"))
    await b.actor.runs.idle()
    assert b.actor.shared.status.now.last_stop == "store_error"
    connection.execute("PRAGMA max_page_count = 1000000")
    b.script("Room again.")
    assert await b.ask("hello") == "completed"


async def test_a_defect_of_ours_is_no_result_for_the_model(bench: Any, monkeypatch: Any) -> None:
    from worldline.tools.read import Read

    b = await bench()

    async def broken(self: Any, args: Any, ctx: Any) -> Any:
        raise TypeError("a defect")

    monkeypatch.setattr(Read, "run", broken)
    b.script(reply("", call("read", path="x.txt")), "never")
    (b.root / "x.txt").write_text("x\n")
    assert await b.ask("go") == "internal_error"
    assert b.nodes("tool")[0].outcome.value == "failed"
    assert b.diagnostics("engine")
    monkeypatch.undo()
    b.script("Fine.")
    assert await b.ask("again") == "completed"
    assert "TypeError" not in json.dumps(b.sent()["messages"])


@pytest.mark.usefixtures("in_large_pieces")
async def test_an_interrupted_compaction_changes_nothing(bench: Any, server: Any) -> None:
    b = await bench()
    b.script(*[reply(prose(i, 3000), call("bash", command=f"echo {i}")) for i in range(8)], "Done.")
    assert await b.ask("make it long") == "completed"
    before = len(b.nodes())
    server.scenario.pace, server.scenario.delta_chars = 0.05, 12
    b.script(prose(99, 40_000))
    compacting = asyncio.ensure_future(b.actor.handle("compact", CompactNow()))
    asked = len(server.message_requests)
    while len(server.message_requests) == asked:
        await asyncio.sleep(0.01)
    compacting.cancel()
    await asyncio.gather(compacting, return_exceptions=True)
    assert len(b.nodes()) == before
    server.scenario.pace = 0.0
    b.script("Answered with the old context.")
    assert await b.ask("hello") == "completed"
    assert "make it long" in json.dumps(b.sent()["messages"])


@pytest.mark.usefixtures("in_large_pieces")
async def test_compaction_on_command(bench: Any, server: Any) -> None:
    b = await bench()
    b.script(*[reply(prose(i, 4000), call("bash", command=f"echo {i}")) for i in range(8)], "Done.")
    assert await b.ask("make it long") == "completed"
    b.script("This is the summary of the conversation, long enough to be accepted by whoever reads it.")
    await b.actor.handle("compact", CompactNow(instructions="keep the numbers"))
    (node,) = b.nodes("compaction")
    assert b.doc.cursor == node.uid
    b.script("On we go.")
    assert await b.ask("next") == "completed"
    assert "summary of the conversation" in json.dumps(b.sent()["messages"])


@pytest.mark.usefixtures("in_large_pieces")
async def test_overflow_is_compacted_at_most_twice(bench: Any, server: Any) -> None:
    b = await bench()
    b.script(*[reply(prose(i, 12000), call("bash", command=f"echo {i}")) for i in range(6)], "Done.")
    assert await b.ask("make it long") == "completed"
    asked = len(server.message_requests)
    server.drill("overflow", 50)
    assert await b.ask("more") == "context_limit"
    assert len(server.message_requests) - asked < 16
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert "bigger_model" in ended.offers


async def test_hooks_of_prompt_and_end(bench: Any, tmp_path: Path) -> None:
    mark = tmp_path / "stopped"
    hooks = {
        "UserPromptSubmit": [
            {"command": "grep -q forbidden && { echo no such words; exit 2; } || echo noted"}
        ],
        "Stop": [{"command": f"touch {mark}"}],
    }
    b = await bench(hooks=hooks)
    b.script("Fine.")
    assert await b.ask("something allowed") == "completed"
    assert "[hook] noted" in json.dumps(b.sent()["messages"])
    assert mark.exists()
    assert await b.ask("something forbidden") == "hook_blocked"
    assert "no such words" in b.doc.runs()[-1].detail
