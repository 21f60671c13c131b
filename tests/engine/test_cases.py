"""Failures that other agents' users reported, each through the whole engine: the scripted model makes the call, and what
counts is what it is told, what is on disk, and how the run ends. Beside each case stand variations of its kind."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from engine.support import call, reply
from tests_support import PATIENCE_S, measured
from worldline.protocol.commands import Prompt
from worldline.rehearsal.events import Call

pytestmark = pytest.mark.slow

LINES = (Path(__file__).parent.parent / "tools" / "cases.jsonl").read_text("utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


def of(kind: str, *more: dict[str, Any]) -> Any:
    chosen = [(c["id"], c["payload"]) for c in CASES if c["payload"]["kind"] == kind]
    chosen += [(f"variation-{n}", payload) for n, payload in enumerate(more)]
    return pytest.mark.parametrize("payload", [p for _, p in chosen], ids=[i for i, _ in chosen])


def told(b: Any, which: int = -1) -> str:
    """What the model was told of a call."""
    body = b.doc.body(b.nodes("tool")[which].uid)
    return "\n".join(p.get("text", "") for p in body.end_message["content"][0]["content"])


@of(
    "shell",
    {"command": "(sleep 60 >/dev/null 2>&1 &) ; echo gone", "expect": {"returns_within_s": 4, "stdout_contains": "gone"}},
    {"command": "man ls 2>&1 | head -1; git --paginate log 2>&1 | head -1; echo end", "expect": {"returns_within_s": 8, "stdout_contains": "end"}},
    {"command": "read x; echo got=$x", "expect": {"returns_within_s": 3, "stdout_contains": "got="}},
    {"command": "git init -q r; cd r; git commit --allow-empty", "expect": {"returns_within_s": 8, "exit_code": 1}},
    {"command": "printf '\\377\\376\\000x\\n'; echo ok", "expect": {"stdout_contains": "ok", "no_nul_in_result": True}},
    {"command": "echo 'database is locked: No space left on device'; exit 28", "expect": {"exit_code": 28, "stdout_contains": "No space"}},
)  # fmt: skip
async def test_shell(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench()
    b.script(reply("", call("bash", command=payload["command"], timeout_s=PATIENCE_S)), "Done.")
    assert await b.ask("go") == "completed"
    expect = payload["expect"]
    header = b.nodes("tool")[0]
    body = b.doc.body(header.uid)
    took = (header.finished - header.created) / 1000
    measured("seconds of a command", took, expect.get("returns_within_s", 20) + 1.5)
    assert body.end_detail.get("error", {}).get("type") != "timeout", "it returned by itself"
    assert expect.get("stdout_contains", "") in told(b)
    assert expect.get("stderr_contains", "") in told(b)
    if "exit_code" in expect:
        assert body.end_detail["exit_code"] == expect["exit_code"]
    if expect.get("error_type") == "nonzero_exit":
        assert body.end_detail["error"]["type"] and b.reason() == "completed"
    assert "\\u0000" not in json.dumps(body.end_message) and "\\u0000" not in json.dumps(b.sent())
    if expect.get("lossy_flag"):
        assert "not UTF-8" in told(b)
    if "side_effect" in expect:
        assert b.actor.processes.running(), "listed as long as it runs"
    assert await b.actor.processes.stop_all() == []


@of(
    "file_edit",
    {"file_before": "a\r\nb\r\n", "edits": [{"old": "a\nb", "new": "a\nc"}], "expect": {"file_after": "a\r\nc\r\n"}},
    {"file_before": "\ufeffx = 1\n", "edits": [{"old": "x = 1", "new": "x = 2"}], "expect": {"file_after": "\ufeffx = 2\n"}},
    {"file_before": "say “hi”\n", "edits": [{"old": 'say "hi"', "new": 'say "ho"'}], "expect": {"file_contains": "ho"}},
)  # fmt: skip
async def test_edit(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench()
    path = b.root / "file.txt"
    raw = payload.get("file_before_b64")
    path.write_bytes(base64.b64decode(raw) if raw is not None else payload["file_before"].encode())
    before = path.read_bytes()
    steps = [reply(f"Edit {n}.", call("edit", path="file.txt", **e)) for n, e in enumerate(payload["edits"])]
    b.script(reply("", call("read", path="file.txt")), *steps, "Done.")
    assert await b.ask("go") == "completed"
    expect, after = payload["expect"], path.read_bytes()
    wanted = expect.get("file_after_b64") or expect.get("file_after_b64_or_error")
    if wanted is not None:
        assert after == base64.b64decode(wanted)
    if "file_after" in expect:
        assert after == expect["file_after"].encode()
    assert expect.get("file_contains", "") in after.decode("utf-8", "replace")
    if expect.get("file_unchanged"):
        assert after == before and b.nodes("tool")[-1].outcome.value == "failed"
    # The state of the node is what is on disk.
    state = b.actor.shared.good_state(b.doc.cursor)
    assert await b.actor.shared.work.call(lambda w: w.read_file(state, "file.txt")) == after


@of("stale_write")
@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_stale(bench: Any, payload: dict[str, Any], tool: str) -> None:
    b = await bench()
    path = b.root / "f.txt"
    path.write_text("first\n")
    last = call("write", path="f.txt", content="old copy\n") if tool == "write" else call(
        "edit", path="f.txt", old="new line", new="x"
    )  # fmt: skip
    # Somebody else writes while the run goes on.
    other = call("bash", command=f"python3 -c \"open('{path}','w').write('new line\\n')\"")
    b.script(reply("", call("read", path="f.txt")), reply("", other), reply("", last), "I see.")
    assert await b.ask("go") == "completed"
    assert payload["expect"]["error_type"] in told(b) and path.read_text() == payload["expect"]["file_after"]


@of("tool_name", {"called": ["READ", "mcp.read", "read\n", "read;ls", "a" * 300, "读取"]})
async def test_tool_names(bench: Any, payload: dict[str, Any]) -> None:
    called = payload["called"] if isinstance(payload["called"], list) else [payload["called"]]
    names = [n for n in called if n.strip()]
    b = await bench()
    b.script(*[reply(f"Now {i}.", call(n, path=f"no{i}")) for i, n in enumerate(names)], "Done.")
    assert await b.ask("go") in ("completed", "repeated_failures")
    for request in b.server.message_requests:
        for message in request.body["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block["type"] == "tool_use":
                    assert block["name"] and len(block["name"]) <= 128 and block["name"].isascii()


@of("tool_args_raw", {"raw": '{"command": "echo a", }'}, {"raw": "{'command': 'x'}"}, {"raw": '{"command": "a"} trailing'}, {"raw": "nul"})  # fmt: skip
async def test_raw_arguments(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench()
    b.script(reply("", Call("bash", {}, raw=payload["raw"])), "I see.")
    assert await b.ask("go") == "completed"
    body = b.doc.body(b.nodes("tool")[0].uid)
    assert (
        body.detail["call"]["input"] != {} or body.end_detail.get("error") or body.end_detail.get("repairs")
    )


@of("loop")
async def test_loops(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench(limits={"turns": 40})
    names = {"Read": "read", "Write": "write", "Bash": "bash", "Edit": "edit"}
    calls = [
        Call(names.get(c["name"], c["name"].lower()), c["input"])
        for c in payload["calls"]
        if not c.get("polling")
    ]
    b.script(*[reply(f"Step {n}.", c) for n, c in enumerate(calls * 3)], "Done.")
    assert await b.ask("go") in ("repeated_calls", "repeated_failures")
    assert b.diagnostics("breaker")


@of("approval")
async def test_one_denied_the_other_answered(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench(attended=True)
    b.script(reply("", call("read", path="/etc/hostname"), call("list_dir")), "Without it.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.answer("deny")
    assert b.reason() == "completed"
    assert [h.outcome.value for h in b.nodes("tool")] == ["denied", "ok"]
    assert "permission_denied" in told(b, 0)


@pytest.mark.parametrize(
    ("rules", "command", "ran"),
    [
        ({"allow": ["Bash(git status)"], "deny": ["Bash(rm:*)"]}, "git status; rm -rf important", False),
        ({"allow": ["Bash(echo:*)"]}, 'echo "a; b && c" > /dev/null; touch important2', False),
        ({"allow": ["Bash(echo:*)"]}, "echo $(touch important2)", False),
        ({"allow": ["Bash(echo:*)"]}, "echo 'x | y'", True),
    ],
)
async def test_rules_decide_part_by_part(
    bench: Any, rules: dict[str, list[str]], command: str, ran: bool
) -> None:
    b = await bench(approve="rules", permissions=rules, mode="ask")
    (b.root / "important").mkdir()
    b.script(reply("", call("bash", command=command)), "Done.")
    assert await b.ask("go") == "completed"
    assert (b.root / "important").is_dir() and not (b.root / "important2").exists()
    assert (b.nodes("tool")[0].outcome.value == "ok") is ran, told(b)


@of("stream_text", {"text": "- item\n" * 900}, {"text": "再来一次。" * 900})
async def test_a_reply_that_repeats_itself(bench: Any, payload: dict[str, Any]) -> None:
    b = await bench()
    b.script(payload["text"] * 20)
    assert await b.ask("go") == "repeated_calls"
    b.script("Fine again.")
    assert await b.ask("and now") == "completed"
