"""Commands as processes: own session without a terminal, closed input, a time limit, bounded output, nothing lost.

A command is over when its shell ends, not when the last holder of the pipe does: what still runs then is named and
kept in the `ProcessTable`. Every process carries a mark in its environment, so that one that left the session
(`setsid`, a double fork) is found as well.

Two short-lived threads serve each command (one reads, one waits); everything else runs on the caller's loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from worldline.core.access import CommandResult, Emit
from worldline.core.pipes import unread
from worldline.tools.output import KEEP_LIMIT, OUTPUT_LIMIT, Live, Output
from worldline.tools.process_table import ProcessEntry, ProcessTable

GRACE_S = 0.2
"""After the shell ended, how long a quiet pipe is still read: for what its children write."""
DRAIN_S = 1.0
"""How long at most, when something goes on writing into it."""
TERM_GRACE_S = 0.5
UP_S = 0.3
"""What ends within this time is no background process: it has failed at once."""
_MARK = "WORLDLINE_CALL"
_HAS_PROC = Path("/proc/self/environ").exists()

_NO_DIALOGS = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "AWS_PAGER": "",
    "LESS": "-FRX",
    "EDITOR": "false",
    "VISUAL": "false",
    # `true` keeps messages as they are (`rebase --continue`); an empty message still stops a commit.
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GCM_INTERACTIVE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PRIVATE_KEY|API_?KEY|ACCESS_KEY|CREDENTIAL"
    r"|^(ANTHROPIC|AWS|AZURE|GOOGLE|GCP|CLOUDSDK|OPENAI)_|^(SSH|GPG|DBUS)_|^(DISPLAY|WAYLAND_DISPLAY|XAUTHORITY)$"
)


def clean_env(source: Mapping[str, str] | None = None, mark: str = "") -> dict[str, str]:
    """The environment of a command: without keys and agents of the person, without pagers and editors."""
    source = os.environ if source is None else source
    env = {name: value for name, value in source.items() if not _SECRET_NAME.search(name.upper())}
    env |= _NO_DIALOGS
    if mark:
        env[_MARK] = mark
    return env


@dataclass(slots=True)
class Started:
    """A command that was started. The events are set from the threads, on the loop."""

    process: subprocess.Popen[bytes]
    output: Output
    mark: str
    command: str
    began: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The shell has ended."""
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    """All that had been written by then is in `output`, however long the reader had to wait for its turn."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """The last holder of the pipe has let go of it."""
    reading: threading.Lock = field(default_factory=threading.Lock)
    """Held while a piece is taken out of the pipe: what is not in the pipe is in `output` when this is free."""
    _owed: int | None = None
    """The length of `output` with which all is taken; None until the shell has ended."""

    def is_all_taken(self) -> bool:
        return self._owed is not None and self.output.total >= self._owed

    def count_the_rest(self) -> None:
        """The shell has ended: so much is still to come."""
        with self.reading:
            self._owed = self.output.total + self._unread()

    def is_quiet(self, seen: int) -> bool:
        """Nothing has been written since `output` was `seen` long, whether it has been read yet or not."""
        if not self.reading.acquire(blocking=False):
            return False
        try:
            return self.output.total == seen and not self._unread()
        finally:
            self.reading.release()

    def _unread(self) -> int:
        pipe = self.process.stdout
        return unread(pipe.fileno()) if pipe is not None and not pipe.closed else 0


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    emit: Emit | None = None,
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
    keep: int = 0,
    command: str = "",
    pass_fds: Sequence[int] = (),
    extra_env: Mapping[str, str] | None = None,
) -> Started:
    """Start `argv` in its own session. To be called on the loop. Raises OSError when it cannot be started.

    `env` is cleaned of secrets; `extra_env` is added as it is (what a sandbox sets). Of the output `limit` bytes are at
    hand, and up to `keep` whole in a file when there are more."""
    loop = asyncio.get_running_loop()
    mark = secrets.token_hex(8)
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env={**clean_env(env), **(extra_env or {}), _MARK: mark},
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
    )
    started = Started(process, Output(limit, keep), mark, command or " ".join(argv), time.monotonic())
    live = Live(loop, emit) if emit is not None else None

    def tell(event: asyncio.Event) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(event.set)

    def feed() -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.write(stdin)
        with contextlib.suppress(OSError):
            process.stdin.close()

    def take(pipe: int) -> bytes:
        with started.reading:
            chunk = os.read(pipe, 65536)
            started.output.add(chunk)
        if started.is_all_taken():
            tell(started.taken)
        return chunk

    def read() -> None:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        comes = select.poll()
        comes.register(pipe, select.POLLIN)
        try:
            while comes.poll() and (chunk := take(pipe)):
                if live is not None:
                    live.add(chunk)
            if live is not None:
                live.add(b"", last=True)
        finally:
            with started.reading:
                process.stdout.close()
            tell(started.taken)
            tell(started.closed)

    def wait() -> None:
        process.wait()
        tell(started.ended)
        started.count_the_rest()
        if started.is_all_taken():
            tell(started.taken)

    for work in ([feed] if stdin else []) + [read, wait]:
        threading.Thread(target=work, name=f"command-{process.pid}", daemon=True).start()
    return started


def marked(mark: str, session: int = 0) -> list[int]:
    """Processes that carry the mark or are in the session. Those of other users cannot be seen.

    Both are needed: one that is just being replaced (`exec`) has no readable environment for a moment, and one that
    left the session has only its mark."""
    wanted = f"{_MARK}={mark}".encode()
    found: list[int] = []
    if _HAS_PROC:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_bytes().rpartition(b") ")[2].split()
                if fields[0] in (b"Z", b"X"):
                    continue
                if int(fields[3]) == session or wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except (OSError, IndexError):
                continue
        return found
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            ours = process.environ().get(_MARK) == mark or (session and os.getsid(process.pid) == session)
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def send(mark: str, group: int, number: int) -> None:
    """A signal to the session's group and to everything with the mark."""
    if group:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in marked(mark, group):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


