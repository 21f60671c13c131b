"""MCP servers as real processes."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import NUMBERS_SERVER, PATIENCE_S
from toolbench import Bench, error_of, text_of
from worldline.tools.mcp_client import RESTS_S, McpServer
from worldline.tools.mcp_config import ServerConfig, parse_servers


def numbers(folder: Path) -> Path:
    script = folder / "server.py"
    script.write_text(NUMBERS_SERVER)
    return script


def config(script: Path) -> ServerConfig:
    return ServerConfig("numbers", "user", sys.executable, (str(script),))


async def test_a_server_serves_fails_and_dies(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    script = numbers(tmp_path)
    server = McpServer(config(script), tmp_path)
    missing = McpServer(ServerConfig("missing", "user", "/no/such/program"), tmp_path)
    await asyncio.gather(server.start(), missing.start())
    try:
        assert not server.problem and missing.problem and not missing.tools
        bench = make_bench(tools={tool.name: tool for tool in server.tools})
        assert text_of(await bench.call("numbers__add", a=2, b=3)) == "5"
        repaired = await bench.call("numbers__add", a="2", b=3)
        assert repaired.ok and repaired.repairs
        wrong = await bench.call("numbers__add", a="two", b=3)
        assert error_of(wrong) == "invalid_arguments" and "a: must be integer" in text_of(wrong)
        failed = await bench.call("numbers__broken")
        assert error_of(failed) == "mcp_error" and "broken" in text_of(failed)
        assert error_of(await bench.call("numbers__dies")) == "server_died"
    finally:
        await server.stop()


async def test_a_server_over_http(
    make_bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    script = numbers(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, str(script), "streamable-http", str(port)]
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while socket.socket().connect_ex(("127.0.0.1", port)):
                await asyncio.sleep(0.05)
        config = ServerConfig("numbers", "user", url=f"http://127.0.0.1:{port}/mcp")
        server = McpServer(config, tmp_path)
        await server.start()
        assert not server.problem
        bench = make_bench(tools={tool.name: tool for tool in server.tools})
        assert text_of(await bench.call("numbers__add", a=2, b=3)) == "5"
        await server.stop()
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


async def test_a_server_that_dies_again_and_again_rests_longer_and_is_given_up(
    make_bench: Callable[..., Bench], tmp_path: Path
) -> None:
    script = numbers(tmp_path)
    told: list[str] = []
    server = McpServer(config(script), tmp_path, tell=told.append)
    now = [1000.0]
    server.clock = lambda: now[0]
    await server.start()
    try:
        bench = make_bench(tools={tool.name: tool for tool in server.tools})

        async def add() -> str:
            return text_of(await bench.call("numbers__add", a=2, b=3))

        for number, rest in enumerate(RESTS_S):
            assert error_of(await bench.call("numbers__dies")) == "server_died"
            if rest > 2:
                early = await bench.call("numbers__add", a=2, b=3)
                assert error_of(early) == "server_resting" and f"{rest:.0f} s" in text_of(early)
            now[0] += rest
            assert await add() == "5", number
        assert error_of(await bench.call("numbers__dies")) == "server_died"
        now[0] += 10_000
        for _ in range(2):
            assert error_of(await bench.call("numbers__add", a=2, b=3)) == "server_gone"
        assert told.count("MCP server 'numbers' was started again.") == len(RESTS_S)
        assert told[-1].endswith("It is not started again in this session.")
    finally:
        await server.stop()


async def test_a_server_that_lived_long_is_forgiven_and_one_that_was_ended_stays_so(
    make_bench: Callable[..., Bench], tmp_path: Path
) -> None:
    script = numbers(tmp_path)
    server = McpServer(config(script), tmp_path)
    now = [1000.0]
    server.clock = lambda: now[0]
    await server.start()
    bench = make_bench(tools={tool.name: tool for tool in server.tools})
    for _ in range(len(RESTS_S) + 2):
        now[0] += 3600
        assert error_of(await bench.call("numbers__dies")) == "server_died"
        assert text_of(await bench.call("numbers__add", a=2, b=3)) == "5"
    await server.stop()
    assert error_of(await bench.call("numbers__add", a=2, b=3)) == "server_gone"


async def test_a_server_that_cannot_be_started_again_is_told(
    make_bench: Callable[..., Bench], tmp_path: Path
) -> None:
    script = numbers(tmp_path)
    told: list[str] = []
    server = McpServer(config(script), tmp_path, tell=told.append)
    await server.start()
    bench = make_bench(tools={tool.name: tool for tool in server.tools})
    assert error_of(await bench.call("numbers__dies")) == "server_died"
    script.unlink()
    assert error_of(await bench.call("numbers__add", a=2, b=3)) == "server_gone"
    assert any("could not be started again" in sentence for sentence in told)
    await server.stop()
