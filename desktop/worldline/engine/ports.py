"""What the session's commands left running: told to the window, and shown to the browser of the person if they want it."""

from __future__ import annotations

import asyncio
import logging

from worldline.core.errors import BadInput
from worldline.engine.confinement import SandboxDesk
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.events import ProcessChanged
from worldline.protocol.model import ProcessInfo
from worldline.tools.process_table import ProcessTable

logger = logging.getLogger(__name__)


class PortDesk:
    """One for a session. A port is shown by the person's command alone, and no longer than its process runs."""

    def __init__(self, shared: Shared, processes: ProcessTable, sandbox: SandboxDesk) -> None:
        self._shared = shared
        self._processes = processes
        self._sandbox = sandbox
        self._alive: set[str] = set()
        self._shown: dict[str, set[int]] = {}
        self._hiding: set[asyncio.Task[None]] = set()

    def changed(self, process: ProcessInfo) -> None:
        # Not asked of the table: it calls this while it looks.
        (self._alive.add if process.running else self._alive.discard)(process.id)
        self._shared.emit("process_changed", ProcessChanged(process=process))
        self._shared.status.set(processes=len(self._alive))
        if not process.running and process.id in self._shown:
            task = asyncio.get_running_loop().create_task(self._hide(self._shown.pop(process.id)))
            self._hiding.add(task)
            task.add_done_callback(self._hiding.discard)

    async def show(self, p: c.ShowPort) -> c.PortShown:
        """Raises BadInput when the process does not listen there."""
        await self._processes.look()
        entry = self._processes.get(p.id)
        if entry is None or entry.ended:
            raise BadInput(f"There is no process {p.id!r}.", "It has ended.")
        known = next((one for one in entry.ports if one.port == p.port), None)
        if known is None:
            raise BadInput(
                f"Process {p.id} does not listen on port {p.port}.",
                "Its server may have ended, or not begun yet.",
            )
        outside = await self._sandbox.show_port(p.port, p.show)
        logger.info("port %s of process %s: %s", p.port, p.id, f"shown on {outside}" if p.show else "hidden")
        shown = self._shown.setdefault(p.id, set())
        (shown.add if p.show else shown.discard)(p.port)
        await self._processes.look()
        return c.PortShown(url=f"http://127.0.0.1:{outside}/" if p.show else "")

    async def _hide(self, ports: set[int]) -> None:
        for port in ports:
            await self._sandbox.show_port(port, False)
