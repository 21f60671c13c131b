"""How things are before a confined command runs: noted first, so that what it does can be told and taken back."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from worldline.policy.copies import Copies, SavedCopy
from worldline.policy.ledger import Remote
from worldline.policy.sandbox.model import PUSH, Profile
from worldline.policy.sandbox.places import GitFiles, refs_of


@dataclass(slots=True)
class Before:
    """How things were before a command."""

    command: str
    profile: Profile
    files: GitFiles
    refs: dict[str, str]
    copies: list[SavedCopy] = field(default_factory=list)
    remotes: list[Remote] = field(default_factory=list)


def look(command: str, profile: Profile, copies: Copies) -> Before:
    """Blocking. What the command may write outside is copied, and has a place of its own where it is not there yet."""
    common = profile.git.common_dir
    before = Before(
        command, profile, GitFiles.read(profile.git), refs_of(common) if common is not None else {}
    )
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
