"""Calls that wait for the person: a queue, each bound by digest to exactly what is shown.

A request is never replaced by a later one; an answer names id and digest, so that a click meant for one never reaches
another. The time limit of a request starts when it is the first in the queue. No answer is a denial, never a silent yes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from worldline.core.errors import BadInput
from worldline.core.ids import new_uid
from worldline.core.jsontext import dumps
from worldline.protocol.commands import AnswerApproval
from worldline.protocol.model import Approval

DEFAULT_TIMEOUT_S = 3600.0
Why = Literal["answered", "timeout", "stopped"]
Scope = Literal["once", "branch", "session", "always"]


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    why: Why = "answered"
    scope: Scope = "once"
    reason: str = ""
    """The sentence of a denial, for the model."""
    edited_input: dict[str, Any] | None = None


@dataclass(slots=True)
class _Waiting:
    approval: Approval
    verdict: asyncio.Future[Verdict]
    first: asyncio.Event = field(default_factory=asyncio.Event)
    since: float = 0.0
    """When its time began, on the loop's clock."""
    limit: asyncio.Timeout | None = None


def digest_of(tool: str, value: dict[str, Any], command: str = "", cwd: str = "") -> str:
    """Names exactly this call: the order of keys does not matter, everything else does."""
    ordered = _sorted([tool, value, command, cwd])
    return hashlib.blake2b(dumps(ordered), digest_size=12).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


class ApprovalDesk:
    """The pending approvals of a session. Used on the engine's loop only."""

    def __init__(
        self,
        asked: Callable[[Approval], None],
        gone: Callable[[str, Why], None],
        *,
        timeout_s: float | None = DEFAULT_TIMEOUT_S,
    ) -> None:
        self._asked = asked
        self._gone = gone
        self._timeout_s = timeout_s
        self._queue: dict[str, _Waiting] = {}

    def pending(self) -> list[Approval]:
        """In the order in which they were asked."""
        return [waiting.approval for waiting in self._queue.values()]

    async def ask(self, approval: Approval) -> Verdict:
        """Show it and wait. The id is given here. On cancellation the request is taken back."""
        approval = approval.model_copy(update={"id": approval.id or new_uid()})
        waiting = _Waiting(approval, asyncio.get_running_loop().create_future())
        self._queue[approval.id] = waiting
        self._advance()
        why: Why = "stopped"
        try:
            self._asked(approval)
            verdict = await self._wait(waiting)
            why = verdict.why
            return verdict
        finally:
            del self._queue[approval.id]
            self._advance()
            self._gone(approval.id, why)

    async def _wait(self, waiting: _Waiting) -> Verdict:
        first = asyncio.ensure_future(waiting.first.wait())
        both: set[asyncio.Future[Any]] = {first, waiting.verdict}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
        waiting.since = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timeout_s) as waiting.limit:
                return await asyncio.shield(waiting.verdict)
        except TimeoutError:
            return Verdict(False, "timeout")
        finally:
            waiting.limit = None

    def set_timeout(self, seconds: float | None) -> None:
        """Another time limit, for what waits already too."""
        self._timeout_s = seconds
        for waiting in self._queue.values():
            if waiting.limit is not None and not waiting.limit.expired():
                waiting.limit.reschedule(None if seconds is None else waiting.since + seconds)

    def _advance(self) -> None:
        if self._queue:
            next(iter(self._queue.values())).first.set()

    def check(self, answer: AnswerApproval) -> Approval:
        """What the answer is for. Raises BadInput when it does not fit what is pending; decides nothing."""
        waiting = self._queue.get(answer.id)
        if waiting is None or waiting.verdict.done():
            raise BadInput(
                "This approval is not pending any more.", "Nothing was allowed by this answer.", kind="gone"
            )
        approval = waiting.approval
        if answer.digest != approval.digest:
            raise BadInput(
                "The answer was meant for something else than what is pending.",
                "Look at it again.",
                kind="digest",
            )
        if answer.decision == "allow" and answer.scope not in approval.scopes:
            raise BadInput(
                f"This cannot be allowed for {answer.scope!r}.", f"Possible: {', '.join(approval.scopes)}."
            )
        if answer.edited_input is not None and not approval.editable:
            raise BadInput("The arguments of this call cannot be edited.", "Allow or deny it as it is.")
        return approval

    def answer(self, answer: AnswerApproval) -> None:
        """Decide. Raises as `check`; nothing is decided then."""
        waiting = self._queue[self.check(answer).id]
        waiting.verdict.set_result(
            Verdict(
                answer.decision == "allow",
                "answered",
                # What was edited is not what a lasting grant would be about.
                answer.scope if answer.edited_input is None else "once",
                answer.reason.strip(),
                answer.edited_input,
            )
        )

    def stop_all(self) -> None:
        """Take all requests back: the run that they belong to is being stopped."""
        for waiting in self._queue.values():
            if not waiting.verdict.done():
                waiting.verdict.set_result(Verdict(False, "stopped"))
