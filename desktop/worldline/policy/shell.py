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

from worldline.policy.fed import Fed, fed_by, written_by
from worldline.policy.shellwords import Node, arguments_of, word_of
from worldline.policy.starts import Started, exec_of, guesses, runs_input, texts_of
from worldline.policy.wrappers import base_name, of_system, unwrap

_DEPTH = 4
_MAX_NESTED = 200
"""Of the parser's tree; a person writes a tenth of that."""
_MOST_GUESSES = 100
"""About what one line may start beside what is certain."""
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
    fed: Fed = ()
    """Texts that it may be given to read; None = some text that is known only at run time."""
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
    behind: list[SimpleCommand] = field(default_factory=list)
    """What may be started as well (`policy.starts`): for rules that deny or ask."""
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
    return _parse(line, 0, (), [_MOST_GUESSES])


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


def _parse(line: str, depth: int, fed: Fed, left: list[int]) -> ParsedLine:
    """`left`: how many guesses may still be made for the whole line."""
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

    for node, redirs, inner, piped in _calls(tree, False, (), fed):
        span = (chars(node["Pos"]["Offset"]), chars(node["End"]["Offset"]))
        command = SimpleCommand([word_of(word) for word in arguments_of(node)], *span, inner=inner)
        for item in node.get("Assigns", []):
            command.assigns[item["Name"]["Value"]] = word_of(item.get("Value", {}))
        command.writes = [
            word_of(redir.get("Word", {}))
            for redir in redirs
            if redir.get("Op") in (">", ">>", ">|", "&>", "&>>", "<>")
            or (
                redir.get("Op") == ">&" and not re.fullmatch(r"\d+-?|-", word_of(redir.get("Word", {})) or "")
            )
        ]
        command.reads = [word_of(redir.get("Word", {})) for redir in redirs if redir.get("Op") in ("<", "<>")]
        command.fed = fed_by(node, redirs, piped)
        result.commands.append(command)
    for node in _walk(tree):
        kind = node.get("Type")
        result.substitution = result.substitution or kind in _SUBSTITUTIONS
        result.background = result.background or bool(node.get("Background") or node.get("Coprocess"))
    result.evaluates = _evaluates(tree, result.commands)
    for command in list(result.commands):
        _expand(command, result, depth, left)
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
    texts = [word_of(node) for node in _walk(tree) if "Parts" in node]
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
    node: Any, inner: bool, redirs: tuple[Node, ...] = (), left: Fed = ()
) -> Iterator[tuple[Node, tuple[Node, ...], bool, Fed]]:
    """Simple commands in source order, each with the redirections that apply to it, and what a pipe gives it to read."""
    if isinstance(node, list):
        for item in node:
            yield from _calls(item, inner, redirs, left)
        return
    if not isinstance(node, dict):
        return
    inner = inner or node.get("Type") in _SUBSTITUTIONS
    if "Cmd" in node and "Redirs" in node:
        redirs = (*redirs, *node["Redirs"])
    if node.get("Type") in ("CallExpr", "DeclClause"):
        yield node, redirs, inner, left
        redirs = ()
    elif "Redirs" in node and "Cmd" not in node and "Pos" in node and "Position" in node:
        yield {**node, "Args": []}, redirs, inner, left  # `> file` alone empties a file
    if node.get("Type") == "BinaryCmd" and node.get("Op") in ("|", "|&"):
        yield from _calls(node["X"], inner, redirs, left)
        yield from _calls(node["Y"], inner, redirs, written_by(node["X"], left))
        return
    for value in node.values():
        yield from _calls(value, inner, redirs, left)


def _expand(command: SimpleCommand, result: ParsedLine, depth: int, left: list[int]) -> None:
    """Take wrappers off in place, and add what is started through this command."""
    while unwrap(command):
        pass
    if command.words and (name := command.words[0]) is not None:
        command.written = name if "/" in name else ""
        command.words[0] = base_name(name)
    for text, via in texts_of(command):
        if text is None:
            result.problem = result.problem or f"{via} runs text that is known only at run time"
            result.behind.append(_within(command, [None], via))
            continue
        inner = _parse(text, depth + 1, command.fed, left)
        result.problem = result.problem or inner.problem
        result.substitution = result.substitution or inner.substitution
        result.evaluates = result.evaluates or inner.evaluates
        result.commands += _moved(inner.commands, command, via)
        result.behind += _moved(inner.behind, command, via)
    for words, via in exec_of(command):
        found = _within(command, words, via)
        result.commands.append(found)
        if depth < _DEPTH:
            _expand(found, result, depth + 1, left)
    for started in (*guesses(command), *_read_by(command)):
        _guess(started, command, result, depth, left)


def _read_by(command: SimpleCommand) -> Iterator[Started]:
    if runs_input(command):
        yield from ((text, f"{command.program} reads") for text in command.fed)


def _guess(started: Started, command: SimpleCommand, result: ParsedLine, depth: int, left: list[int]) -> None:
    """Add what may be started to what rules that deny and ask look at, and to nothing else."""
    what, via = started
    left[0] -= 1
    if left[0] < 0:  # a line that is made to take for ever may start anything
        if left[0] == -1:
            result.behind.append(_within(command, [None], via))
        return
    if isinstance(what, str) and depth < _DEPTH:
        inner = _parse(what, depth + 1, command.fed, left)
        found = [*_moved(inner.commands, command, via), *_moved(inner.behind, command, via)]
        # What is no shell text may be anything that makes one.
        result.behind += found or ([_within(command, [None], via)] if inner.problem else [])
    elif isinstance(what, list) and depth < _DEPTH:
        if what:
            own = ParsedLine([_within(command, what, via)])
            _expand(own.commands[0], own, depth + 1, left)
            result.behind += [*own.commands, *own.behind]
    else:
        result.behind.append(_within(command, [None], via))


def _within(command: SimpleCommand, words: list[str | None], via: str) -> SimpleCommand:
    via = f"{command.via} {via}".strip()
    return SimpleCommand(list(words), command.start, command.end, via=via, fed=command.fed)


def _moved(found: list[SimpleCommand], command: SimpleCommand, via: str) -> list[SimpleCommand]:
    """Commands of a text as those of the command that runs it."""
    for each in found:
        each.start, each.end = command.start, command.end
        each.started_by = each.started_by or command.started_by
        each.via = f"{command.via} {via} {each.via}".strip()
    return found


def has_glob(word: str) -> bool:
    return _GLOB.search(word) is not None
