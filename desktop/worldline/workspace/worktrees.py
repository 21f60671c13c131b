"""The worktrees in the app's data folder: which there are, and removing one, only with a list of what would be lost.

A removal has one point of no return, a rename within the folder of the worktrees: before it nothing has happened, after
it the next removal or list finishes what a crash left (`finish`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.workspace import durable, leases, registration
from worldline.workspace.kept import Kept
from worldline.workspace.loss import Look, Loss
from worldline.workspace.removal import remove_tree
from worldline.workspace.repos import GitRoot

logger = logging.getLogger(__name__)

_REMOVING = ".removing-"
"""Before the name of a folder whose removal was decided."""
_ASIDE = ".aside-"
"""Before the name of one that is looked at for the last time: after a crash it goes back to its place."""
_INFO = ".info"
BUNDLED = "files"
"""Where the files of a session lie that came in a bundle: no repository is around them."""


@dataclass(slots=True)
class Place:
    """One worktree of the data folder."""

    path: Path
    info: dict[str, Any] = field(default_factory=dict)
    """What was written down when it was made: `source`, `entry`, `session`, …; {} = nothing is known."""
    there: bool = True
    """False: the folder is gone, only its registration in the repository may be left."""
    is_link: bool = False
    """It leads elsewhere: not ours to remove."""

    @property
    def source(self) -> Path | None:
        source = self.info.get("source")
        return Path(source) if isinstance(source, str) and source else None

    @property
    def work(self) -> Path:
        """Where the files are: a session that came in a bundle has them one folder deeper."""
        inner = self.path / BUNDLED
        if not self.there or not inner.is_dir() or inner.is_symlink():
            return self.path
        is_alone = [entry.name for entry in os.scandir(self.path)] == [BUNDLED]
        return inner if is_alone and not self.info.get("entry") else self.path

    @property
    def branch(self) -> str:
        """Short name of the branch that is checked out, "" = none, or git cannot say."""
        root = GitRoot.find(self.path, "") if self.there and not self.is_link else None
        return root.head().branch if root is not None else ""


def found() -> list[Place]:
    """All worktrees of the data folder, by name."""
    folder = paths.worktrees_dir()
    places: dict[str, Place] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                places[entry.name] = Place(folder / entry.name, is_link=True)
            elif entry.is_dir(follow_symlinks=False):
                places[entry.name] = Place(folder / entry.name, info_of(folder / entry.name))
    for file in folder.glob(f"*{_INFO}"):
        name = file.name.removesuffix(_INFO)
        passing = (folder / f"{_REMOVING}{name}", folder / f"{_ASIDE}{name}")
        if name not in places and not name.startswith(".") and not any(one.exists() for one in passing):
            places[name] = Place(folder / name, info_of(folder / name), there=False)
    return [places[name] for name in sorted(places)]


def place_of(path: Path) -> Place:
    """The worktree at this path. Raises `WorkspaceError` (kind `refused`) for everything else."""
    folder = paths.worktrees_dir()
    path = path.expanduser().absolute()
    if path.name not in ("", ".", "..") and not path.name.startswith("."):
        with contextlib.suppress(OSError):
            if path.parent.resolve() == folder.resolve():
                for place in found():
                    if place.path.name == path.name and not place.is_link:
                        return place
    if not os.path.lexists(path):
        raise WorkspaceError(
            f"There is no {path}.",
            "`worldline worktrees` lists the folders that can be removed.",
            kind="refused",
        )
    raise WorkspaceError(
        f"{path} is not a worktree that Worldline made.",
        "Only those that `worldline worktrees` lists are removed here.",
        kind="refused",
    )


def info_of(path: Path) -> dict[str, Any]:
    """What was written down of a worktree when it was made; {} = nothing is known."""
    try:
        info = json.loads(read_plain(path.with_name(path.name + _INFO)))
    except (OSError, ValueError):  # a crash came before it, or cut it off
        return {}
    return info if isinstance(info, dict) else {}


def note_session(worktree: Path, session: Path) -> None:
    """Write down which session file works here: it may lie anywhere. It is for the list alone: that it cannot be written
    (a full disk) hinders nobody."""
    info = info_of(worktree)
    if info.get("session_file") == str(session):
        return
    text = json.dumps({**info, "session_file": str(session)})
    try:
        durable.write_durably(worktree.with_name(worktree.name + _INFO), text.encode("ascii"))
    except OSError as error:
        logger.warning("it is not written down which session works in %s: %s", worktree, error)


def loss_of(place: Place, kept: Kept | None = None) -> Loss:
    """What removing it would lose. Nothing is changed. Raises OSError."""
    return Look(place.work, place.source, kept).run() if place.there and not place.is_link else Loss()


def would_lose(path: Path, kept: Kept | None = None) -> list[str]:
    """See `loss_of`; for a worktree by its path."""
    return loss_of(place_of(path), kept).lines


def size_of(place: Place, seconds: float) -> tuple[int, bool]:
    """Bytes of its files, and whether there was time enough to see them all."""
    end = time.monotonic() + seconds
    total = 0
    if place.is_link or not place.there:
        return 0, True
    for folder, _, names in os.walk(place.path):
        if time.monotonic() > end:
            return total, False
        for name in names:
            with contextlib.suppress(OSError):  # it went away meanwhile
                total += os.lstat(f"{folder}/{name}").st_size
    return total, True


def remove(path: Path, confirmed: list[str], kept: Kept | None = None) -> None:
    """Remove a worktree. `confirmed` must be what `would_lose` says now, so that nothing goes that was not named.

    Its branches stay in the repository (their commits with them). Raises `WorkspaceError`: `leased`, `changed`, `left`
    (a part of it could not be removed yet), and `refused` for anything that is not a worktree of ours or that holds
    another disk."""
    place = place_of(path)
    with _alone():
        _finish_all()
        if leases.read(place.path) is not None:
            leases.check(place.path, "")
            raise WorkspaceError(
                f"{place.path} is in use by this session.", "Close the session first.", kind="leased"
            )
        leases.take(place.path, "")
        try:
            if place.there:
                _set_aside(place, confirmed, kept)
            elif confirmed:
                raise _changed(place.path)
            _complete(place.path.with_name(_REMOVING + place.path.name))
        finally:
            leases.release(place.path)


def finish() -> None:
    """Finish removals that a crash has cut off. Does nothing while one is going on."""
    with contextlib.suppress(BlockingIOError), _alone(wait=False):
        _finish_all()


def _finish_all() -> None:
    for aside in paths.worktrees_dir().glob(f"{_ASIDE}*"):
        back = aside.with_name(aside.name.removeprefix(_ASIDE))
        if not os.path.lexists(back):
            aside.rename(back)
    for left in paths.worktrees_dir().glob(f"{_REMOVING}*"):
        try:
            _complete(left)
        except WorkspaceError as error:
            logger.warning("%s", error)
    for lease in paths.worktrees_dir().glob("*.lease"):
        path = lease.with_suffix("")
        if not os.path.lexists(path) and leases.read(path) is None:
            lease.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(*, wait: bool = True) -> Iterator[None]:
    """One removal at a time. Raises BlockingIOError where it would have to wait and must not."""
    with (paths.data_home() / "worktrees.removal.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def _changed(path: Path) -> WorkspaceError:
    return WorkspaceError(
        f"What is in {path} has changed since it was shown; nothing was removed.",
        "Look at the list again.",
        kind="changed",
    )


def _set_aside(place: Place, confirmed: list[str], kept: Kept | None) -> None:
    """Up to the point of no return: rename it, if it is as it was confirmed, before and after."""
    before = _survey(place.path)
    if loss_of(place, kept).lines != confirmed:
        raise _changed(place.path)
    aside = place.path.with_name(_ASIDE + place.path.name)
    decided = place.path.with_name(_REMOVING + place.path.name)
    if decided.exists():
        raise _left(decided, "it is there already")
    place.path.rename(aside)
    # Whoever wrote into it between the look and the rename must not lose what nobody named; from here on no path leads in.
    if _survey(aside) != before:
        aside.rename(place.path)
        raise _changed(place.path)
    aside.rename(decided)
    durable.sync_path(decided.parent)


def _survey(folder: Path) -> bytes:
    """Changes when anything in the folder does. Raises `WorkspaceError` where another disk is mounted in it."""
    digest = hashlib.sha256()
    disk = os.lstat(folder).st_dev
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
        except PermissionError:  # named in the list of what is lost
            continue
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            status = entry.stat(follow_symlinks=False)
            if status.st_dev != disk:
                raise WorkspaceError(
                    f"Another disk is mounted at {folder / name}.", "Unmount it first.", kind="refused"
                )
            if stat.S_ISDIR(status.st_mode):
                pending.append(name)
            facts = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            digest.update(os.fsencode(f"{name}\0{facts}\n"))
    return digest.digest()


def _left(path: Path, why: str) -> WorkspaceError:
    return WorkspaceError(
        f"A part of {path} could not be removed: {why}.",
        "Make it writable; the rest goes at the next time.",
        kind="left",
    )


def _complete(aside: Path) -> None:
    """Finish a removal from any point after the rename; also where there is only a registration. Raises
    `WorkspaceError` (kind `left`)."""
    path = aside.with_name(aside.name.removeprefix(_REMOVING))
    info = info_of(path)
    if not os.path.lexists(path):
        _unregister(path, aside, info)
        # Not needed any more: what is left now is told by its name alone.
        path.with_name(path.name + _INFO).unlink(missing_ok=True)
    if aside.is_symlink():  # nothing of ours: what it leads to stays
        aside.unlink()
    elif os.path.lexists(aside):
        try:
            aside.chmod(0o700)
            remove_tree(aside)
        except OSError as error:
            raise _left(aside, error.strerror or str(error)) from error
        if os.path.lexists(aside):
            raise _left(aside, "some of its folders are not writable")


def _entry_of(path: Path, aside: Path, info: dict[str, Any]) -> Path | None:
    """Its entry in the repository, if that one is for this folder."""
    if isinstance(info.get("entry"), str) and info["entry"]:
        entry = Path(info["entry"])
        if registration.is_of(entry, path, begun=True):
            return entry
    with contextlib.suppress(OSError):
        pointer = read_plain(aside / ".git", 10_000)
        if pointer.startswith(b"gitdir:"):
            entry = Path(os.fsdecode(pointer[7:].strip()))
            if registration.is_of(
                entry, path, begun=False
            ):  # whoever works there can write anything into that
                return entry
    return None


def _unregister(path: Path, aside: Path, info: dict[str, Any]) -> None:
    """Take the worktree out of the repository's list: through git, by hand where there is none or it refuses."""
    entry = _entry_of(path, aside, info)
    if entry is None:
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    common = entry.parent.parent
    command = [
        "git",
        "-c",
        f"core.hooksPath={os.devnull}",
        f"--git-dir={common}",
        "worktree",
        "remove",
        "--force",
    ]
    try:
        # Twice: the entry is locked, so that nobody else prunes it.
        done = subprocess.run(
            [*command, "--force", str(path)],
            cwd=common, env=environment, capture_output=True, text=True, errors="replace", timeout=60, check=False,
        )  # fmt: skip
        if done.returncode:
            logger.info("git does not remove the entry of %s: %s", path, done.stderr.strip())
    except (OSError, subprocess.TimeoutExpired) as error:
        logger.info("git does not remove the entry of %s: %s", path, error)
    if entry.is_dir() and not entry.is_symlink():
        registration.remove(entry)
