"""Sentences that describe the loop and its tools, each held by a whole session: brakes for money, one shape of errors,
whole outputs, hooks that nothing goes round, what belongs to a branch, processes at a jump, a new tool."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import Field

from engine.support import call, reply
from worldline.core import paths
from worldline.core.errors import ErrorClass
from worldline.protocol.commands import EffectsAt, GoOn, Jump, JumpPlanFor, Prompt
from worldline.rehearsal.events import Call, Reply
from worldline.tools import registry
from worldline.tools.base import BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult


def echoes(many: int) -> list[Reply]:
    return [reply("", call("bash", command=f"echo {n}")) for n in range(many)]


async def test_the_brake_for_money_of_a_run_and_of_the_session(bench: Any) -> None:
    # The first answer of a run costs most: it writes the system text and the tools into the cache.
    b = await bench(model="claude-sonnet-5-5", full_api=True, limits={"cost": 0.005, "session_cost": 0.006})
    b.script(*echoes(9))
    assert await b.ask("go") == "cost_limit"
    ended = b.doc.runs()[-1]
    assert "of $0.0050 is used by this run" in ended.detail and 0.005 <= ended.usage.cost < 0.1
    told = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert told.offers[0] == "go_on"
    assert await b.ask("more") == "cost_limit"
    assert "is used by this session" in b.doc.runs()[-1].detail
    # The person says that it may go on, for so many turns: the brake of the session lets it.
    await b.actor.runs.go_on(GoOn(turns=1))
    await b.actor.runs.idle()
    assert b.reason() == "max_turns"


FAILS = [
    call("nope"), Call("read", {}, raw='{"path": '), call("read", offset=1), call("read", path="missing.py"),
    call("edit", path="a.py", old="not there", new="x"), call("bash", command="exit 3"),
    call("bash", command="no-such-command"), call("write", path="/etc/worldline-x", content="x"),
    call("web_fetch", url="http://127.0.0.1:9/"), call("read", path=".."), call("bash", command="sleep 9", timeout_s=0.2),
]  # fmt: skip


async def test_every_failure_has_the_one_shape(bench: Any) -> None:
    b = await bench(approve="deny", limits={"turns": 50})
    (b.root / "a.py").write_text("x = 1\n")
    b.script(*[reply(f"Step {n}.", one) for n, one in enumerate(FAILS)], "Done.")
    assert await b.ask("go") == "completed"
    classes = {each.value for each in ErrorClass}
    bodies = [b.doc.body(h.uid) for h in b.nodes("tool")]
    assert len(bodies) == len(FAILS)
    for body in bodies:
        (block,) = body.end_message["content"]
        assert block["is_error"] is True and block["tool_use_id"] == body.detail["call"]["id"]
        shape = json.loads(block["content"][0]["text"])["error"]
        assert {"class", "type", "message", "next", "retryable"} <= shape.keys(), shape
        assert shape["class"] in classes and isinstance(shape["retryable"], bool), shape
        assert len(json.dumps(shape)) <= 6_000


async def test_paths_of_the_app_are_not_shown_to_the_model(bench: Any) -> None:
    b = await bench()
    inner = paths.stores_dir() / "of-another" / "file.txt"
    b.script(reply("", call("read", path=str(inner))), "Done.")
    assert await b.ask("go") == "completed"
    told = json.dumps(b.sent()["messages"][-1])
    assert "file.txt" in told and str(paths.data_home()) not in told


async def test_a_long_output_is_kept_whole(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command="seq 1 60000")), "Done.")
    assert await b.ask("go") == "completed"
    (header,) = b.nodes("tool")
    kept = b.doc.body(header.uid).end_detail["output"]
    whole = "".join(f"{n}\n" for n in range(1, 60001)).encode()
    assert kept["bytes"] == len(whole) and b.doc.blob(kept["blob"]) == whole
    told = json.dumps(b.sent()["messages"][-1])
    assert len(told) < 40_000 and "60000" in told and "left out" in told


async def test_hooks_bind_sub_agents_and_every_spelling_of_a_tool(bench: Any) -> None:
    b = await bench(hooks={"PreToolUse": [{"matcher": "write", "command": "echo not here; exit 2"}]})
    b.script(
        reply("", Call("Write", {"file_path": "a.txt", "content": "x"})),
        reply("", call("task", prompt="Write b.txt.")),
        reply("", call("write", path="b.txt", content="x")),
        "I could not.",
        "Then not.",
    )
    assert await b.ask("go") == "completed"
    assert not (b.root / "a.txt").exists() and not (b.root / "b.txt").exists()
    writes = [b.doc.body(h.uid) for h in b.nodes("tool") if h.tool.lower() == "write"]
    assert [w.end_detail["error"]["type"] for w in writes] == ["hook_blocked"] * 2
    assert all("not here" in w.end_detail["error"]["message"] for w in writes)


class CountInput(ToolInput):
    by: int = Field(default=1, description="How much to add.")


class Count(BaseTool):
    """All that a new tool needs, as CONTRIBUTING says."""

    name = "count"
    description = "Add to a number that this branch keeps."
    Input: ClassVar[type[ToolInput]] = CountInput
    access = "ask"

    def prepare(self, args: CountInput, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=f"add {args.by}")

    async def run(self, args: CountInput, ctx: ToolContext) -> ToolResult:
        value = int(ctx.state.variables.get("count", 0)) + args.by
        ctx.state.variables["count"] = value
        return ToolResult(content=text(f"It is {value} now."), summary=str(value))


async def test_a_new_tool_and_what_it_keeps_belongs_to_the_branch(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "TOOLS", (*registry.TOOLS, Count))
    b = await bench()
    b.script(reply("", call("count", by=2)), reply("", call("count", by=3)), "Five.")
    assert await b.ask("count") == "completed"
    assert "count" in [tool["name"] for tool in b.sent()["tools"]]
    first, second = b.nodes("tool")
    assert b.doc.task_state(second.uid)["variables"]["count"] == 5
    await b.actor.jumps.jump(Jump(node=first.uid))
    b.script(reply("", call("count", by=10)), "Twelve.")
    assert await b.ask("and again") == "completed"
    assert "It is 12 now." in json.dumps(b.sent()["messages"])
    # The other branch knows what it knew.
    assert b.doc.task_state(second.uid)["variables"]["count"] == 5


@pytest.mark.parametrize("processes", ["stop", "leave"])
async def test_what_still_runs_is_shown_before_a_jump_and_stopped_if_wanted(
    bench: Any, processes: str
) -> None:
    b = await bench()
    nap = f"60.{os.getpid() % 1000:03}{'1' if processes == 'stop' else '2'}"
    b.script(reply("", call("bash", command=f"sleep {nap}", background=True)), "It runs.")
    assert await b.ask("serve") == "completed"
    root = b.doc.resolve("root")
    shown = (await b.actor.jumps.jump(Jump(node=root))).plan
    assert shown is not None and [p.command for p in shown.processes] == [f"sleep {nap}"]
    assert b.actor.processes.running(), "looking stops nothing"
    done = await b.actor.jumps.jump(Jump(node=root, plan=shown.id, processes=processes))
    assert done.result is not None
    await b.actor.processes.look()
    assert bool(b.actor.processes.running()) is (processes == "leave")
    await b.actor.processes.stop_all()


async def test_a_queued_message_waits_through_a_jump_and_can_be_sent_after_it(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command="sleep 60")))
    await b.actor.runs.prompt(Prompt(text="go"))
    while not b.nodes("tool"):
        await asyncio.sleep(0.01)
    await b.actor.runs.prompt(Prompt(text="and this"))
    answer = await b.actor.jumps.jump(Jump(node=b.doc.resolve("root")))
    assert answer.result is not None and b.reason() == "aborted"
    assert [i.text for i in b.actor.runs.queue.items] == ["and this"] and not b.actor.runs.busy


async def test_the_cursor_is_where_it_was_after_a_restart(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script(reply("", call("write", path="one.txt", content="1\n")), "First.", "Second.")
    await b.ask("go")
    middle = b.nodes("tool")[0]
    await b.ask("more")
    await b.actor.jumps.jump(Jump(node=middle.uid))
    branch = b.actor.shared.branch
    await b.actor.close()
    again = await bench(session=b.doc.path)
    assert again.doc.cursor == middle.uid and again.actor.shared.branch == branch
    again.script("On from here.")
    await again.ask("and now")
    assert again.doc.header(again.nodes("user")[-1].uid).parent == middle.seq


async def test_what_was_only_read_is_nothing_that_is_still_in_effect(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script("First.")
    await b.ask("go")
    node = b.doc.cursor
    read = {
        "kind": "net_fetch",
        "reversibility": "undoable",
        "evidence": "observed",
        "summary": "Read from docs.example",
    }
    sent = {
        "kind": "net_send",
        "reversibility": "irreversible",
        "evidence": "observed",
        "summary": "Sent to api.example",
    }
    b.actor.effects.add(node, [read, sent])
    plan = await b.actor.jumps.plan(JumpPlanFor(node=b.doc.resolve("root")))
    assert [e.summary for e in plan.effects_left] == ["Sent to api.example"]
    done = await b.actor.jumps.jump(Jump(node=b.doc.resolve("root")))
    assert done.result is not None and [e.summary for e in done.result.effects_left] == [
        "Sent to api.example"
    ]
    status = b.actor.shared.status.now
    assert (status.effects, status.effects_undoable, status.effects_elsewhere) == (1, 0, 1)
    b.script("On.")
    await b.ask("and now")
    told = json.dumps(b.sent()["messages"][-1])
    assert "Sent to api.example" in told and "docs.example" not in told
    listed = await b.actor.handle("effects", EffectsAt())
    assert len(listed.elsewhere) == 2, "the list itself has all of it"


async def test_effects_that_were_countered_are_counted_for_whoever_opens_the_session(
    bench: Callable[..., Any],
) -> None:
    b = await bench()
    pushed = {
        "kind": "vcs_remote",
        "reversibility": "compensatable",
        "evidence": "observed",
        "summary": "pushed",
    }
    b.actor.effects.add(b.doc.cursor, [pushed])
    (effect,) = b.actor.effects.all()
    b.actor.effects.mark(effect.id, "countered")
    status = b.actor.shared.status.now
    assert (status.effects, status.effects_countered) == (0, 1)
