"""Processes that outlive their call: listed, waited for, stopped; at a jump and at the end of a windowless run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from worldline.core.secrets import mask
from worldline.protocol.model import ProcessInfo, ProcessPort

KEEP_ENDED = 20
"""Ended processes that can still be asked about: each holds its output, which may be megabytes."""

Changed = Callable[[ProcessInfo], None]


@dataclass(slots=True)
class ProcessEntry:
    pid: int
    command: str
    node: str
    alive: Callable[[], bool]
    exit_code: Callable[[], int | None]
    output: Callable[[], bytes]
    stop: Callable[[], Awaitable[list[int]]]
    """End it and all that belongs to it; gives what could not be ended."""
    listening: Callable[[], list[ProcessPort]] = list
    """Ports on which it listens now; blocking."""
    started: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    id: str = ""
    ended: bool = False
    ports: list[ProcessPort] = field(default_factory=list)
    """As of the last look."""

    def info(self) -> ProcessInfo:
        return ProcessInfo(
            id=self.id,
            pid=self.pid,
            command=mask(self.command)[0][:500],
            node=self.node,
            started=self.started,
            running=not self.ended,
            ports=[] if self.ended else self.ports,
        )


class ProcessTable:
    """All background processes of a session. Used on the engine's loop only."""

    def __init__(self, changed: Changed | None = None) -> None:
        self._entries: dict[str, ProcessEntry] = {}
        self._changed = changed or (lambda info: None)
        self._next = 1

    def add(self, entry: ProcessEntry) -> str:
        entry.id = f"p{self._next}"
        self._next += 1
        self._entries[entry.id] = entry
        for old in [e.id for e in self._entries.values() if e.ended][:-KEEP_ENDED]:
            del self._entries[old]
        self._changed(entry.info())
        return entry.id

    def get(self, id_: str) -> ProcessEntry | None:
        """By id, or by pid as text."""
        return self._entries.get(id_) or next((e for e in self._entries.values() if str(e.pid) == id_), None)

    def refresh(self) -> None:
        """Notice what has ended by itself."""
        for entry in self._entries.values():
            if not entry.ended and not entry.alive():
                entry.ended = True
                self._changed(entry.info())

    async def look(self) -> None:
        """The same without holding up the loop: each look goes through all processes of the machine."""
        open_ones = [entry for entry in self._entries.values() if not entry.ended]
        if not open_ones:
            return

        def find() -> list[tuple[ProcessEntry, bool, list[ProcessPort]]]:
            return [(e, alive, e.listening() if alive else []) for e in open_ones for alive in (e.alive(),)]

        for entry, alive, ports in await asyncio.to_thread(find):
            if not entry.ended and (not alive or ports != entry.ports):
                entry.ended, entry.ports = not alive, ports
                self._changed(entry.info())

    def entries(self, *, look: bool = True) -> list[ProcessEntry]:
        """`look=False` where `look()` was awaited just before."""
        if look:
            self.refresh()
        return list(self._entries.values())

    def running(self, *, look: bool = True) -> list[ProcessInfo]:
        return [entry.info() for entry in self.entries(look=look) if not entry.ended]

    async def wait(self, id_: str, timeout_s: float) -> bool:
        """Whether it has ended within the time."""
        entry = self._entries[id_]
        deadline = time.monotonic() + timeout_s
        while await asyncio.to_thread(entry.alive):
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(min(0.1, max(0.0, deadline - time.monotonic())))
        await self.look()
        return True

    async def stop(self, id_: str) -> list[int]:
        """End one; gives the pids that could not be ended."""
        entry = self._entries[id_]
        left = await entry.stop()
        await self.look()
        return left

    async def stop_all(self) -> list[int]:
        await self.look()
        running = [entry for entry in self._entries.values() if not entry.ended]
        left = await asyncio.gather(*(entry.stop() for entry in running))
        await self.look()
        return [pid for pids in left for pid in pids]
