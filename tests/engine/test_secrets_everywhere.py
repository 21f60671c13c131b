"""Secrets are planted in every way in which text comes into a session; afterwards the whole data folder, the log, the wire
and the events are looked through for them."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench, Open
from engine.support import call, reply
from worldline.agent.journal import Journal
from worldline.context.model import ViewOptions
from worldline.context.source import path_nodes
from worldline.context.view import build_view
from worldline.core import log, paths
from worldline.core.kinds import NodeFlag, Outcome
from worldline.core.secrets import mask_reply, mask_value
from worldline.protocol import commands as c
from worldline.protocol.events import Delta, ToolOutput
from worldline.rehearsal.events import Call, Reply

MARK = "[masked: GitHub token]"


def token(name: str) -> str:
    """Looks like a real one, is nobody's, and says where it was planted only to this test."""
    return "ghp_" + (hashlib.sha256(name.encode()).hexdigest() * 2)[:36]


def leaks(data: bytes, names: list[str]) -> set[str]:
    return {name for name in names if token(name).encode() in data}


def everything_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file; of databases also every value, and what is compressed in them."""
    for path in (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        data = path.read_bytes()
        yield str(path), data
        if data.startswith(b"SQLite format 3"):
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in tables:
                    for row in db.execute(f'SELECT * FROM "{table}"'):
                        for value in row:
                            raw = value.encode() if isinstance(value, str) else value
                            if isinstance(raw, bytes):
                                yield f"{path}:{table}", raw
                                yield f"{path}:{table}", unpacked(raw)


def unpacked(data: bytes) -> bytes:
    for start in (0, 1, 4):
        for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
            try:
                return zlib.decompressobj(bits).decompress(data[start:])
            except zlib.error:
                continue
    return b""


MCP = """
import sys
from mcp.server import MCPServer
server = MCPServer("keys")

@server.tool()
def key(note: str) -> str:
    "Gives a key."
    return "key: " + sys.argv[1]

@server.tool()
def fails() -> str:
    "Fails with one."
    raise ValueError(sys.argv[2])

server.run()
"""

PLANTED = [
    "says", "argument", "output", "written", "read", "unknown tool", "broken json", "plan", "note", "blob", "process",
    "mcp result", "mcp error", "mcp argument", "reason", "question", "task", "hook", "prompt hook", "api", "named", "thought",
    "after a thought", "failed command", "hook block",
]  # fmt: skip
"""Where; all but the person's own words and the files of the workspace."""


def hook(event: str, name: str, code: int = 0, matcher: str = "*") -> dict[str, Any]:
    return {"matcher": matcher, "command": f"cat > /dev/null; echo {token(name)}; exit {code}"}


async def planted(bench: Open, tmp_path: Path) -> Bench:
    script = tmp_path / "server.py"
    script.write_text(MCP)
    work = tmp_path / "work"
    work.mkdir()
    (work / "secret.txt").write_text(f"key = {token('read')}\n")
    b = await bench(
        workspace=work,
        mcpServers={
            "keys": {
                "command": sys.executable,
                "args": [str(script), token("mcp result"), token("mcp error")],
                "env": {"SOME_TOKEN": token("mcp env")},
            }
        },
        hooks={
            "PostToolUse": [hook("PostToolUse", "hook")],
            "UserPromptSubmit": [hook("UserPromptSubmit", "prompt hook")],
            "PreToolUse": [hook("PreToolUse", "hook block", 1, "grep")],
        },
    )
    b.script(
        reply(
            f"I take {token('says')}.",
            call("bash", command=f"echo {token('argument')} | wc -c; printenv SOME_TOKEN; echo {token('output')}"),
        ),
        reply("", call("write", path="out.txt", content=f"a = {token('written')}\n")),
        reply("", call("read", path="secret.txt")),
        reply("", call("no_such_tool", text=token("unknown tool"))),
        reply("", Call("bash", raw='{"command": "echo ' + token("broken json"))),
        reply("", call("plan", steps=[{"text": f"use {token('plan')}", "status": "active"}])),
        reply("", Call("memory", {"action": "write", "name": "key", "content": f"it is {token('note')}"})),
        reply("", call("bash", command=f"seq 9000; echo {token('blob')}; seq 9000")),
        reply("", call("bash", command=f"sleep 30 # {token('process')}", background=True)),
        reply("", call("keys__key", note=token("mcp argument"))),
        reply("", call("keys__fails")),
        reply("", call("request_access", kind="net", target="example.org:443", why=f"with {token('reason')}")),
        reply("", call("ask_user", question=f"Is it {token('question')}?", options=["yes", "no"])),
        reply("", call("task", title="look", prompt=f"look at {token('task')}")),
        "looked",
        reply("", call("grep", pattern="key")),
        reply("", call("bash", command=f"ls /nowhere-{token('failed command')}")),
        Reply(text="", calls=[Call("bash", {"command": "true", "env": {"MY_API_KEY": named("named")}})]),
        Reply(text="", thinking=f"The key is {token('thought')}.", calls=[call("list_dir", path=".")]),
        Reply(
            blocks=[
                {"type": "thinking", "thinking": "I look.", "signature": "one"},
                {"type": "text", "text": f"It is {token('after a thought')}."},
                {"type": "thinking", "thinking": "And now?", "signature": "two"},
                {"type": "tool_use", "id": "toolu_last", "name": "list_dir", "input": {"path": "."}},
            ]
        ),
        Reply(fault=f"refuse:the key {token('api')} is not valid here"),
    )  # fmt: skip
    assert await b.ask(f"Use my key {token('prompt')}.") == "provider_error"
    return b


