"""How long to wait."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.cases import case
from tests_support import PATIENCE_S
from worldline.provider.errors import classify
from worldline.provider.model import Exchange
from worldline.provider.retry import RetryPolicy, parse_retry_after, wait

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:10 GMT"}, 10.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, NOW) == seconds


@given(st.text(max_size=40))
def test_retry_after_never_raises_and_is_never_negative(text: str) -> None:
    seconds = parse_retry_after({"retry-after": text}, NOW)
    assert seconds is None or seconds >= 0
    assert 0 <= RetryPolicy().wait_s(1, seconds, random.Random(1)) <= 120


def test_case_net_005() -> None:
    payload = case("net-005")["payload"]
    for value in payload["values"]:
        seconds = RetryPolicy().wait_s(1, parse_retry_after({"retry-after": value}), random.Random(1))
        assert 0 <= seconds <= payload["expect"]["cap_s"]


def test_waits_grow_to_a_cap_with_jitter() -> None:
    policy = RetryPolicy(attempts=20)
    waits = [policy.wait_s(n, None, random.Random(n)) for n in range(1, 20)]
    assert waits[0] < waits[2] < waits[4] and max(waits) <= 30 * 1.25
    assert len({policy.wait_s(3, None, random.Random(n)) for n in range(10)}) == 10


def test_a_zero_wait_still_backs_off() -> None:
    assert 0.5 < RetryPolicy().wait_s(4, 0.0, random.Random(1)) <= 1.0


def test_only_what_can_help_is_tried_again() -> None:
    policy = RetryPolicy(attempts=5)
    overloaded = classify(Exchange("http_error", status=529))
    assert policy.may_retry(overloaded, 4, 5) and not policy.may_retry(overloaded, 5, 5)
    protocol = classify(Exchange("protocol"))
    assert policy.may_retry(protocol, 2, 5) and not policy.may_retry(protocol, 3, 5)
    assert not policy.may_retry(classify(Exchange("http_error", status=401)), 1, 5)


async def test_waiting_can_be_cut_short() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, event.set)
    assert await asyncio.wait_for(wait(3_600, event), PATIENCE_S)
    assert not event.is_set()
    assert not await wait(0.01, event)


def test_plans_can_be_stored() -> None:
    assert json.dumps(RetryPolicy().wait_s(1, None, random.Random(1)))
