"""One running engine: its process and the three threads that read, write and listen to its last words.

Imported when the first engine starts: `subprocess` and `queue` are not needed for the first paint of the window.
"""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import os
import queue
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from worldline.core.pipes import unread

log = logging.getLogger("worldline.client")


class Link:
    """One running engine and its three threads. A restart makes a new link, so late lines of the old one are dropped."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], wake: Callable[[], None]
    ) -> None:
        self.outbox: collections.deque[dict[str, Any] | None] = collections.deque()
        """Messages of the engine; None = it has ended."""
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._wake = wake
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=os.name == "posix",
        )
        self.last_words: collections.deque[str] = collections.deque(maxlen=20)
        self.heard_out = threading.Event()
        """All that the engine had said on its error output when it ended is in `last_words`. What outlives it may hold
        that pipe open as long as it likes."""
        self._hearing = threading.Lock()
        """Held while a piece is taken out of that pipe."""
        self._heard = 0
        self._owed: int | None = None
        """Of so many bytes; known when the engine has ended."""
        self._threads = [
            threading.Thread(target=target, name=f"engine-{target.__name__.strip('_')}", daemon=True)
            for target in (self._read, self._write, self._errors)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, message: dict[str, Any]) -> None:
        self._lines.put(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def close_input(self) -> None:
        self._lines.put(None)

    def join(self, seconds: float) -> bool:
        """Wait for process and threads; False when they are still there."""
        end = time.monotonic() + seconds
        try:
            self.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        self.close_input()
        for thread in self._threads:
            thread.join(max(0.05, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:
                    log.error("the engine sent a line that is not JSON: %.200r", line)
                    continue
                if isinstance(message, dict):
                    self.outbox.append(message)
                    self._wake()
        self.process.wait()
        self._count_the_rest()
        self.close_input()
        self.outbox.append(None)
        self._wake()

    def _write(self) -> None:
        assert self.process.stdin is not None
        # The engine may be gone at any write; the reader notices its end and reports it.
        with contextlib.suppress(OSError, ValueError), self.process.stdin as stream:
            while (line := self._lines.get()) is not None:
                stream.write(line)
                stream.flush()

    def _count_the_rest(self) -> None:
        stream = self.process.stderr
        assert stream is not None
        if os.name != "posix":
            return  # there the lock is held while nothing comes
        with self._hearing:
            if not stream.closed:
                self._owed = self._heard + unread(stream.fileno())
                if self._heard >= self._owed:
                    self.heard_out.set()

    def _errors(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            rest = b""
            while chunk := self._hear(stream, rest):
                rest = (rest + chunk).rpartition(b"\n")[2]
            if rest:
                self._say(rest)
            with self._hearing:
                stream.close()
        self.heard_out.set()

    def _hear(self, stream: IO[bytes], rest: bytes) -> bytes:
        """The next piece; its whole lines are passed on with what came before them."""
        if os.name == "posix":  # so that the lock is not held while nothing comes
            comes = select.poll()
            comes.register(stream.fileno(), select.POLLIN)
            comes.poll()
        with self._hearing:
            chunk = os.read(stream.fileno(), 65536)
            for line in (rest + chunk).split(b"\n")[:-1]:
                self._say(line)
            self._heard += len(chunk)
            if self._owed is not None and self._heard >= self._owed:
                self.heard_out.set()
        return chunk

    def _say(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "replace").rstrip()
        self.last_words.append(text)
        log.warning("engine: %s", text)
