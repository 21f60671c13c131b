"""Command lines as lists of simple commands, parsed by shfmt.

What comes out is what the shell would start, as far as the text tells it: every member of pipes, lists, loops,
functions and substitutions, wrappers taken off (`env`, `timeout`, `nice`), names without folders and backslashes, and
`bash -c '…'` looked into. A word that is known only at run time is None. Text serves rules and the wording of dialogs;
it is no confinement.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldline.policy.wrappers import base_name, of_system, unwrap

Node = dict[str, Any]
_DEPTH = 4
_MAX_NESTED = 200
"""Of the parser's tree; a person writes a tenth of that."""
_SUBSTITUTIONS = ("CmdSubst", "ProcSubst")
_ARITHMETIC = ("ArithmCmd", "LetClause", "TestClause", "CStyleLoop", "ArithmExp")
_READ_NAMES = (
    "test",
    "[",
    "unset",
    "printf",
    "read",
    "wait",
    "declare",
    "local",
    "typeset",
    "export",
    "readonly",
)
_GLOB = re.compile(r"[*?\[]")
_ANSI_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})


@dataclass(slots=True)
class SimpleCommand:
    """One command that the line would start."""

    words: list[str | None]
    """Program first; None = known only at run time."""
    start: int
    """Characters of the line that it takes."""
    end: int
    assigns: dict[str, str | None] = field(default_factory=dict)
    writes: list[str | None] = field(default_factory=list)
    """Files that redirections write."""
    reads: list[str | None] = field(default_factory=list)
    """Files that redirections read."""
    inner: bool = False
    """Stands in a substitution."""
    via: str = ""
    """Wrapper through which it is started (`env`, `bash -c`, `xargs`, `find -exec`, `sudo`), outermost first."""
    written: str = ""
    """The program as the line names it, when it names a folder too: `./git` is not `git`."""
    started_by: str = ""
    """A wrapper that is no program of the system (`./env`): it may start anything."""

    @property
    def program(self) -> str | None:
        return self.words[0] if self.words else ""

    @property
    def elsewhere(self) -> bool:
        """The program, or what starts it, is a file that the line names, and may be anything."""
        return bool(self.started_by) or not of_system(self.written)

    @property
    def fixed(self) -> bool:
        """All words are known now."""
        return all(word is not None for word in self.words)

    @property
    def text(self) -> str:
        return " ".join("…" if word is None else word for word in self.words)


@dataclass(slots=True)
class ParsedLine:
    commands: list[SimpleCommand] = field(default_factory=list)
    problem: str = ""
    """Why it could not be parsed; then nothing is known about it."""
    substitution: bool = False
    """Has `$(…)`, back quotes or `<(…)`."""
    background: bool = False
    evaluates: bool = False
    """Has an expression that reads text as arithmetic, where a command may hide: `[[ 'a[$(rm x)]' -eq 1 ]]`."""


@lru_cache(maxsize=1)
def shfmt() -> str | None:
    """The parser: of our own environment first, else from PATH."""
    own = Path(sysconfig.get_path("scripts")) / "shfmt"
    return str(own) if own.is_file() else shutil.which("shfmt")


def parse(line: str) -> ParsedLine:
    """Parse a bash command line. Never raises; what is not understood has a `problem`."""
    return _parse(line, 0)


