"""From the raw JSON of a call to valid arguments: strict where there are two meanings, helpful where there is one.

Every repair is recorded as a short sentence. Nothing is guessed: what is not one of the listed cases stays as it
came, and the strict validation afterwards refuses it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import referencing
from pydantic import ValidationError
from referencing.exceptions import Unresolvable

from worldline.core.errors import ErrorClass, ToolFailure
from worldline.core.jsontext import loads_strict
from worldline.tools.model import fail

_WRAPPERS = ("arguments", "input", "args", "parameters", "params", "tool_input", "kwargs")
_WRAPPER_COMPANIONS = {"name", "tool", "tool_name", "type", "id", "function"}
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d{1,3})?")
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```\s*", re.DOTALL)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def parse_raw(raw: str) -> tuple[dict[str, Any], list[str]]:
    """The JSON object in `raw`, and what was repaired to get it. Raises ToolFailure `invalid_json`."""
    if not raw.strip():
        return {}, []
    repairs: list[str] = []
    try:
        value = loads_strict(raw)
    except ValueError as error:
        value = _parse_repaired(raw, error, repairs)
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = loads_strict(value)
        except ValueError:
            break
        repairs.append("the arguments were a JSON string and were parsed once more")
    if not isinstance(value, dict):
        raise fail(
            ErrorClass.USER,
            "invalid_json",
            f"The arguments must be one JSON object, not {kind_of(value)}.",
            next_='Send the call again with an object, like {"field": value}.',
        )
    return value, repairs


def _parse_repaired(raw: str, first: ValueError, repairs: list[str]) -> Any:
    fenced = _FENCE.fullmatch(raw)
    body = fenced[1] if fenced else raw
    escaped = escape_controls(body)
    if fenced or escaped != body:
        try:
            value = loads_strict(escaped)
        except ValueError as error:
            first = error
        else:
            if fenced:
                repairs.append("the arguments stood in a code fence")
            if escaped != body:
                repairs.append("raw control characters inside JSON strings were escaped")
            return value
    raise json_failure(raw, str(first)) from None


def json_failure(raw: str, why: str) -> ToolFailure:
    """`invalid_json`, saying where and, when the text just ends, that it was cut off."""
    position = re.search(r"line (\d+) column (\d+)", why)
    place = f" at line {position[1]}, column {position[2]}" if position else ""
    reason = why.split(": line")[0]
    stripped = raw.rstrip()
    cut = "Unterminated" in why or (bool(stripped) and not stripped.endswith(("}", "]")))
    return fail(
        ErrorClass.USER,
        "invalid_json",
        f"The arguments are not valid JSON{place}: {reason}.",
        hint="The text ends in the middle; it was probably cut off." if cut else "",
        next_="Send the call again with complete, valid JSON"
        + (
            "; split a very long value into several calls."
            if cut
            else "; escape quotes and backslashes in strings."
        ),
    )


def escape_controls(raw: str) -> str:
    """Escape control characters inside strings. A backslash before a raw line break stands for itself."""
    out: list[str] = []
    inside = False
    index = 0
    while index < len(raw):
        char = raw[index]
        if not inside:
            inside = char == '"'
            out.append(char)
        elif char == "\\" and index + 1 < len(raw):
            following = raw[index + 1]
            if following < " ":
                out.append("\\\\")
            else:
                out.append(char + following)
                index += 1
        elif char < " ":
            out.append(_ESCAPES.get(char, f"\\u{ord(char):04x}"))
        else:
            inside = char != '"'
            out.append(char)
        index += 1
    return "".join(out)


def kind_of(value: Any) -> str:
    """The JSON type of a value, for people."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return type(value).__name__


