"""That a run goes round in circles: said to the person, where the model is told what it is to do instead. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldline.protocol.model import Body
from worldline.viewmodel.words import translate


@dataclass(frozen=True, slots=True)
class Repeated:
    pattern: str
    """identical_call, identical_failure, same_error, cycle, near_identical_edits."""
    count: int
    told: str
    """What the model was told, in the words that are meant for it."""
    stopped: bool = False
    """It ended the run, which says so itself."""


def repeated(body: Body, error: Mapping[str, Any] | None) -> Repeated | None:
    """What was noticed at this step; `error` is what the model got as its result, where that is one. Older sessions have
    nothing else to go by."""
    fact = body.detail.get("repeated")
    if not isinstance(fact, dict):
        if error is None or error.get("type") != "repeated":
            return None
        details = error.get("details")
        fact = {**(details if isinstance(details, dict) else {}), "told": error.get("message")}
    count = fact.get("count")
    return Repeated(
        str(fact.get("pattern") or ""),
        count if isinstance(count, int) else 0,
        str(fact.get("told") or ""),
        bool(fact.get("stopped")),
    )


def note(found: Repeated) -> str:
    """For the person, who did none of it."""
    known = {
        "identical_call": translate("Repeated", "The same call was made {} times, with the same result."),
        "identical_failure": translate("Repeated", "This failed {} times in the same way."),
        "same_error": translate("Repeated", "{} calls in a row were refused for the same reason."),
        "cycle": translate("Repeated", "The same calls came {} times in the same order."),
        "near_identical_edits": translate(
            "Repeated", "Edits of this file failed {} times with nearly the same text."
        ),
    }
    what = known.get(found.pattern, translate("Repeated", "The agent goes round in circles.")).format(
        found.count
    )
    told = translate("Repeated", "Worldline told the agent to try another way.")
    return what if found.stopped else f"{what} {told}"
