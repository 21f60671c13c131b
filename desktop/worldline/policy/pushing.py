"""Pushes that need what commands cannot see: the person's ssh keys, or a stored password.

One that the person approved, and that stands alone, runs outside the sandbox as exactly that push: no shell, no hooks, no
helper that its words could name, to an address that the repository's own configuration holds or the words say. Any other
push runs inside and is refused there; what is told then says the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from worldline.core.plainfile import read_plain
from worldline.policy.openings import remote_urls
from worldline.policy.sandbox.places import git_places
from worldline.policy.shell import SimpleCommand, parse

_PLAIN = frozenset(
    {
        "-f", "--force", "-u", "--set-upstream", "--tags", "--follow-tags", "-d", "--delete", "-n", "--dry-run", "--atomic",
        "-v", "--verbose", "-q", "--quiet", "--progress", "--no-progress", "--no-verify", "--all", "--branches",
        "--porcelain", "--force-with-lease", "--force-if-includes", "--no-follow-tags", "--thin", "--no-thin",
    }
)  # fmt: skip
"""Options that say which refs are pushed and how. None of them names a program."""
_LEASE = re.compile(r"--force-with-lease=[\w./:@^~{}-]+")
_WORD = re.compile(r"[+:]?[^\s*?\[\]~$`\\-][^\s*?\[\]$`\\]*|:")
_SSH = re.compile(r"(?:ssh|git\+ssh|ssh\+git)://|(?:[^/:@\s]+@)?[^/:@\s]+:(?!//)")

# To the last @: a password may hold one.
_WHO = re.compile(r"^(https?://)[^/]*@")


@dataclass(slots=True, frozen=True)
class Push:
    """One `git push` of a command line."""

    remote: str
    """Name or address as the words say it, "" = the default one."""
    url: str
    """Where it goes, "" = not known."""
    words: tuple[str, ...]
    """After `git push`."""
    alone: bool
    """The line is this push and nothing else, with words that can be run outside as they are."""

    @property
    def needs_person(self) -> bool:
        """It goes to where a key or a password of the person is asked for."""
        return _SSH.match(self.url) is not None or self.url.startswith(("https://", "http://"))

    @property
    def by_ssh(self) -> bool:
        return _SSH.match(self.url) is not None

    @property
    def outside(self) -> bool:
        """Where the words name no remote, git would choose one: the person could not be told where it goes."""
        return self.alone and self.needs_person and bool(self.remote)

    @property
    def place(self) -> str:
        """Where it goes, to be read: without a name or a password that stands in the address of a server."""
        return _WHO.sub(r"\1", self.url)

    @property
    def refs(self) -> list[str]:
        """Names of the branches or refs on the other side that the words say."""
        named = [w for w in self.words if not w.startswith("-")][1:]
        return [dst for w in named if (dst := w.lstrip("+").rpartition(":")[2])]

    @property
    def destroys(self) -> bool:
        """It may take something away on the other side."""
        return any(
            w in ("-f", "-d", "--force", "--delete") or w.startswith(("+", ":", "--force-with-lease"))
            for w in self.words
        )


def pushes_of(command: str, workspace: Path) -> list[Push]:
    """Pushes that stand in the line. What is known only when it runs is none."""
    parsed = parse(command)
    if parsed.problem:
        return []
    alone = len(parsed.commands) == 1 and not (parsed.substitution or parsed.background)
    return [push for simple in parsed.commands if (push := _push(simple, workspace, alone)) is not None]


def push_outside(command: str, workspace: Path) -> Push | None:
    """The push that this line would be, run outside the sandbox; None = it is none, or not as simple as that."""
    found = pushes_of(command, workspace)
    return found[0] if len(found) == 1 and found[0].outside else None


def _push(simple: SimpleCommand, workspace: Path, alone: bool) -> Push | None:
    words = [w for w in simple.words if w is not None]
    if words[:2] != ["git", "push"] or simple.inner:
        return None
    rest = tuple(words[2:])
    plain = all(_plain(w) for w in rest)
    remote = next((w for w in rest if not w.startswith("-")), "")
    urls = remote_urls(workspace, remote)
    url = urls[0] if len(urls) == 1 else ""
    simple_enough = simple.fixed and not (simple.assigns or simple.writes or simple.via or simple.elsewhere)
    return Push(remote, url, rest, alone and plain and simple_enough and _safe(url))


def _plain(word: str) -> bool:
    if word.startswith("-"):
        return word in _PLAIN or _LEASE.fullmatch(word) is not None
    return _WORD.fullmatch(word) is not None


def _safe(url: str) -> bool:
    """Not a transport that runs a program, nor a host that ssh would take for an option."""
    host = re.sub(r"^[a-z+]+://", "", url).rpartition("@")[2]
    return "::" not in url.partition("/")[0] and not host.startswith("-") and bool(url)


def uses_lfs(root: Path) -> bool:
    """Whether files of this repository lie with Git LFS: a push without its hook uploads the names of their contents only."""
    common = git_places(root).common_dir
    places = [root / ".gitattributes", *([common / "info" / "attributes"] if common is not None else [])]
    for place in places:
        try:
            if _LFS.search(read_plain(place)[:_MOST_ATTRIBUTES]):  # a command may have put a pipe there
                return True
        except OSError:
            continue  # none there, or nothing that can be read: then git does not read it either
    # Attributes may lie in any folder; where git-lfs has been at work here, its own folder tells it.
    return common is not None and (common / "lfs" / "objects").is_dir()


_LFS = re.compile(rb"(?m)^[^#\n]*\sfilter=lfs(?:\s|$)")
_MOST_ATTRIBUTES = 1_000_000


def way_on(command: str, workspace: Path, output: str, complete: bool = True) -> tuple[str, str] | None:
    """(why, what to do) about a push that was run inside and could not reach its remote; None = it was no such thing.
    Only under a `complete` sandbox is the configuration of the repository certain to be the person's."""
    found = [p for p in pushes_of(command, workspace) if p.needs_person]
    if not found or not (found[0].by_ssh or re.search(_NO_PASSWORD, output)):
        return None
    push = found[0]
    what = "an ssh key" if push.by_ssh else "a stored password"
    needs = f"This push goes to {push.url} and needs {what} of the person, which commands cannot see."
    if not complete:
        return (
            needs,
            "It cannot be run with them on this machine. Tell the person what to push; they do it themselves.",
        )
    then = "The person is asked, and once they allow it, it runs outside with their keys."
    if push.outside:
        return needs, f"Run exactly this again. {then}"
    words = [w for w in push.words if _plain(w)] + ([] if push.remote else ["REMOTE", "BRANCH"])
    line = " ".join(["git push", *words])
    return (
        needs,
        f"Send the push as a call of its own, in the workspace and with nothing around it: {line}. {then}",
    )


_NO_PASSWORD = (
    r"could not read (?:Username|Password)|Authentication failed|terminal prompts disabled"
    r"|Permission denied \(publickey"
)