@lru_cache(maxsize=256)
def _tree(line: str) -> tuple[Node | None, str]:
    program = shfmt()
    if program is None:
        return None, "the shell parser is not installed"
    try:
        done = subprocess.run(
            [program, "-ln=bash", "--tojson"],
            input=line.encode("utf-8", "replace"),
            capture_output=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, "the shell parser could not be run"
    if done.returncode != 0:
        return None, done.stderr.decode("utf-8", "replace").strip().removeprefix("<standard input>:")[:200]
    try:
        tree: Node = json.loads(done.stdout)
    except RecursionError:
        return None, "nested too deeply"
    return tree, ""


def _parse(line: str, depth: int) -> ParsedLine:
    result = ParsedLine()
    if depth > _DEPTH:
        result.problem = "nested too deeply"
        return result
    tree, result.problem = _tree(line)
    if tree is None:
        return result
    if _depth_of(tree) > _MAX_NESTED:
        result.problem = "nested too deeply"
        return result
    data = line.encode("utf-8", "replace")

    def chars(offset: int) -> int:
        return len(data[:offset].decode("utf-8", "ignore"))

    for node, redirs, inner in _calls(tree, False):
        span = (chars(node["Pos"]["Offset"]), chars(node["End"]["Offset"]))
        command = SimpleCommand([_word(word) for word in _arguments(node)], *span, inner=inner)
        for item in node.get("Assigns", []):
            command.assigns[item["Name"]["Value"]] = _word(item.get("Value", {}))
        command.writes = [
            _word(redir.get("Word", {}))
            for redir in redirs
            if redir.get("Op") in (">", ">>", ">|", "&>", "&>>", "<>")
            or (redir.get("Op") == ">&" and not re.fullmatch(r"\d+-?|-", _word(redir.get("Word", {})) or ""))
        ]
        command.reads = [_word(redir.get("Word", {})) for redir in redirs if redir.get("Op") in ("<", "<>")]
        result.commands.append(command)
    for node in _walk(tree):
        kind = node.get("Type")
        result.substitution = result.substitution or kind in _SUBSTITUTIONS
        result.background = result.background or bool(node.get("Background") or node.get("Coprocess"))
    result.evaluates = _evaluates(tree, result.commands)
    for command in list(result.commands):
        _expand(command, result, depth)
    return result


def _evaluates(tree: Node, commands: list[SimpleCommand]) -> bool:
    """The shell runs what stands as `$(…)` in the index of a name, even in quotes, wherever it takes a text for arithmetic or
    for a name. Only a text with such signs in it, or one that is not known now, can do that."""
    reads = any(node.get("Type") in _ARITHMETIC for node in _walk(tree)) or any(
        command.program in _READ_NAMES for command in commands
    )
    if not reads:
        return False
    if any(value is None for command in commands for value in command.assigns.values()):
        return True
    texts = [_word(node) for node in _walk(tree) if "Parts" in node]
    return any("$(" in text or "`" in text for text in texts if text is not None)


def _depth_of(node: Node) -> int:
    deepest = 0
    stack: list[tuple[Any, int]] = [(node, 1)]
    while stack:
        item, depth = stack.pop()
        deepest = max(deepest, depth)
        values = item.values() if isinstance(item, dict) else item
        stack += [(value, depth + 1) for value in values if isinstance(value, dict | list)]
    return deepest


def _walk(node: Any) -> Iterator[Node]:
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _calls(
    node: Any, inner: bool, redirs: tuple[Node, ...] = ()
) -> Iterator[tuple[Node, tuple[Node, ...], bool]]:
    """Simple commands in source order, each with the redirections that apply to it."""
    if isinstance(node, list):
        for item in node:
            yield from _calls(item, inner, redirs)
        return
    if not isinstance(node, dict):
        return
    inner = inner or node.get("Type") in _SUBSTITUTIONS
    if "Cmd" in node and "Redirs" in node:
        redirs = (*redirs, *node["Redirs"])
    if node.get("Type") in ("CallExpr", "DeclClause"):
        yield node, redirs, inner
        redirs = ()
    elif "Redirs" in node and "Cmd" not in node and "Pos" in node and "Position" in node:
        yield {**node, "Args": []}, redirs, inner  # `> file` alone empties a file
    for value in node.values():
        yield from _calls(value, inner, redirs)


def _arguments(node: Node) -> list[Node]:
    if node.get("Type") == "DeclClause":
        words: list[Node] = [{"Parts": [{"Type": "Lit", "Value": node["Variant"]["Value"]}]}]
        for item in node.get("Args", []):
            if item.get("Naked") and "Value" in item:
                words.append(item["Value"])
            elif "Name" in item:
                value = _word(item["Value"]) if "Value" in item else ""
                literal = item["Name"]["Value"] + ("=" + value if value else "")
                words.append(
                    {"Parts": [{"Type": "Lit" if value is not None else "ParamExp", "Value": literal}]}
                )
        return words
    arguments: list[Node] = node.get("Args") or []
    return arguments


def _word(word: Node) -> str | None:
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


def _expand(command: SimpleCommand, result: ParsedLine, depth: int) -> None:
    """Take wrappers off in place, and add what is started through this command."""
    while unwrap(command):
        pass
    if command.words and (name := command.words[0]) is not None:
        command.written = name if "/" in name else ""
        command.words[0] = base_name(name)
    for text, via in _started_by(command):
        if text is None:
            result.problem = result.problem or f"{via} runs text that is known only at run time"
            continue
        inner = _parse(text, depth + 1)
        result.problem = result.problem or inner.problem
        result.substitution = result.substitution or inner.substitution
        result.evaluates = result.evaluates or inner.evaluates
        for found in inner.commands:
            found.start, found.end = command.start, command.end
            found.started_by = found.started_by or command.started_by
            found.via = f"{command.via} {via} {found.via}".strip()
            result.commands.append(found)
    for words, via in _exec_of(command):
        found = SimpleCommand(words, command.start, command.end, via=f"{command.via} {via}".strip())
        result.commands.append(found)
        _expand(found, result, depth + 1) if depth < _DEPTH else None


def _started_by(command: SimpleCommand) -> Iterator[tuple[str | None, str]]:
    """Texts that this command runs as shell commands."""
    name, rest = command.program, command.words[1:]
    if name in _SHELLS:
        found = shell_text(command)
        if found is not None:
            yield found[0], f"{name} -c"
    elif name == "eval":
        yield (None if None in rest else " ".join(word or "" for word in rest)), "eval"
    elif name == "watch":  # gives its words to a shell, joined
        while rest and (rest[0] or "").startswith("-"):
            rest = rest[2 if rest[0] in ("-n", "--interval", "-q", "--equexit") else 1 :]
        yield (None if None in rest else " ".join(word or "" for word in rest)), "watch"
    elif name == "trap" and len(rest) > 1 and rest[0] not in ("-", "-l", "-p"):
        yield rest[0], "trap"


STARTS_FILE = frozenset({"--rcfile", "--init-file"})
"""Options of a shell that name a file it runs first."""
_SHELL_OPTIONS = re.compile(r"[-+][a-zA-Z]+")


def shell_text(command: SimpleCommand) -> tuple[str | None] | None:
    """The text that `bash -c` and the like run (None in it: known only at run time); None when they run something else:
    a script, or what they are given to read."""
    rest = list(command.words[1:])
    runs = False
    while rest and rest[0] is not None and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        word = rest.pop(0) or ""
        if word == "--":
            break
        if word.startswith("--"):
            if word in STARTS_FILE and rest:
                rest.pop(0)
            continue
        if _SHELL_OPTIONS.fullmatch(word) is None:
            return None
        runs = runs or (word[0] == "-" and "c" in word)
        for letter in word[1:]:
            if letter in "oO" and rest:  # the name of a setting
                rest.pop(0)
    if not runs:
        return None
    return (rest[0] if rest else "",)


def _exec_of(command: SimpleCommand) -> Iterator[tuple[list[str | None], str]]:
    """Commands that stand as words of this one."""
    words = command.words
    if command.program == "find":
        for index, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                stop = next((i for i in range(index + 1, len(words)) if words[i] in (";", "+")), len(words))
                yield [None if w == "{}" else w for w in words[index + 1 : stop]], "find -exec"


def has_glob(word: str) -> bool:
    return _GLOB.search(word) is not None