def named(name: str) -> str:
    """A secret by the name of its field alone."""
    return "Zq" + hashlib.sha256(name.encode()).hexdigest()[:30]


def running_text(b: Bench) -> str:
    """Replies and outputs as the window puts them together from their pieces."""
    texts: dict[tuple[object, ...], str] = {}
    for name, event in b.events:
        if isinstance(event, Delta | ToolOutput):
            key = (
                name,
                *(getattr(event, field, "") for field in ("run", "turn", "block", "kind", "node", "stream")),
            )
            texts[key] = texts.get(key, "") + event.text
    return "\n".join(texts.values())


@pytest.fixture
def log_file(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDLINE_LOG", "DEBUG")
    log.setup("engine")
    return paths.logs_dir() / "engine.log"


@pytest.mark.slow
async def test_a_planted_secret_is_found_nowhere(
    bench: Open, tmp_path: Path, log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", token("env"))
    b = await planted(bench, tmp_path)
    logging.getLogger("worldline.test").warning("a command failed: %s", token("argument"))
    everywhere = [*PLANTED, "env", "mcp env"]

    # Sent to the model: what the person wrote, and nothing else.
    wire = b"\n".join(
        json.dumps(request.body, ensure_ascii=False).encode() for request in b.server.message_requests
    )
    assert leaks(wire, everywhere) == set() and leaks(wire, ["prompt"]) == {"prompt"}
    assert named("named").encode() not in wire
    assert b"looked" in wire and wire.count(MARK.encode()) > 20

    # The calls themselves ran with what the model wrote.
    assert token("written") in (tmp_path / "work" / "out.txt").read_text()
    outputs = [json.dumps(b.doc.body(n.uid).end_message) for n in b.nodes("tool") if n.tool == "bash"]
    assert "41" in outputs[0]

    # What the window is told: exactly what an approval is about, and nothing else; also while it comes in.
    said = "\n".join(e.model_dump_json() for name, e in b.events if name != "approval_asked").encode()
    assert leaks(said, everywhere) == set()
    assert leaks(running_text(b).encode(), everywhere) == set()
    assert MARK in running_text(b)

    # Kept: the session, its index, logs, notes, copies, exports.
    for name in ("html", "markdown"):
        done = await b.actor.handle("export", c.Export(format=name, out=str(tmp_path / f"x.{name}")))
        assert isinstance(done, c.ExportResult)
        assert leaks(Path(done.path).read_bytes(), [*everywhere, "prompt", "read"]) == set(), name
    done = await b.actor.handle("export", c.Export(format="jsonl", out=str(tmp_path / "x.jsonl")))
    assert isinstance(done, c.ExportResult)
    lines = Path(done.path).read_bytes()
    assert leaks(lines, everywhere) == set() and leaks(lines, ["prompt"]) == {"prompt"}
    for name in everywhere:
        assert b.doc.search(token(name), 5) == [], name
    session = Path(b.doc.path)
    await b.actor.close()
    kept = [pair for folder in (paths.data_home(), session.parent) for pair in everything_below(folder)]
    # The search sees what is compressed, and what is in the database.
    assert any(b"8998\n8999\n9000" in data for _, data in kept)
    assert any(leaks(data, ["prompt"]) for where, data in kept if where.startswith(str(session)))
    found = {
        (name, where)
        for where, data in kept
        if not where.startswith((str(tmp_path / "work"), str(tmp_path / "server.py")))
        # Files of the workspace are the person's, and its states are copies of them as they are.
        and not (where.startswith(str(paths.stores_dir())) and "/objects/" in where)
        for name in leaks(data, everywhere)
    }
    assert found == set()
    text = log_file.read_text()
    assert MARK in text and leaks(text.encode(), [*everywhere, "prompt"]) == set()


@pytest.mark.slow
async def test_what_was_masked_is_marked_and_the_persons_own_words_are_told(
    bench: Open, tmp_path: Path
) -> None:
    b = await planted(bench, tmp_path)
    replies = [n for n in b.nodes("assistant") if n.flags & NodeFlag.SECRET_MASKED]
    assert len(replies) >= 10
    first = b.doc.body(replies[0].uid).message["content"]
    assert first[0]["text"] == f"I take {MARK}." and MARK in first[1]["input"]["command"]
    (call_node,) = [n for n in b.nodes("tool") if n.parent == replies[0].seq]
    assert b.doc.body(call_node.uid).end_detail["input"] == first[1]["input"]
    assert len(b.diagnostics("secret_in_prompt")) == 1 and b.diagnostics("secret_masked")
    # A thought that held one is gone, and so is what was thought behind a text that is masked; no other.
    thoughts = {
        json.dumps(block)
        for node in b.nodes("assistant")
        for block in b.doc.body(node.uid).message["content"]
        if block["type"] == "thinking"
    }
    assert {json.loads(t)["signature"] for t in thoughts} == {"one"}
    lost = [n for n in b.nodes("assistant") if b.doc.body(n.uid).detail.get("thinking_lost")]
    assert len(lost) == 2
    # The next request says so where the newest reply has lost one, and the view is the same however often it is made.
    path = path_nodes(b.doc.path_bodies(lost[0].uid))
    assert build_view(path, ViewOptions()).thinking_intact is False
    later = path_nodes(b.doc.path_bodies(b.doc.cursor))
    assert build_view(later, ViewOptions()).messages == build_view(later, ViewOptions()).messages


async def test_what_comes_in_is_masked_while_it_does_and_nothing_of_it_is_lost(bench: Open) -> None:
    b = await bench()
    text = f"Words before, {token('says')} in the middle of them, and the end: {token('end')}"
    command = f"for i in 1 2 3; do printf 'line %s\\n' $i; done; printf 'ghp_'; sleep 0.3; printf '{token('output')[4:]} end\\ntoken: a'"
    b.script(reply(text, call("bash", command=command)), "Done.")
    assert await b.ask("go") == "completed"
    shown: dict[str, str] = {}
    for _, event in b.events:
        if isinstance(event, Delta):
            shown[f"{event.turn} {event.kind}"] = shown.get(f"{event.turn} {event.kind}", "") + event.text
    assert shown["1 text"] == f"Words before, {MARK} in the middle of them, and the end: {MARK}"
    output = "".join(e.text for _, e in b.events if isinstance(e, ToolOutput))
    assert output == f"line 1\nline 2\nline 3\n{MARK} end\ntoken: a"


async def test_a_partial_reply_is_masked_too(bench: Open) -> None:
    b = await bench()
    b.script(Reply(text=f"It is {token('partial')}, and more of it.", fault="mid-stall"))
    journal = Journal(b.doc, b.actor.shared.emit)
    node = journal.assistant([{"type": "text", "text": f"cut {token('partial')}"}], outcome=Outcome.ABORTED)
    assert MARK in node.preview and token("partial") not in json.dumps(b.doc.body(node.uid).message)


def test_signed_thinking_is_kept_byte_for_byte_or_not_at_all() -> None:
    thought = {"type": "thinking", "thinking": "plain", "signature": "ghp_" + "a" * 40}
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": f"echo {token('x')}"}}
    blocks, masked, lost = mask_reply([thought, use])
    assert blocks[0] is thought and masked == 1 and lost == 0 and MARK in blocks[1]["input"]["command"]
    assert use["input"]["command"].endswith(token("x"))  # what runs is not touched
    blocks, masked, lost = mask_reply([thought, use, thought, {"type": "text", "text": "x"}])
    assert [b["type"] for b in blocks] == ["thinking", "tool_use", "text"] and lost == 1
    plain: list[dict[str, Any]] = [thought, {"type": "text", "text": "x"}, thought]
    assert mask_reply(plain) == (plain, 0, 0)


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"api_key": "Zq81mB7yT2kLx9"}, 1), ({"x": {"GITLAB_TOKEN": "Zq81mB7yT2kLx9"}}, 1), ({"token_count": "Zq81mB7yT2kLx9"}, 0),
        ({"token": 12}, 0), ({"token": "the next one"}, 0), ({"access": "execute"}, 0), ({"password": "changeme1234"}, 0),
    ],
)  # fmt: skip
def test_a_field_is_secret_by_its_name(value: dict[str, Any], masked: int) -> None:
    assert mask_value(value)[1] == masked


def test_masking_a_large_text_without_secrets_costs_little() -> None:
    text = os.urandom(200_000).hex()
    assert mask_value({"text": text}) == ({"text": text}, 0)
