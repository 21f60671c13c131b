"""MCP servers as real processes behind a session: asked about, offered, frozen, gone, ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.support import call, reply
from sandbox.conftest import best_label, ground_apart
from sandbox.test_confined_commands import server as host_server
from sandbox.test_ledger_of_a_session import person
from tests_support import NUMBERS_SERVER, PATIENCE_S
from worldline.core import paths
from worldline.protocol.commands import Prompt
from worldline.session.reader import SessionReader
from worldline.tools.mcp_config import parse_servers

__all__ = ["best_label"]

SERVER = (
    "import os, pathlib, sys\npathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))\n" + NUMBERS_SERVER
)
pytestmark = pytest.mark.slow


OWN_PYTHON = f"Read({sys.prefix})"
"""Also where these tests are run from a folder that confined programs do not see."""


def config(folder: Path, name: str = "numbers") -> dict[str, Any]:
    script = folder / "server.py"
    folder.mkdir(exist_ok=True)
    script.write_text(SERVER)
    return {name: {"command": sys.executable, "args": [str(script), str(folder / f"{name}.pid")]}}


def alive(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid_file: Path) -> bool:
    async with asyncio.timeout(PATIENCE_S):
        while alive(pid_file):
            await asyncio.sleep(0.02)
    return True


async def test_a_server_of_the_person_serves_dies_and_the_session_goes_on(bench: Any, tmp_path: Path) -> None:
    servers = {**config(tmp_path), "missing": {"command": "/no/such/program"}, "wrong": {}}
    b = await bench(mcpServers=servers)
    b.script(
        reply("", call("numbers__add", a="2", b=3)), reply("", call("numbers__dies")),
        reply("", call("numbers__add", a=1, b=1)), "Done.",
    )  # fmt: skip
    assert await b.ask("go") == "completed"
    # The call that ended it says so to the model; the next one finds it started again, and the person is told of both.
    assert "server_died" in str(b.sent(2)["messages"][-1]) and "2" in str(b.sent(3)["messages"][-1])
    assert "numbers__add" in [t["name"] for t in b.sent(0)["tools"]]
    assert "5" in str(b.sent(1)["messages"][-1])
    assert [h.outcome.value for h in b.nodes("tool")] == ["ok", "failed", "ok"]
    told = [r.data["detail"] for r in b.diagnostics("mcp")]
    assert told[-2:] == [
        "MCP server 'numbers' ended by itself.",
        "MCP server 'numbers' was started again.",
    ]
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


ODD = """
import json, sys

def tool(name, schema):
    return {"name": name, "description": name, "inputSchema": schema}

TOOLS = [tool("good", {"type": "object"}), tool("bad", {"type": "object", "properties": {"a": {"type": "no-such-type"}}}),
         tool("far", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}})]

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"error": {"code": -32601, "message": "not known here"}}
    if asked["method"] == "tools/list":
        answer = {"result": {"tools": TOOLS}}
    elif asked["method"] == "initialize":
        answer = {"result": {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                             "serverInfo": {"name": "odd", "version": "1"}}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_a_tool_with_a_senseless_schema_is_left_out_and_told(bench: Any, tmp_path: Path) -> None:
    script = tmp_path / "odd.py"
    script.write_text(ODD)
    b = await bench(mcpServers={"odd": {"command": sys.executable, "args": [str(script)]}})
    b.script("Fine.")
    assert await b.ask("go") == "completed"
    names = [t["name"] for t in b.sent()["tools"]]
    assert "odd__good" in names, b.diagnostics("mcp")
    assert "odd__bad" not in names and "odd__far" not in names
    told = " ".join(r.data["detail"] for r in b.diagnostics("mcp"))
    assert "odd__bad is left out" in told and "odd__far is left out" in told


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
    # In the project, where a server that came with it lies: it is confined, and sees nothing else of /tmp.
    servers = config(work)
    servers["numbers"]["access"] = [OWN_PYTHON]
    (work / where).write_text(json.dumps({"mcpServers": servers}))
    return work


async def test_a_server_of_the_project_is_asked_about_and_can_be_denied(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".mcp.json"), attended=True)
    b.script("Without it.", "Still without.")
    await b.actor.runs.prompt(Prompt(text="go"))
    asked = await b.approval()
    assert sys.executable in asked.command and "server.py" in asked.command
    assert not (tmp_path / "work" / "numbers.pid").exists()
    await b.answer("deny", reason="no")
    assert b.reason() == "completed" and not (tmp_path / "work" / "numbers.pid").exists()
    assert b.diagnostics("mcp")
    # Not asked again in this session.
    assert await b.ask("more") == "completed"