def repair(
    value: dict[str, Any], schema: dict[str, Any], aliases: dict[str, str] | None = None, tool: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """`value` with everything put right that has only one meaning under `schema`."""
    work = _Repair(schema, aliases or {})
    value = work.unwrap(value, tool)
    return work.object(value, schema, ""), work.notes


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


class _Repair:
    def __init__(self, root: dict[str, Any], aliases: dict[str, str]) -> None:
        self.root = root
        self.aliases = aliases
        self.notes: list[str] = []

    def unwrap(self, value: dict[str, Any], tool: str) -> dict[str, Any]:
        properties = self.root.get("properties", {})
        for key in (*_WRAPPERS, *([tool] if tool else [])):
            if key not in value or key in properties or key in self.aliases:
                continue
            if set(value) - {key} - _WRAPPER_COMPANIONS or (set(value) - {key}) & set(properties):
                continue
            inner = self._parsed(value[key], {"object"}) if isinstance(value[key], str) else value[key]
            if isinstance(inner, dict):
                self.notes.append(f"the arguments were wrapped in {key!r}")
                return inner
        return value

    def object(self, value: dict[str, Any], schema: dict[str, Any], where: str) -> dict[str, Any]:
        schema = self.resolve(schema)
        properties: dict[str, Any] = schema.get("properties", {})
        required = schema.get("required", [])
        result: dict[str, Any] = {}
        for key, item in value.items():
            name = self._name(key, properties)
            if name != key:
                if name in value or name in result:
                    if value.get(name, result.get(name)) == item:
                        self.notes.append(f"{where}{key} said the same as {name}")
                        continue
                    name = key
                else:
                    self.notes.append(f"{where}{key} was taken as {name}")
            if name not in properties:
                result[name] = item
                continue
            sub = self.resolve(properties[name])
            if item is None and name not in required and "null" not in self.types(sub):
                self.notes.append(f"{where}{name}: null was taken as not given")
                continue
            result[name] = self.value(item, sub, f"{where}{name}")
        return result

    def _name(self, key: str, properties: dict[str, Any]) -> str:
        if key in properties or not properties:
            return key
        alias = self.aliases.get(key)
        if alias in properties and alias is not None:
            return alias
        plain = _plain(key)
        found = {name for name in properties if _plain(name) == plain}
        found |= {
            target
            for other, target in self.aliases.items()
            if _plain(other) == plain and target in properties
        }
        return found.pop() if len(found) == 1 else key

    def resolve(self, schema: Any) -> dict[str, Any]:
        for _ in range(10):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            target: Any = self.root
            for part in str(schema["$ref"]).removeprefix("#/").split("/"):
                target = target.get(part, {}) if isinstance(target, dict) else {}
            schema = target
        return schema if isinstance(schema, dict) else {}

    def types(self, schema: dict[str, Any]) -> set[str]:
        """JSON types that `schema` can accept; empty = anything, as far as we can tell."""
        schema = self.resolve(schema)
        if "type" in schema:
            kind = schema["type"]
            return set(kind) if isinstance(kind, list) else {kind}
        if "enum" in schema or "const" in schema:
            return {kind_of(item) for item in schema.get("enum", [schema.get("const")])}
        for key in ("anyOf", "oneOf"):
            if key in schema:
                each = [self.types(option) for option in schema[key]]
                return set().union(*each) if all(each) else set()
        if "properties" in schema:
            return {"object"}
        return set()

    def value(self, item: Any, schema: dict[str, Any], where: str) -> Any:
        types = self.types(schema)
        if not types:
            return item
        if isinstance(item, str) and "string" not in types:
            item = self._from_text(item, types, where)
        if isinstance(item, float) and "integer" in types and "number" not in types and item.is_integer():
            self.notes.append(f"{where}: {item} was taken as an integer")
            item = int(item)
        if not isinstance(item, list) and "array" in types and not self._fits(item, types):
            inner = self.types(self._option(schema, "array").get("items", {}))
            if self._fits(item, inner) and inner:
                self.notes.append(f"{where}: a single value was put into a list")
                item = [item]
        if isinstance(item, dict) and "object" in types:
            return self.object(item, self._option(schema, "object"), f"{where}.")
        if isinstance(item, list) and "array" in types:
            sub = self.resolve(self._option(schema, "array").get("items", {}))
            return [self.value(part, sub, f"{where}.{index}") for index, part in enumerate(item)]
        return item

    def _option(self, schema: dict[str, Any], kind: str) -> dict[str, Any]:
        """The only alternative of `schema` that is of `kind`."""
        schema = self.resolve(schema)
        options = [self.resolve(o) for key in ("anyOf", "oneOf") for o in schema.get(key, [])]
        fitting = [option for option in options if kind in self.types(option)]
        return (fitting[0] if len(fitting) == 1 else {}) if options else schema

    def _fits(self, item: Any, types: set[str]) -> bool:
        kind = kind_of(item)
        return not types or kind in types or (kind == "integer" and "number" in types)

    def _parsed(self, item: str, types: set[str]) -> Any:
        value: Any = item
        for _ in range(2):
            try:
                value = loads_strict(value)
            except ValueError:
                try:
                    value = loads_strict(escape_controls(value))
                except ValueError:
                    return item
            if kind_of(value) in types:
                return value
            if not isinstance(value, str):
                return item
        return item

    def _from_text(self, item: str, types: set[str], where: str) -> Any:
        wanted = types & {"object", "array"}
        if wanted:
            value = self._parsed(item, wanted)
            if value is not item:
                self.notes.append(f"{where}: a JSON string was parsed as {kind_of(value)}")
                return value
        text = item.strip()
        if "integer" in types and _INTEGER.fullmatch(text):
            self.notes.append(f"{where}: a number in quotes was taken as a number")
            return int(text)
        if "number" in types and _NUMBER.fullmatch(text):
            self.notes.append(f"{where}: a number in quotes was taken as a number")
            return json.loads(text)
        if "boolean" in types and text.lower() in ("true", "false"):
            self.notes.append(f"{where}: {text.lower()} in quotes was taken as a boolean")
            return text.lower() == "true"
        return item


def _failure(lines: list[str], tool: str, schema: dict[str, Any]) -> ToolFailure:
    fields = ", ".join(
        name + ("" if name in schema.get("required", []) else "?") for name in schema.get("properties", {})
    )
    shown = lines[:10] + ([f"… and {len(lines) - 10} more"] if len(lines) > 10 else [])
    return fail(
        ErrorClass.USER,
        "invalid_arguments",
        "\n".join(shown),
        hint=f"{tool} takes: {fields or 'no arguments'}." if tool else f"Fields: {fields or 'none'}.",
        next_="Send the call again with these fields put right.",
    )


def pydantic_failure(error: ValidationError, tool: str, schema: dict[str, Any]) -> ToolFailure:
    """One line per error: where, what is wrong, which type came. Never the values."""
    lines = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in item["loc"]) or "arguments"
        match item["type"]:
            case "missing":
                lines.append(f"{where}: required, but not given")
            case "extra_forbidden":
                lines.append(f"{where}: there is no such field")
            case _:
                lines.append(f"{where}: {item['msg']} (got {kind_of(item.get('input'))})")
    return _failure(lines, tool, schema)


