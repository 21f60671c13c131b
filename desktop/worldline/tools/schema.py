"""Tools as the API wants to see them: flat JSON schemas, legal names."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import jsonschema

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
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}

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
            if key in ("title", "$defs", "definitions") or (key == "default" and value is None):
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


def schema_problem(schema: dict[str, Any]) -> str:
    """Why arguments cannot be described by this schema of somebody else's, in words; "" = they can."""
    try:
        return _problem(json.dumps(schema, sort_keys=True))
    except RecursionError:
        return "its schema is nested too deeply"


@lru_cache(maxsize=1024)
def _problem(text: str) -> str:
    """Looked at once: it takes a millisecond, and a branch may have a hundred tools that are asked about at every jump."""
    schema: dict[str, Any] = json.loads(text)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = ".".join(str(part) for part in error.absolute_path)
        return f"its schema is not valid{' at ' + where if where else ''}"
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
            reference = part.get("$ref")
            if isinstance(reference, str) and not _points_to_something(schema, reference):
                return f"its schema refers to {reference[:100]!r}, which is not in it"
    return ""


def _points_to_something(root: Any, reference: str) -> bool:
    if not reference.startswith("#"):
        return False
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(root, dict) or step not in root:
            return False
        root = root[step]
    return True
