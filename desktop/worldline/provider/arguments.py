"""The arguments of a tool call: JSON text with exactly one meaning, or an error that says why not."""

from __future__ import annotations

import json
from typing import Any

from worldline.core.jsontext import loads_strict


def parse_arguments(raw: str) -> tuple[dict[str, Any] | None, str, list[str]]:
    """(arguments, why not, repairs). Empty text means no arguments.

    The one repair made here loses nothing: raw control characters inside strings are taken as they are.
    """
    if not raw.strip():
        return {}, "", []
    repairs: list[str] = []
    try:
        value = loads_strict(raw)
    except json.JSONDecodeError as error:
        if "control character" not in error.msg:
            return None, _explain(error), []
        try:
            value = loads_strict(raw, control_characters=True)
        except ValueError as second:
            return None, _explain(second), []
        repairs.append("raw control characters inside strings were taken as they are")
    except UnicodeEncodeError:
        return None, "it holds half a surrogate pair", []
    except (ValueError, RecursionError) as error:
        return None, _explain(error), []
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a string", type(None): "null", bool: "a truth value"}.get(
            type(value), "a number"
        )
        return None, f"the arguments are {kind}, an object is needed", []
    return value, "", repairs


def _explain(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"the arguments are no valid JSON: {error.msg} at character {error.pos}"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half a surrogate pair"
    text = str(error)
    if "integer string conversion" in text:
        text = "a number has too many digits"
    return f"the arguments are no valid JSON: {text}"
