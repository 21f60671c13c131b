"""Scenarios: which conversation gets which answer.

A scenario is a list of rules, tried in order; the first that fits answers. In YAML:

    name: demo
    pace_ms: 8            # between two deltas
    delta_chars: 14
    models: [{id: rehearsal-large, display_name: …, max_input_tokens: 200000, max_tokens: 32000}]
    rules:
      - when: {prompt: "regular expression", result: …, step: 0, model: …, said: …, chinese: true}
        say: text
        think: text
        call: {name: read, input: {path: a.py}}      # or a list
        stop: max_tokens
        fault: overloaded
        usage: {input_tokens: 5}
      - when: {prompt: "fix the parser"}
        steps:                                       # one answer for each turn after that prompt
          - {say: …, call: {…}}
          - {say: …, when: {result: "FAILED"}}
    default: {say: …}

Conditions are regular expressions, searched for without regard to case, except `step`, `step_min`, `step_max`,
`chinese`, `error`, `denied` and `count`. In texts `{prompt}`, `{result}` and `{model}` are filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from worldline.core.errors import BadInput
from worldline.rehearsal.catalog import find
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Call, Reply

_TEXT_CONDITIONS = ("prompt", "result", "model", "said", "last_tool", "system")
_EXACT_CONDITIONS = ("step", "chinese", "error", "denied", "count")
_OTHER_CONDITIONS = ("step_min", "step_max", "not_said")
_REPLY_KEYS = {"say", "think", "call", "stop", "fault", "usage", "pace_ms", "blocks", "stop_details"}


@dataclass(slots=True)
class Rule:
    """`steps` are the answers to the first, second, … turn after the prompt; the last is repeated. A choice
    whose `when` does not fit is passed over for the next of the same step."""

    when: dict[str, Any] = field(default_factory=dict)
    steps: list[list[Choice]] = field(default_factory=list)

    def answer(self, talk: Conversation) -> Reply | None:
        if not fits(self.when, talk) or not self.steps:
            return None
        for choice in self.steps[min(talk.step, len(self.steps) - 1)]:
            if fits(choice.when, talk):
                return choice.reply
        return None


@dataclass(slots=True)
class Choice:
    reply: Reply
    when: dict[str, Any] = field(default_factory=dict)


def fits(when: dict[str, Any], talk: Conversation) -> bool:
    """Whether all conditions hold."""
    return all(_holds(name, wanted, talk) for name, wanted in when.items())


def _holds(name: str, wanted: Any, talk: Conversation) -> bool:
    if name in _TEXT_CONDITIONS:
        return re.search(str(wanted), str(getattr(talk, name)), re.IGNORECASE) is not None
    if name == "not_said":
        return re.search(str(wanted), talk.said, re.IGNORECASE) is None
    if name == "step_min":
        return bool(talk.step >= wanted)
    if name == "step_max":
        return bool(talk.step <= wanted)
    actual = {
        "step": talk.step,
        "chinese": talk.chinese,
        "error": talk.result_is_error,
        "denied": talk.denied,
        "count": talk.count,
    }[name]
    return bool(actual == wanted)


Answerer = Callable[[Conversation], Reply | None]

_DEFAULT = Reply(text="This is a scripted model: it has no answer prepared for that.")
_MODELS: list[dict[str, Any]] = [
    {"id": "rehearsal", "display_name": "Rehearsal", "max_input_tokens": 200_000, "max_tokens": 32_000}
]


@dataclass
class Scenario:
    """Answers by rules, by a function, or (for tests) one after the other."""

    rules: list[Rule] = field(default_factory=list)
    answerer: Answerer | None = None
    queue: list[Reply] = field(default_factory=list)
    """Given out by the number of the request; the last one is repeated."""
    default: list[Choice] = field(default_factory=lambda: [Choice(_DEFAULT)])
    models: list[dict[str, Any]] = field(default_factory=lambda: list(_MODELS))
    known_models_only: bool = False
    key: str = ""
    """When set, other keys are refused with 401."""
    pace: float = 0.0
    delta_chars: int = 12
    caching: bool = False
    """Keep a prompt cache also for requests that do not ask for one, as some local servers do."""
    name: str = ""
    faults: Callable[[Conversation], str] | None = None
    """Which fault to play for a request; "" = none."""

    @classmethod
    def of(cls, *replies: Reply | str, **fields: Any) -> Scenario:
        """These answers, one after the other."""
        queue = [reply if isinstance(reply, Reply) else Reply(text=reply) for reply in replies]
        return cls(queue=queue, **fields)

    def answer(self, talk: Conversation) -> Reply:
        """The reply for a request; never fails."""
        if self.queue:
            return self.queue[min(talk.count, len(self.queue) - 1)]
        if self.answerer is not None:
            made = self.answerer(talk)
            if made is not None:
                return made
        for rule in self.rules:
            reply = rule.answer(talk)
            if reply is not None:
                return filled(reply, talk)
        for choice in self.default:
            if fits(choice.when, talk):
                return filled(choice.reply, talk)
        return _DEFAULT


def filled(reply: Reply, talk: Conversation) -> Reply:
    """The reply with its placeholders filled in."""

    def fill(text: str) -> str:
        values = {"{prompt}": talk.prompt[:400], "{result}": talk.result[:400], "{model}": talk.model}
        for mark, value in values.items():
            text = text.replace(mark, value)
        return text

    if "{" not in reply.text + reply.thinking:
        return reply
    return Reply(
        text=fill(reply.text),
        thinking=fill(reply.thinking),
        calls=reply.calls,
        stop=reply.stop,
        stop_details=reply.stop_details,
        usage=reply.usage,
        fault=reply.fault,
        blocks=reply.blocks,
        pace=reply.pace,
    )


# ---- YAML -------------------------------------------------------------------------------------------------------------


def load(path: Path) -> Scenario:
    """Read a scenario. Raises BadInput that says where the file is wrong."""
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(
            f"The scenario {path} cannot be read: {error.strerror}.", "Give the path of a YAML file."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(f"The scenario {path} is no YAML: {error}.", "Correct the file.") from error
    return parse(data, str(path))


def parse(data: Any, where: str = "scenario") -> Scenario:
    """A scenario from plain data. Raises BadInput."""
    if not isinstance(data, dict):
        raise BadInput(f"{where}: a mapping is needed.", "See resources/rehearsal/demo.yaml for an example.")
    allowed = {
        "name",
        "pace_ms",
        "delta_chars",
        "models",
        "known_models_only",
        "key",
        "rules",
        "default",
        "caching",
    }
    _no_others(data, allowed, where)
    default = data.get("default", {"say": _DEFAULT.text})
    scenario = Scenario(
        rules=[_rule(raw, f"{where}: rules[{i}]") for i, raw in enumerate(data.get("rules") or [])],
        default=_choices(default, f"{where}: default"),
        known_models_only=bool(data.get("known_models_only", False)),
        key=str(data.get("key", "")),
        caching=bool(data.get("caching", False)),
        pace=float(data.get("pace_ms", 0)) / 1000,
        delta_chars=int(data.get("delta_chars", 12)),
        name=str(data.get("name", "")),
    )
    if data.get("models"):
        scenario.models = [{"id": m} if isinstance(m, str) else dict(m) for m in data["models"]]
    return scenario


def _no_others(raw: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(str(key) for key in set(raw) - allowed)
    if unknown:
        raise BadInput(
            f"{where}: unknown key {', '.join(unknown)}.", f"Known are: {', '.join(sorted(allowed))}."
        )


def _rule(raw: Any, where: str) -> Rule:
    if not isinstance(raw, dict):
        raise BadInput(f"{where}: a mapping is needed.", "A rule has `when` and an answer or `steps`.")
    _no_others(raw, _REPLY_KEYS | {"when", "steps"}, where)
    when = _when(raw.get("when"), where)
    if "steps" in raw:
        steps = [_choices(step, f"{where}.steps[{i}]") for i, step in enumerate(raw["steps"] or [])]
    else:
        steps = [[Choice(_reply(raw, where))]]
    if not steps:
        raise BadInput(f"{where}: there is no answer.", "Add `say`, `call` or `steps`.")
    return Rule(when, steps)


def _choices(raw: Any, where: str) -> list[Choice]:
    """One answer, or a list of answers of which the first that fits is taken."""
    many: Sequence[Any] = raw if isinstance(raw, list) else [raw]
    choices = []
    for index, one in enumerate(many):
        at = f"{where}[{index}]" if isinstance(raw, list) else where
        if not isinstance(one, dict):
            raise BadInput(f"{at}: a mapping is needed.", "An answer has `say`, `call`, …")
        _no_others(one, _REPLY_KEYS | {"when"}, at)
        choices.append(Choice(_reply(one, at), _when(one.get("when"), at)))
    return choices


def _when(raw: Any, where: str) -> dict[str, Any]:
    when = raw or {}
    if not isinstance(when, dict):
        raise BadInput(f"{where}.when: a mapping is needed.", 'For example {prompt: "fix"}.')
    _no_others(when, {*_TEXT_CONDITIONS, *_EXACT_CONDITIONS, *_OTHER_CONDITIONS}, f"{where}.when")
    for name in (*_TEXT_CONDITIONS, "not_said"):
        if name in when:
            try:
                re.compile(str(when[name]))
            except re.error as error:
                raise BadInput(
                    f"{where}.when.{name}: no regular expression: {error}.", "Correct it."
                ) from error
    return dict(when)


def _reply(raw: dict[str, Any], where: str) -> Reply:
    calls = raw.get("call") or []
    if isinstance(calls, dict):
        calls = [calls]
    made = []
    for call in calls:
        if not isinstance(call, dict) or "name" not in call:
            raise BadInput(
                f"{where}.call: a name is needed.", "For example {name: read, input: {path: a.py}}."
            )
        made.append(
            Call(str(call["name"]), dict(call.get("input") or {}), str(call.get("id", "")), call.get("raw"))
        )
    fault = str(raw.get("fault", ""))
    if fault:
        find(fault)
    return Reply(
        text=str(raw.get("say", "")).strip("\n"),
        thinking=str(raw.get("think", "")).strip("\n"),
        calls=made,
        stop=raw.get("stop", ""),
        stop_details=raw.get("stop_details"),
        usage=raw.get("usage"),
        fault=fault,
        blocks=raw.get("blocks"),
        pace=float(raw["pace_ms"]) / 1000 if "pace_ms" in raw else None,
    )
