"""JSON as it is stored and sent: one canonical form, no lone surrogates, no NaN."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson

_ALIKE = frozenset({str, int, bool, type(None)})
_MOST = 2_000
"""Values beyond which looking at each of them costs more than the quicker encoder saves."""


def clean_text(text: str) -> str:
    """Replace lone surrogates: one of them in the history would make every later request fail."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def dumps(value: Any) -> bytes:
    """Compact UTF-8 JSON. The same value gives the same bytes, which is what keeps prompt caches warm.

    Raises ValueError for NaN and infinities; lone surrogates are replaced.
    """
    return _encoded(value, "replace")


def dumps_exact(value: Any) -> bytes:
    """The same, for what must not be changed on the way: raises ValueError for lone surrogates too."""
    return _encoded(value, "strict")


def _encoded(value: Any, surrogates: str) -> bytes:
    if _is_written_alike(value):
        try:
            return orjson.dumps(value)
        except orjson.JSONEncodeError:
            pass  # a lone surrogate, a number beyond 64 bits, a deep nesting: the encoder below knows what to do
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", surrogates)


def _is_written_alike(value: Any) -> bool:
    """Whether orjson gives the bytes that `json` gives, several times quicker for long texts. It writes numbers with a
    fraction in another way, NaN as null, and takes more types than JSON has: those are left to `json`."""
    found = [value]
    for item in found:  # it grows meanwhile, by what is inside of what was found
        kind = type(item)
        if kind in _ALIKE:
            continue
        if kind is dict:
            for key in item:
                if type(key) is not str:
                    return False
            found.extend(item.values())
        elif kind is list:
            found.extend(item)
        else:
            return False
        if len(found) > _MOST:
            return False
    return True


def digest(value: Any) -> bytes:
    """What tells two JSON values apart without keeping either: equal values have equal digests."""
    return hashlib.blake2b(dumps(value), digest_size=16).digest()


def loads(data: bytes | str) -> Any:
    return json.loads(data)


class DuplicateKey(ValueError):
    """An object names a key twice: which value was meant is not known."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise DuplicateKey(f"key {key!r} is there twice")
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def loads_strict(text: str, *, control_characters: bool = False) -> Any:
    """Parse JSON that must have exactly one meaning. `control_characters` lets raw tabs and line breaks stand
    inside strings: nothing is lost by reading them as they are.

    Raises ValueError for duplicate keys, NaN and infinities, lone surrogates, and nesting beyond reason.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, strict=not control_characters
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # UnicodeEncodeError is a ValueError
    return value