async def test_a_server_of_the_project_starts_when_allowed(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".worldline/settings.json"), attended=True)
    b.script(reply("", call("plan", steps=[])), "With it.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.answer("allow", scope="always")
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
    assert not (tmp_path / "work" / "numbers.pid").exists() and b.diagnostics("mcp")


async def test_stopping_while_a_server_is_asked_about(bench: Any, tmp_path: Path) -> None:
    b = await bench(await project(tmp_path, ".mcp.json"), attended=True)
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.approval()
    b.actor.runs.stop()
    await asyncio.wait_for(b.actor.runs.idle(), PATIENCE_S)
    assert b.reason() == "aborted" and not b.actor.approvals.open()


WALLED = """
import os, socket, sys, urllib.request
from mcp.server import MCPServer

server = MCPServer("walled")

@server.tool()
def write(path: str) -> str:
    "Write a file."
    with open(path, "a") as file:
        file.write("x")
    return "written"

@server.tool()
def get(url: str) -> str:
    "Fetch an address."
    return urllib.request.urlopen(url, timeout=120).read().decode()

@server.tool()
def look(path: str) -> str:
    "What is there."
    return f"{os.path.exists(path)} {os.environ.get('GIVEN')} {os.environ.get('SOME_TOKEN')}"

server.run()
"""


def answering(same: dict[str, Any]) -> tuple[list[Any], Callable[[Any], dict[str, Any]]]:
    """A person who always says the same, and what they were asked."""
    asked: list[Any] = []

    def answer(approval: Any) -> dict[str, Any]:
        asked.append(approval)
        return same

    return asked, answer


def walled(folder: Path, **more: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "walled.py").write_text(WALLED)
    return {"walled": {"command": sys.executable, "args": ["walled.py"], "env": {"GIVEN": "yes"}, **more}}


@pytest.fixture
def lab(best_label: Any, own_home: Path) -> Iterator[Path]:
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    with ground_apart() as folder:
        yield folder


async def with_walled_server(bench: Any, lab: Path) -> tuple[Any, Path, Path]:
    """A session in a project with a confined server that may write to one file outside; (it, the project, outside)."""
    work, out = lab / "work", lab / "outside"
    servers = walled(work, access=[OWN_PYTHON, f"Write({out}/open)"])
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return await bench(work, attended=True, in_place=True), work, out


async def test_a_server_of_the_project_is_confined_and_its_refusals_have_names(
    bench: Any, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hidden")
    b, work, out = await with_walled_server(bench, lab)
    with host_server() as (port, seen):
        url = f"http://localhost:{port}/x"
        b.script(
            reply("", call("walled__write", path="inside")),
            reply("", call("walled__write", path=str(out / "shut"))),
            reply("", call("walled__write", path=str(out / "open"))),
            reply("", call("walled__look", path=str(Path.home() / ".ssh"))),
            reply("", call("walled__get", url=url)),
            "Done.",
        )
        asked, answer = answering({"decision": "allow", "scope": "once"})
        async with person(b, answer):
            assert await b.ask("go") == "completed"
        assert seen == []  # the host's own loopback is not that of the session
    said = [json.dumps(b.doc.body(n.uid).end_message) for n in b.nodes("tool")]
    assert "written" in said[0] and (work / "inside").exists()
    assert "sandbox_denied" in said[1] and f"write {out}/shut" in said[1] and not (out / "shut").exists()
    assert "written" in said[2] and (out / "open").read_text() == "x"
    assert "False yes None" in said[3] and "mcp_error" in said[4]
    assert "It is confined like the commands of the agent" in asked[0].agent_says
    assert f"Write({out}/open)" in asked[0].agent_says
    assert "Not confined" not in b.actor.shared.status.now.sandbox_why
    await b.actor.close()
    with SessionReader(b.doc.path) as kept:
        told = [r.data["summary"] for r in kept.records("effect")]
    assert told == [f"Created {out}/open (MCP server walled)"]


async def test_a_host_is_asked_about_when_a_confined_server_wants_it(bench: Any, lab: Path) -> None:
    work = lab / "work"
    servers = walled(work, confined=True, access=[OWN_PYTHON])
    b = await bench(work, attended=True, in_place=True, mcpServers=servers)
    (work / "proxied.py").write_text("")
    script = (work / "walled.py").read_text()
    # As a client that knows nothing of exceptions for local names.
    (work / "walled.py").write_text(
        "import os\nos.environ.pop('no_proxy'), os.environ.pop('NO_PROXY')\n" + script
    )
    with host_server() as (port, seen):
        b.script(
            reply("", call("walled__get", url=f"http://localhost:{port}/yes")),
            reply("", call("walled__get", url=f"http://localhost:{port}/no")), "Done.",
        )  # fmt: skip
        asked, answer = answering({"decision": "allow", "scope": "once"})
        async with person(b, answer):
            assert await b.ask("go") == "completed"
        hosts = [a for a in asked if a.title == "Allow this network request?"]
        assert len(hosts) == 1 and hosts[0].input["command"] == "MCP server walled"
        assert seen == ["/yes", "/no"]


async def test_what_is_not_confined_is_said_in_the_status_of_the_sandbox(bench: Any, lab: Path) -> None:
    work = lab / "work"
    b = await bench(work, in_place=True, mcpServers=walled(work))
    b.script(reply("", call("walled__write", path=str(lab / "outside" / "shut"))), "Done.")
    assert await b.ask("go") == "completed"
    assert (lab / "outside" / "shut").exists()
    assert b.actor.shared.status.now.sandbox_why.endswith("Not confined: the MCP servers walled.")


async def test_a_project_that_wants_its_server_unconfined_is_shown_as_such(bench: Any, lab: Path) -> None:
    work = lab / "work"
    (work / "x").parent.mkdir(exist_ok=True)
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": walled(work, confined=False)}))
    b = await bench(work, attended=True, in_place=True)
    b.script("Without it.")
    asked, answer = answering({"decision": "deny", "reason": "no"})
    async with person(b, answer):
        assert await b.ask("go") == "completed"
    assert "It is NOT confined" in asked[0].agent_says and asked[0].input["confined"] is False


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"confined": "yes"}, "confined must be"), ({"access": "Net(x:1)"}, "access must be"),
        ({"access": ["Bash(ls)"]}, "access must be"), ({"access": ["Unsandboxed(x)"]}, "access must be"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_left_out_and_told(entry: dict[str, Any], problem: str) -> None:
    found, problems = parse_servers({"x": {"command": "y", **entry}}, "user")
    assert found == [] and problem in problems[0]
