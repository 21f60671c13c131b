"""A program that looks for something on behalf of a tool, while a thread waits for its answer. It ends with the wish for it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Ended(Exception):
    """It came to no answer, and that is no defect of ours: it could not be started, or the system ended it. Says which."""


class Helper:
    """The programs of one call, one after the other."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Raises `Ended`."""
        with self._guard:
            if self._unwanted:
                raise Ended("nobody waits for it any more")
            try:
                self._process = subprocess.Popen(argv, **options)
            except OSError as error:
                raise Ended(f"its program could not be started ({error.strerror or error})") from error
            return self._process

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        data: bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Exit code and standard output. Raises TimeoutError, `Ended`."""
        process = self.start(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=env,
        )
        with process:
            try:
                said, _ = process.communicate(data, timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise TimeoutError from None
        check(process.returncode)
        return process.returncode, said

    def end(self) -> None:
        """Nobody waits any more. From any thread."""
        with self._guard:
            self._unwanted = True
            if self._process is not None:
                self._process.kill()


def check(code: int) -> None:
    """Raises `Ended` for the exit code of a program that a signal ended."""
    if code < 0:
        raise Ended(f"the system ended its program with signal {-code}")
