"""How things are before a confined command runs: noted first, so that what it does can be told and taken back."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from worldline.policy.copies import Copies, SavedCopy
from worldline.policy.ledger import Remote
from worldline.policy.sandbox.model import PUSH, Profile
from worldline.policy.sandbox.places import GitFiles, GitPlaces, refs_of

Refs = dict[str, str]


@dataclass(slots=True)
class Before:
    """How things were before a command."""

    command: str
    profile: Profile
    files: GitFiles
    refs: Refs = field(default_factory=dict)
    """Those of the repository as the command begins (see `Ongoing.began`), with what others have moved since and told of
    themselves."""
    copies: list[SavedCopy] = field(default_factory=list)
    remotes: list[Remote] = field(default_factory=list)


@dataclass(slots=True)
class Ongoing:
    """The commands of a session that go on. What one of them has moved in the repository is told by its refs before and
    after it, and meanwhile others move some as well: each move is told once, of whoever was looked at first."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from before refs are read, or moved by us, until the others know of it."""
    _befores: list[Before] = field(default_factory=list)

    async def began(self, before: Before) -> None:
        """Look at its refs, and keep them right from then on."""
        async with self.turn:
            before.refs = await refs_at(before.profile.git)
            self._befores.append(before)

    def ended(self, before: Before) -> None:
        """May be said again."""
        self._befores = [one for one in self._befores if one is not before]

    async def moves_of(self, before: Before) -> tuple[Refs, Refs]:
        """Refs before a command and now. What differs is told of it, and of no other."""
        async with self.turn:
            now = await refs_at(before.profile.git)
            was = before.refs
            self.moved(was, now, before)
            return was, now

    async def pushed(self, was: Refs, git: GitPlaces) -> None:
        """Git noted where the branches of a remote are now, which was nobody's command. What else moved since `was` did
        not move by that."""
        async with self.turn:
            self.moved(_of_remotes(was), _of_remotes(await refs_at(git)))

    def moved(self, was: Refs, now: Refs, by: Before | None = None) -> None:
        """These refs moved, and none of the commands did it but `by`. The turn is held."""
        moves = {name: now.get(name) for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
        for before in self._befores:
            if before is not by:
                refs = {**before.refs, **moves}
                before.refs = {name: place for name, place in refs.items() if place is not None}


def _of_remotes(refs: Refs) -> Refs:
    return {name: place for name, place in refs.items() if name.startswith("refs/remotes/")}


async def refs_at(git: GitPlaces) -> Refs:
    """All refs of a repository; {} where there is none."""
    return await asyncio.to_thread(refs_of, git.common_dir) if git.common_dir is not None else {}


def look(command: str, profile: Profile, copies: Copies) -> Before:
    """Blocking. What the command may write outside is copied, and has a place of its own where it is not there yet."""
    before = Before(command, profile, GitFiles.read(profile.git))
    for grant in profile.grants:
        if grant.kind != "write":
            continue
        target = Path(grant.target)
        if grant.rule == PUSH:
            before.remotes.append(Remote.at(target))
        else:
            before.copies.append(save(target, copies))
    return before


def save(target: Path, copies: Copies) -> SavedCopy:
    """Copy what may be written, and give it a place where it is not there yet: only what exists can be mounted into the
    sandbox. What cannot be made is refused by the sandbox then."""
    copy = copies.save(target)
    if not target.exists() and target.parent.is_dir():
        with contextlib.suppress(OSError):
            target.touch()
    return copy
