"""Cache misses are explained, and three in a row are a warning."""

from __future__ import annotations

from typing import Any

import pytest

from worldline.core.usage import Usage
from worldline.provider.cache_health import CacheHealth, Verdict

HIT = Usage(input_tokens=10, cache_read_tokens=4000, cache_write_tokens=200, answers=1)
MISS = Usage(input_tokens=10, cache_write_tokens=4200, answers=1)


def say(health: CacheHealth, usage: Usage, now: float, **changed: Any) -> Verdict:
    messages = [{"role": "user", "content": f"{n} " * 100} for n in range(int(now // 10) + 1)]
    given: dict[str, Any] = {
        "place": "",
        "model": "m",
        "system": "s",
        "tools": [{"name": "a"}],
        "messages": messages,
    }
    return health.observe(**{**given, **changed}, usage=usage, now=now)


def test_hits_are_counted() -> None:
    health = CacheHealth()
    assert say(health, MISS, 0).reason == "first"
    assert say(health, HIT, 10).hit == pytest.approx(0.95, abs=0.01)
    assert say(health, Usage(input_tokens=100, answers=1), 20).reason == "too_short"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"model": "other"}, "model"),
        ({"system": "new"}, "system"),
        ({"tools": []}, "tools"),
        ({"messages": [{"role": "user", "content": "rewritten"}]}, "messages"),
    ],
)
def test_own_comparison_finds_the_reason(changed: dict[str, Any], reason: str) -> None:
    health = CacheHealth()
    say(health, MISS, 0)
    verdict = say(health, MISS, 10, **changed)
    assert verdict.reason == reason and verdict.sentence and verdict.missed_tokens == 4210


def test_time_and_servers_without_a_cache() -> None:
    health = CacheHealth()
    say(health, MISS, 0)
    assert say(health, MISS, 400).reason == "expired"
    assert say(health, Usage(input_tokens=4000, answers=1), 410).reason == "not_cached"
    assert say(health, MISS, 420).reason == "unknown"


def test_the_server_knows_better() -> None:
    health = CacheHealth()
    say(health, MISS, 0)
    verdict = health.observe(
        place="", model="m", system="s", tools=[{"name": "a"}], messages=[], usage=MISS, now=5,
        diagnosis={"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 4000}},
    )  # fmt: skip
    assert verdict.reason == "system"


def test_three_misses_in_a_row_warn_and_a_hit_starts_anew() -> None:
    health = CacheHealth()
    say(health, MISS, 0)
    assert [say(health, MISS, n * 10, system=str(n)).warn for n in (1, 2, 3, 4, 5, 6)] == [
        False, False, True, False, False, True,
    ]  # fmt: skip
    assert not say(health, HIT, 70).warn and health.misses == 0


def test_a_long_new_message_is_no_miss() -> None:
    health = CacheHealth()
    first = [{"role": "user", "content": "a" * 4000}]
    health.observe(place="", model="m", system="", tools=[], messages=first, usage=MISS, now=0)
    longer = [*first, {"role": "user", "content": "b" * 40_000}]
    usage = Usage(cache_read_tokens=1000, cache_write_tokens=10_000, answers=1)
    verdict = health.observe(place="", model="m", system="", tools=[], messages=longer, usage=usage, now=1)
    assert verdict.reason == "" and health.misses == 0


def test_branches_and_other_conversations_do_not_disturb_each_other() -> None:
    health = CacheHealth()

    def ask(*texts: str, usage: Usage, system: str = "s", uid: str = "") -> Verdict:
        messages = [{"role": "user", "content": text * 500} for text in texts]
        return health.observe(
            place="",
            model="m",
            system=system,
            tools=[],
            messages=messages,
            usage=usage,
            now=1,
            message_id=uid,
        )

    ask("a", "b", "c", usage=MISS, uid="msg_1")
    assert ask("summarise", usage=MISS, system="other").reason == "first"
    # A fork after "a": a third of it is shared, so a third from the cache is all that can be had.
    verdict = ask(
        "a", "x", "y", usage=Usage(cache_read_tokens=1400, cache_write_tokens=2800, answers=1), uid="msg_2"
    )
    assert verdict.reason == "" and health.misses == 0
    frame: dict[str, Any] = {"place": "", "model": "m", "system": "s", "tools": []}
    given = [{"role": "user", "content": text * 500} for text in ("a", "b", "c", "d")]
    assert health.previous_message_id(**frame, messages=given) == "msg_1"
    assert health.previous_message_id(**{**frame, "place": "elsewhere"}, messages=given) == ""
