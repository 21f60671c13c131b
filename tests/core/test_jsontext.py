"""One canonical form of JSON: whichever encoder writes it, the bytes are those of `json`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.core.jsontext import dumps, dumps_exact, loads

# Any code point: control characters, line ends of other scripts, halves of pairs.
texts = st.text(st.characters(codec=None), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**70), 2**70) | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(texts, inner, max_size=6)
        | st.dictionaries(st.integers() | st.none() | st.booleans(), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=30,
)


# A slow machine is no fault of what is tested.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reference(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


@patient
@given(values)
def test_the_bytes_are_those_of_the_plain_encoder(value: Any) -> None:
    try:
        expected = reference(value)
    except ValueError:
        with pytest.raises(ValueError, match="Out of range float"):
            dumps(value)
        return
    assert dumps(value) == expected


@patient
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(), st.lists, max_leaves=20
    )
)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert loads(dumps(value)) == value


@patient
@given(values)
def test_the_exact_form_is_the_same_or_refused(value: Any) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        expected = text.encode("utf-8")
    except ValueError as why:
        with pytest.raises(type(why)):
            dumps_exact(value)
        return
    assert dumps_exact(value) == expected


class Colour(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    "value",
    [
        {"big": "x\n\"\\\u2028\x7f\x00\x1f" * 5000},
        {Colour.RED: [Colour.RED, Number.ONE]},
        {"at": 1e16, "near": 1e-7, "half": -0.5, "whole": 2.0},
        [2**63, 2**64, -(2**80)],
        "half of a pair: \ud83d",
        {"\ud800": "\udfff"},
        [{"id": at, "words": [str(at), None, True]} for at in range(3000)],
    ],
    ids=["controls", "enums", "fractions", "large", "surrogate", "surrogate key", "many"],
)  # fmt: skip
def test_kinds_that_the_encoders_write_differently(value: Any) -> None:
    assert dumps(value) == reference(value)


def test_deep_nesting_is_written() -> None:
    value: Any = "end"
    for _ in range(400):
        value = [value]
    assert dumps(value) == reference(value)


@dataclasses.dataclass
class Plain:
    x: int = 1


class Foreign(Enum):
    A = 1


@pytest.mark.parametrize(
    "value", [Plain(), Foreign.A, uuid.UUID(int=1), datetime.date(2026, 1, 1), b"x", {1, 2}]
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        dumps({"deep": [value]})


def test_a_circle_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        dumps(circle)
