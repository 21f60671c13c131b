"""Helper processes, seen from the process that they help.

One that ends, hangs or says what it should not is lost: whatever it was asked and has not answered is known, and is done by
the one that asked.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from worldline.workspace.messages import HEAD, packed

MOST = 3
"""Helpers of one job."""
_LIBRARY = Path(__file__).resolve().parents[2]
_RUN = (
    "import sys; sys.path.append(sys.argv[1]); __import__(sys.argv[2], fromlist=['main']).main(*sys.argv[3:])"
)
"""What is imported by its name is compiled once for all that ever start. Added at the end: what comes with the interpreter
is found first."""

Asked = TypeVar("Asked")


class Lost(Exception):
    """A helper has ended, does not answer, or says what it should not."""


@dataclass
class Helper(Generic[Asked]):
    process: subprocess.Popen[bytes]
    asked: deque[Asked] = field(default_factory=deque)
    """What it has not answered yet."""
    out: bytes = b""
    got: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls, program: ModuleType, *words: str, fds: Sequence[int] = ()) -> Helper[Asked]:
        """One that runs `main` of this module, with these open files at the same numbers. It has nothing of the
        environment, and names of files are the same to it as to a process that has them as UTF-8. Raises OSError."""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _RUN, os.fspath(_LIBRARY), program.__name__, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            cwd="/", env={}, start_new_session=True, pass_fds=fds,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        os.set_blocking(process.stdout.fileno(), False)
        return cls(process)

    @property
    def input(self) -> int:
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    @property
    def output(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def ask(self, message: Any, about: Asked) -> None:
        """`about` comes back with the answer. Raises `Lost`."""
        self.asked.append(about)
        self.out += packed(message)
        self.push()

    def push(self) -> None:
        """Hand over as much as there is room for. Raises `Lost`."""
        try:
            while self.out:
                self.out = self.out[os.write(self.input, self.out) :]
        except BlockingIOError:
            pass  # the pipe is full: the rest is handed over the next time
        except OSError as error:
            raise Lost from error

    def answers(self) -> Iterator[tuple[Asked, Any]]:
        """What has come, without waiting. What it was asked is done once the next one is wanted: whoever finds that an
        answer makes no sense raises `Lost`, and it stays among what was asked. Raises `Lost`."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.output, 1 << 16):
                self.got += data
            else:
                raise Lost
        while len(self.got) >= HEAD:
            size = HEAD + int.from_bytes(self.got[:HEAD], "big")
            if len(self.got) < size:
                break
            if not self.asked:
                raise Lost
            try:
                said = marshal.loads(self.got[HEAD:size])
            except (ValueError, EOFError, TypeError) as error:
                raise Lost from error
            yield self.asked[0], said
            self.asked.popleft()
            del self.got[:size]

    def close(self) -> None:
        """End it; it does nothing any more when this returns."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def silent(helpers: Iterable[Helper[Any]], patience_s: float) -> list[Helper[Any]]:
    """Wait until one of those that were asked something can be read or written to; all of them when none could in
    `patience_s`."""
    busy = [helper for helper in helpers if helper.asked]
    poll = select.poll()
    for helper in busy:
        poll.register(helper.output, select.POLLIN)
        if helper.out:
            poll.register(helper.input, select.POLLOUT)
    return busy if busy and not poll.poll(patience_s * 1000) else []
