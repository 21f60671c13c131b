"""From rules and approvals to openings of the sandbox. A rule for a command opens nothing by itself; `Write`, `Read`, `Net`,
`Socket` and `Unsandboxed` do, and an approved `git push` opens the one remote that it names."""

from __future__ import annotations

import configparser
import contextlib
import glob
import os
import re
import shlex
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from worldline.policy.sandbox.model import PUBLISH, PUSH, Grant
from worldline.policy.sandbox.places import branch_of, git_places
from worldline.policy.shell import SimpleCommand, parse
from worldline.policy.wording import kind_of

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
            for named in _paths(pattern, root):
                path = os.path.realpath(named)  # a mount goes where the name leads
                name = {"Write": "write", "Read": "read", "Socket": "socket"}[kind]
                grants.append(Grant(name, path, text))  # type: ignore[arg-type]
    return grants


def _means(pattern: str, command: str) -> bool:
    """The exact line, or with `:*` one command that begins with these words. A line that starts more than this one is
    not meant: all of it would run outside."""
    if not pattern.endswith(":*"):
        return pattern == command.strip()
    parsed = parse(command)
    if parsed.problem or parsed.substitution or parsed.background or len(parsed.commands) != 1:
        return False
    only = parsed.commands[0]
    wanted = pattern[:-2].split()
    plain = only.fixed and not (only.assigns or only.writes or only.via or only.elsewhere)
    return plain and bool(wanted) and only.words[: len(wanted)] == wanted


def _paths(pattern: str, root: Path) -> list[str]:
    full = str(root / Path(pattern).expanduser())
    if os.path.lexists(full):  # a name may hold what else is a wildcard
        return [full]
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


_REGISTRIES = {
    "npm": "registry.npmjs.org", "pnpm": "registry.npmjs.org", "yarn": "registry.npmjs.org", "cargo": "crates.io",
    "twine": "upload.pypi.org", "poetry": "upload.pypi.org", "uv": "upload.pypi.org", "hatch": "upload.pypi.org",
    "flit": "upload.pypi.org", "gem": "rubygems.org",
}  # fmt: skip


def publish_grants(command: str) -> list[Grant]:
    """What an approved `npm publish` needs: the public registry of that program. Any other host is asked about."""
    parsed = parse(command)
    if parsed.problem:
        return []
    programs = [c.program or "" for c in parsed.commands if c.fixed and kind_of(c)[0] == "publish"]
    return [
        Grant("net", f"{_REGISTRIES[p]}:443", PUBLISH) for p in dict.fromkeys(programs) if p in _REGISTRIES
    ]


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
    urls = _remotes(workspace).get(remote or _default_remote(workspace), "")
    return [urls] if urls else []


def _config(workspace: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, interpolation=None)
    common = git_places(workspace).common_dir
    if common is not None:
        with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError):
            text = (common / "config").read_text()
            parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    return parser


def _default_remote(workspace: Path) -> str:
    """The remote of a push that names none, as git chooses it from the configuration of the repository."""
    parser = _config(workspace)
    branch = f'branch "{branch_of(workspace).removeprefix("refs/heads/")}"'
    for section, option in ((branch, "pushremote"), ("remote", "pushdefault"), (branch, "remote")):
        if chosen := parser.get(section, option, fallback=None):
            return chosen
    return "origin"


def _remotes(workspace: Path) -> dict[str, str]:
    """Name of each remote and where a push to it goes."""
    parser = _config(workspace)
    found: dict[str, str] = {}
    for section in parser.sections():
        match = re.fullmatch(r'remote "(.+)"', section)
        url = parser.get(section, "pushurl", fallback=None) or parser.get(section, "url", fallback=None)
        if match is not None and url:
            found[match[1]] = url
    return found


def counter_push(detail: Mapping[str, Any], workspace: Path) -> str:
    """The command that puts a remote branch back to where it was before a push, if nobody has moved it since."""
    ref, old, new, remote = detail["ref"], detail["old"], detail["new"], detail["remote"]
    name = detail.get("name", "")
    for known, url in {} if name else _remotes(workspace).items():
        grant = _for_url(url, workspace)
        if grant is not None and grant.target == remote:
            name = known
    lease = f"--force-with-lease={ref}:{new}"
    return shlex.join(["git", "push", lease, name or remote, f"{old}:{ref}"])


def _for_url(url: str, workspace: Path) -> Grant | None:
    parts = urllib.parse.urlsplit(url)
    rule = PUSH
    if parts.scheme in ("https", "http") and parts.hostname:
        return Grant("net", f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}", rule)
    if parts.scheme == "file":
        return Grant("write", parts.path, rule)
    if not parts.scheme and not re.match(r"[^/]+:", url):
        path = (workspace / Path(url).expanduser()).resolve()
        return None if path.is_relative_to(workspace.resolve()) else Grant("write", str(path), rule)
    return None
