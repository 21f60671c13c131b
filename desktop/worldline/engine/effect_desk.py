"""The commands about effects on the world: what there is at a node, what is taken back, what is ended."""

from __future__ import annotations

from worldline.core.errors import BadInput
from worldline.engine.confinement import SandboxDesk
from worldline.engine.effects import EffectList
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import EffectInfo
from worldline.tools.process_table import ProcessTable


class EffectDesk:
    def __init__(
        self, shared: Shared, effects: EffectList, processes: ProcessTable, sandbox: SandboxDesk
    ) -> None:
        self._shared = shared
        self._effects = effects
        self._processes = processes
        self._sandbox = sandbox

    async def effects(self, p: c.EffectsAt) -> c.Effects:
        await self._processes.look()
        uid = self._shared.doc.resolve(p.node or "cursor")
        here, elsewhere = self._effects.split(uid)
        return c.Effects(
            cursor=uid, here=here, elsewhere=elsewhere, processes=self._processes.running(look=False)
        )

    async def undo(self, p: c.UndoEffect) -> EffectInfo:
        effect = self._effects.get(p.id)
        return self._effects.mark(p.id, await self._sandbox.undo(effect, self._processes))

    async def stop_process(self, p: c.StopProcess) -> c.Nothing:
        if self._processes.get(p.id) is None:
            raise BadInput(f"There is no process {p.id!r}.", "It has ended.")
        await self._processes.stop(p.id)
        return c.Nothing()
