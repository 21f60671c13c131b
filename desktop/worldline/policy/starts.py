"""What a command starts beside itself, as far as its words say: texts it gives to a shell, commands among its words, and
what it is given to read.

Two kinds are kept apart. What is certain is a command of the line like any other: a rule that allows must allow it as
well. What only may be (a guess about the options of a program, an output that becomes a script) concerns the rules that
deny or ask alone, for which too much is better than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worldline.policy.hidden import HIDDEN_WRAPPERS, Wrapper, behind_options

if TYPE_CHECKING:
    from worldline.policy.shell import SimpleCommand

Words = list[str | None]
Started = tuple[str | Words | None, str]
"""A text for a shell (None = known only at run time) or the words of a command; and through what it is started."""
SHELLS = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "ash", "rbash", "mksh", "yash", "fish", "csh", "tcsh", "hush"}
)
STARTS_FILE = frozenset({"--rcfile", "--init-file"})
"""Options of a shell that name a file it runs first."""
_SHELL_OPTIONS = re.compile(r"[-+][a-zA-Z]+")
_RUNS = re.compile(
    r"(?:GIT_|MAN|SYSTEMD_)?(?:PAGER|EDITOR|BROWSER)|VISUAL|GIT_SEQUENCE_EDITOR|GIT_SSH_COMMAND|GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS"
    r"|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|RSYNC_RSH|CVS_RSH|FCEDIT|npm_config_script_shell"
)
"""Variables whose value is run."""
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", None)
_TAKES_TEXT = frozenset({"at", "batch", "ssh"})
"""Programs that take what they are given to read for commands."""


def texts_of(command: SimpleCommand) -> Iterator[tuple[str | None, str]]:
    """Texts that this command certainly runs as shell commands."""
    name, rest = command.program, command.words[1:]
    if name in SHELLS:
        found = shell_text(command.words)
        if found is not None:
            yield found[0], f"{name} -c"
    elif name == "eval":
        yield joined(rest), "eval"
    elif name == "watch":  # gives its words to a shell, joined
        yield joined(behind_options(_WATCH, rest)), "watch"
    elif name == "trap" and len(rest) > 1 and rest[0] not in ("-", "-l", "-p"):
        yield rest[0], "trap"


_WATCH = Wrapper("nq", frozenset({"interval", "equexit"}))


def joined(words: Words) -> str | None:
    return None if None in words else " ".join(word or "" for word in words)


def shell_text(words: Words) -> tuple[str | None] | None:
    """The text that `bash -c` and the like run (None in it: known only at run time); None when they run something else:
    a script, or what they are given to read."""
    runs, _, operands = _shell_words(words)
    if not runs:
        return None
    return (operands[0] if operands else "",)


def _shell_words(words: Words) -> tuple[bool, bool, Words]:
    """Of a shell: it runs a text, it reads its input whatever else it is given, and what stands behind its options."""
    rest = list(words[1:])
    runs = reads = False
    while rest and rest[0] is not None and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        word = rest.pop(0) or ""
        if word == "--":
            break
        if word.startswith("--"):
            if word in STARTS_FILE and rest:
                rest.pop(0)
            continue
        if _SHELL_OPTIONS.fullmatch(word) is None:
            return False, False, []
        runs = runs or (word[0] == "-" and "c" in word)
        reads = reads or (word[0] == "-" and "s" in word)
        for letter in word[1:]:
            if letter in "oO" and rest:  # the name of a setting
                rest.pop(0)
    return runs, reads, rest


def runs_input(command: SimpleCommand) -> bool:
    """A shell that takes commands from what it is given to read."""
    name = command.program
    if name in ("source", "."):
        return command.words[1:2] != [] and command.words[1] in _STDIN
    if name in _TAKES_TEXT:
        return True
    if name not in SHELLS:
        return False
    runs, reads, operands = _shell_words(command.words)
    return not runs and (reads or not operands or operands[0] in _STDIN)


def exec_of(command: SimpleCommand) -> Iterator[tuple[Words, str]]:
    """Commands that stand as words of this one."""
    words = command.words
    if command.program == "find":
        for index, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                stop = next((i for i in range(index + 1, len(words)) if words[i] in (";", "+")), len(words))
                yield [_filled(w, "{}") for w in words[index + 1 : stop]], "find -exec"


def _filled(word: str | None, place: str) -> str | None:
    """A word with a place in it is known only at run time."""
    return None if word is None or place in word else word


# --- what only may be -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Text:
    """An option whose value, or the words behind which, are a text for a shell."""

    short: str = ""
    long: tuple[str, ...] = ()
    wrapper: Wrapper = field(default_factory=Wrapper)


_TEXTS: dict[str, _Text] = {
    "su": _Text("c", ("command", "session-command"), Wrapper("gGsw", frozenset({"shell", "group", "supp-group", "whitelist-environment"}))),
    "runuser": _Text("c", ("command", "session-command"), Wrapper("gGsuw", frozenset({"shell", "group", "supp-group", "user"}))),
    "script": _Text("c", ("command",), Wrapper("IOBEoTmtF", frozenset({"log-in", "log-out", "log-io", "log-timing", "echo", "output-limit", "logging-format"}))),
    "flock": _Text("c", ("command",), Wrapper("wE", frozenset({"timeout", "wait", "conflict-exit-code"}))),
    "sg": _Text("c"), "newgrp": _Text("c"),
    "git": _Text("x", ("exec",)), "tar": _Text("FI", ("to-command", "info-script", "new-volume-script", "use-compress-program", "checkpoint-action", "rsh-command")),
    "rsync": _Text("e", ("rsh",)), "entr": _Text("s"), "nodemon": _Text("x", ("exec",)),
}  # fmt: skip
_JOIN_ALL = frozenset(
    {"ssh", "sg", "tmux", "screen", "parallel", "sem", "xterm", "start-stop-daemon", "entr"}
)
"""What stands behind their options and own words is given to a shell."""
_RUNNERS: dict[str, tuple[tuple[str, int], ...]] = {
    "uv": (("run", 0), ("tool run", 0)), "uvx": (("", 0),), "poetry": (("run", 0),), "pdm": (("run", 0),), "pipenv": (("run", 0),),
    "hatch": (("run", 0),), "rye": (("run", 0),), "bundle": (("exec", 0),), "npm": (("exec", 0), ("x", 0)), "pnpm": (("exec", 0),),
    "yarn": (("exec", 0),), "npx": (("", 0),), "bunx": (("", 0),), "conda": (("run", 0),), "mise": (("exec", 0), ("x", 0)),
    "direnv": (("exec", 1),), "docker": (("run", 1), ("exec", 1)), "podman": (("run", 1), ("exec", 1)), "kubectl": (("exec", 1),),
    "git": (("bisect run", 0), ("submodule foreach", 0)), "perf": (("record", 0), ("stat", 0), ("trace", 0)), "op": (("run", 0),),
    "doppler": (("run", 0),),
}  # fmt: skip
"""Program → words behind which it may start the rest of them, and how many of its own stand before that."""


def guesses(command: SimpleCommand) -> Iterator[Started]:
    """What this command may start as well."""
    name, words = command.program or "", command.words
    # What a program starts instead of its usual helper: `PAGER='x' git log`.
    yield from (
        (value, f"{key}=") for key, value in command.assigns.items() if value and _RUNS.fullmatch(key)
    )
    if name == "git":
        yield from _git_settings(words[1:])
    if name in HIDDEN_WRAPPERS:
        rest = behind_options(HIDDEN_WRAPPERS[name], words[1:])
        yield rest, name
    if name in _TEXTS:
        yield from _texts_among(name, words[1:], _TEXTS[name])
    if name in _JOIN_ALL:
        yield from _all_joined(name, words[1:])
    for start, own in _RUNNERS.get(name, ()):
        at = _find(words, start.split())
        if at:
            yield from _later(words[at:], own, f"{name} {start}".strip())


def _git_settings(words: Words) -> Iterator[Started]:
    """`git -c alias.x='!T' x`, `git -c alias.x=push x`, `git -c core.pager=T log`."""
    for at, word in enumerate(words[:-1]):
        key, has_value, value = (words[at + 1] or "").partition("=")
        if word not in ("-c", "--config-env") or not has_value or not value:
            continue
        if value.startswith("!"):
            yield value[1:], "git -c"
        elif key.lower().startswith("alias."):
            yield ["git", *value.split(), *words[at + 2 :]], "git -c"
        elif " " in value:
            yield value, "git -c"


def _texts_among(name: str, words: Words, options: _Text) -> Iterator[Started]:
    """Wherever the option stands: `su - x -c T`, `-qc T`, `-cT`, `--command T`, `--command=T`."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word is None or not word.startswith("-"):
            continue
        if word == "--":
            yield ["sh", *words[at + 1 :]], name  # for the shell that `su` starts
            yield words[at + 1 :], name
        elif word.startswith("--"):
            key, has_value, value = word[2:].partition("=")
            if len(key) > 2 and any(long.startswith(key) for long in options.long):
                yield _action(value if has_value else following), f"{name} --{key}"
        else:
            letter = next((letter for letter in options.short if letter in word[1:]), "")
            if letter:
                inside = word[1:].partition(letter)[2]
                yield inside or following, f"{name} -{letter}"
                yield following, f"{name} -{letter}"
    rest = behind_options(options.wrapper, words)
    if (
        name in ("su", "runuser", "script") and len(rest) > 1
    ):  # the user or the file, then what its shell is given
        yield ["sh", *rest[1:]], name
        yield rest[1:], name
        yield rest, name


