"""One request to the model for where the run stands, healed until there is a reply or a stop reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.compact import Compactor
from worldline.agent.conversation import conversation_seqs
from worldline.agent.deps import ModelPort, RunDeps, RunSettings
from worldline.agent.healing import Healer, remembered
from worldline.agent.journal import Journal
from worldline.agent.live import LiveReply
from worldline.agent.quiet import QUIET_S, QuietWatch
from worldline.agent.repetition import RepetitionWatch
from worldline.agent.stops import Stopped, offers_for
from worldline.context.compaction import Trigger
from worldline.context.memory import ViewMemory
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.poison import shrunk
from worldline.core.kinds import NodeFlag, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.protocol.events import Delta, ReplyDiscarded
from worldline.provider.cache_health import WARN_AFTER
from worldline.provider.model import (
    Answer,
    Exchange,
    Failure,
    FallbackEvent,
    ModelRequest,
    RetryEvent,
    StreamEvent,
)


class _Looping(Exception):
    """The reply repeats itself; the request is given up."""


@dataclass(slots=True)
class TurnRunner:
    """Belongs to one run. `system` and `tools` are frozen for the branch."""

    journal: Journal
    deps: RunDeps
    settings: RunSettings
    model: ModelPort
    system: str
    tools: list[dict[str, Any]]
    options: ViewOptions
    compactor: Compactor
    memory: ViewMemory
    """Of the session: the runs of all its branches look at the same nodes."""
    price: Callable[[Usage, str], Usage]
    """Fill in the cost where the price of the model is known."""
    context_limit: int = 0
    seen_repairs: set[tuple[str, str, str]] = field(default_factory=set)
    """Repairs that are in the session's diagnostics already."""
    tail: list[str] = field(default_factory=list)
    """What the last request carried at its end that no node holds."""
    request_bytes: int = 0
    """Of the last request, system text and tools counted in."""
    quiet_s: float = QUIET_S
    """Silence that the person is told of."""
    _healer: Healer = field(init=False)
    _cut: Exchange | None = None
    """What had arrived of an exchange that was cancelled."""
    _warned_of_loss: bool = False
    _partial: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._healer = Healer(self.journal)
        self.options = remembered(self.journal.doc, self.options, self.journal.tip)
        self.compactor.frame = self._request

    def priced(self, usage: Usage, model: str) -> Usage:
        return usage if usage.cost is not None else self.price(usage, model)

    async def ask(self, turn: int) -> Answer:
        """A reply (its exchange is whole and stored by the caller), or Stopped. When it is cancelled, the text that
        had arrived is stored first."""
        healed: set[str] = set()
        while True:
            path, view = self._look()
            if await self.compactor.make_room(path, view, self.options, "auto", turn):
                view = self._look()[1]
            try:
                answer = await self._exchange(view, turn)
            except _Looping:
                self._keep_partial(Outcome.STOPPED)
                raise Stopped(
                    StopReason.REPEATED_CALLS, "The reply repeated the same passage again and again."
                ) from None
            except asyncio.CancelledError:
                self._keep_partial(Outcome.ABORTED)
                raise
            self.deps.watcher.retrying(None)
            if answer.failure is None:
                self.compactor.answered()
                self._note_cache(answer)
                self._healer.note_transformations(answer)
                self._check_loss(answer, view)
                return answer
            self.journal.emit(
                "reply_discarded", ReplyDiscarded(run=self.journal.run, turn=turn, why="failed")
            )
            self._keep_failed(answer)
            if not await self._heal(answer.failure, view, healed, turn):
                raise _stopped_by(answer.failure, answer.tried)

    async def make_room(self, trigger: Trigger, turn: int, why: str = "", instructions: str = "") -> None:
        """Compact when the context is near its limit (`auto`), because the API refused it (`overflow`) or on command
        (`manual`). Raises Stopped `context_limit` when there is no more to gain."""
        path, view = self._look()
        await self.compactor.make_room(path, view, self.options, trigger, turn, why, instructions)

    def drop_results(self) -> bool:
        """Leave out older large tool results. False: there are none."""
        return self.compactor.drop_results(self._path(), self.options)

    def _path(self) -> list[PathNode]:
        """Start of the talk → tip."""
        return self.memory.path(conversation_seqs(self.journal.doc, self.journal.tip))

    def _look(self) -> tuple[list[PathNode], View]:
        path = self._path()
        view = self.memory.views.build(path, self.options)
        for repair in view.repairs:
            key = (repair.kind, repair.node, repair.detail)
            if key not in self.seen_repairs:
                self.seen_repairs.add(key)
                data = {"repair": repair.kind, **repair.data}
                self.journal.diagnose("view_repair", repair.detail, node=repair.node, data=data)
        budget = self.compactor.budget(path, view)
        self.request_bytes = budget.bytes
        self.deps.watcher.context(budget.tokens, budget.bytes, self.context_limit)
        return path, view

    def _request(self, view: View) -> ModelRequest:
        return ModelRequest(
            endpoint=self.settings.endpoint(),
            system=self.system,
            messages=view.messages,
            tools=self.tools,
            max_tokens=self.settings.max_tokens,
            effort=self.settings.effort,
            # A fixed budget of thinking cannot go on top of a reply whose thinking is gone.
            extra={}
            if view.thinking_intact or self.model.facts(self.settings.model).thinking == "adaptive"
            else {"thinking": "off"},
        )

    async def _exchange(self, view: View, turn: int) -> Answer:
        self._partial.clear()
        self.tail = view.tail
        watch = RepetitionWatch()
        self._cut = None
        quiet = QuietWatch(self.deps.watcher.working, self.quiet_s)
        self.deps.retry_now.clear()

        def listen(event: StreamEvent | RetryEvent | FallbackEvent) -> None:
            if isinstance(event, RetryEvent):
                quiet.paused = event.wait_s > 0
                self._note_retry(event)
            elif isinstance(event, FallbackEvent):
                self._note_fallback(event)
            elif event.kind == "discard":
                self._partial.clear()
                live.discard()
                self.journal.emit(
                    "reply_discarded", ReplyDiscarded(run=self.journal.run, turn=turn, why=event.text)
                )
            else:
                quiet.heard(thinking=event.kind == "thinking")
                self._partial.setdefault(event.block, (event.kind, []))[1].append(event.text)
                if event.kind == "text":
                    watch.feed(event.text)
                live.feed(event)
                if watch.looping and not task.done():
                    task.cancel()

        def show(event: StreamEvent) -> None:
            assert event.kind != "discard"
            delta = Delta(
                run=self.journal.run, turn=turn, block=event.block, kind=event.kind, text=event.text, tool=event.tool
            )  # fmt: skip
            self.journal.emit("delta", delta)

        live = LiveReply(show)

        def cut(exchange: Exchange) -> None:
            self._cut = exchange

        task = asyncio.ensure_future(
            self.model.ask(
                self._request(view),
                listen,
                chain=self.settings.chain,
                retry_now=self.deps.retry_now,
                on_cancel=cut,
            )
        )
        waiting = asyncio.ensure_future(quiet.run())
        try:
            answer = await task
            live.end()
            return answer
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if watch.looping and not (current is not None and current.cancelling()):
                raise _Looping from None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            waiting.cancel()

    def _note_retry(self, event: RetryEvent) -> None:
        data = {
            "attempt": event.attempt, "of": event.of, "wait_s": event.wait_s, "why": event.why,
            "failure": event.kind, "model": event.model,
        }  # fmt: skip
        self.journal.diagnose(
            "retry",
            f"{event.why} Trying again in {event.wait_s:.0f} s ({event.attempt} of {event.of}).",
            node=self.journal.tip,
            data=data,
        )
        self.deps.watcher.retrying(event)

    def _note_fallback(self, event: FallbackEvent) -> None:
        sentence = (
            f"{event.to_model} answers again."
            if event.back
            else f"{event.from_model} does not answer ({event.why}); {event.to_model} answers for now."
        )
        data = {"from": event.from_model, "to": event.to_model, "why": event.why, "back": event.back}
        self.journal.diagnose("fallback", sentence, node=self.journal.tip, data=data)
        self.deps.watcher.fell_back(event)

    def _note_cache(self, answer: Answer) -> None:
        """Record a missed prompt cache; show it when that happens again and again."""
        verdict = answer.cache
        if verdict is None or verdict.hit is None:
            return
        if not verdict.sentence:
            self.deps.watcher.cache("")
            return
        data = {
            "reason": verdict.reason,
            "missed_tokens": verdict.missed_tokens,
            "hit": round(verdict.hit, 3),
        }
        self.journal.diagnose("cache_miss", verdict.sentence, node=self.journal.tip, data=data)
        if verdict.warn:
            self.deps.watcher.cache(verdict.sentence)
            self.journal.diagnose(
                "cache_warning",
                f"The prompt cache was missed {WARN_AFTER} times in a row. {verdict.sentence}",
                node=self.journal.tip,
                data=data,
            )

    def _check_loss(self, answer: Answer, view: View) -> None:
        """Some local servers drop the oldest messages without a word to fit their window. Their own count gives it
        away: far fewer tokens than were sent."""
        read = answer.exchange.usage.context_tokens
        sent = view.tokens + self.compactor.fixed_tokens
        if not self.settings.local or self._warned_of_loss or not read or sent < 4_000 or read * 2 > sent:
            return
        self._warned_of_loss = True
        sentence = (
            f"The server seems to have dropped the oldest part of the conversation: it read {read:,} of about "
            f"{sent:,} tokens. Give the model a larger context there, or compact."
        )
        self.journal.diagnose(
            "context_dropped", sentence, node=self.journal.tip, data={"read": read, "sent": sent}
        )
        self.deps.watcher.working(sentence)

    def _keep_partial(self, outcome: Outcome) -> None:
        """Keep what had arrived of a reply that was given up: its text, and thinking that was whole. Calls are not."""
        cut, self._cut = self._cut, None
        if cut is not None:
            blocks = _usable(cut.blocks)
        else:
            blocks = [
                {"type": "text", "text": text}
                for _, (kind, parts) in sorted(self._partial.items())
                if kind == "text" and (text := "".join(parts)).strip()
            ]
        self._partial.clear()
        usage = None
        model = (cut.model if cut else "") or self.settings.model
        if cut is not None and cut.usage.answers:
            usage = self.priced(cut.usage, model)
            self.deps.watcher.used(usage, model)
        if blocks:
            self.journal.assistant(
                blocks, outcome=outcome, flags=NodeFlag.INCOMPLETE, model=model, usage=usage,
                detail={"stop_reason": "", "cut": True, "model": model},
            )  # fmt: skip

    def _keep_failed(self, answer: Answer) -> None:
        """Keep what a failed request had brought, marked as incomplete, and what it cost."""
        exchange = answer.exchange
        self._partial.clear()
        blocks = _usable(exchange.blocks or answer.partial)
        if not blocks:
            return
        model = exchange.model or answer.asked_model
        usage = self.priced(exchange.usage, model)
        self.journal.assistant(
            blocks, outcome=Outcome.FAILED, flags=NodeFlag.INCOMPLETE, model=model, usage=usage,
            detail={"stop_reason": exchange.stop_reason, "cut": True, "model": model, "api_said": exchange.detail},
        )  # fmt: skip
        self.deps.watcher.used(usage, model)

    async def _heal(self, failure: Failure, view: View, healed: set[str], turn: int) -> bool:
        """Change something so that asking again makes sense; each way once for a reply. False = nothing helps."""
        kind = failure.kind
        if kind == "request_too_large" and kind not in healed:
            healed.add(kind)
            smaller = shrunk(self.options, view)
            if smaller.max_bytes < view.bytes:
                self.options = smaller
                self.journal.diagnose(
                    "repair", "The request was too large; older images and outputs are shortened."
                )
                return True
        if kind in ("context_overflow", "request_too_large"):
            await self.make_room("overflow", turn, failure.sentence)
            return True
        if kind in healed:
            return False
        healed.add(kind)
        if kind == "bad_thinking" and self.options.thinking_after != self.journal.tip:
            self.options = self._healer.without_thinking(self.options)
            return True
        if kind in ("bad_block", "bad_image", "bad_thinking", "unpaired", "invalid_request"):
            changed = self._healer.without_block(failure, view, self.options)
            if changed is not None:
                self.options = changed
                return True
        return False


def _usable(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a reply that was not received whole: text, and thinking that was. A call of it is never run, so it does not
    become history either."""
    return [
        b
        for b in blocks
        if b.get("type") in ("thinking", "redacted_thinking")
        or (b.get("type") == "text" and str(b.get("text", "")).strip())
    ]


def _stopped_by(failure: Failure, tried: list[str]) -> Stopped:
    """The end of a run: the asked-for model's failure, what to do about it, and which stand-ins failed as well."""
    also = f" Also tried: {'; '.join(tried)}" if tried else ""
    offers = [failure.offer] if failure.offer else []
    return Stopped(
        failure.stop_reason,
        f"{failure.sentence} {failure.advice}{also}".strip(),
        api_said=failure.api_said,
        offers=list(dict.fromkeys([*offers, *offers_for(failure.stop_reason)])),
    )
