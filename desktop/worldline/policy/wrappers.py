"""Programs that start the one that is named behind them (`env`, `timeout`, `nice`): taken off, to see what is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from worldline.policy.shell import SimpleCommand


class _Options(NamedTuple):
    """The options of one wrapper. One that is not named here may take the next word or not: what is started is not known
    then, for the word behind it may be the name of a value that looks like a command."""

    flags: str = ""
    values: str = ""
    """Letters that take a value, written to them or as the next word."""
    long_flags: tuple[str, ...] = ()
    """Also those that take a value only behind a `=`."""
    long_values: tuple[str, ...] = ()
    attached: str = ""
    """Letters that take a value only if it is written to them."""


_WRAPPERS: dict[str, _Options] = {
    "env": _Options(
        "i0v", "uCa", ("ignore-environment", "null", "debug", "block-signal", "default-signal", "ignore-signal"),
        ("unset", "chdir", "argv0"),
    ),
    "timeout": _Options("fpv", "sk", ("foreground", "preserve-status", "verbose"), ("signal", "kill-after")),
    "nice": _Options("0123456789", "n", (), ("adjustment",)),
    "ionice": _Options("t", "cn", ("ignore",), ("class", "classdata")),
    "nohup": _Options(),
    "time": _Options("pavq", "fo", ("portability", "append", "verbose", "quiet"), ("format", "output")),
    "command": _Options("pvV"),
    "builtin": _Options(),
    "exec": _Options("cl", "a"),
    "stdbuf": _Options("", "ioe", (), ("input", "output", "error")),
    "setsid": _Options("cfw", "", ("ctty", "fork", "wait")),
    "sudo": _Options(
        "ABbEHiKkNnPSs", "CDghpRrTtUu",
        ("askpass", "background", "bell", "preserve-env", "set-home", "login", "non-interactive", "preserve-groups",
         "stdin", "shell", "remove-timestamp", "reset-timestamp", "no-update"),
        ("close-from", "chdir", "group", "host", "prompt", "chroot", "role", "command-timeout", "type", "other-user", "user"),
    ),
    "doas": _Options("Lns", "aCu"),
    "xargs": _Options(
        "0rtpxo", "IanPLdEs",
        ("null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "show-limits", "replace", "max-lines", "eof"),
        ("arg-file", "delimiter", "max-args", "max-procs", "max-chars"), "ile",
    ),
    "chroot": _Options("", "", ("skip-chdir",), ("groups", "userspec")),
    "busybox": _Options(),
    "toybox": _Options(),
    "unshare": _Options(
        "imnpuUCTfrc", "RwSG",
        ("ipc", "mount", "net", "pid", "uts", "user", "cgroup", "time", "fork", "map-root-user", "map-current-user",
         "map-auto", "kill-child", "mount-proc", "keep-caps"),
        ("root", "wd", "setuid", "setgid", "map-user", "map-group", "propagation", "setgroups"),
    ),
    "strace": _Options(
        "cCdfFiknqrtTvwxyYzZA", "abeEIoOpPsSuUX", ("follow-forks", "summary", "summary-only", "quiet"),
        ("output", "trace", "env", "user", "string-limit"),
    ),
    "flock": _Options(
        "sexnuoF", "wE", ("shared", "exclusive", "nonblock", "nb", "unlock", "close", "no-fork", "verbose"),
        ("timeout", "wait", "conflict-exit-code"),
    ),
    "taskset": _Options("acp", "", ("all-tasks", "cpu-list", "pid")),
    "chrt": _Options("abdfiormpvR", "TPD", ("all-tasks", "batch", "deadline", "fifo", "idle", "other", "rr", "max", "pid", "verbose", "reset-on-fork"),
                     ("sched-runtime", "sched-period", "sched-deadline")),
}  # fmt: skip
_OUTPUT = ("time", "strace")
"""These write a file of their own: `-o`."""
RIGHTS = frozenset({"sudo", "doas", "chroot"})
_ASSIGN = ("env", "sudo")
"""These take assignments before the command."""
_SKIP_ONE = frozenset({"timeout", "chroot", "flock", "taskset", "chrt"})
"""These have one word of their own before the command."""
_SPLIT = re.compile(r"(?:-[iv0]*S|--s[a-z-]*=?)(.+)?", re.DOTALL)
_NO_QUOTES = re.compile(r"[^\\'\"$#]*")
_OF_SYSTEM = re.compile(r"(?:/(?:usr/)?(?:local/)?s?bin|/opt/homebrew/bin|/opt/local/bin|/snap/bin)/[^/]+")


def of_system(word: str) -> bool:
    """A program by its name alone, or from a folder into which only the system installs: not one that lies in the workspace
    under the name of another."""
    return "/" not in word or _OF_SYSTEM.fullmatch(word) is not None


def base_name(word: str | None) -> str | None:
    return None if word is None else word.rsplit("/", 1)[-1]


def unwrap(command: SimpleCommand) -> bool:
    """Take one wrapper off, if there is one with a command behind it."""
    name = base_name(command.words[0]) if command.words else None
    if (
        name is None
        or name not in _WRAPPERS
        or len(command.words) < 2
        or (name == "command" and command.words[1:2] in (["-v"], ["-V"]))
    ):
        return False
    if not of_system(command.words[0] or ""):
        command.started_by = command.started_by or command.words[0] or ""
    rest = _after_options(name, command.words[1:], command.assigns)
    if rest is None:
        rest = [None]
    elif name in _SKIP_ONE and rest:
        rest.pop(0)
    if not rest:
        return False
    if name == "flock" and rest[0] in ("-c", "--command"):
        rest = ["sh", "-c", *rest[1:]]
    command.via = f"{command.via} {name}".strip()
    own = command.words[1 : len(command.words) - len(rest)]
    if name in _OUTPUT:
        command.writes += _written(own)
    command.words = _with_input(own, rest) if name == "xargs" else rest
    return True


def _written(options: list[str | None]) -> list[str | None]:
    found: list[str | None] = []
    for at, word in enumerate(options):
        if word is not None and word.startswith(("-o", "--output")):
            inside = word.partition("=")[2] if word.startswith("--") else word[2:]
            found.append(inside or (options[at + 1] if at + 1 < len(options) else None))
    return found


def _with_input(options: list[str | None], rest: list[str | None]) -> list[str | None]:
    """Of `xargs`: what it reads stands at the end, or in each word that holds the place it names for it."""
    place = ""
    for at, word in enumerate(options):
        if word is None:
            continue
        if word.startswith("-I"):
            place = word[2:] or (options[at + 1] if at + 1 < len(options) else "") or ""
        elif word.startswith(("-i", "--replace")):
            place = (word.partition("=")[2] if word.startswith("--") else word[2:]) or "{}"
    if not place:
        return [*rest, None]
    return [None if word is None or place in word else word for word in rest]


def _after_options(
    name: str, rest: list[str | None], assigns: dict[str, str | None]
) -> list[str | None] | None:
    """`rest` from the first word that is the wrapped command; None where that cannot be told. Assignments that it is given
    are put into `assigns`."""
    options = _WRAPPERS[name]
    while (
        rest and (word := rest[0]) is not None and (word.startswith("-") or (name in _ASSIGN and "=" in word))
    ):
        rest = rest[1:]
        if word == "--":
            break
        if not word.startswith("-"):
            key, _, value = word.partition("=")
            assigns[key] = value
        elif name == "env" and (split := _SPLIT.fullmatch(word)) is not None:
            if split[1] is None:
                if not rest or rest[0] is None:
                    return [None, *rest[1:]]
                text, rest = rest[0], rest[1:]
            else:
                text = split[1]
            # It has quotes, escapes and variables of its own: where there are any, what it starts is not known.
            rest = [*(text.split() if _NO_QUOTES.fullmatch(text) else [None]), *rest]
        else:
            takes = _takes_next(options, word)
            if takes is None:
                return None
            rest = rest[takes:]
    return rest


def _takes_next(options: _Options, word: str) -> int | None:
    """How many words more an option takes, 0 or 1; None: nobody knows."""
    if word in ("-", "--help", "--version"):
        return 0
    if word.startswith("--"):
        name, equals, _ = word[2:].partition("=")
        if name in options.long_values:
            return 0 if equals else 1
        return 0 if name in options.long_flags else None
    for place, letter in enumerate(word[1:], 2):
        if letter in options.values:
            return 0 if word[place:] else 1
        if letter in options.attached:
            return 0
        if letter not in options.flags:
            return None
    return 0
