from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from toolbench import Bench
from worldline.tools.mcp_client import McpServer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server has time to start, however busy the machine is."""
    monkeypatch.setattr(McpServer.start, "__defaults__", (PATIENCE_S,))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "ws"
    root.mkdir()
    return Bench(root)


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    def make(**more: Any) -> Bench:
        root = tmp_path / "ws"
        root.mkdir(exist_ok=True)
        return Bench(root, **more)

    return make


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[BaseHTTPRequestHandler]], str]]:
    """Starts a server of pages on the loopback, which no proxy stands before; its address."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(handler: type[BaseHTTPRequestHandler]) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()
