"""Words of the parser's tree: what they say, quotes and backslashes taken off."""

from __future__ import annotations

import re
from typing import Any

Node = dict[str, Any]
_ANSI_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL
)


def arguments_of(node: Node) -> list[Node]:
    if node.get("Type") == "DeclClause":
        words: list[Node] = [{"Parts": [{"Type": "Lit", "Value": node["Variant"]["Value"]}]}]
        for item in node.get("Args", []):
            if item.get("Naked") and "Value" in item:
                words.append(item["Value"])
            elif "Name" in item:
                value = word_of(item["Value"]) if "Value" in item else ""
                literal = item["Name"]["Value"] + ("=" + value if value else "")
                words.append(
                    {"Parts": [{"Type": "Lit" if value is not None else "ParamExp", "Value": literal}]}
                )
        return words
    arguments: list[Node] = node.get("Args") or []
    return arguments


def word_of(word: Node) -> str | None:
    """What the word says, quotes and backslashes taken off; None if it is known only at run time."""
    out: list[str] = []
    for part in word.get("Parts") or []:
        value = _part(part)
        if value is None:
            return None
        out.append(value)
    return "".join(out)


def _part(part: Node) -> str | None:
    match part.get("Type"):
        case "Lit":
            value = part.get("Value", "")
            if re.search(r"(?<!\\)\{[^}]*(,|\.\.)[^}]*\}", value):
                return None  # braces expand to several words
            return re.sub(r"\\(\n|.)", lambda m: "" if m[1] == "\n" else m[1], value)
        case "SglQuoted":
            value = part.get("Value", "")
            return _ANSI_ESCAPE.sub(_ansi, value) if part.get("Dollar") else value
        case "DblQuoted":
            if part.get("Dollar"):
                return None
            inner = [
                re.sub(r"\\([$`\"\\\n])", lambda m: "" if m[1] == "\n" else m[1], p.get("Value", ""))
                if p.get("Type") == "Lit"
                else None
                for p in part.get("Parts") or []
            ]
            return None if None in inner else "".join(p or "" for p in inner)
        case _:
            return None


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    simple = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
    if code[0] in "xuU":
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return chr(int(code, 8)) if code[0].isdigit() else simple.get(code, code)