def check_schema(value: dict[str, Any], schema: dict[str, Any], tool: str = "") -> None:
    """Strict validation against a JSON schema, for tools that are described by one. Raises `invalid_arguments`; where
    the schema itself makes no sense (see `schema.schema_problem`), `bad_schema`. Never fetches what it refers to."""
    # Without a registry of our own the library asks the network for references that it does not know.
    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=lambda e: [str(part) for part in e.absolute_path])
    except (jsonschema.exceptions.UnknownType, Unresolvable, RecursionError, re.error) as error:
        raise fail(
            ErrorClass.ENVIRONMENT,
            "bad_schema",
            f"The description of {tool or 'this tool'} makes no sense ({type(error).__name__}); it cannot be called.",
            next_="Work without it, or tell the person.",
        ) from error
    lines = []
    for problem in errors:
        where = ".".join(str(part) for part in problem.absolute_path)
        match problem.validator:
            case "required":
                missing = [n for n in problem.validator_value if n not in problem.instance]
                lines += [
                    f"{where + '.' if where else ''}{name}: required, but not given" for name in missing
                ]
            case "additionalProperties":
                extra = sorted(set(problem.instance) - set(problem.schema.get("properties", {})))
                lines += [f"{where + '.' if where else ''}{name}: there is no such field" for name in extra]
            case "type":
                lines.append(f"{where}: must be {problem.validator_value} (got {kind_of(problem.instance)})")
            case "enum":
                lines.append(f"{where}: must be one of {', '.join(map(str, problem.validator_value))}")
            case _:
                lines.append(
                    f"{where or 'arguments'}: {problem.validator} {problem.validator_value} does not hold"
                )
    if lines:
        raise _failure(list(dict.fromkeys(lines)), tool, schema)
