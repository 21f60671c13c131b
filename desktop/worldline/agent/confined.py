"""Commands of the agent, confined as far as this machine allows. The one place that puts sandbox and processes together."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.agent import beforehand
from worldline.agent.aftermath import (
    closed_reads,
    denials_of,
    effect_key,
    folder_is_closed,
    not_seen,
    remove_unused_places,
    repository_changed,
    sandbox_failure,
)
from worldline.agent.beforehand import Before, Ongoing, refs_at
from worldline.agent.hosts import AskHost, hold_for_answer
from worldline.agent.pushing import cancelled_push, push_with_keys
from worldline.core.access import CommandResult, Emit
from worldline.core.errors import ErrorClass, ToolError, ToolFailure
from worldline.policy.closed import Closed
from worldline.policy.copies import Copies
from worldline.policy.ledger import effects_of
from worldline.policy.pushing import Push, push_outside, way_on
from worldline.policy.sandbox.confine import Confinement, SandboxFailed
from worldline.policy.sandbox.model import (
    Grant,
    Label,
    Profile,
    Report,
)
from worldline.policy.sandbox.network import SessionNetwork
from worldline.policy.sandbox.places import (
    CACHE_ENV,
    GitPlaces,
    git_places,
    inner_repository,
    moved,
    tidy_refs,
)
from worldline.protocol.model import ProcessPort
from worldline.tools.output import KEEP_LIMIT
from worldline.tools.process import (
    Started,
    end,
    entry_of,
    finish,
    has_failed_at_once,
    run_command,
    shell_argv,
    start,
)
from worldline.tools.process_table import ProcessEntry, ProcessTable

logger = logging.getLogger(__name__)

_TRIES = 6
"""Of setting up the sandbox: sockets of others come and go meanwhile."""
_LOOK_S = 0.2
"""How often it is looked whether what a command left behind has ended."""
_LEAVES_BEHIND = re.compile(r"(?<![&>|\\])&(?![&>])|\b(?:nohup|setsid|disown|daemon)\b")
"""What starts something that outlives its shell. One that is taken for it and does not only loses the tie that ends it
with this app; what is left behind without a sign of it (a daemon) ends with the shell."""

TakeGrants = Callable[[str], Sequence[Grant]]
"""Openings for this command line: of the session, the branch, rules, and those given once (used up by this)."""


@dataclass(slots=True)
class SandboxPlace:
    """What a session's commands are confined to. One for a session."""

    workspace: Path
    private_tmp: Path
    label: Label
    copies: Copies
    absorb: Callable[[Path, Path], int]
    """(private objects, objects of the repository): take new objects over (see workspace.absorb)."""
    hidden: list[Path] = field(default_factory=list)
    closed: Callable[[], Closed] = Closed
    """What rules keep from being read, as it is now. Blocking, any thread."""
    network: SessionNetwork | None = None
    """Shared by its commands; None = each has one for itself."""
    git: GitPlaces | None = None
    """Where `.git` led when the session began. A command runs only while it still does."""
    enter: Callable[[str, list[dict[str, Any]]], None] = lambda node, effects: None
    """(node, effects): enter what a command did whose call is over."""
    watchers: set[asyncio.Task[None]] = field(default_factory=set)
    """One for each background command; wait for them before the session is closed."""
    ongoing: Ongoing = field(default_factory=Ongoing)


_Seen = tuple[Report, list[dict[str, Any]], ToolFailure | None]
"""(report, effects, why commits could not be taken over)."""


