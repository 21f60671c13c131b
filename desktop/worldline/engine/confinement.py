"""How far the commands of this session are confined, what is opened for each, and how an effect is undone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldline.agent.confined import ConfinedRunner, SandboxPlace
from worldline.core import paths
from worldline.core.access import AccessRequest, CommandRunner
from worldline.core.errors import WorldlineError
from worldline.engine.shared import Shared
from worldline.policy.decide import PolicyGate
from worldline.policy.ledger import Copies
from worldline.policy.openings import grants_of, push_grants
from worldline.policy.sandbox import selftest
from worldline.policy.sandbox.model import Grant
from worldline.protocol.model import EffectInfo
from worldline.tools.process_table import ProcessTable
from worldline.workspace.absorb import absorb, move_ref


class SandboxDesk:
    """One for a session. `check` runs the self-test; until then nothing is claimed and everything asks."""

    def __init__(self, shared: Shared, gate: PolicyGate) -> None:
        self._shared = shared
        self._gate = gate
        base = paths.data_home() / "sandbox" / shared.slug
        self._private = base / "tmp"
        self._copies = Copies(base / "copies")
        self._approved: set[str] = set()
        self.checked = asyncio.Event()

    async def check(self) -> str:
        """Find out what this machine enforces; returns the sentence about it."""
        try:
            if self._shared.settings.get("sandbox") == "off":
                self._gate.sandbox = "none"
                return "The sandbox is switched off in the settings."
            result = await asyncio.to_thread(selftest.run)
            self._gate.sandbox = result.label
            return f"{result.why} {result.fix}".strip()
        finally:
            self.checked.set()

    def approved(self, command: str) -> None:
        """The person, or a rule of theirs, allowed exactly this line: a push in it may reach its remote, once."""
        self._approved.add(command)

    def runner(self, table: ProcessTable, node: str, grants: list[dict[str, Any]]) -> CommandRunner:
        """For the commands of one call. `grants` are those given for this branch."""
        self._private.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = SandboxPlace(
            workspace=self._shared.root,
            private_tmp=self._private,
            label=self._gate.sandbox,
            copies=self._copies,
            absorb=absorb,
            hidden=[paths.data_home() / "settings.json", paths.sessions_dir()],
        )

        def take(command: str) -> Sequence[Grant]:
            rules = self._gate.openings(grants)
            self._gate.spend_once()
            opened = grants_of(rules, command, self._shared.root)
            if command in self._approved:
                self._approved.discard(command)
                opened += push_grants(command, self._shared.root)
            return opened

        async def ask_host(host: str, port: int, method: str, command: str) -> str:
            request = AccessRequest(
                call_id="",
                tool="bash",
                access="network",
                input={"host": host, "port": port, "method": method, "command": command},
                root=self._shared.root,
                summary=f"{method} {host}:{port}",
                url=f"https://{host}:{port}/",
                node=node,
                grants=grants,
            )
            answer = await self._gate.decide(request)
            return "" if answer.error is None else answer.error.message

        return ConfinedRunner(place, table, node, take, ask_host)

    # -- undoing ----------------------------------------------------------------------------------------------------

    async def undo(self, effect: EffectInfo) -> str:
        """Undo an effect, or make its counter move. Returns what was done, for the person. Raises WorldlineError."""
        detail = effect.detail
        try:
            if effect.kind == "outside_write" and effect.reversibility == "undoable":
                return await asyncio.to_thread(self._copies.restore, detail)
            if effect.kind == "vcs_local":
                await asyncio.to_thread(
                    move_ref, self._shared.root, detail["ref"], detail["new"], detail["old"]
                )
                return f"{detail['ref']} is where it was."
        except OSError as error:
            raise WorldlineError(
                f"This could not be undone: {error.strerror or error}.", "Nothing else was changed."
            ) from error
        raise WorldlineError(
            "There is nothing to put back for this.",
            (effect.undo_label and f"By hand: {effect.undo_label}.")
            or "It happened outside and stays as it is.",
        )


def private_folder(slug: str) -> Path:
    """Where the temp folder, the copies and the passing objects of a session's commands lie."""
    return paths.data_home() / "sandbox" / slug
