"""What a shell is given to read, where the line says it: a here-document, a here-string, what `echo` writes into its pipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from worldline.policy.shellwords import Node, arguments_of, word_of
from worldline.policy.wrappers import base_name

Fed = tuple[str | None, ...]
_UNKNOWN = '"$x"'
"""Stands in a text for what is known only at run time."""
_SILENT = frozenset(
    {"cd", "true", ":", "false", "export", "set", "sleep", "test", "[", "wait", "mkdir", "touch", "rm"}
)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}


def fed_by(call: Node, redirs: Sequence[Node], left: Fed) -> Fed:
    """What this simple command may read: by its redirections, else from the pipe; and what stands as `<(…)` among its words."""
    found: list[str | None] = [text for word in arguments_of(call) for text in _substituted(word)]
    given = [redir for redir in redirs if redir.get("Op") in ("<", "<<", "<<-", "<<<", "<>", "<&")]
    for redir in given:
        if redir["Op"] in ("<<", "<<-"):
            found.append(spelled(redir.get("Hdoc") or {}))
        elif redir["Op"] == "<<<":
            found.append(spelled(redir.get("Word") or {}))
        else:
            found += _substituted(redir.get("Word") or {}) or [None]
    return (*found, *(left if not given else ()))


def spelled(word: Node) -> str:
    """The text of a word as a shell would read it, with `"$x"` for each part that is known only at run time."""
    out: list[str] = []
    for part in word.get("Parts") or []:
        known = word_of({"Parts": [part]})
        if known is None and part.get("Type") == "DblQuoted":
            out.append(spelled(part))
        else:
            out.append(_UNKNOWN if known is None else known)
    return "".join(out)


def written_by(stmt: Any, left: Fed) -> Fed:
    """What a statement may write: known for `echo`, `printf` and `cat`, else some text (None)."""
    if isinstance(stmt, list):
        return tuple(text for one in stmt for text in written_by(one, left))
    if not isinstance(stmt, dict):
        return ()
    command, redirs = stmt.get("Cmd") or {}, stmt.get("Redirs") or []
    kind = command.get("Type")
    if kind == "BinaryCmd":
        if command.get("Op") in ("|", "|&"):
            return written_by(command["Y"], written_by(command["X"], left))
        return (*written_by(command["X"], left), *written_by(command["Y"], left))
    if kind in ("Block", "Subshell"):
        return written_by(command.get("Stmts"), left)
    if kind == "CallExpr":
        return _call_writes(command, redirs, left)
    return (None,) if kind else ()


def _call_writes(call: Node, redirs: Sequence[Node], left: Fed) -> Fed:
    words = arguments_of(call)
    name = base_name(word_of(words[0])) if words else ":"
    texts = [spelled(word) for word in words[1:]]
    if name == "echo":
        while texts and re.fullmatch(r"-[neE]+", texts[0]):
            texts.pop(0)
        line = " ".join(texts)
        return (line, _escaped(line)) if "\\" in line else (line,)
    if name == "printf" and texts:
        texts = texts[1:] if texts[0] == "--" else texts
        rest, form = list(texts[1:]), _escaped(texts[0])
        text = re.sub(r"%[-\d.]*[a-zA-Z]", lambda _: rest.pop(0) if rest else "", form)
        return (text, *(_escaped(each) for each in texts[1:]))
    if name == "cat" and all(text == "-" for text in texts):
        return fed_by({}, redirs, left) or (None,)
    return () if name in _SILENT else (None,)


def _substituted(word: Node) -> list[str | None]:
    parts = [part for part in word.get("Parts") or [] if part.get("Type") == "ProcSubst"]
    return [text for part in parts for text in written_by(part.get("Stmts"), ())]


def _escaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text, flags=re.DOTALL)
