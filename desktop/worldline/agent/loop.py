"""One run: a prompt, turns, exactly one stop reason.

The prompt and the run are in the session before `run` is called. Everything the run produces is durable before it is
announced; every tool call that was started gets an end; the run itself gets its stop reason on every way out.
"""

from __future__ import annotations

import asyncio
import logging

from worldline.agent.calls import CallRunner
from worldline.agent.deps import RunDeps, RunSettings
from worldline.agent.journal import Journal, text_of
from worldline.agent.limits import Meter, time_sentence
from worldline.agent.replies import Next, judge_reply
from worldline.agent.stops import RunEnd, Stopped, offers_for
from worldline.agent.turn import TurnRunner
from worldline.core.errors import SandboxError, SessionError, WorldlineError
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.secrets import mask
from worldline.core.stop import StopReason
from worldline.provider.model import Answer
from worldline.session.model import NodeDraft

PAUSED = "paused"
"""Kind of the record of a run that says how long the person held it."""
_LOOK_S = 1.0
logger = logging.getLogger(__name__)

_SECRET_IN_PROMPT = "Your message holds what looks like a secret. It is kept and sent as you wrote it; in all else secrets are masked."


class RunLoop:
    """Drives one run. `stop` ends it in order; `run` returns when everything is settled and recorded."""

    def __init__(
        self, journal: Journal, turns: TurnRunner, calls: CallRunner, deps: RunDeps, settings: RunSettings,
        meter: Meter,
    ) -> None:  # fmt: skip
        self.journal = journal
        self.meter = meter
        self._turns = turns
        self._calls = calls
        self._deps = deps
        self._settings = settings
        self._work: asyncio.Task[RunEnd] | None = None
        self._why: RunEnd | None = None
        """Why the work was cancelled; the first one counts."""
        self._timer: asyncio.TimerHandle | None = None
        self._paused = 0.0
        """Seconds of this run in which the person held it."""
        self._nudges = 0
        self._continuations = 0
        self._pauses = 0

    def stop(self, end: RunEnd | None = None) -> None:
        """Ask the run to end; later calls change nothing. Without `end` it was the person."""
        if self._why is None:
            self._why = end or RunEnd(StopReason.ABORTED, "You stopped it.", offers=["retry"])
            self._calls.stop_outcome = self._why.reason.outcome
            if self._work is not None and not self._work.done():
                self._work.cancel()

    @property
    def why(self) -> RunEnd | None:
        """What it was asked to end with, if it was."""
        return self._why

    def _cancelled_by(self) -> RunEnd | None:
        """The end that cancelling `run` means; None: the person wanted it."""
        return None

    async def run(self) -> RunEnd:
        """Work until there is a stop reason, and record it. Raises nothing; a cancelled `run` settles first."""
        loop = asyncio.get_running_loop()
        self._work = loop.create_task(self._until_stopped(), name=f"run {self.journal.run}")
        if self._why is not None:
            self._work.cancel()
        limit = self.meter.seconds_left
        held = self._deps.gate.held()
        self._timer = loop.call_later(limit, self._time_up) if limit else None
        try:
            while not self._work.done():
                try:
                    await asyncio.wait([self._work])
                except asyncio.CancelledError:
                    self.stop(self._cancelled_by())
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._paused = self._deps.gate.held() - held
        end = self._verdict(self._work)
        end.usage = self.meter.usage
        await self._tell_hooks(end)
        self._record(end)
        return end

    async def compact(self, instructions: str, how: str = "summary") -> None:
        """Compact the branch on the person's command, outside of a run; `drop_results`: leave out old results only."""
        if how == "drop_results":
            if not self._turns.drop_results():
                sentence = "There are no older large tool results that could be left out."
                self.journal.diagnose("compaction", sentence, node=self.journal.tip)
            return
        await self._turns.make_room("manual", self.meter.turns, instructions=instructions)

    def _time_up(self) -> None:
        left = self.meter.seconds_left - self.meter.seconds
        if left > 0 or self._deps.gate.holding:
            # A pause is not the run's time. While it lasts nothing is used up, so it is looked at now and then.
            again = max(left, _LOOK_S if self._deps.gate.holding else 0.001)
            self._timer = asyncio.get_running_loop().call_later(again, self._time_up)
            return
        if self._deps.waiting():
            self.stop(
                RunEnd(
                    StopReason.WAITING_FOR_USER,
                    "It waited for you until its time was over.",
                    offers=["retry"],
                )
            )
            return
        brake = self.meter.brake()
        sentence = (
            brake.sentence
            if brake is not None and brake.reason is StopReason.TIME_LIMIT
            else time_sentence(self.meter.seconds_left)
        )
        self.stop(RunEnd(StopReason.TIME_LIMIT, sentence, offers=offers_for(StopReason.TIME_LIMIT)))

    def _verdict(self, work: asyncio.Task[RunEnd]) -> RunEnd:
        """The one stop reason. A work task that was cancelled before its first step never ran any of its own code,
        so this is decided out here."""
        if work.cancelled():
            return self._why or RunEnd(StopReason.ABORTED, "It was stopped.", offers=["retry"])
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, Stopped):
            return error.end
        if isinstance(error, SessionError):
            logger.error("the session could not be saved", exc_info=error)
            return RunEnd(
                StopReason.STORE_ERROR,
                _not_saved(error, error.hint),
                offers=offers_for(StopReason.STORE_ERROR),
            )
        if isinstance(error, SandboxError):
            logger.error("the sandbox does not start", exc_info=error)
            return RunEnd(StopReason.SANDBOX_ERROR, str(error), offers=offers_for(StopReason.SANDBOX_ERROR))
        if isinstance(error, WorldlineError):
            logger.error("the run ended on an error for the person", exc_info=error)
            return RunEnd(StopReason.INTERNAL_ERROR, str(error), offers=["retry"])
        logger.error("a defect ended run %s", self.journal.run, exc_info=error)
        detail = (
            f"A defect in Worldline ended the run ({type(error).__name__}: {error}). The log has the details."
        )
        return RunEnd(StopReason.INTERNAL_ERROR, detail, offers=["retry"])

    def _record(self, end: RunEnd) -> None:
        end.detail, end.api_said = mask(end.detail)[0], mask(end.api_said)[0]
        try:
            if end.reason is StopReason.INTERNAL_ERROR:
                self.journal.diagnose("engine", end.detail, node=self.journal.tip)
            if self._paused >= 1:
                self.journal.doc.add_record(PAUSED, {"seconds": round(self._paused, 3)}, run=self.journal.run)
            self.journal.doc.end_run(
                self.journal.run, end.reason, detail=end.detail, api_said=end.api_said, usage=end.usage
            )
        except SessionError as error:
            logger.error("the end of run %s could not be saved", self.journal.run, exc_info=error)
            if end.reason is not StopReason.STORE_ERROR:
                end.detail = f"{end.detail} {_not_saved(error)}".strip()
                end.reason = StopReason.STORE_ERROR
                end.offers = offers_for(StopReason.STORE_ERROR)
            end.saved = False

    async def _ask_hooks(self) -> None:
        """The hooks of the session's start and of the prompt: one may block it, the others may add something for the
        model."""
        prompt = self.journal.tip
        if self._deps.session_starts:
            answer = await self._deps.hooks.on_session_start(self._deps.root)
            self._note(answer.notes)
            if answer.text:
                self.journal.user(f"[hook] {answer.text}", by_engine=True)
        if self._deps.prompt and (why := await self._blocked(self._deps.prompt, prompt)):
            raise Stopped(StopReason.HOOK_BLOCKED, why, offers=["backtrack"])

    async def _blocked(self, text: str, node: str) -> str:
        """Why a hook blocks this message, "" = it does not. One that is blocked stays in the tree and is never sent."""
        if mask(text)[1]:
            self.journal.diagnose("secret_in_prompt", _SECRET_IN_PROMPT, node=node)
        answer = await self._deps.hooks.on_prompt(text, self._deps.root)
        self._note(answer.notes)
        if answer.error is not None:
            self.journal.diagnose("hook", answer.error.message, node=node)
            self.journal.append(
                NodeDraft(
                    kind=NodeKind.CONTEXT_EDIT,
                    parent=self.journal.tip,
                    detail={"target": node, "replacement": None},
                    preview="left out for the model: a hook blocked this message",
                )
            )
            return answer.error.message
        if answer.text:
            self.journal.user(f"[hook] {answer.text}", by_engine=True)
        return ""

    def _note(self, notes: list[str]) -> None:
        for note in notes:
            self.journal.diagnose("hook", note, node=self.journal.tip)

    async def _tell_hooks(self, end: RunEnd) -> None:
        """The hooks of the end. Whatever becomes of them, the run has its stop reason."""
        try:
            answer = await self._deps.hooks.on_stop(end.reason.value, self._deps.root)
            self._note(answer.notes)
        except (SessionError, asyncio.CancelledError) as error:
            logger.warning("the hooks at the end of run %s: %s", self.journal.run, error)

    async def _until_stopped(self) -> RunEnd:
        await self._ask_hooks()
        while True:
            await self._deps.gate.wait()
            await self._deliver()
            if brake := self.meter.brake():
                raise Stopped(brake.reason, brake.sentence)
            if self.meter.turns:  # what there was before the first, the prompt has told
                await self._calls.onlooker.before_request()
            self.meter.turns += 1
            note = self._deps.note if self.meter.turns == 1 else ""
            self._deps.watcher.working(f"The model is working. {note}".rstrip())
            answer = await self._turns.ask(self.meter.turns)
            node = self._store_reply(answer)
            exchange = answer.exchange
            if exchange.runnable and exchange.tool_uses:
                await self._calls.run(exchange.tool_uses, text_of(exchange.blocks))
                self._nudges = self._continuations = self._pauses = 0
                continue
            if stop := self._calls.breaker.text(text_of(exchange.blocks)):
                raise Stopped(stop.reason, stop.sentence)
            if await self._go_on_after(answer, node):
                continue
            return RunEnd(StopReason.COMPLETED, "")

    async def _deliver(self) -> bool:
        """Queued messages for this step. Their hooks are asked as for any prompt."""
        some = False
        for message in self._deps.deliveries():
            with self.journal.doc.transaction():
                header = self.journal.user(
                    message.text, images=message.images, detail={"queued": message.id}, announce=False
                )
                durable = self._deps.delivered(message, header.uid)
            durable()
            self.journal.announce(header)
            self._calls.breaker.reset()
            some = not await self._blocked(message.text, header.uid) or some
        return some

    async def _go_on_after(self, answer: Answer, node: str) -> bool:
        """Decide on a reply without calls: True = there is a next turn. Raises Stopped for every end but
        `completed`."""
        verdict = judge_reply(
            answer.exchange, nudges=self._nudges, continuations=self._continuations, pauses=self._pauses
        )
        if verdict.step is Next.DONE:
            # A message that came in meanwhile belongs to this run: it is answered before the run ends.
            return await self._deliver()
        if verdict.step is Next.STOP:
            raise Stopped(verdict.reason, verdict.sentence, api_said=verdict.api_said)
        if verdict.step is Next.COMPACT:
            await self._turns.make_room("overflow", self.meter.turns, f"The API said: {verdict.api_said}.")
            return True
        if verdict.step is Next.AGAIN:
            self._pauses += 1
            return True
        self._pauses = 0
        if verdict.step is Next.NUDGE:
            self._nudges += 1
        else:
            self._continuations += 1
        self.journal.diagnose("nudge", verdict.sentence, node=node)
        self.journal.user(verdict.tell_model, by_engine=True)
        return True

    def _store_reply(self, answer: Answer) -> str:
        exchange = answer.exchange
        flags = NodeFlag.NONE
        if answer.attempts:
            flags |= NodeFlag.RETRIED
        if answer.fallbacks and not answer.fallbacks[-1].back:
            flags |= NodeFlag.FALLBACK
        outcome = Outcome.OK
        if exchange.stop_reason == "max_tokens":
            flags |= NodeFlag.INCOMPLETE
            outcome = Outcome.STOPPED
        elif exchange.stop_reason == "refusal" or not exchange.blocks:
            outcome = Outcome.FAILED
        model = exchange.model or answer.asked_model
        usage = self._turns.priced(exchange.usage, model)
        self.meter.add(usage)
        self.meter.add(answer.wasted)
        header = self.journal.assistant(
            exchange.blocks,
            outcome=outcome,
            flags=flags,
            model=model,
            usage=usage,
            detail={
                "stop_reason": exchange.stop_reason,
                "model": model,
                "asked_model": answer.asked_model,
                "message_id": exchange.message_id,
                "request_id": exchange.request_id,
                "usage": usage.model_dump(mode="json"),
                "attempts": len(answer.attempts) + 1,
                "notes": exchange.notes,
                "view_tail": self._turns.tail,
                "request_bytes": self._turns.request_bytes,
            },
        )
        self._deps.watcher.used(usage, model)
        return header.uid


def _not_saved(error: SessionError, hint: str = "") -> str:
    """That the session could not be saved, and why; said once."""
    if error.message.startswith("The session could not be saved"):
        return f"{error.message} {hint}".strip()
    return f"The session could not be saved: {error.message} {hint}".strip()
