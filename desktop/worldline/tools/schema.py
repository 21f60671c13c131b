"""Tools as the API wants to see them: flat JSON schemas, legal names."""

from __future__ import annotations

import re
from typing import Any

from worldline.tools.model import Tool

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
NAME_LIMIT = 128


def legal_name(name: str) -> str:
    """A name that the API accepts for what the model wrote; the same one each time."""
    return _ILLEGAL.sub("_", name)[:NAME_LIMIT] or "unnamed_tool"


def tool_schemas(tools: dict[str, Tool]) -> list[dict[str, Any]]:
    """The `tools` of a request, in a fixed order: the prompt cache depends on it."""
    return [
        {"name": legal_name(tool.name), "description": tool.description, "input_schema": tidy(tool.schema())}
        for _, tool in sorted(tools.items())
    ]


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Without titles, references resolved, `anyOf … null` of optional fields reduced: what a model reads best."""
    definitions = schema.get("$defs", {})

    def walk(part: Any, depth: int = 0) -> Any:
        if depth > 12 or not isinstance(part, dict):
            return part
        if "$ref" in part:
            name = str(part["$ref"]).rsplit("/", 1)[-1]
            return walk(
                {**definitions.get(name, {}), **{k: v for k, v in part.items() if k != "$ref"}}, depth + 1
            )
        if "anyOf" in part:
            options = [option for option in part["anyOf"] if option != {"type": "null"}]
            if len(options) == 1:
                rest = {k: v for k, v in part.items() if k not in ("anyOf", "default")}
                return walk({**options[0], **rest}, depth + 1)
        result: dict[str, Any] = {}
        for key, value in part.items():
            if key in ("title", "$defs") or (key == "default" and value is None):
                continue
            if key == "properties":
                result[key] = {name: walk(item, depth + 1) for name, item in value.items()}
            elif isinstance(value, list):
                result[key] = [walk(item, depth + 1) for item in value]
            else:
                result[key] = walk(value, depth + 1)
        return result

    tidied: dict[str, Any] = walk(schema)
    tidied.setdefault("type", "object")
    tidied.setdefault("properties", {})
    tidied.pop("description", None)
    return tidied
