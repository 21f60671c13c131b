"""Places that no command may look into (`Profile.closed`), as mounts that cannot be opened.

What is there instead may not be read by anybody, rather than be empty: who reads it is told that it is not permitted, and
git takes what it cannot look at for unchanged. It would put an empty folder into the next commit as a deletion.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from worldline.policy.sandbox.model import Profile

COVERED = ("/run", "/tmp", "/var/tmp")
"""Folders of which a command has its own."""


def pinned(paths: list[Path], writable: list[Path]) -> list[str]:
    """Make every folder above, up to the writable root, a mount point of its own: otherwise `mv .git x` would get round
    what is mounted in it."""
    pins: list[Path] = []
    for path in paths:
        root = next((w for w in writable if path != w and path.is_relative_to(w)), None)
        above = path.parent
        while root is not None and above != root and above.is_relative_to(root):
            if above not in pins:
                pins.append(above)
            above = above.parent
    args: list[str] = []
    for folder in sorted(pins, key=lambda p: len(p.parts)):
        if folder.is_dir():
            args += ["--bind", str(folder), str(folder)]
    return args


def pins(profile: Profile) -> list[str]:
    """To be mounted before anything else below the writable folders: a pin shows the real folder again."""
    roots = [profile.workspace, *profile.writable]
    roots += [Path(g.target) for g in profile.grants if g.kind == "write"]
    return pinned(_places(profile), [root.resolve() for root in roots])


def covers(profile: Profile) -> list[str]:
    """To be mounted last: nothing may be mounted over them."""
    args: list[str] = []
    opened = [Path(g.target) for g in profile.grants if g.kind == "read"]
    for place in _places(profile):
        below = [path for path in opened if path.is_relative_to(place) and path.exists()]
        if not place.is_dir():
            args += ["--ro-bind", str(_unreadable(profile)), str(place)]
        elif below:
            args += ["--tmpfs", str(place)]
            for path in below:
                args += ["--ro-bind", str(path), str(path)]
            args += ["--remount-ro", str(place)]
        else:
            args += ["--perms", "0000", "--tmpfs", str(place), "--remount-ro", str(place)]
    if args:
        # Root would be let in all the same.
        args += ["--cap-drop", "CAP_DAC_OVERRIDE", "--cap-drop", "CAP_DAC_READ_SEARCH"]
    return args


def _places(profile: Profile) -> list[Path]:
    """What of it is there and can be seen inside. What was granted by its own name is open; what a granted folder holds
    is not: it was not asked about."""
    opened = {Path(g.target) for g in profile.grants if g.kind == "read"}
    shown = [profile.workspace, *profile.writable]
    shown += [Path(g.target) for g in profile.grants if g.kind in ("read", "write")]
    hidden = {place for place in profile.covered or () if place.is_dir()}

    def is_seen(place: Path) -> bool:
        if not hidden.isdisjoint((place, *place.parents)):
            return False
        covered = any(place.is_relative_to(c) for c in COVERED)
        return not covered or any(place.is_relative_to(folder) for folder in shown)

    shown = [folder.resolve() for folder in shown]
    return [place for place in profile.closed if place not in opened and _there(place) and is_seen(place)]


def _there(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return bool(path.lstat())
    return False


def _unreadable(profile: Profile) -> Path:
    """A file that nobody may open, where no command can write."""
    path = profile.control / "closed"
    if not path.exists():
        profile.control.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o000))
    return path
