"""The circuit breaker: sees when a run goes round in circles, says so once, then stops it.

Its whole memory is `TaskState.breaker`, plain JSON: it travels with the nodes, so a fork knows only its own branch.

What counts, by tool and canonical arguments (the order of keys does not matter):
- the same call again and again with the same result, also when it succeeds;
- the same failure again, with nothing done in between that could have changed it;
- A-B-A-B and A-B-C-A-B-C;
- edits of one file that all fail, with nearly the same text;
- the same answer text twice, or one that repeats itself within.
Polling (a tool that waits for something) is exempt. The first finding gives a hint in place of one more raw error; when
it goes on, the run stops.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Literal

from rapidfuzz import fuzz

from worldline.core.errors import ErrorClass, ToolError
from worldline.core.jsontext import dumps
from worldline.core.stop import StopReason

HINT_AT = 3
"""The third time in the same way is told."""
STOP_AT = 5
"""The fifth ends the run."""
_WINDOW = 24
_NEAR = 85.0
_NOT_REACHED = frozenset(
    {"invalid_arguments", "invalid_json", "unknown_tool", "hook_blocked", "permission_denied"}
)
_POLLING = re.compile(
    r"(?:^|_)(?:poll|wait|await|monitor|sleep)|(?:bash|task|process|command|shell)_?(?:output|status)",
    re.IGNORECASE,
)
_ACTS = frozenset({"write", "edit", "multi_edit", "bash"})


@dataclass(frozen=True, slots=True)
class Step:
    """What to do after a call. `hint`: give `message` to the model; `stop`: end the run with `reason`."""

    action: Literal["go", "hint", "stop"] = "go"
    message: str = ""
    reason: StopReason | None = None
    kind: str = ""
    """identical_call, identical_failure, cycle, near_identical_edits, repeated_text."""
    count: int = 0


GO = Step()


def canonical(value: Any) -> str:
    """One text for the same arguments, whatever the order of their keys."""

    def ordered(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: ordered(item[key]) for key in sorted(item)}
        return [ordered(part) for part in item] if isinstance(item, list | tuple) else item

    return dumps(ordered(value)).decode()


def is_polling(tool: str, value: Any) -> bool:
    """Asking again with the same arguments is what this call is for."""
    if tool == "process":
        return isinstance(value, dict) and value.get("action") != "stop"
    return _POLLING.search(tool) is not None


def key_of(tool: str, value: Any) -> str:
    return hashlib.blake2b(f"{tool}\n{canonical(value)}".encode(), digest_size=8).hexdigest()


def result_key(text: str) -> str:
    """Results that differ in numbers only (times, counters) are the same result."""
    return hashlib.blake2b(
        re.sub(r"\d+", "0", text[:100_000]).encode("utf-8", "replace"), digest_size=8
    ).hexdigest()


class Breaker:
    """Works on the dict that it is given, and keeps nothing besides."""

    def __init__(self, state: dict[str, Any], *, hint_at: int = HINT_AT, stop_at: int = STOP_AT) -> None:
        self._state = state
        self.hint_at = hint_at
        self.stop_at = stop_at

    def reset(self) -> None:
        """The person said something: what went round before may be right now."""
        self._state.clear()

    def _list(self, name: str) -> list[Any]:
        items: list[Any] = self._state.setdefault(name, [])
        return items

    # --- denials -----------------------------------------------------------------------------------------------------

    def denied_before(self, tool: str, value: Any) -> ToolError | None:
        """The answer to a call that the person has denied already: no second dialog."""
        if key_of(tool, value) not in self._list("denied"):
            return None
        return ToolError(
            error_class=ErrorClass.PERMISSION,
            type="permission_denied",
            message="The person has denied exactly this call before; they were not asked again.",
            hint="It stays denied until the person says something else.",
            next="Reach the goal another way, or ask with ask_user what they want instead.",
        )

    def denied(self, tool: str, value: Any) -> None:
        denied = self._list("denied")
        denied.append(key_of(tool, value))
        del denied[:-50]

    # --- calls -------------------------------------------------------------------------------------------------------

    def observe(
        self,
        tool: str,
        value: Any,
        *,
        ok: bool,
        error_type: str = "",
        result: str = "",
        polling: bool = False,
    ) -> Step:
        """Enter one call with its end, in source order. Calls that never reached their tool count as well."""
        if polling or is_polling(tool, value):
            return GO
        key = key_of(tool, value)
        calls = self._list("calls")
        calls.append([key, "" if ok else error_type or "error", result_key(result), tool])
        del calls[:-_WINDOW]
        findings = [
            ("identical_call", self._identical(calls), StopReason.REPEATED_CALLS),
            ("identical_failure", 0 if ok else self._failures(calls, key), StopReason.REPEATED_FAILURES),
            ("same_error", 0 if ok else self._same_error(calls), StopReason.REPEATED_FAILURES),
            ("cycle", self._cycle(calls), StopReason.REPEATED_CALLS),
            ("near_identical_edits", self._near_edits(tool, value, ok), StopReason.REPEATED_FAILURES),
        ]
        kind, count, reason = max(findings, key=lambda finding: finding[1])
        if not ok and kind in ("identical_call", "cycle"):
            reason = StopReason.REPEATED_FAILURES
        return self._step(kind, count, reason, tool, error_type if not ok else "")

    def _identical(self, calls: list[list[str]]) -> int:
        last = calls[-1]
        count = 0
        for call in reversed(calls):
            if call[0] != last[0] or call[2] != last[2] or call[1] != last[1]:
                break
            count += 1
        return count

    def _failures(self, calls: list[list[str]], key: str) -> int:
        """The same failing call, until something was done that may have changed the outcome."""
        count = 0
        error = calls[-1][1]
        for call in reversed(calls):
            if call[0] == key and call[1] == error:
                count += 1
            elif call[3] in _ACTS and not call[1]:
                break
        return count

    def _same_error(self, calls: list[list[str]]) -> int:
        """Calls of one tool in a row that never reach it, whatever their arguments: the model does not learn from it."""
        tool, error = calls[-1][3], calls[-1][1]
        if error not in _NOT_REACHED:
            return 0
        count = 0
        for call in reversed(calls):
            if call[1] != error or (call[3] != tool and error != "unknown_tool"):
                break
            count += 1
        return count

    def _cycle(self, calls: list[list[str]]) -> int:
        best = 0
        for period in (2, 3):
            marks = [tuple(call[:3]) for call in calls]
            if len(marks) < 2 * period or len(set(marks[-period:])) < period:
                continue
            length = period
            while length < len(marks) and marks[-1 - length] == marks[-1 - length + period]:
                length += 1
            best = max(best, length // period)
        return best

    def _near_edits(self, tool: str, value: Any, ok: bool) -> int:
        """Failing edits of one file whose text is nearly the same: the model varies blanks and hopes."""
        if tool not in ("edit", "multi_edit") or not isinstance(value, dict):
            return 0
        edits = self._state.setdefault("edits", {})
        path = str(value.get("path", ""))[:300]
        if ok:
            edits.pop(path, None)
            return 0
        text = (str(value.get("old", "")) or canonical(value.get("edits", "")))[:400]
        text = " ".join(text.split())
        before: list[str] = edits.setdefault(path, [])
        count = 1 + sum(fuzz.ratio(text, other) >= _NEAR for other in before)
        before.append(text)
        del before[:-8]
        while len(edits) > 20:
            edits.pop(next(iter(edits)))
        return count

    # --- answers without a call --------------------------------------------------------------------------------------

    def observe_text(self, text: str) -> Step:
        """Enter the text of a whole answer that called no tool."""
        mark = hashlib.blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=8).hexdigest()
        if not text.strip():
            return GO
        if self._state.get("text") == mark or repeats_itself(text):
            return Step(
                "stop", "The model said the same thing again.", StopReason.REPEATED_CALLS, "repeated_text", 2
            )
        self._state["text"] = mark
        return GO

    # --- what follows ------------------------------------------------------------------------------------------------

    def _step(self, kind: str, count: int, reason: StopReason, tool: str, error: str) -> Step:
        if count < self.hint_at:
            return GO
        if count >= self.stop_at:
            what = f"failed {count} times in the same way" if error else f"was repeated {count} times"
            return Step("stop", f"{tool} {what}.", reason, kind, count)
        return Step("hint", _HINTS[kind].format(count=count, tool=tool, error=error), None, kind, count)


_HINTS = {
    "identical_call": (
        "This same call was made {count} times, with the same result. Doing it again will not change anything. "
        "Say in one sentence what you are trying to reach, look at what you have already got, and take another way."
    ),
    "identical_failure": (
        "This failed {count} times in the same way ({error}). Do not try it once more. Restate the goal, read the file or "
        "the output again, and try another way; if there is none, ask the person with ask_user."
    ),
    "same_error": (
        "Calls of {tool} have been refused {count} times in a row for the same reason ({error}). Read the reason and the "
        "list of fields, and do what it says; or work with another tool."
    ),
    "cycle": (
        "You are going round in a circle: the same calls have come {count} times in the same order. Stop, restate the "
        "goal, and do something different."
    ),
    "near_identical_edits": (
        "Edits of this file have failed {count} times with nearly the same text. Do not vary it further: read the file "
        "again and copy the lines exactly, or replace a larger part with write."
    ),
}


def hint_error(step: Step, last: ToolError | None) -> ToolError:
    """The result that the model gets in place of one more raw error."""
    return ToolError(
        error_class=ErrorClass.USER,
        type="repeated",
        message=step.message,
        hint=f"The last time it said: {last.message[:500]}" if last is not None else "",
        next="Restate the goal in one sentence, then take a different next step.",
        details={
            "pattern": step.kind,
            "count": step.count,
            **({"last_error": last.type} if last is not None else {}),
        },
    )


def repeats_itself(text: str) -> bool:
    """A stretch of the text comes back again and again up to its end, as models do when they are stuck.

    Meant for the stream as well: call it when some thousand characters have come in."""
    tail = text[-6000:]
    if len(tail) < 400:
        return False
    for unit in range(1, len(tail) // 8 + 1):
        piece = tail[-unit:]
        if not piece.strip() or tail[-2 * unit : -unit] != piece:
            continue
        count = 2
        while tail[-(count + 1) * unit : -count * unit] == piece:
            count += 1
        # Short units need many repeats: rules, dots and table lines are made of them.
        if count * unit >= 400 and count >= (8 if unit >= 12 else 60) and len(set(piece)) > 3:
            return True
    return False