class ConfinedRunner:
    """A `CommandRunner`. With the label "none" commands run plain and everything about them is assumed."""

    def __init__(
        self, place: SandboxPlace, table: ProcessTable, node: str, grants: TakeGrants, ask_host: AskHost
    ) -> None:
        self._place = place
        self._table = table
        self._node = node
        self._grants = grants
        self._ask_host = ask_host

    async def run(
        self, command: str, *, cwd: Path, timeout_s: float, emit: Emit, background: bool = False
    ) -> CommandResult:
        git = git_places(self._place.workspace)
        if self._place.git is not None and moved(self._place.git, git, self._place.workspace):
            raise repository_changed()
        grants = list(self._grants(command))
        if any(g.kind == "push" for g in grants) and not inner_repository(cwd, self._place.workspace):
            push = push_outside(command, self._place.workspace)
            assert push is not None, "granted for exactly this line"
            return await self._push(push, git, timeout_s, emit)
        if self._place.label == "none" or any(g.kind == "unconfined" for g in grants):
            return await self._plain(command, grants, cwd, timeout_s, emit, background)
        closed = await asyncio.to_thread(self._place.closed)
        if any(cwd.is_relative_to(place) for place in closed.places):
            raise folder_is_closed()
        profile = Profile(
            workspace=self._place.workspace,
            private_tmp=self._place.private_tmp,
            git=git,
            hidden=self._place.hidden,
            closed=closed.places,
            read_only=closed.kept,
            grants=grants,
            host_policy=hold_for_answer(asyncio.get_running_loop(), self._ask_host, command, grants),
            network=self._place.network,
            outlives=_LEAVES_BEHIND.search(command) is not None,
        )
        if profile.outlives and profile.network is not None:
            await asyncio.to_thread(profile.network.tie)
        before = await asyncio.to_thread(beforehand.look, command, profile, self._place.copies)
        try:
            await self._place.ongoing.began(before)
            confinement, started = await self._start(
                command, cwd, before, emit, 0 if background else KEEP_LIMIT
            )
        except BaseException:
            self._place.ongoing.ended(before)
            await asyncio.shield(asyncio.to_thread(remove_unused_places, before.copies, Report("none")))
            raise
        if background:
            return await self._background(started, confinement, before)
        try:
            result = await finish(started, timeout_s)
        except asyncio.CancelledError:
            # Stopped half way; what it did by then stays done, and belongs into the list.
            await asyncio.shield(self._late(confinement, before))
            raise
        left = bool(result.survivors) and not result.timed_out
        reading = asyncio.ensure_future(self._after(confinement, before, over=not left))
        try:
            report, effects, failure = await asyncio.shield(reading)
        except asyncio.CancelledError:
            await asyncio.shield(self._stopped_late(reading, started, confinement, before, left))
            raise
        if left:
            entry = self._entry(started, confinement, result.survivors[0])
            result.process_id = self._table.add(entry)
            self._watch(started, confinement, before, effects)
        if failure is not None:
            self._enter(effects)
            raise failure
        result.confinement = report.label
        result.denials = denials_of(report)
        result.effects += effects
        if result.exit_code:
            said = result.output[-4000:].decode("utf-8", "replace")
            result.denials += closed_reads(closed.places, said)
            whole = self._place.label == "complete"
            result.way_on = await asyncio.to_thread(way_on, command, self._place.workspace, said, whole)
        return result

    async def _push(self, push: Push, git: GitPlaces, timeout_s: float, emit: Emit) -> CommandResult:
        began: list[bool] = []
        was = await refs_at(git)
        try:
            return await push_with_keys(
                push,
                root=self._place.workspace,
                timeout_s=timeout_s,
                emit=emit,
                began=lambda: began.append(True),
            )
        except asyncio.CancelledError:
            if began:
                self._enter(cancelled_push(push))
            raise
        finally:
            await self._place.ongoing.pushed(was, git)

    async def _stopped_late(
        self, reading: asyncio.Future[_Seen], started: Started, confinement: Confinement, before: Before, left: bool
    ) -> None:  # fmt: skip
        """Stopped while it was being read what the command did: that is entered all the same, and what it left running
        is ended."""
        await asyncio.wait([reading])
        _, effects, failure = reading.result()
        self._enter(effects)
        if failure is not None:
            logger.error("%s %s", failure.error.message, failure.error.hint)
        if left:
            await end(started.mark, started.process.pid)
            await self._late(confinement, before, effects)

    async def _after(self, confinement: Confinement, before: Before, *, over: bool = True) -> _Seen:
        """When the command has ended: take over what it committed, and see what it did outside. Not `over`: something
        of it still runs and goes on being watched. The failure says that commits could not be taken over."""
        try:
            return await self._seen(confinement, before, over)
        finally:
            if over:
                self._place.ongoing.ended(before)

    async def _seen(self, confinement: Confinement, before: Before, over: bool) -> _Seen:
        profile = before.profile
        common = profile.git.common_dir
        report = await asyncio.to_thread(confinement.report if over else confinement.seen)
        if over:
            await asyncio.to_thread(remove_unused_places, before.copies, report)
        await asyncio.to_thread(before.files.put_back)
        failure: ToolFailure | None = None
        if common is not None and self._place.label == "complete":
            await asyncio.to_thread(tidy_refs, common)
            try:
                await self._absorb(profile.private_objects, common / "objects")
            except ToolFailure as error:  # told once what was done outside is known as well
                failure = error
        refs = await self._place.ongoing.moves_of(before)
        found = await asyncio.to_thread(
            effects_of,
            report,
            profile.grants,
            before.copies,
            refs,
            before.command,
            before.remotes,
        )
        return report, found.effects, failure

    async def _late(
        self, confinement: Confinement, before: Before, known: Sequence[dict[str, Any]] = ()
    ) -> None:
        """The same for a command whose call is over: its effects are entered by themselves, `known` ones not again."""
        try:
            _, effects, failure = await self._after(confinement, before)
        except Exception as error:
            # Nobody waits for this any more: what is known is entered, and why it is not more is logged.
            logger.exception("what a command did could not be read: %s", before.command[:200])
            effects, failure = not_seen(before.profile.grants, before.command, error), None
        if failure is not None:
            logger.error("%s %s", failure.error.message, failure.error.hint)
        entered = {effect_key(e) for e in known}
        self._enter([e for e in effects if effect_key(e) not in entered])

    def _enter(self, effects: list[dict[str, Any]]) -> None:
        if effects:
            self._place.enter(self._node, effects)

    async def _start(
        self, command: str, cwd: Path, before: Before, emit: Emit, keep: int
    ) -> tuple[Confinement, Started]:
        """Start the command once everything asked for is enforced. A socket or a folder that vanishes while the walls are
        built makes that fail before the command began, so it is tried again. Cancelled, it is ended first."""
        for attempt in range(1, _TRIES + 1):
            confinement = Confinement(shell_argv(command), cwd, before.profile, self._place.label)
            started = start(
                confinement.argv,
                cwd=cwd,
                emit=emit,
                command=command,
                keep=keep,
                pass_fds=confinement.pass_fds,
                extra_env={**CACHE_ENV, **confinement.env},
            )
            ready = asyncio.ensure_future(asyncio.to_thread(confinement.started))
            try:
                await asyncio.shield(ready)
                return confinement, started
            except asyncio.CancelledError:
                await asyncio.shield(self._give_up(ready, confinement, started, before))
                raise
            except SandboxFailed as error:
                result = await finish(started, 10)
                await asyncio.to_thread(confinement.report)
                if attempt == _TRIES:
                    raise sandbox_failure(error, result.output) from error
        raise AssertionError("the last try returns or raises")

    async def _give_up(
        self, ready: asyncio.Future[None], confinement: Confinement, started: Started, before: Before
    ) -> None:
        await end(started.mark, started.process.pid)
        await asyncio.wait([ready])
        if ready.exception() is None:  # its walls stood already, so it may have done something
            await self._late(confinement, before)
        else:
            await asyncio.to_thread(confinement.report)

    async def _absorb(self, private: Path, objects: Path) -> None:
        try:
            await asyncio.to_thread(self._place.absorb, private, objects)
        except OSError as error:
            raise ToolFailure(
                ToolError(
                    error_class=ErrorClass.SYSTEM,
                    type="commits_not_saved",
                    message="The command ran, but what it committed could not be written to the repository.",
                    hint=str(error)[:300],
                    next="Tell the person; nothing else should be committed until there is room or permission.",
                )
            ) from error

    async def _background(self, started: Started, confinement: Confinement, before: Before) -> CommandResult:
        entry = self._entry(started, confinement)
        self._table.add(entry)
        self._watch(started, confinement, before)
        return CommandResult(
            exit_code=await has_failed_at_once(started),
            output=started.output.get(),
            total_bytes=started.output.total,
            process_id=entry.id,
            confinement=self._place.label,
        )

    def _entry(self, started: Started, confinement: Confinement, pid: int = 0) -> ProcessEntry:
        entry = entry_of(started, self._node, pid)
        network = self._place.network
        if network is not None:

            def ports() -> list[ProcessPort]:
                shown = network.shown()
                return [ProcessPort(port=p, shown=shown.get(p, 0)) for p in confinement.listening()]

            entry.listening = ports
        return entry

    def _watch(
        self,
        started: Started,
        confinement: Confinement,
        before: Before,
        known: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Enter what a command did once all of it has ended."""

        async def watch() -> None:
            await started.ended.wait()
            # No event tells it, and a thread that waits would be one for each such command.
            while confinement.watching():  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
            await self._late(confinement, before, known)

        task = asyncio.get_running_loop().create_task(watch())
        self._place.watchers.add(task)
        task.add_done_callback(self._watched)

    def _watched(self, task: asyncio.Task[None]) -> None:
        self._place.watchers.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("what a command in the background did could not be entered", exc_info=error)

    async def _plain(
        self, command: str, grants: list[Grant], cwd: Path, timeout_s: float, emit: Emit, background: bool
    ) -> CommandResult:
        result = await run_command(
            command,
            cwd=cwd,
            timeout_s=timeout_s,
            emit=emit,
            background=background,
            table=self._table,
            node=self._node,
        )
        unconfined = [g for g in grants if g.kind == "unconfined"] or [Grant("unconfined", "")]
        result.effects += effects_of(Report("none"), unconfined, [], ({}, {}), command).effects
        return result
