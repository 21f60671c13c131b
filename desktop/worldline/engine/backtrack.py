"""Going back after a run that led nowhere, and trying another way.

Policy (`backtracking` in the settings): `off` offers nothing, `ask` (the default) offers it, `auto` does it: back to the
last node whose checks passed, else to the last prompt, at most `AUTO_ATTEMPTS` times for one message of the person. Only
ends that say "this way leads nowhere" go back by themselves (the breaker, turns, tool calls); where time, tokens or
money are used up, going on is the person's decision. The abandoned path stays, and the next attempt is told in a short
note what failed. An attempt that failed like one before is never followed by another one without saying so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

from worldline.agent.journal import one_line
from worldline.agent.stops import RunEnd
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.engine.jumps import Jumps
from worldline.engine.runs import CHOSEN, Runs
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.session.model import NodeBody, Record

AUTO_ATTEMPTS = 2
GOES_BACK = frozenset(
    {
        StopReason.REPEATED_CALLS,
        StopReason.REPEATED_FAILURES,
        StopReason.MAX_TURNS,
        StopReason.MAX_TOOL_CALLS,
    }
)
_TOLD = 4
"""Failed steps, and earlier attempts, that the note names."""


class Backtracking:
    def __init__(self, shared: Shared, runs: Runs, jumps: Jumps) -> None:
        self._shared = shared
        self._runs = runs
        self._jumps = jumps

    @property
    def policy(self) -> str:
        chosen = self._shared.settings.text("backtracking")
        return chosen if chosen in ("off", "ask", "auto") else "ask"

    def offers(self, offers: list[str]) -> list[str]:
        return [o for o in offers if o != "backtrack" or self.policy != "off"]

    def after(self, end: RunEnd) -> Callable[[], Awaitable[None]] | None:
        """What is to be done by itself after a run that ended so."""
        if self.policy != "auto" or end.reason not in GOES_BACK or not end.saved:
            return None
        return self._by_itself

    async def command(self) -> c.JumpAnswer:
        """On the person's command: a run that goes on is stopped before."""
        if self._runs.busy:
            await self._runs.stop_and_settle()
        answer, _ = await self._back(by_itself=False)
        return answer

    async def _by_itself(self) -> None:
        journal = self._shared.journal()
        try:
            prompt = self._prompt()
            # As the attempt was made: a message that was sent to be planned must not be carried out.
            chosen = {k: v for k, v in self._shared.doc.runs()[-1].settings.items() if k in CHOSEN and v}
            tried = [r for r in self._tried(prompt) if r.data.get("auto")]
            if len(tried) >= AUTO_ATTEMPTS:
                why = f"It was tried {len(tried) + 1} times in different ways. What next is yours to decide."
            elif (same := self._same_as(prompt)) is not None:
                why = (
                    f"This attempt failed like an earlier one ({same}); it is not tried a third time unasked."
                )
            else:
                answer, text = await self._back(by_itself=True)
                if answer.result is not None:
                    again = {"text": text, "images": _images(prompt), **chosen}
                    await self._runs.prompt(c.Prompt.model_validate(again), at=answer.result.cursor)
                    return
                why = "Going back would touch what is not the agent's: look at the plan and decide."
        except WorldlineError as error:
            why = f"Going back by itself did not work: {error}"
        journal.diagnose("backtrack", why, node=journal.tip)
        self._shared.status.set(sentence=why)

    async def _back(self, *, by_itself: bool) -> tuple[c.JumpAnswer, str]:
        """(the answer of the jump, the text to ask again)."""
        doc, shared = self._shared.doc, self._shared
        prompt = self._prompt()
        node = self._jumps.last_trusted(prompt.uid)
        reason, detail = self._end()
        same = self._same_as(prompt)
        failed = _failed(self._since(prompt))
        lesson = self._lesson(prompt, reason, detail, same)
        left = doc.cursor
        answer = await self._jumps.jump(c.Jump(node=node), lesson=lesson, at=left if by_itself else "")
        if answer.result is not None:
            shared.doc.add_record(
                "backtrack",
                {
                    "key": _key(prompt), "from": left, "to": node, "reason": reason, "approach": _approach(failed),
                    "failed": failed, "auto": by_itself, "same_as": same or "",
                },
                node=left,
            )  # fmt: skip
            said = f"Back to another way after {reason.replace('_', ' ')}."
            if same:
                said += f" This attempt failed in the same way as an earlier one: {same}."
            shared.journal().diagnose("backtrack", said, node=doc.cursor, data={"from": left, "to": node})
        return answer, str(prompt.detail.get("text", ""))

    # -- what was tried ---------------------------------------------------------------------------------------------

    def _prompt(self) -> NodeBody:
        """The last prompt of the person on the path."""
        doc = self._shared.doc
        for body in reversed(doc.path_bodies(doc.cursor)):
            if body.kind is NodeKind.USER and not body.detail.get("by_engine"):
                return body
        raise BadInput("There is no prompt to go back to.", "Write a message first.")

    def _since(self, prompt: NodeBody) -> list[NodeBody]:
        bodies = self._shared.doc.path_bodies(self._shared.doc.cursor)
        return bodies[next(i for i, b in enumerate(bodies) if b.uid == prompt.uid) :]

    def _end(self) -> tuple[str, str]:
        last = self._runs.last
        if last is not None:
            return last.reason.value, last.detail
        runs = self._shared.doc.runs()
        reason = runs[-1].stop_reason if runs else None
        return (reason.value if reason else "unknown"), (runs[-1].detail if runs else "")

    def _tried(self, prompt: NodeBody) -> list[Record]:
        """Earlier attempts at the same message that were given up."""
        return [r for r in self._shared.doc.records("backtrack") if r.data.get("key") == _key(prompt)]

    def _same_as(self, prompt: NodeBody) -> str | None:
        """What this attempt and an earlier one failed at, if that is the same."""
        failed = _failed(self._since(prompt))
        approach = _approach(failed)
        for record in self._tried(prompt):
            if failed and record.data.get("approach") == approach:
                return failed[-1]
        return None

    def _lesson(self, prompt: NodeBody, reason: str, detail: str, same: str | None) -> str:
        failed = _failed(self._since(prompt))
        parts = [
            f"The attempt before this one ended with {reason.replace('_', ' ')}"
            + (f" ({detail})." if detail else ".")
        ]
        if failed:
            parts.append(f"Its last failed steps: {'; '.join(failed)}. Try another way than that one.")
        if same:
            parts.append(
                f"Two attempts have now failed in the same way ({same}): do not take it a third time. If you see no "
                "other, ask the person."
            )
        earlier = [f for r in self._tried(prompt)[-_TOLD:] for f in r.data.get("failed", [])[-1:]]
        if earlier:
            parts.append(f"Attempts before that failed at: {'; '.join(dict.fromkeys(earlier))}.")
        return " ".join(parts)


