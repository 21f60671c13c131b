"""MCP servers as real processes behind a session: asked about, offered, frozen, gone, ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from worldline.core import paths
from worldline.protocol.commands import AnswerApproval, Prompt
from worldline.rehearsal.events import Call, Reply

SERVER = """
import os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
from mcp.server import MCPServer

server = MCPServer("numbers")

@server.tool()
def add(a: int, b: int) -> str:
    "Add two numbers."
    return str(a + b)

@server.tool()
def dies() -> str:
    "Ends the server."
    os._exit(3)

server.run()
"""

pytestmark = pytest.mark.slow


def call(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


def reply(text: str = "", *calls: Call) -> Reply:
    return Reply(text=text, calls=list(calls))


def config(folder: Path, name: str = "numbers") -> dict[str, Any]:
    script = folder / "server.py"
    script.write_text(SERVER)
    return {name: {"command": sys.executable, "args": [str(script), str(folder / f"{name}.pid")]}}


def alive(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid_file: Path) -> bool:
    for _ in range(200):
        if not alive(pid_file):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_server_of_the_person_serves_dies_and_the_session_goes_on(bench: Any, tmp_path: Path) -> None:
    servers = {**config(tmp_path), "missing": {"command": "/no/such/program"}, "wrong": {}}
    b = await bench(mcpServers=servers)
    b.script(
        reply("", call("numbers__add", a="2", b=3)), reply("", call("numbers__dies")),
        reply("", call("numbers__add", a=1, b=1)), "Done.",
    )  # fmt: skip
    assert await b.ask("go") == "completed"
    assert "numbers__add" in [t["name"] for t in b.sent(0)["tools"]]
    assert "5" in str(b.sent(1)["messages"][-1])
    assert [h.outcome.value for h in b.nodes("tool")] == ["ok", "failed", "failed"]
    told = [r.data["detail"] for r in b.diagnostics("mcp")]
    assert any("missing" in t for t in told) and any("wrong" in t for t in told)
    # The list of the branch stays as it was, in this session and when it is opened again without the server.
    before = b.sent(0)["tools"]
    b.script("Again.")
    assert await b.ask("and now") == "completed"
    assert b.sent()["tools"] == before
    assert len(b.diagnostics("mcp")) == len(told)
    await b.actor.close()
    again = await bench(session=b.doc.path)
    again.script(reply("", call("numbers__add", a=1, b=1)), "Without it, then.")
    assert await again.ask("more") == "completed"
    assert again.sent()["tools"] == before
    assert "server_gone" in str(again.sent()["messages"][-1])
    assert (await again.actor.maker()).view("cursor").request["tools"] == before


async def test_servers_end_with_the_session(bench: Any, tmp_path: Path) -> None:
    b = await bench(mcpServers=config(tmp_path))
    b.script("Hello.")
    assert await b.ask("go") == "completed"
    assert alive(tmp_path / "numbers.pid")
    await b.actor.close()
    assert await gone(tmp_path / "numbers.pid")


async def project(tmp_path: Path, where: str) -> Path:
    work = tmp_path / "work"
    (work / ".worldline").mkdir(parents=True)
    (work / where).write_text(json.dumps({"mcpServers": config(tmp_path)}))
    return work


async def approval(b: Any) -> Any:
    while not b.actor.approvals.open():
        await asyncio.sleep(0.02)
    return b.actor.approvals.open()[0]


async def test_a_server_of_the_project_is_asked_about_and_can_be_denied(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".mcp.json"), attended=True)
    b.script("Without it.", "Still without.")
    await b.actor.runs.prompt(Prompt(text="go"))
    asked = await approval(b)
    assert sys.executable in asked.command and "server.py" in asked.command
    assert not (tmp_path / "numbers.pid").exists()
    b.actor.approvals.answer(AnswerApproval(id=asked.id, digest=asked.digest, decision="deny", reason="no"))
    await b.actor.runs.idle()
    assert b.reason() == "completed" and not (tmp_path / "numbers.pid").exists()
    assert b.diagnostics("mcp")
    # Not asked again in this session.
    assert await b.ask("more") == "completed"


async def test_a_server_of_the_project_starts_when_allowed(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".worldline/settings.json"), attended=True)
    b.script(reply("", call("plan", steps=[])), "With it.")
    await b.actor.runs.prompt(Prompt(text="go"))
    asked = await approval(b)
    b.actor.approvals.answer(
        AnswerApproval(id=asked.id, digest=asked.digest, decision="allow", scope="always")
    )
    await b.actor.runs.idle()
    assert "numbers__add" in [t["name"] for t in b.sent()["tools"]]
    # "Always" holds for exactly this server.
    b.script("Again.")
    await b.actor.close()
    again = await bench(session=b.doc.path, attended=True)
    again.script("Without a question.")
    assert await again.ask("more") == "completed"
    settings = json.loads(paths.config_file().read_text())
    (kept,) = settings["projects"].values()
    assert kept["permissions"]["allow"][0].startswith("Tool(mcp_server_numbers_")


async def test_nobody_there_means_not_started(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".mcp.json"), approve="deny")
    b.script("Without it.")
    assert await b.ask("go") == "completed"
    assert not (tmp_path / "numbers.pid").exists() and b.diagnostics("mcp")


async def test_stopping_while_a_server_is_asked_about(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".mcp.json"), attended=True)
    await b.actor.runs.prompt(Prompt(text="go"))
    await approval(b)
    b.actor.runs.stop()
    await asyncio.wait_for(b.actor.runs.idle(), 10)
    assert b.reason() == "aborted" and not b.actor.approvals.open()
