"""Brakes, verdicts on replies, previews."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldline.agent.journal import one_line, preview_of
from worldline.agent.limits import TOKENS_FOR_A_DOLLAR, Limits, Meter, unknown_price
from worldline.agent.repetition import RepetitionWatch
from worldline.agent.replies import Next, judge_reply
from worldline.agent.stops import BRAKES_TO_GO_ON, offers_for
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.provider import prices
from worldline.provider.catalog import KNOWN
from worldline.provider.model import Exchange


def meter(limits: Limits, before: Usage | None = None) -> tuple[Meter, list[float]]:
    now = [0.0]
    return Meter(limits, before or Usage(), lambda: now[0]), now


def test_no_limit_is_no_brake() -> None:
    counted, now = meter(Limits(turns=0, tool_calls=0, seconds=0))
    counted.turns = counted.tool_calls = 10**6
    now[0] = 10**6
    counted.add(Usage(input_tokens=10**9, cost=10**6, answers=1))
    assert counted.brake() is None
    assert counted.brake_for_calls() is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(turns=3), StopReason.MAX_TURNS),
        (Limits(seconds=5), StopReason.TIME_LIMIT),
        (Limits(tokens=100), StopReason.TOKEN_BUDGET),
        (Limits(cost=0.5), StopReason.COST_LIMIT),
        (Limits(session_tokens=1000), StopReason.TOKEN_BUDGET),
        (Limits(session_cost=2), StopReason.COST_LIMIT),
    ],
)
def test_each_limit_has_its_reason_and_says_how_far(limits: Limits, reason: StopReason) -> None:
    counted, now = meter(limits, Usage(input_tokens=950, cost=1.6, answers=3))
    counted.turns, now[0] = 3, 6.0
    counted.add(Usage(input_tokens=90, output_tokens=20, cost=0.6, answers=1))
    brake = counted.brake()
    assert brake is not None and brake.reason is reason
    assert brake.sentence.startswith("Stopped")


def test_an_unknown_price_never_counts_as_free_nor_as_too_much() -> None:
    counted, _ = meter(Limits(cost=0.01))
    counted.add(Usage(input_tokens=10, answers=1))
    assert counted.brake() is None


def test_limits_from_settings_ignore_what_is_no_number() -> None:
    limits = Limits.from_settings({"turns": 5, "seconds": "x", "cost": True, "tokens": -3, "other": 1})
    assert (limits.turns, limits.seconds, limits.cost, limits.tokens) == (5, Limits().seconds, 0, 0)


@pytest.mark.parametrize(
    ("said", "blocks", "step"),
    [
        ("end_turn", [{"type": "text", "text": "Done."}], Next.DONE),
        ("end_turn", [{"type": "text", "text": "  "}], Next.NUDGE),
        ("end_turn", [{"type": "thinking", "thinking": "hm", "signature": "s"}], Next.NUDGE),
        ("max_tokens", [{"type": "text", "text": "hal"}], Next.CONTINUE),
        ("pause_turn", [], Next.AGAIN),
        ("refusal", [], Next.STOP),
        ("model_context_window_exceeded", [], Next.COMPACT),
        ("something_new", [{"type": "text", "text": "x"}], Next.STOP),
        ("", [{"type": "text", "text": "x"}], Next.STOP),
    ],
)
def test_no_other_end_is_taken_for_completed(said: str, blocks: list[dict[str, str]], step: Next) -> None:
    assert (
        judge_reply(Exchange("complete", blocks=blocks, stop_reason=said), nudges=0, continuations=0).step
        is step
    )


def test_each_recovery_is_tried_once() -> None:
    empty = Exchange("complete", blocks=[], stop_reason="end_turn")
    cut = Exchange("complete", blocks=[], stop_reason="max_tokens")
    assert judge_reply(empty, nudges=1, continuations=0).reason is StopReason.EMPTY_REPLY
    assert judge_reply(cut, nudges=0, continuations=1).reason is StopReason.OUTPUT_LIMIT


def test_every_brake_can_go_on() -> None:
    assert all("go_on" in offers_for(reason) for reason in BRAKES_TO_GO_ON)
    assert offers_for(StopReason.COMPLETED) == []


def test_repetition_is_noticed_and_prose_is_not() -> None:
    watch = RepetitionWatch()
    for _ in range(3000):
        watch.feed("word word word. ")
    assert watch.looping
    watch = RepetitionWatch()
    for number in range(3000):
        watch.feed(f"line {number} of a long table | {number * 7919 % 1000} |\n")
    assert not watch.looping


def test_previews() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert len(one_line("x" * 500)) == 200
    assert preview_of([{"type": "tool_use", "name": "read"}]) == "calls read"
    assert preview_of([]) == "(empty reply)"


def test_a_limit_in_dollars_holds_where_the_price_is_not_known() -> None:
    counted, _ = meter(Limits(cost=2))
    counted.add(Usage(input_tokens=TOKENS_FOR_A_DOLLAR, output_tokens=10, answers=1))
    assert counted.brake() is None
    counted.add(Usage(cost=0.5, answers=1))  # of another model, whose price is known
    assert counted.brake() is None
    counted.add(Usage(cache_read_tokens=TOKENS_FOR_A_DOLLAR // 2, answers=1))
    brake = counted.brake()
    assert brake is not None and brake.reason is StopReason.COST_LIMIT
    assert "150,010 tokens" in brake.sentence and "$2.00 stands for 150,000" in brake.sentence
    # What the session had used before, at prices that are not known, counts for the session only.
    before = Usage(input_tokens=10 * TOKENS_FOR_A_DOLLAR, answers=3)
    assert meter(Limits(cost=2), before)[0].brake() is None
    brake = meter(Limits(session_cost=5), before)[0].brake()
    assert brake is not None and "this session" in brake.sentence


def test_no_known_model_gives_less_for_a_dollar() -> None:
    table = prices.load(Path("/nowhere"))
    dearest = max(price.input for model in KNOWN if (price := table.price(model)) is not None)
    assert dearest * TOKENS_FOR_A_DOLLAR / 1_000_000 == 1


def test_it_is_said_how_such_a_limit_is_kept() -> None:
    assert unknown_price(Limits(), "m") == ""
    said = unknown_price(Limits(cost=5, session_cost=20), "m")
    assert "$5.00 of a run as 500,000 tokens and $20.00 of the session as 2,000,000 tokens" in said
