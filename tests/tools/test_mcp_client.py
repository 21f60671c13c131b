"""MCP servers as real processes."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolbench import Bench, error_of, text_of
from worldline.tools.mcp_client import ServerConfig, parse_servers, start_servers

SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("numbers")

@server.tool()
def add(a: int, b: int) -> str:
    "Add two numbers."
    return str(a + b)

@server.tool()
def broken() -> str:
    "Always fails."
    raise ValueError("no luck")

@server.tool()
def dies() -> str:
    "Ends the server."
    import os
    os._exit(3)

server.run(*sys.argv[1:2], **({'port': int(sys.argv[2])} if sys.argv[2:] else {}))
"""


async def test_a_server_serves_fails_and_dies(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    good = ServerConfig("numbers", "user", sys.executable, (str(script),))
    bad = ServerConfig("missing", "user", "/no/such/program")
    servers, problems = await start_servers([good, bad], tmp_path)
    try:
        assert [server.config.name for server in servers] == ["numbers"]
        assert len(problems) == 1 and "missing" in problems[0]
        bench = make_bench(tools={tool.name: tool for tool in servers[0].tools})
        assert text_of(await bench.call("numbers__add", a=2, b=3)) == "5"
        repaired = await bench.call("numbers__add", a="2", b=3)
        assert repaired.ok and repaired.repairs
        wrong = await bench.call("numbers__add", a="two", b=3)
        assert error_of(wrong) == "invalid_arguments" and "a: must be integer" in text_of(wrong)
        failed = await bench.call("numbers__broken")
        assert error_of(failed) == "mcp_error" and "broken" in text_of(failed)
        assert error_of(await bench.call("numbers__dies")) in ("mcp_error", "server_gone")
    finally:
        for server in servers:
            await server.stop()


async def test_a_server_over_http(
    make_bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, str(script), "streamable-http", str(port)]
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        config = ServerConfig("numbers", "user", url=f"http://127.0.0.1:{port}/mcp")
        servers, problems = await start_servers([config], tmp_path)
        assert problems == []
        bench = make_bench(tools={tool.name: tool for tool in servers[0].tools})
        assert text_of(await bench.call("numbers__add", a=2, b=3)) == "5"
        await servers[0].stop()
    finally:
        process.kill()
        process.wait()


def test_configuration() -> None:
    config = {
        "mcpServers": {
            "a": {"command": "x", "args": ["1"]},
            "b": {"url": "https://example.org/mcp"},
            "c": {"url": "ftp://example.org"},
            "d": {},
            "e": {"command": "x", "args": "1"},
        }
    }
    servers, problems = parse_servers(config, "project")
    assert [server.name for server in servers] == ["a", "b"]
    assert all(server.needs_approval for server in servers)
    assert len(problems) == 3