def _key(prompt: NodeBody) -> str:
    """The same message asked again is the same goal, wherever the attempt began."""
    text = " ".join(str(prompt.detail.get("text", "")).split())
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _failed(path: list[NodeBody]) -> list[str]:
    """The last steps that failed, in a few words each."""
    steps = []
    for body in path:
        if body.kind is NodeKind.TOOL and body.outcome in (Outcome.FAILED, Outcome.STOPPED, Outcome.DENIED):
            error = body.end_detail.get("error", {})
            call = body.detail.get("call", {})
            said = error.get("details", {}).get("last_error") or error.get("type", "")
            steps.append(one_line(f"{call.get('name', '')} {_shown(call.get('input', {}))}: {said}", 160))
    return list(dict.fromkeys(steps))[-_TOLD:]


def _shown(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return next((str(value[k]) for k in ("command", "path", "pattern", "url", "text") if value.get(k)), "")


def _approach(failed: list[str]) -> str:
    return failed[-1] if failed else ""


def _images(prompt: NodeBody) -> list[c.Image]:
    content = (prompt.message or {}).get("content", [])
    sources = [b["source"] for b in content if isinstance(b, dict) and b.get("type") == "image"]
    return [c.Image(media_type=s["media_type"], data=s["data"]) for s in sources if s.get("type") == "base64"]
