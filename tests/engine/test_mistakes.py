"""A model that makes every mistake there is. It reaches its goal or is stopped for the right reason; no mistake ends the
session, and none loses a node."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.support import call, reply
from tests_support import PATIENCE_S
from worldline.core.kinds import NodeFlag
from worldline.core.stop import StopReason
from worldline.protocol.commands import Jump
from worldline.rehearsal.events import Call, Reply


def raw(name: str, text: str) -> Call:
    return Call(name, {}, raw=text)


def files(root: Path) -> None:
    (root / "a.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    (root / "crlf.txt").write_bytes(b"eins\r\nzwei\r\n")
    (root / "binary.bin").write_bytes(bytes(range(256)) * 40)
    (root / "twice.txt").write_text("same\nsame\n")
    (root / "folder").mkdir()


MISTAKES: list[tuple[str, Call, str]] = [
    ("a tool that is called otherwise", call("search_files", pattern="one"), "unknown_tool"),
    ("a tool that is not there at all", call("teleport", to="moon"), "unknown_tool"),
    ("a name that is no name", call("multi tool use!", x=1), "unknown_tool"),
    ("JSON that is cut", raw("read", '{"path": "a.'), "invalid_json"),
    ("JSON that is no object", raw("read", '["a.py"]'), "invalid_"),
    ("JSON that is no JSON", raw("read", "a.py please"), "invalid_json"),
    ("no arguments", call("read"), "invalid_arguments"),
    ("a number for a path", call("read", path=42), "invalid_arguments"),
    ("a field that does not exist", call("read", path="a.py", colour="blue"), "invalid_arguments"),
    ("a list with a bad item", call("plan", steps=[{"text": "x"}, 7]), "invalid_arguments"),
    ("a file that is not there", call("read", path="aa.py"), "a.py"),
    ("a folder for a file", call("read", path="folder"), "folder"),
    ("a file for a folder", call("list_dir", path="a.py"), "a.py"),
    ("a binary file", call("read", path="binary.bin"), "binary"),
    ("an edit that fits nowhere", call("edit", path="a.py", old="def onne():", new="def x():"), "def one"),
    ("an edit that fits twice", call("edit", path="twice.txt", old="same", new="other"), "2"),
    ("an edit of nothing into nothing", call("edit", path="a.py", old="return 1", new="return 1"), ""),
    ("a pattern that is no pattern", call("grep", pattern="(unclosed"), ""),
    ("a way out of the workspace", call("write", path="../../../../etc/worldline-x", content="x"), "outside"),
    ("keys", call("read", path="~/.ssh/id_rsa"), "permission"),
    ("a command that is not there", call("bash", command="no-such-command-here"), "127"),
    ("a command that fails", call("bash", command="exit 3"), "3"),
    ("a command that never ends", call("bash", command="sleep 60", timeout_s=0.5), "time"),
    ("a process that is not there", call("process", action="output", id="nope"), "nope"),
    ("an address that is none", call("web_fetch", url="not a url"), ""),
    ("a note that is not there", call("memory", action="read", name="nothing"), "nothing"),
    ("a note outside", call("memory", action="write", name="../x", content="x"), "invalid_arguments"),
]  # fmt: skip

WORKS_ANYHOW: list[tuple[str, Call]] = [
    ("another name of the field", call("read", file_path="a.py")),
    ("another case of the name", call("Read", path="a.py")),
    ("a prefix before the name", call("functions.read", path="a.py")),
    ("a number as a text", call("read", path="a.py", limit="1")),
    ("a list as a text", call("plan", steps='[{"text": "x", "status": "active"}]')),
    ("one thing for a list", call("plan", steps={"text": "x", "status": "done"})),
    ("arguments in a box", call("list_dir", arguments={"path": "."})),
    ("real line breaks in JSON", raw("bash", '{"command": "echo a\necho b"}')),
    ("much too much output", call("bash", command="seq 1 400000")),
    ("control characters", call("bash", command="printf 'a\\000b\\033[31mred\\033[0m\\n'")),
    ("bytes that are no text", call("bash", command="printf 'caf\\351\\n'")),
    ("a child that stays", call("bash", command="sleep 5 & echo left")),
]


def result_texts(body: dict[str, Any]) -> list[str]:
    return [
        json.dumps(block, ensure_ascii=False)
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block["type"] == "tool_result"
    ]


def sound(b: Any) -> None:
    """What holds whatever the model did."""
    runs = b.doc.runs()
    assert all(r.stop_reason is not None for r in runs)
    assert b.names().count("run_ended") == len(runs)
    assert not [r for r in runs if r.stop_reason in (StopReason.INTERNAL_ERROR, StopReason.STORE_ERROR)]
    for header in b.nodes():
        assert header.outcome.value not in ("running", "waiting"), header
        assert header.kind.value != "tool" or header.finished
    stored = {m.header.uid for name, m in b.events if name == "node_stored"}
    assert stored | {b.nodes()[0].uid} == {h.uid for h in b.nodes()}
    for body in map(b.doc.body, (h.uid for h in b.nodes("tool"))):
        (block,) = body.end_message["content"]
        assert block["tool_use_id"] == body.detail["call"]["id"]
        text = json.dumps(block, ensure_ascii=False)
        assert len(text.encode()) < 200_000 and "\\u0000" not in text and "\u001b" not in text
        assert "Traceback" not in text and str(b.root) + "/" not in text


@pytest.mark.slow
async def test_every_mistake_in_one_run_and_still_the_goal(bench: Any) -> None:
    b = await bench(limits={"turns": 200}, approve="deny")
    files(b.root)
    steps = [reply("", call("read", path="a.py"), call("read", path="twice.txt"))]
    steps += [reply(f"I try {what}.", c) for what, c, _ in MISTAKES]
    steps += [reply(f"And {what}.", c) for what, c in WORKS_ANYHOW]
    steps += [
        Reply(blocks=[]),  # an empty reply
        reply("", call("write", path="cut.txt", content="half"), stop="max_tokens"),  # a cut call
        reply("All at once.", call("read", path="no1"), call("read", path="a.py"), call("nope"), raw("read", "{")),
        reply("", call("write", path="goal.txt", content="reached\n")),
        "The goal is reached.",
    ]  # fmt: skip
    b.script(*steps)
    assert await asyncio.wait_for(b.ask("reach the goal"), 4 * PATIENCE_S) == "completed"
    assert (b.root / "goal.txt").read_text() == "reached\n" and not (b.root / "cut.txt").exists()
    ended = {b.doc.body(h.uid).detail["call"]["name"]: h for h in b.nodes("tool")}
    assert ended
    tools = b.nodes("tool")[2:]
    wrong = []
    for (what, _, says), header in zip(MISTAKES, tools, strict=False):
        body = b.doc.body(header.uid)
        text = json.dumps(body.end_message, ensure_ascii=False)
        error = body.end_detail.get("error", {})
        helps = error.get("type") and error.get("message") and (error.get("next") or error.get("hint"))
        if header.outcome.value not in ("failed", "denied") or says.lower() not in text.lower() or not helps:
            wrong.append((what, text[:600]))
    for (what, _), header in zip(WORKS_ANYHOW, tools[len(MISTAKES) :], strict=False):
        if header.outcome.value != "ok":
            wrong.append((what, str(b.doc.body(header.uid).end_message)[:600]))
    assert wrong == []
    repaired = [h for h in b.nodes("tool") if h.flags & NodeFlag.REPAIR]
    assert len(repaired) >= 7
    assert not Path("/etc/worldline-x").exists()
    sound(b)
    b.script("Still here.")
    assert await b.ask("and now?") == "completed"


GOES_ROUND: list[tuple[str, list[Call], str]] = [
    ("the same failure", [call("read", path="nowhere")], "repeated_failures"),
    ("the same success", [call("write", path="m.md", content="x\n")], "repeated_calls"),
    ("A-B-A-B", [call("read", path="a.py"), call("list_dir")], "repeated_calls"),
    ("A-B-A-B that fails", [call("read", path="n1"), call("read", path="n2")], "repeated_failures"),
    ("no arguments", [call("bash")], "repeated_failures"),
    ("tools that are not there", [call("zap"), call("zip"), call("zop")], "repeated_failures"),
    ("cut JSON", [raw("read", '{"path": "x')], "repeated_failures"),
    ("what is forbidden", [call("read", path="~/.ssh/id_rsa")], "repeated_failures"),
]


@pytest.mark.parametrize(("what", "calls", "reason"), GOES_ROUND, ids=[g[0] for g in GOES_ROUND])
async def test_circles_are_told_once_and_then_stopped(
    bench: Any, what: str, calls: list[Call], reason: str
) -> None:
    b = await bench(limits={"turns": 60}, approve="deny")
    files(b.root)
    b.script(*[reply(f"Step {n}.", calls[n % len(calls)]) for n in range(60)])
    assert await b.ask("go") == reason, what
    assert len(b.nodes("tool")) <= 12
    assert b.diagnostics("breaker"), "a hint came before the stop"
    facts = [f for h in b.nodes("tool") if (f := b.doc.body(h.uid).end_detail.get("repeated"))]
    assert facts and all(f["pattern"] and f["count"] >= 3 for f in facts), (
        "kept for the person, who is told otherwise"
    )
    assert [f["told"] for f in facts] == [d.data["detail"] for d in b.diagnostics("breaker")]
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert "backtrack" in ended.offers
    sound(b)
    b.script("Something else.")
    assert await b.ask("try otherwise") == "completed"


async def test_edits_that_fail_with_nearly_the_same_text(bench: Any) -> None:
    b = await bench()
    files(b.root)
    wrong = ["def one(x):\n    return 11", "def one(x):\n     return 11", "def one( x):\n    return 11"]
    edits = [
        reply(f"Now {n}.", call("edit", path="a.py", old=wrong[n % 3] + " " * n, new="y")) for n in range(9)
    ]
    b.script(reply("", call("read", path="a.py")), *edits, "I give up.")
    assert await b.ask("go") == "repeated_failures"
    sound(b)


async def test_the_same_answer_again(bench: Any) -> None:
    b = await bench()
    b.script(reply("All done.", stop="max_tokens"), "All done.")
    assert await b.ask("go") in ("repeated_calls", "output_limit", "completed")
    sound(b)


async def test_denied_twice_is_asked_once(bench: Any) -> None:
    from worldline.protocol.commands import Prompt

    b = await bench(attended=True)
    b.script(*[reply(f"Please {n}.", call("read", path="/etc/hostname")) for n in range(2)], "I do without.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.answer("deny", reason="no")
    assert b.reason() == "completed" and b.names().count("approval_asked") == 1
    assert [h.outcome.value for h in b.nodes("tool")] == ["denied", "denied"]
    sound(b)


def some_calls(rng: random.Random, number: int) -> Iterable[Call]:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.randrange(6)
        if kind == 0:
            yield rng.choice(MISTAKES[:24])[1]
        elif kind == 1:
            yield rng.choice(WORKS_ANYHOW[:8])[1]
        elif kind == 2:
            yield call("write", path=f"f{rng.randrange(9)}.txt", content=f"{number}\n")
        elif kind == 3:
            old, new = rng.choice((("1", "2"), ("2", "1"), ("\n", "")))
            yield call("edit", path=f"f{rng.randrange(9)}.txt", old=old, new=new)
        elif kind == 4:
            yield Call(
                rng.choice(("read", "edit", "plan", "grep", "glob", "memory", "task", "process")), junk(rng)
            )
        else:
            yield raw(rng.choice(("read", "bash", "plan")), noise(rng))


def junk(rng: random.Random) -> dict[str, Any]:
    values: list[Any] = [
        None,
        0,
        -1,
        1.5,
        True,
        "",
        "x" * 300,
        "..",
        "a.py",
        [],
        ["a"],
        {},
        {"text": "x"},
        "\ud800",
    ]
    names = ["path", "old", "new", "steps", "pattern", "content", "action", "name", "limit", "offset", "zzz"]
    return {rng.choice(names): rng.choice(values[:-1]) for _ in range(rng.randrange(4))}


def noise(rng: random.Random) -> str:
    return "".join(rng.choice('{}[]":,\\ \n\tapth01truenull') for _ in range(rng.randrange(40)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_random_mistakes_over_many_turns(bench: Any, server: Any, seed: int) -> None:
    """More than two hundred turns with jumps between: exactly one stop reason each, and no node is lost."""
    b = await bench(limits={"turns": 15}, approve="deny")
    files(b.root)
    rng = random.Random(seed)
    turns = 0

    def answer(_: Any) -> Reply:
        nonlocal turns
        turns += 1
        kind = rng.randrange(14)
        if kind == 0:
            return Reply(blocks=[])
        if kind == 1:
            return reply(f"Cut {turns}", *some_calls(rng, turns), stop="max_tokens")
        if kind == 2:
            return reply(f"Done {turns}.")
        return reply(f"Step {turns}." if rng.random() < 0.7 else "", *some_calls(rng, turns))

    server.scenario.answerer = answer
    known = {"completed", "max_turns", "empty_reply", "output_limit", "repeated_calls", "repeated_failures"}
    asked = 0
    while turns < 110:
        asked += 1
        assert await asyncio.wait_for(b.ask(f"goal {asked}"), PATIENCE_S) in known
        if rng.random() < 0.4:
            node = rng.choice(b.nodes()).uid
            going = await b.actor.jumps.jump(Jump(node=node))
            if going.plan is not None:
                await b.actor.jumps.jump(Jump(node=node, plan=going.plan.id))
    assert len(b.doc.runs()) == asked
    sound(b)
    server.scenario.answerer = None
    server.scenario.queue = [Reply(text="Still here.")]
    assert await b.ask("and after all that?") == "completed"
