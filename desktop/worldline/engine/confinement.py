"""How far the commands of this session are confined, what is opened for each, and how an effect is undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from worldline.agent.beforehand import Ongoing
from worldline.agent.confined import ConfinedRunner, SandboxPlace
from worldline.core import paths
from worldline.core.access import AccessRequest, CommandResult, CommandRunner, Emit
from worldline.core.errors import SandboxError, ToolFailure, WorldlineError
from worldline.engine.effects import EffectList
from worldline.engine.shared import Shared
from worldline.policy.closed import Closed
from worldline.policy.copies import Copies
from worldline.policy.decide import PolicyGate
from worldline.policy.openings import counter_push, publish_grants, push_grants
from worldline.policy.pushing import push_outside
from worldline.policy.sandbox import selftest
from worldline.policy.sandbox.confine import NOT_RUN, SandboxFailed, not_started
from worldline.policy.sandbox.model import APPROVAL_TIMEOUT, PUSH, Grant, Profile
from worldline.policy.sandbox.network import SessionNetwork
from worldline.policy.sandbox.places import git_places, moved
from worldline.protocol.model import EffectInfo
from worldline.tools.process import shell_argv
from worldline.tools.process_table import ProcessTable
from worldline.workspace.absorb import absorb, move_ref


class SandboxDesk:
    """One for a session. `check` runs the self-test; until then nothing is claimed and everything asks."""

    def __init__(self, shared: Shared, gate: PolicyGate, effects: EffectList) -> None:
        self._shared = shared
        self._gate = gate
        self._effects = effects
        base = paths.data_home() / "sandbox" / shared.slug
        self._private = base / "tmp"
        self.copies = Copies(base / "copies")
        self._approved: set[str] = set()
        self._denied: set[tuple[str, int]] = set()
        self._watchers: set[asyncio.Task[None]] = set()
        self._ongoing = Ongoing()
        self._git = git_places(shared.root) if shared.work is not None else None
        self._network: SessionNetwork | None = None
        self.checked = asyncio.Event()
        self.problem = ""
        """Why the sandbox does not start for this session, though this machine has one: then no command is run."""
        self.on_problem: Callable[[], None] = lambda: None
        """Called when that changed."""
        self.other_names = False
        self._other_names = 0
        self._proven = False
        """The session's own profile has been started."""
        self._proving = asyncio.Lock()

    async def check(self) -> str:
        """Find out what this machine enforces; returns the sentence about it."""
        try:
            if self._shared.settings.get("sandbox") == "off":
                self._gate.sandbox = "none"
                return "The sandbox is switched off in the settings."
            result = await asyncio.to_thread(selftest.run)
            self._gate.sandbox = result.label
            self._network = result.network
            if self._git is None or self._git.common_dir is None or self._git.shared:
                await self._prove()
            # else at the first command: starting it makes folders in the person's own `.git`.
            return f"{result.why} {result.fix}".strip()
        finally:
            self.checked.set()

    async def ready(self) -> None:
        """Wait until it is known what this machine enforces, and whether it does so for this session."""
        await self.checked.wait()
        async with self._proving:
            await self._prove()

    async def _prove(self) -> None:
        """Start the session's own profile once: its folders may be what the sandbox cannot be put round."""
        if self._proven or self._gate.sandbox == "none" or self._shared.work is None:
            return
        place = self.place()
        git = await asyncio.to_thread(git_places, place.workspace)
        if self._git is not None and moved(self._git, git, place.workspace):
            return  # no command is run in it, and none of its files is touched
        self._proven = True
        closed = await asyncio.to_thread(place.closed)
        profile = Profile(
            workspace=place.workspace,
            private_tmp=place.private_tmp,
            git=git,
            hidden=place.hidden,
            closed=closed.places,
            read_only=closed.kept,
            network=self._network,
        )
        argv = shell_argv("echo READY")
        self._found(await asyncio.to_thread(selftest.starts, argv, profile, self._gate.sandbox))

    def _found(self, why: str) -> None:
        said = not_started(why) if why else ""
        if said != self.problem:
            self.problem = said
            self.on_problem()

    def broke(self, error: SandboxError) -> None:
        """It did not start for a command, though it did before."""
        if error.message != self.problem:
            self.problem = error.message
            self.on_problem()

    def begin_run(self) -> None:
        """Somebody said something: what was denied before may be asked again, and the cause of what did not start may be
        gone."""
        self._denied.clear()
        self._approved.clear()
        self._proven = self._proven and not self.problem

    async def settle(self) -> None:
        """Enter what ended background commands did, before the session is closed."""
        if self._watchers:
            await asyncio.wait(list(self._watchers), timeout=5)

    def close(self) -> None:
        """Give the network up, and end whatever still is in it."""
        if self._network is not None:
            self._network.close()

    def approved(self, command: str) -> None:
        """The person, or a rule of theirs, allowed exactly this line: a push in it may reach its remote, a publication
        its registry, once."""
        self._approved.add(command)

    def place(self) -> SandboxPlace:
        """What the commands of this session are confined to, and its servers."""
        self._private.mkdir(parents=True, exist_ok=True, mode=0o700)
        return SandboxPlace(
            workspace=self._shared.root,
            private_tmp=self._private,
            label=self._gate.sandbox,
            copies=self.copies,
            absorb=absorb,
            hidden=[
                paths.config_file(), paths.grants_key_file(), paths.sessions_dir(), paths.stores_dir(), paths.logs_dir(),
                paths.trash_dir(), self._private.with_name("copies"), Path(self._shared.doc.path),
            ],
            closed=self._closed,
            network=self._network,
            git=self._git,
            enter=self._effects.add,
            watchers=self._watchers,
            ongoing=self._ongoing,
        )  # fmt: skip

    def _closed(self) -> Closed:
        """Blocking."""
        closed = self._gate.closed(self._shared.root)
        self._other_names = closed.other_names
        return closed

    def found_other_names(self) -> bool:
        """Whether that changed since it was asked last: closed files have names where nothing hides them."""
        changed = (self._other_names > 0) != self.other_names
        self.other_names = self._other_names > 0
        return changed

    def runner(self, table: ProcessTable, node: str, grants: list[dict[str, Any]]) -> CommandRunner:
        """For the commands of one call. `grants` are those given for this branch."""
        return _CheckedRunner(self, lambda: self._runner(table, node, grants))

    def _runner(self, table: ProcessTable, node: str, grants: list[dict[str, Any]]) -> CommandRunner:
        place = self.place()

        def take(command: str) -> Sequence[Grant]:
            opened = self._gate.opened(grants, command, self._shared.root)
            if command in self._approved:
                self._approved.discard(command)
                push = push_outside(command, self._shared.root)
                if push is not None and self._gate.sandbox == "complete":
                    return [Grant("push", push.url, PUSH)]
                opened += push_grants(command, self._shared.root) + publish_grants(command)
            return opened

        async def ask_host(host: str, port: int, method: str, command: str) -> str:
            return await self.ask_host(host, port, method, command, node, grants)

        return ConfinedRunner(place, table, node, take, ask_host)

    async def show_port(self, port: int, show: bool) -> int:
        """Make a port of the session's network reachable from this machine, or not any more. Raises WorldlineError."""
        network = self._network
        if network is None:
            raise WorldlineError(
                "The commands of this session share no network of their own.",
                "Open the address as the server printed it.",
            )
        if not show:
            await asyncio.to_thread(network.hide, port)
            return 0
        try:
            return await asyncio.to_thread(network.show, port)
        except OSError as error:
            raise WorldlineError(
                f"Port {port} could not be made reachable: {error.strerror or error}.",
                "The server goes on running.",
            ) from error

    async def ask_host(
        self, host: str, port: int, method: str, command: str, node: str, grants: list[dict[str, Any]]
    ) -> str:
        """Why a confined program may not reach this host, "" = it may. Asks the person where nothing else decides."""
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
        if (host, port) in self._denied:
            return "the person denied this host before; they can be asked with request_access"
        answer = await self._gate.decide(request)
        if answer.error is None:
            return ""
        if answer.by_person:
            self._denied.add((host, port))
        return APPROVAL_TIMEOUT if answer.error.type == APPROVAL_TIMEOUT else answer.error.message

    # -- undoing ----------------------------------------------------------------------------------------------------

    async def undo(self, effect: EffectInfo, table: ProcessTable) -> Literal["undone", "countered"]:
        """Undo an effect, or make its counter move (which the person confirms). Raises WorldlineError."""
        self._shared.writable()
        detail = effect.detail
        if effect.status != "open":
            raise WorldlineError(f"This is {effect.status} already.", "Nothing was changed.")
        try:
            if effect.kind in ("outside_write", "package") and effect.reversibility == "undoable":
                await asyncio.to_thread(self.copies.restore, detail)
                return "undone"
            if effect.kind == "vcs_local":
                await self._move_back(detail["ref"], detail["new"], detail["old"])
                return "undone"
        except OSError as error:
            raise WorldlineError(
                f"This could not be undone: {error.strerror or error}.", "Nothing else was changed."
            ) from error
        if effect.kind == "vcs_remote":
            await self._push_back(effect, table)
            return "countered"
        raise WorldlineError(
            "There is nothing to put back for this.",
            (effect.undo_label and f"By hand: {effect.undo_label}.")
            or "It happened outside and stays as it is.",
        )

    async def _move_back(self, ref: str, now: str, wanted: str) -> None:
        """Raises OSError."""
        async with self._ongoing.turn:
            await asyncio.to_thread(move_ref, self._shared.root, ref, now, wanted)
            self._ongoing.moved({ref: now}, {ref: wanted} if wanted else {})

    async def _push_back(self, effect: EffectInfo, table: ProcessTable) -> None:
        root = self._shared.root
        command = await asyncio.to_thread(counter_push, effect.detail, root)
        request = AccessRequest(
            call_id="", tool="bash", access="execute", input={"command": command}, root=root, cwd=root,
            command=command, summary=effect.undo_label, node=effect.node, agent_says="",
        )  # fmt: skip
        answer = await self._gate.decide(request)
        if answer.error is not None:
            raise WorldlineError(answer.error.message, "The remote is as it was.")
        self.approved(command)
        runner = self.runner(table, effect.node, [])
        try:
            done = await runner.run(command, cwd=root, timeout_s=120, emit=lambda *_: None)
        except ToolFailure as error:
            raise WorldlineError(error.error.message, error.error.next) from error
        if done.exit_code != 0:
            said = done.output.decode("utf-8", "replace").strip()[-300:]
            raise WorldlineError(f"It could not be pushed back: {said}", "The remote is as it was.")
        more = [
            e for e in done.effects if e["kind"] != "vcs_remote" or e["detail"]["ref"] != effect.detail["ref"]
        ]
        self._effects.add(effect.node, more)


class _CheckedRunner:
    """Runs nothing before it is known what this machine enforces: a call is made ready earlier than that. And nothing while
    the sandbox that it has does not start."""

    def __init__(self, desk: SandboxDesk, make: Callable[[], CommandRunner]) -> None:
        self._desk = desk
        self._make = make

    async def run(
        self, command: str, *, cwd: Path, timeout_s: float, emit: Emit, background: bool = False
    ) -> CommandResult:
        await self._desk.ready()
        if self._desk.problem:
            raise SandboxFailed(self._desk.problem, NOT_RUN)
        try:
            return await self._make().run(
                command, cwd=cwd, timeout_s=timeout_s, emit=emit, background=background
            )
        except SandboxError as error:
            self._desk.broke(error)
            raise
