"""From rules and approvals to openings of the sandbox. A rule for a command opens nothing by itself; `Write`, `Read`, `Net`,
`Socket` and `Unsandboxed` do, and an approved `git push` opens the one remote that it names."""

from __future__ import annotations

import configparser
import contextlib
import fnmatch
import glob
import re
import urllib.parse
from collections.abc import Iterable
from pathlib import Path

from worldline.policy.sandbox.model import Grant
from worldline.policy.sandbox.places import git_places
from worldline.policy.shell import SimpleCommand, parse

_RULE = re.compile(r"(Write|Read|Net|Socket|Unsandboxed)\((.*)\)", re.DOTALL)
_WILD = re.compile(r"[*?\[]")
_MAX_MATCHES = 50
_PORTS = {"https": 443, "http": 80, "git": 9418, "ssh": 22}


def grants_of(rules: Iterable[str], command: str, root: Path) -> list[Grant]:
    """Openings for one command line. Relative paths are meant from `root`. What a rule names by a pattern and is not there
    cannot be opened: a mount needs something to stand on."""
    grants: list[Grant] = []
    for text in rules:
        match = _RULE.fullmatch(text.strip())
        if match is None:
            continue
        kind, pattern = match[1], match[2].strip()
        if kind == "Unsandboxed":
            if _means(pattern, command):
                grants.append(Grant("unconfined", "", text))
        elif kind == "Net":
            if not _WILD.search(pattern):
                host, _, port = pattern.rpartition(":")
                grants.append(Grant("net", f"{host or pattern}:{port if host else 443}", text))
        else:
            for path in _paths(pattern, root):
                name = {"Write": "write", "Read": "read", "Socket": "socket"}[kind]
                grants.append(Grant(name, path, text))  # type: ignore[arg-type]
    return grants


def _means(pattern: str, command: str) -> bool:
    """The exact line, or with `:*` everything that begins with these words."""
    if pattern.endswith(":*"):
        wanted, words = pattern[:-2].split(), command.split()
        return words[: len(wanted)] == wanted
    return pattern == command.strip()


def _paths(pattern: str, root: Path) -> list[str]:
    full = str(root / Path(pattern).expanduser())
    if full.endswith("/**"):
        full = full[:-3]
    if not _WILD.search(full):
        return [full]
    return sorted(glob.glob(full, recursive=True))[:_MAX_MATCHES]


def push_grants(command: str, workspace: Path) -> list[Grant]:
    """What an approved `git push` needs: the host of the remote, or its folder when it lies on this machine.

    A remote that is reached by ssh gets none: its keys stay hidden from commands.
    """
    parsed = parse(command)
    if parsed.problem:
        return []
    grants: list[Grant] = []
    for simple in parsed.commands:
        remote = _pushed_to(simple)
        for url in remote_urls(workspace, remote) if remote is not None else ():
            grant = _for_url(url, workspace)
            if grant is not None:
                grants.append(grant)
    return grants


def _pushed_to(command: SimpleCommand) -> str | None:
    """Name or address of the remote of a `git push`; "" = the default one; None = this is no push."""
    words = [w for w in command.words if w is not None]
    if len(words) != len(command.words) or words[:2] != ["git", "push"]:
        return None
    return next((w for w in words[2:] if not w.startswith("-")), "")


def remote_urls(workspace: Path, remote: str) -> list[str]:
    """Addresses that a push to `remote` would go to, read from the configuration file of the repository."""
    if "/" in remote or ":" in remote:
        return [remote]
    common = git_places(workspace).common_dir
    if common is None:
        return []
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, interpolation=None)
    with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError):
        text = (common / "config").read_text()
        parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    wanted = f'remote "{remote or "origin"}"'
    for section in parser.sections():
        if fnmatch.fnmatchcase(section, wanted):
            urls = [parser.get(section, key, fallback=None) for key in ("pushurl", "url")]
            return [next(u for u in urls if u)] if any(urls) else []
    return []


def _for_url(url: str, workspace: Path) -> Grant | None:
    parts = urllib.parse.urlsplit(url)
    rule = "git push"
    if parts.scheme in ("https", "http") and parts.hostname:
        return Grant("net", f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}", rule)
    if parts.scheme == "file":
        return Grant("write", parts.path, rule)
    if not parts.scheme and not re.match(r"[^/]+:", url):
        path = (workspace / Path(url).expanduser()).resolve()
        return Grant("write", str(path), rule)
    return None
