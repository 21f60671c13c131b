"""Which model stands in for which, what must be checked before a hop, and when to go back."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace

from worldline.provider.body import without_thinking
from worldline.provider.catalog import ModelFacts
from worldline.provider.model import Endpoint, Failure, FailureKind, ModelRequest

HOPPABLE: frozenset[FailureKind] = frozenset(
    {"overloaded", "server_error", "rate_limited", "stalled", "protocol"}
)
"""Failures of capacity: another model may answer."""


def name_of(endpoint: Endpoint) -> str:
    """Model and place."""
    return f"{endpoint.model} at {endpoint.base_url}" if endpoint.base_url else endpoint.model


def names_of(one: Endpoint, other: Endpoint) -> tuple[str, str]:
    """How both are called in an event: by their models, and by their places where only those differ or both do."""
    if one.base_url == other.base_url:
        return one.model, other.model
    return name_of(one), name_of(other)


def may_hop(failure: Failure, here: Endpoint, there: Endpoint) -> bool:
    """Whether the failure here says nothing against trying there."""
    if failure.kind == "network":
        return here.base_url != there.base_url
    return failure.kind in HOPPABLE


def estimate_tokens(request: ModelRequest) -> int:
    """Rough size of a request: four bytes a token."""
    size = len(request.system.encode("utf-8", "replace"))
    size += len(json.dumps(request.messages, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    size += len(json.dumps(request.tools, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    return size // 4


def adapt(request: ModelRequest, to: Endpoint, facts: ModelFacts) -> ModelRequest | str:
    """The request for another model, within its limits and without what only the first one reads; or a sentence
    why it cannot go there."""
    changed = replace(
        request, endpoint=to, messages=without_thinking(request.messages), extra=dict(request.extra)
    )
    changed.extra.pop("previous_message_id", None)
    if facts.max_output and changed.max_tokens > facts.max_output:
        changed.max_tokens = facts.max_output
    if facts.context and estimate_tokens(changed) + min(changed.max_tokens, 4096) > facts.context:
        return f"the conversation does not fit into {facts.name or to.model}"
    if request.effort and facts.efforts and request.effort not in facts.efforts:
        changed.effort = facts.default_effort
    if not facts.images and _has_image(request):
        return f"{facts.name or to.model} cannot see images"
    return changed


def _has_image(request: ModelRequest) -> bool:
    return '"type": "image"' in json.dumps(request.messages, default=str)


@dataclass(slots=True)
class _Rest:
    until: float
    substitute: Endpoint
    why: str


@dataclass(slots=True)
class CoolDown:
    """Remembers that a model failed, so that the next requests go straight to its stand-in until it has rested."""

    seconds: float = 90.0
    rng: random.Random = field(default_factory=random.Random)
    _resting: dict[str, _Rest] = field(default_factory=dict)

    def failed(
        self, primary: Endpoint, substitute: Endpoint, why: str, now: float, asked_s: float = 0.0
    ) -> None:
        """The stand-in answered. The rest lasts at least as long as the server asked for (`asked_s`), and is jittered,
        so that many clients do not come back at once."""
        wait = max(self.seconds, asked_s) * (1 + 0.2 * self.rng.random())
        self._resting[name_of(primary)] = _Rest(now + wait, substitute, why)

    def answered(self, primary: Endpoint) -> Endpoint | None:
        """The model answers again; the stand-in it had, if any."""
        rest = self._resting.pop(name_of(primary), None)
        return rest.substitute if rest else None

    def was_away(self, primary: Endpoint) -> bool:
        return name_of(primary) in self._resting

    def start_at(self, targets: list[Endpoint], now: float) -> tuple[int, str]:
        """Index of the target to begin with, and why it is not the first."""
        rest = self._resting.get(name_of(targets[0]))
        if rest is None or now >= rest.until:
            return 0, ""
        for index, target in enumerate(targets):
            if index and name_of(target) == name_of(rest.substitute):
                return index, rest.why
        return 0, ""
