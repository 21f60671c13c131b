"""An engine process and the other end of its streams, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests_support import PATIENCE_S


class Engine:
    """One engine process and the other end of its streams."""

    def __init__(self, *arguments: str | Path) -> None:
        self.started = time.monotonic()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "worldline", "engine", *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ,
        )  # fmt: skip
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._next = 0

    def raw(self, line: bytes) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(line)
        self.child.stdin.flush()

    def send(self, method: str, **params: Any) -> int:
        self._next += 1
        line = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.raw(json.dumps(line).encode() + b"\n")
        return self._next

    def read(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line, self.child.stderr.read() if self.child.stderr else ""
        message: dict[str, Any] = json.loads(line)
        if message.get("method") == "batch":
            self.events += [(e["method"], e["params"]) for e in message["params"]["events"]]
        elif "method" in message:
            self.events.append((message["method"], message["params"]))
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        wanted = self.send(method, **params)
        while True:
            message = self.read()
            if message.get("id") == wanted:
                return message

    def until(self, method: str) -> dict[str, Any]:
        while True:
            for name, params in self.events:
                if name == method:
                    return params
            self.read()

    def end(self) -> int:
        if self.child.stdin is not None:
            self.child.stdin.close()
        code = self.child.wait(timeout=PATIENCE_S)
        for stream in (self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
        return code

    def kill(self) -> None:
        self.child.kill()
        self.end()


@contextmanager
def engine_on(*arguments: str | Path) -> Iterator[Engine]:
    """An engine that has opened its session; it is told to end after the block."""
    engine = Engine(*arguments)
    try:
        engine.ask("hello", protocol=1)
        yield engine
    finally:
        engine.end()