def _action(value: str | None) -> str | None:
    """`--checkpoint-action=exec=T`"""
    return value.removeprefix("exec=") if value is not None else None


def _all_joined(name: str, words: Words) -> Iterator[Started]:
    """The words from each one that may be the first of them: how many of the options have a value is not known here."""
    cut = next((at for at, word in enumerate(words) if (word or "").startswith(":::")), len(words))
    if cut < len(words):
        yield from ((word, name) for word in words[cut + 1 :])
        words = [*words[:cut], None]
    words = [_filled(word, "{") if name in ("parallel", "sem") else word for word in words]
    for at, word in enumerate(words):
        if word is not None and not word.startswith("-"):
            yield " ".join('"$x"' if each is None else each for each in words[at:]), name
    if words[:1] == [None] or (name == "parallel" and all((word or "-").startswith("-") for word in words)):
        yield None, name


def _find(words: Words, wanted: list[str]) -> int:
    """Where the words end that say that the rest is started; 0 = they are not there. Options may stand between."""
    at = 1
    for want in wanted:
        while at < len(words) and words[at] != want:
            at += 1
        at += 1
    return at if at <= len(words) else 0


def _later(words: Words, own: int, via: str) -> Iterator[Started]:
    """From each word that may be the program: as many words as there were options may be the values of those."""
    options = plain = 0
    for at, word in enumerate(words):
        if word is not None and word.startswith("-"):
            options += 1
            continue
        if plain >= own:
            yield words[at:], via
            if word is not None and " " in word:
                yield word, via
        plain += 1
        if plain > own + options:
            break
