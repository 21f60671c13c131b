"""One request to the model for where the run stands, healed until there is a reply or a stop reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from worldline.agent.compact import Compactor
from worldline.agent.deps import ModelPort, RunDeps, RunSettings
from worldline.agent.journal import Journal
from worldline.agent.repetition import RepetitionWatch
from worldline.agent.stops import Stopped, offers_for
from worldline.agent.talk import side_start
from worldline.context.compaction import Trigger
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.poison import find_poison, shrunk
from worldline.context.source import path_nodes
from worldline.context.view import build_view
from worldline.core.kinds import NodeFlag, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.protocol.events import Delta, ReplyDiscarded
from worldline.provider.model import Answer, Failure, FallbackEvent, ModelRequest, RetryEvent, StreamEvent


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
    price: Callable[[Usage, str], Usage]
    """Fill in the cost where the price of the model is known."""
    context_limit: int = 0
    seen_repairs: set[tuple[str, str, str]] = field(default_factory=set)
    """Repairs that are in the session's diagnostics already."""
    tail: list[str] = field(default_factory=list)
    """What the last request carried at its end that no node holds."""
    _known: dict[str, PathNode] = field(default_factory=dict)
    _partial: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

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
                return answer
            self.journal.emit(
                "reply_discarded", ReplyDiscarded(run=self.journal.run, turn=turn, why="failed")
            )
            self._keep_failed(answer)
            if not await self._heal(answer.failure, view, healed, turn):
                failure = answer.failure
                raise Stopped(
                    failure.stop_reason,
                    f"{failure.sentence} {failure.advice}".strip(),
                    api_said=failure.api_said,
                    offers=[failure.offer] if failure.offer else offers_for(failure.stop_reason),
                )

    async def make_room(self, trigger: Trigger, turn: int, why: str = "", instructions: str = "") -> None:
        """Compact when the context is near its limit (`auto`), because the API refused it (`overflow`) or on command
        (`manual`). Raises Stopped `context_limit` when there is no more to gain."""
        path, view = self._look()
        await self.compactor.make_room(path, view, self.options, trigger, turn, why, instructions)

    def _path(self) -> list[PathNode]:
        """Start of the talk → tip. A node that is asked about has its end and never changes again, so each is read once for a run,
        and what view building keeps with it stays."""
        doc = self.journal.doc
        tip = self.journal.tip
        uids = doc.uids(doc.tree.path(doc.seq(tip))[side_start(doc, tip) :])
        for node in path_nodes(doc.bodies_of([uid for uid in uids if uid not in self._known])):
            self._known[node.uid] = node
        return [self._known[uid] for uid in uids]

    def _look(self) -> tuple[list[PathNode], View]:
        path = self._path()
        view = build_view(path, self.options)
        for repair in view.repairs:
            key = (repair.kind, repair.node, repair.detail)
            if key not in self.seen_repairs:
                self.seen_repairs.add(key)
                data = {"repair": repair.kind, **repair.data}
                self.journal.diagnose("view_repair", repair.detail, node=repair.node, data=data)
        budget = self.compactor.budget(path, view)
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
        )

    async def _exchange(self, view: View, turn: int) -> Answer:
        self._partial.clear()
        self.tail = view.tail
        watch = RepetitionWatch()
        self.deps.retry_now.clear()

        def listen(event: StreamEvent | RetryEvent | FallbackEvent) -> None:
            if isinstance(event, RetryEvent):
                self._note_retry(event)
            elif isinstance(event, FallbackEvent):
                self._note_fallback(event)
            elif event.kind == "discard":
                self._partial.clear()
                self.journal.emit(
                    "reply_discarded", ReplyDiscarded(run=self.journal.run, turn=turn, why=event.text)
                )
            else:
                self._partial.setdefault(event.block, (event.kind, []))[1].append(event.text)
                if event.kind == "text":
                    watch.feed(event.text)
                self.journal.emit(
                    "delta",
                    Delta(
                        run=self.journal.run, turn=turn, block=event.block, kind=event.kind, text=event.text,
                        tool=event.tool,
                    ),
                )  # fmt: skip
                if watch.looping and not task.done():
                    task.cancel()

        task = asyncio.ensure_future(
            self.model.ask(
                self._request(view), listen, chain=self.settings.chain, retry_now=self.deps.retry_now
            )
        )
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if watch.looping and not (current is not None and current.cancelling()):
                raise _Looping from None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise

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

    def _keep_partial(self, outcome: Outcome) -> None:
        """Keep the text that had arrived of a reply that was given up; calls and thinking of it are not usable."""
        blocks = [
            {"type": "text", "text": text}
            for _, (kind, parts) in sorted(self._partial.items())
            if kind == "text" and (text := "".join(parts)).strip()
        ]
        self._partial.clear()
        if blocks:
            self.journal.assistant(
                blocks, outcome=outcome, flags=NodeFlag.INCOMPLETE, model=self.settings.model,
                detail={"stop_reason": "", "cut": True},
            )  # fmt: skip

    def _keep_failed(self, answer: Answer) -> None:
        """Keep what a failed request had brought, marked as incomplete, and what it cost."""
        exchange = answer.exchange
        self._partial.clear()
        blocks = [
            b
            for b in (exchange.blocks or answer.partial)
            if b.get("type") == "text" and str(b.get("text", "")).strip()
        ]
        if not blocks:
            return
        model = exchange.model or answer.asked_model
        usage = self.priced(exchange.usage, model)
        self.journal.assistant(
            blocks, outcome=Outcome.FAILED, flags=NodeFlag.INCOMPLETE, model=model, usage=usage,
            detail={"stop_reason": exchange.stop_reason, "cut": True, "api_said": exchange.detail},
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
        if kind == "bad_thinking" and not self.options.drop_thinking:
            self.options = replace(self.options, drop_thinking=True)
            self.journal.diagnose(
                "repair", "The API refused earlier thinking; it is left out of the request."
            )
            return True
        if kind in ("bad_block", "bad_image", "bad_thinking", "unpaired", "invalid_request"):
            return self._poison(failure, view)
        return False

    def _poison(self, failure: Failure, view: View) -> bool:
        """Put a note in place of the block that the API refused, on this and every later request."""
        found = find_poison(view, failure.api_said)
        fresh = {place: note for place, note in found.blocks.items() if place not in self.options.poisoned}
        if not fresh and (not found.drop_thinking or self.options.drop_thinking):
            return False
        self.options = found.applied(self.options)
        for (uid, position), note in fresh.items():
            self.journal.diagnose(
                "poisoned",
                "The API refused one part of the conversation; a note stands in its place from now on.",
                node=uid,
                data={"uid": uid, "block": position, "note": note, "api_said": failure.api_said},
            )
        return True