async def end(mark: str, group: int) -> list[int]:
    """End everything of a command: TERM, a short while, KILL. What is left then cannot be reached by us."""
    await asyncio.to_thread(send, mark, group, signal.SIGTERM)
    deadline = time.monotonic() + TERM_GRACE_S
    while await asyncio.to_thread(marked, mark, group):
        if time.monotonic() > deadline:
            await asyncio.to_thread(send, mark, group, signal.SIGKILL)
            await asyncio.sleep(0.05)
            break
        await asyncio.sleep(0.02)
    return await asyncio.to_thread(marked, mark, group)


async def finish(started: Started, timeout_s: float | None) -> CommandResult:
    """Wait for the shell to end, or end it. On cancellation everything is ended before the exception goes on."""
    process = started.process
    timed_out = False
    left: list[int] = []
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await started.ended.wait()
        except TimeoutError:
            timed_out = True
            left = await end(started.mark, process.pid)
            await started.ended.wait()
        await started.taken.wait()
        seen = -1
        drained_by = time.monotonic() + DRAIN_S
        while not started.closed.is_set() and not started.is_quiet(seen):
            seen = started.output.total
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await started.closed.wait()
            if time.monotonic() > drained_by:
                break  # a child that goes on writing
        if not timed_out:
            left = await asyncio.to_thread(marked, started.mark, process.pid)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(end(started.mark, process.pid)))
        started.output.drop()
        raise
    code = process.returncode
    return CommandResult(
        exit_code=None if timed_out else (128 - code if code < 0 else code),
        output=started.output.get(),
        total_bytes=started.output.total,
        timed_out=timed_out,
        signal=-code if code < 0 else 0,
        duration_ms=int((time.monotonic() - started.began) * 1000),
        survivors=left,
        whole=started.output.take_whole(),
    )


def shell_argv(command: str) -> list[str]:
    return [shutil.which("bash") or "/bin/sh", "-c", command]


async def has_failed_at_once(started: Started) -> int | None:
    """The exit code of what was to run in the background and has ended already, with all that it said; None: it is up."""
    try:
        async with asyncio.timeout(UP_S):
            await started.ended.wait()
    except TimeoutError:
        return None
    await started.taken.wait()
    return started.process.returncode


async def run_command(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    emit: Emit,
    background: bool = False,
    table: ProcessTable | None = None,
    node: str = "",
    wrap: Callable[[list[str]], list[str]] | None = None,
    limit: int = OUTPUT_LIMIT,
) -> CommandResult:
    """Run a shell command line. `wrap` may put a sandbox around the arguments.

    In the background it returns as soon as the process is up and in the table (or has failed at once).
    """
    argv = shell_argv(command)
    keep = 0 if background else KEEP_LIMIT
    started = start(wrap(argv) if wrap else argv, cwd=cwd, emit=emit, command=command, limit=limit, keep=keep)
    if background and table is not None:
        entry = entry_of(started, node)
        table.add(entry)
        return CommandResult(
            exit_code=await has_failed_at_once(started),
            output=started.output.get(),
            total_bytes=started.output.total,
            duration_ms=int((time.monotonic() - started.began) * 1000),
            process_id=entry.id,
        )
    result = await finish(started, timeout_s)
    if result.survivors and table is not None:
        entry = entry_of(started, node, result.survivors[0])
        table.add(entry)
        result.process_id = entry.id
    return result


def entry_of(started: Started, node: str, pid: int = 0) -> ProcessEntry:
    process = started.process
    return ProcessEntry(
        pid=pid or process.pid,
        command=started.command,
        node=node,
        alive=lambda: process.poll() is None or bool(marked(started.mark, process.pid)),
        exit_code=process.poll,
        output=started.output.get,
        stop=lambda: end(started.mark, process.pid),
    )
