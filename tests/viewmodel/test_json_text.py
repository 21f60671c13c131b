"""JSON in pieces is the JSON that it would be as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.viewmodel.json_text import PIECE, pieces

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_the_pieces_are_the_whole(value: Any) -> None:
    assert "".join(pieces(value)) == json.dumps(value, ensure_ascii=False, indent=2)


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": "é\n\"'\\" * PIECE},
        [{"text": "word " * 20, "more": [1, 2.5, None, True, {}, []]} for _ in range(2_000)],
        ["\ud83d" + "x" * PIECE + "\U0001f600"],
    ],
)
def test_no_piece_is_as_large_as_the_whole(value: Any) -> None:
    made = list(pieces(value))
    assert "".join(made) == json.dumps(value, ensure_ascii=False, indent=2)
    # Escaped, a character may become six.
    assert len(made) > 1 and max(map(len, made)) <= 7 * PIECE
