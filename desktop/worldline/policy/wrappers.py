"""Programs that start the one that is named behind them (`env`, `timeout`, `nice`): taken off, to see what is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldline.policy.shell import SimpleCommand

_WRAPPERS: dict[str, frozenset[str]] = {
    # name → options that take a value of their own
    "env": frozenset({"-u", "--unset", "-C", "--chdir"}),
    "timeout": frozenset({"-s", "--signal", "-k", "--kill-after"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "nohup": frozenset(),
    "time": frozenset({"-f", "-o"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "setsid": frozenset(),
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T"}),
    "doas": frozenset({"-u", "-C"}),
    "xargs": frozenset({"-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"}),
    "chroot": frozenset(),
    "busybox": frozenset(),
    "toybox": frozenset(),
    "unshare": frozenset(),
    "strace": frozenset({"-o", "-e", "-p"}),
    "flock": frozenset({"-w", "-E"}),
    "parallel": frozenset({"-j"}),
}
_SKIP_ONE = frozenset({"timeout", "chroot", "flock"})
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
        or command.words[1:2] in (["-v"], ["-V"])
    ):
        return False
    if not of_system(command.words[0] or ""):
        command.started_by = command.started_by or command.words[0] or ""
    rest = _after_options(name, command.words[1:], command.assigns)
    if name in _SKIP_ONE and rest:
        rest.pop(0)
    if not rest:
        return False
    command.via = f"{command.via} {name}".strip()
    command.words = [*rest, None] if name in ("xargs", "parallel") else rest
    return True


def _after_options(name: str, rest: list[str | None], assigns: dict[str, str | None]) -> list[str | None]:
    """`rest` from the first word that is the wrapped command; assignments of `env` are put into `assigns`."""
    while (
        rest and (word := rest[0]) is not None and (word.startswith("-") or (name == "env" and "=" in word))
    ):
        rest = rest[1:]
        if word == "--":
            break
        if "=" in word and not word.startswith("-"):
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
        elif word in _WRAPPERS[name]:
            rest = rest[1:]
    return rest
