"""An MCP server in the sandbox of the session: the same walls as around a command, with what its entry asks for opened."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from worldline.agent.aftermath import denials_of, remove_unused_places
from worldline.agent.beforehand import save
from worldline.agent.confined import SandboxPlace
from worldline.agent.hosts import AskHost, hold_for_answer
from worldline.policy.copies import SavedCopy
from worldline.policy.ledger import effects_of
from worldline.policy.sandbox.confine import Confinement
from worldline.policy.sandbox.model import Grant, Profile
from worldline.policy.sandbox.places import CACHE_ENV, git_places
from worldline.tools.process import clean_env

logger = logging.getLogger(__name__)

_END_S = 2.0
_MOST_LINE = 64_000_000
"""Bytes of one message."""


class ConfinedServer:
    """Starts one server. `open` gives the streams of the protocol; `denied` what was refused since it was asked last."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        place: SandboxPlace,
        grants: list[Grant],
        ask_host: AskHost,
        node: str,
    ) -> None:
        self._name = name
        self._argv = list(argv)
        self._env = dict(env)
        self._place = place
        self._grants = grants
        self._ask_host = ask_host
        self._node = node
        self._confinement: Confinement | None = None
        self._told: set[str] = set()

    def denied(self) -> list[str]:
        """What was refused since the last time, in words. Blocking."""
        if self._confinement is None:
            return []
        found = [f"{d['kind']} {d['target']}" for d in denials_of(self._confinement.seen())]
        new = [text for text in found if text not in self._told]
        self._told.update(new)
        return new

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Any, Any]]:
        """The server runs as long as this is entered. Raises OSError, or SandboxFailed when it was not started."""
        place = self._place
        loop = asyncio.get_running_loop()
        title = f"MCP server {self._name}"
        closed = await asyncio.to_thread(place.closed)
        profile = Profile(
            closed=closed.places, read_only=closed.kept, workspace=place.workspace, private_tmp=place.private_tmp, git=git_places(place.workspace), hidden=place.hidden,
            grants=self._grants, host_policy=hold_for_answer(loop, self._ask_host, title, self._grants),
            network=place.network,
        )  # fmt: skip
        copies = await asyncio.to_thread(self._before)
        confinement = await asyncio.to_thread(Confinement, self._argv, place.workspace, profile, place.label)
        process: subprocess.Popen[bytes] | None = None
        try:
            process = self._start(confinement)
            await asyncio.to_thread(confinement.started)
            self._confinement = confinement
            async with _streams(process) as streams:
                yield streams
        finally:
            if process is not None:
                await asyncio.shield(asyncio.to_thread(_end, process))
            found = await asyncio.shield(asyncio.to_thread(self._after, confinement, copies))
            if found:
                place.enter(self._node, found)

    def _start(self, confinement: Confinement) -> subprocess.Popen[bytes]:
        """To be called on the loop: the server is tied to the thread that starts it, and that one lives as long as the
        engine."""
        return subprocess.Popen(
            confinement.argv,
            cwd=self._place.workspace,
            env={**clean_env(), **CACHE_ENV, **self._env, **confinement.env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=confinement.pass_fds,
            start_new_session=True,
        )

    def _before(self) -> list[SavedCopy]:
        copies = self._place.copies
        return [save(Path(grant.target), copies) for grant in self._grants if grant.kind == "write"]

    def _after(self, confinement: Confinement, copies: list[SavedCopy]) -> list[dict[str, Any]]:
        report = confinement.report()
        remove_unused_places(copies, report)
        found = effects_of(report, self._grants, copies, ({}, {}), "")
        for effect in found.effects:
            effect["summary"] = f"{effect['summary']} (MCP server {self._name})"
        return found.effects


def _end(process: subprocess.Popen[bytes]) -> None:
    """The end of its input asks a server to end; what does not is ended."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        if number:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        try:
            process.wait(_END_S)
            break
        except subprocess.TimeoutExpired:
            continue
    process.stdout.close()


@asynccontextmanager
async def _streams(process: subprocess.Popen[bytes]) -> AsyncIterator[tuple[Any, Any]]:
    """Lines of JSON as messages of the protocol, both ways."""
    anyio = importlib.import_module("anyio")
    types = importlib.import_module("mcp.types")
    message_type = importlib.import_module("mcp.shared.message").SessionMessage
    loop = asyncio.get_running_loop()
    assert process.stdin is not None and process.stdout is not None
    reader = asyncio.StreamReader(limit=_MOST_LINE)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(process.stdout.fileno()), "rb")
    )
    pipe, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(process.stdin.fileno()), "wb")
    )
    writer = asyncio.StreamWriter(pipe, protocol, None, loop)
    to_session, from_server = anyio.create_memory_object_stream(0)
    from_session, to_server = anyio.create_memory_object_stream(0)

    async def read() -> None:
        async with to_session:
            with contextlib.suppress(
                anyio.ClosedResourceError, anyio.BrokenResourceError, ValueError, OSError
            ):
                while line := await reader.readline():
                    await to_session.send(parsed(line))

    def parsed(line: bytes) -> Any:
        try:
            return message_type(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            return error  # the session says what is wrong with it

    async def write() -> None:
        async with to_server:
            with contextlib.suppress(OSError):
                async for item in to_server:
                    writer.write(
                        item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                    )
                    await writer.drain()
                return
        await to_session.aclose()

    tasks = [loop.create_task(read()), loop.create_task(write())]
    try:
        yield from_server, from_session
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
        for stream in (to_session, from_server, from_session, to_server):
            await stream.aclose()
