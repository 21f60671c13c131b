"""Prompts, the run that goes on, and what waits for it. One run at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from worldline.agent.gate import Gate
from worldline.agent.stops import RunEnd
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.ids import new_uid
from worldline.core.kinds import NodeKind
from worldline.core.stop import StopReason
from worldline.engine.external_changes import note_external_change
from worldline.engine.home import take_own_branch
from worldline.engine.notes import arrival, asks_to_ignore, fork_note, remains_note
from worldline.engine.queue import Queue, Queued, image_blocks
from worldline.engine.run_ends import RunEnds
from worldline.engine.shared import Shared, now_ms
from worldline.engine.standing import show_context_left
from worldline.protocol.commands import GoOn, Prompt, PromptResult, QueueEdit
from worldline.protocol.events import RunEnded, RunStarted
from worldline.protocol.model import Mode, RunInfo
from worldline.session.model import RunRecord

if TYPE_CHECKING:
    # Loading the loop with all tools takes a while; a session can be shown without it.
    from worldline.agent.loop import RunLoop

logger = logging.getLogger(__name__)

CHOSEN = frozenset({"mode", "model", "effort"})
"""What the person chooses for one message."""

LoopFactory = Callable[[RunRecord, Prompt, int], Awaitable["RunLoop"]]
"""(run, the prompt with its settings, turns or 0) → a loop that is ready to run."""


class Runs:
    def __init__(
        self, shared: Shared, make_loop: LoopFactory, effects_elsewhere: Callable[[], list[str]]
    ) -> None:
        self._shared = shared
        self._make_loop = make_loop
        self._effects_elsewhere = effects_elsewhere
        self.queue = Queue(shared)
        self.gate = Gate()
        self.retry_now = asyncio.Event()
        self.current: RunInfo | None = None
        self.last: RunEnd | None = None
        self._loop: RunLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop_with: RunEnd | None = None
        self._starting = False
        """A message is on its way to becoming a run: the disk is looked at, nothing is stored yet."""
        self._holds = 0
        """Callers that stop a run for what they do next: nothing queued follows it by itself."""
        self._making: asyncio.Task[RunLoop] | None = None
        self._next: asyncio.Task[None] | None = None
        """About to start a queued message."""
        self.ends = RunEnds(shared)
        self.closing = False
        self.after_end: Callable[[RunEnd], Callable[[], Awaitable[None]] | None] = lambda _: None
        """What is to follow an end by itself, if anything."""
        self.offers: Callable[[list[str]], list[str]] = list
        """Of what could be offered after an end, what the settings allow."""

    # -- commands ---------------------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt, *, at: str = "") -> PromptResult:
        """Start a run, or queue the message while one goes on. `at`: where the session must still be, for what the person did
        not send; raises BadInput (kind `elsewhere`)."""
        self._shared.writable()
        if not prompt.text.strip() and not prompt.images:
            raise BadInput("The message is empty.", "Write what you want done.")
        if self.busy and not at:
            # What is only to be planned (or asked about) is not done by a run in another mode: it waits for its end.
            other_mode = self.current is not None and prompt.mode not in (None, self.current.mode)
            if prompt.when != "interrupt":
                prompt = prompt.model_copy(update={"when": "now" if other_mode else "next_step"})
            queued = self.queue.add(prompt)
            if prompt.when == "interrupt":
                self.stop()
            return PromptResult(queued=queued)
        return await self._start(prompt, at=at)

    def queue_edit(self, change: QueueEdit) -> None:
        """Change, take out or send a queued message."""
        if not change.send:
            self.queue.edit(change)
            return
        self._shared.writable()
        if self.busy or self._next is not None:
            raise BadInput("A run is going on.", "The message is sent after it.")
        self._then(self._start_next(self.queue.find(change.id)), "next prompt")

    async def go_on(self, command: GoOn) -> PromptResult:
        """Another run from where the last one was stopped, without a new message."""
        self._shared.writable()
        if self.busy:
            raise BadInput("A run is going on.", "Stop it first, or wait.")
        doc = self._shared.doc
        asked = [b.uid for b in doc.path_bodies(doc.cursor) if b.kind is NodeKind.USER]
        if not asked:
            raise BadInput("There is nothing to go on with here.", "Write a message first.")
        async with self._beginning():
            if self.busy:
                raise BadInput("A run is going on.", "Stop it first, or wait.")
            self.ends.save_late()
            await note_external_change(self._shared)
            prompt = self._as_before(asked[-1])
            await take_own_branch(self._shared, self._mode(prompt))
            self._check_wanted()
            run = self._begin(asked[-1], prompt)
            self._launch(run, prompt, max(0, command.turns))
            return PromptResult(run=run.uid, node=asked[-1])

    def _as_before(self, node: str) -> Prompt:
        """An empty prompt with the mode, model and effort of the run that goes on."""
        chosen = next((r.settings for r in reversed(self._shared.doc.runs()) if r.prompt == node), {})
        return Prompt.model_validate({"text": "", **{k: v for k, v in chosen.items() if k in CHOSEN and v}})

    def stop(self, end: RunEnd | None = None) -> None:
        """Ask the run to end. Does not wait; see `settled`."""
        self._shared.status.set(**({"state": "stopping", "sentence": "Stopping."} if self.busy else {}))
        self.gate.set()
        if self._loop is not None:
            self._loop.stop(end)
        elif self._starting:
            self._stop_with = end or RunEnd(StopReason.ABORTED, "You stopped it.", offers=["retry"])
        elif self.busy:
            if self._making is not None:
                # It may wait for the person already: whether a server of the project may be started.
                self._making.cancel()
            self._stop_with = end or RunEnd(StopReason.ABORTED, "You stopped it.", offers=["retry"])

    def pause(self, on: bool) -> None:
        """Hold the run (or, where nothing runs, the next one) before its next step, or let it go on. The end of a run
        ends its pause as well."""
        if on:
            self.gate.clear()
            if self.busy:
                self._shared.status.set(state="waiting", sentence="Paused. It stops before the next step.")
        else:
            self.gate.set()
            if self.busy:
                self._shared.status.set(state="running", sentence="")

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    async def settled(self) -> None:
        """Return when no run goes on and its end is recorded."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def idle(self) -> None:
        """Return when no run goes on and no queued message is about to become one."""
        while self.busy or self._next is not None:
            if self._next is not None:
                await asyncio.wait([self._next])
            await self.settled()

    async def stop_and_settle(self, end: RunEnd | None = None) -> None:
        """Stop, keep queued messages waiting, and return when everything is on record."""
        self._holds += 1
        try:
            self.stop(end)
            await self.settled()
        finally:
            self._holds -= 1

    # -- one run ----------------------------------------------------------------------------------------------------

    async def _start(self, prompt: Prompt, item: Queued | None = None, at: str = "") -> PromptResult:
        """`at`: the node that it was to hang on; one of the queue may hang on what follows it."""
        async with self._beginning():
            here = self._shared.doc.cursor
            if self.busy or (at and here != at and (item is None or not self._is_below(at, here))):
                # Another message was faster, or the person is elsewhere by now. One from the queue stays in it, as the same
                # entry.
                if item is not None:
                    self.queue.put_front(item)
                    return PromptResult(queued=item.id)
                if at:
                    raise BadInput("You have gone on elsewhere meanwhile.", "", kind="elsewhere")
                return await self.prompt(prompt)
            self.ends.save_late()
            notes = []
            if (jump := arrival(self._shared)) is not None:
                notes.append(fork_note(self._shared, jump, self._effects_elsewhere()))
            if changed := await note_external_change(self._shared):
                notes.append(changed)
            if moved := await take_own_branch(self._shared, self._mode(prompt)):
                notes.append(moved)
            if asks_to_ignore(prompt.text):
                notes.append(remains_note(self._shared))
            self._check_wanted()
            journal = self._shared.journal(new_uid())
            doc = self._shared.doc
            with doc.transaction():
                header = journal.user(
                    prompt.text,
                    notes=notes,
                    images=image_blocks(prompt.model_dump(mode="json")),
                    announce=False,
                )
                run = self._begin(header.uid, prompt, uid=journal.run)
                if item is not None:
                    self.queue.started(item, header.uid)
            journal.announce(header)
            self._launch(run, prompt, 0)
            return PromptResult(run=run.uid, node=header.uid)

    @asynccontextmanager
    async def _beginning(self) -> AsyncIterator[None]:
        """Alone with the session; what is inside leads to a run. A stop meanwhile keeps it from starting (see
        `_check_wanted`)."""
        async with self._shared.turnstile:
            if not self.busy:
                self._stop_with = None
            self._starting = True
            try:
                yield
            finally:
                self._starting = False

    def _check_wanted(self) -> None:
        """Raise WorldlineError when the run was stopped before it began, or the session is being closed."""
        if self.closing or self._stop_with is not None:
            self._shared.status.set(state="ready", sentence="")
            raise WorldlineError(
                "It was stopped before the message was sent.",
                "Send it again when you want it.",
                kind="cancelled",
            )

    def _is_below(self, above: str, uid: str) -> bool:
        doc = self._shared.doc
        return doc.tree.is_ancestor(doc.seq(above), doc.seq(uid))

    def _mode(self, prompt: Prompt) -> Mode:
        chosen: Mode = prompt.mode or self._shared.settings.get("mode")
        return chosen

    def _begin(self, node: str, prompt: Prompt, uid: str = "") -> RunRecord:
        settings = {
            "mode": self._mode(prompt), "model": prompt.model, "effort": prompt.effort,
        }  # fmt: skip
        run = RunRecord(uid=uid or new_uid(), prompt=node, started=now_ms(), settings=settings)
        self._shared.doc.begin_run(run)
        return run

    def _launch(self, run: RunRecord, prompt: Prompt, turns: int) -> None:
        mode = self._mode(prompt)
        self.current = RunInfo(
            uid=run.uid, prompt=run.prompt, started=run.started, mode=mode, model=prompt.model
        )
        self.last = None
        self._shared.status.set(
            state="running", sentence="", run=run.uid, last_stop="", last_stop_detail="", offers=[], mode=mode
        )
        self._shared.emit("run_started", RunStarted(run=self.current))
        if not self.gate.is_set():
            self._shared.status.set(state="waiting", sentence="Paused. It stops before the next step.")
        self._task = asyncio.get_running_loop().create_task(self._drive(run, prompt, turns), name="run")

    async def _drive(self, run: RunRecord, prompt: Prompt, turns: int) -> None:
        end: RunEnd
        try:
            made = await self._made(run, prompt, turns)
            if isinstance(made, RunEnd):
                end = made
            else:
                self._loop = made
                if self._stop_with is not None:
                    made.stop(self._stop_with)
                end = await made.run()
        except Exception as error:  # noqa: BLE001 - the edge of a run: every way out has a stop reason
            end = self.ends.failed_to_start(run, error)
        finally:
            self._loop = None
        self._ended(run, end)

    async def _made(self, run: RunRecord, prompt: Prompt, turns: int) -> RunLoop | RunEnd:
        """The loop; or the end, when the run was stopped before there was one."""

        async def make() -> RunLoop:
            return await self._make_loop(run, prompt, turns)

        self._making = asyncio.get_running_loop().create_task(make(), name="run is made")
        if self._stop_with is not None:
            self._making.cancel()
        try:
            return await self._making
        except asyncio.CancelledError:
            if self._stop_with is None:
                raise
            return self.ends.unstarted(run, self._stop_with)
        finally:
            self._making = None

    def _ended(self, run: RunRecord, end: RunEnd) -> None:
        self.last = end
        self.gate.set()
        self.ends.take(run, end)
        self.queue.take_back()
        assert self.current is not None
        info = self.current.model_copy(
            update={
                "ended": now_ms(), "stop_reason": end.reason.value, "detail": end.detail, "api_said": end.api_said,
                "usage": end.usage,
            }
        )  # fmt: skip
        self.current = None
        self._shared.status.set(
            state="ready", sentence="", run="", last_stop=end.reason.value, last_stop_detail=end.detail, offers=end.offers,
            retry_attempt=0, retry_of=0, retry_at=0, retry_why="",
        )  # fmt: skip
        self._shared.emit("run_ended", RunEnded(run=info, offers=self.offers(end.offers)))
        show_context_left(self._shared)
        if self.closing or self._holds:
            return
        # An interrupt is delivered whatever the end was; other messages go on after what ended well.
        waiting = [i for i in self.queue.items if i.when == "interrupt" or end.reason is StopReason.COMPLETED]
        if waiting:
            self._then(self._start_next(waiting[0]), "next prompt")
        elif not self.queue.items and (follow := self.after_end(end)) is not None:
            self._then(self._follow(follow), "after the end")

    def _then(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._next = asyncio.get_running_loop().create_task(work, name=name)
        self._next.add_done_callback(self._forget_next)

    async def _follow(self, follow: Callable[[], Awaitable[None]]) -> None:
        await self.settled()
        if not self.closing:
            await follow()

    def _forget_next(self, done: asyncio.Task[None]) -> None:
        if self._next is done:
            self._next = None
        if not done.cancelled() and (error := done.exception()) is not None:
            logger.error("what was to follow a run failed", exc_info=error)
            self._shared.status.set(sentence=f"What was to follow failed: {error}")

    async def _start_next(self, item: Queued) -> None:
        """A queued message becomes a run of its own. When that fails it is in the queue again."""
        at = self._shared.doc.cursor
        await self.settled()
        if item not in self.queue.items or self.closing:
            return
        self.queue.items.remove(item)
        self.queue.announce()
        prompt = Prompt.model_validate({**item.prompt, "text": item.text, "when": "now"})
        try:
            await self._start(prompt, item, at)
        except BaseException as error:
            self.queue.put_front(item)
            if not isinstance(error, WorldlineError):
                raise
            self._shared.status.set(sentence=f"A queued message could not be sent: {error}")
