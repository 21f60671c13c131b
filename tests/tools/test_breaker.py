"""Going in circles is seen; working is not disturbed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from worldline.core.stop import StopReason
from worldline.tools.breaker import Breaker, Step, hint_error, repeats_itself


def run(
    calls: list[tuple[str, dict[str, Any], str]],
    state: dict[str, Any] | None = None,
    results: list[str] | None = None,
) -> list[Step]:
    breaker = Breaker(state if state is not None else {})
    texts = results or [""] * len(calls)
    return [
        breaker.observe(tool, value, ok=not error, error_type=error, result=text)
        for (tool, value, error), text in zip(calls, texts, strict=True)
    ]


@pytest.mark.parametrize(
    ("calls", "kind", "reason"),
    [
        ([("read", {"path": "a"}, "")] * 6, "identical_call", StopReason.REPEATED_CALLS),
        ([("bash", {"command": "x"}, "nonzero_exit")] * 6, "identical_call", StopReason.REPEATED_FAILURES),
        ([("read", {"path": "a"}, ""), ("read", {"path": "b"}, "")] * 6, "cycle", StopReason.REPEATED_CALLS),
        ([("read", {"path": c}, "") for c in "abc"] * 6, "cycle", StopReason.REPEATED_CALLS),
        ([("edit", {"path": "a", "old": "value = 1" + " " * n, "new": "y"}, "no_match") for n in range(6)], "near_identical_edits", StopReason.REPEATED_FAILURES),
        ([("read", {f"x{n}": n}, "invalid_arguments") for n in range(6)], "same_error", StopReason.REPEATED_FAILURES),
        ([(f"tool{n}", {}, "unknown_tool") for n in range(6)], "same_error", StopReason.REPEATED_FAILURES),
        ([("bash", {"command": "x"}, "nonzero_exit"), ("read", {"path": "a"}, ""), ("glob", {"pattern": "b"}, ""), ("bash", {"command": "x"}, "nonzero_exit"), ("read", {"path": "q"}, "")] * 3, "identical_failure", StopReason.REPEATED_FAILURES),
    ],
)  # fmt: skip
def test_circles(calls: list[tuple[str, dict[str, Any], str]], kind: str, reason: StopReason) -> None:
    steps = run(calls)
    hints = [step for step in steps if step.action == "hint"]
    stops = [step for step in steps if step.action == "stop"]
    assert hints and stops and stops[0].reason is reason
    assert hints[0].kind == kind and hints[0].message
    assert steps.index(hints[0]) < steps.index(stops[0])
    assert hint_error(hints[0], None).type == "repeated"


@pytest.mark.parametrize(
    "calls",
    [
        [("process", {"action": "wait", "id": "p1"}, "")] * 20,
        [("BashOutput", {"id": "1"}, "")] * 20,
        [("read", {"path": str(n)}, "") for n in range(30)],
        [call for n in range(10) for call in (("edit", {"path": "a", "old": str(n), "new": "b"}, ""), ("bash", {"command": "pytest"}, "nonzero_exit"))],
        [("bash", {"command": f"grep {n} f"}, "no_match") for n in range(10)],
    ],
)  # fmt: skip
def test_work_is_not_a_circle(calls: list[tuple[str, dict[str, Any], str]]) -> None:
    assert {step.action for step in run(calls)} == {"go"}


def test_results_that_move_on_are_progress() -> None:
    calls = [("bash", {"command": "tail log"}, "")] * 8
    assert {s.action for s in run(calls, results=["line " + "abcdefgh"[n] for n in range(8)])} == {"go"}
    assert run(calls, results=[f"took {n} ms" for n in range(8)])[2].action == "hint"


def test_the_memory_belongs_to_the_branch() -> None:
    state: dict[str, Any] = {}
    run([("read", {"path": "a"}, "")] * 2, state)
    fork = json.loads(json.dumps(state))
    assert run([("read", {"path": "a"}, "")], fork)[0].action == "hint"
    assert run([("read", {"path": "a"}, "")], {})[0].action == "go"
    Breaker(fork).reset()
    assert run([("read", {"path": "a"}, "")], fork)[0].action == "go"


def test_denials() -> None:
    state: dict[str, Any] = {}
    Breaker(state).denied("bash", {"command": "x", "cwd": "y"})
    state = json.loads(json.dumps(state))
    assert Breaker(state).denied_before("bash", {"cwd": "y", "command": "x"}) is not None
    assert Breaker(state).denied_before("bash", {"command": "z"}) is None


def test_text() -> None:
    assert repeats_itself("I will now do it. " * 60)
    assert not repeats_itself("word " * 20)
    assert not repeats_itself(
        "\n".join(f"{n}. A line about something else entirely {n * n}" for n in range(200))
    )
    assert not repeats_itself("-" * 3000)
    assert not repeats_itself("| a | b |\n" * 20)
