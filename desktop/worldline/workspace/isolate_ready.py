"""Copies of workspaces that are kept ready for the next session: taking one is a rename in place of thousands of new files.

Each lies in `ready/` of the data folder, beside nothing of the person's: their repository does not know of it before it is
taken. A folder there without a dot is whole. To take it is to rename it to a name that says who has it; of two that want it
one succeeds. A copy that is being made has such a name from the beginning. Whatever is found under the name of a process
that is no more is removed, with what that process had written into the repository: nobody ever worked in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.core.process_id import identity, lives
from worldline.workspace import durable, isolate_manifest, registration, safefs
from worldline.workspace.isolate_manifest import BadManifest, Manifest
from worldline.workspace.removal import remove_tree

logger = logging.getLogger(__name__)

UNUSED_DAYS = 30
"""A copy that nobody took for so long is removed."""
FILES = "files"
_GONE = "gone"
"""What was taken out of the files when they were brought up to date."""
_MANIFEST = "manifest"
_PLAN = "taking"
"""What is about to be written into the repository, for whoever finds it half done."""
_OWNED = ".owned-"
_REMOVING = ".removing-"
_HEAD_BYTES = 64 << 10


@dataclass(slots=True)
class Ready:
    """A copy that this process has for itself."""

    folder: Path
    manifest: Manifest

    @property
    def files(self) -> Path:
        return self.folder / FILES


@dataclass(slots=True, frozen=True)
class ReadyCopy:
    """One that waits."""

    path: Path
    source: Path
    bytes: int
    made: float
    """When it was made or brought up to date, in seconds."""


def place_of(work: Path) -> Path:
    """Where the copy of this folder is, when there is one."""
    real = os.path.realpath(work)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(real).name).strip(".-")[:40] or "work"
    return paths.ready_dir() / f"{slug}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"


# --- having one --------------------------------------------------------------------------------------------------


def _own(name: str) -> Path:
    """A name that says that this process has what is there."""
    me = os.getpid()
    return paths.ready_dir() / f"{_OWNED}{name}~{me}~{identity(me)}~{secrets.token_hex(4)}"


def begin(work: Path) -> Ready:
    """An empty one, to be filled by this process. Raises OSError."""
    ready = Ready(_own(place_of(work).name), Manifest(os.path.realpath(work)))
    ready.folder.mkdir(mode=0o700)
    ready.files.mkdir(mode=0o700)
    return ready


def claim(work: Path) -> Ready | None:
    """The copy of this folder, for this process alone; None = there is none that can be used."""
    place = place_of(work)
    if not os.path.lexists(place):
        return None
    owned = _own(place.name)
    try:
        if place.lstat().st_dev != paths.worktrees_dir().stat().st_dev:
            return None  # it could not be put in its place by a rename
        place.rename(owned)
    except OSError as error:
        logger.info("%s cannot be taken: %s", place, error)
        return None
    try:
        manifest = isolate_manifest.decode(read_plain(owned / _MANIFEST, 4 << 30))
        if manifest.source != os.path.realpath(work):
            raise BadManifest("it is of another folder")
        if (owned / FILES).is_symlink() or not (owned / FILES).is_dir():
            raise BadManifest("its files are not there")
    except (OSError, ValueError) as error:  # `BadManifest` is a ValueError
        logger.warning("%s is thrown away: %s", place, error)
        discard(owned)
        return None
    return Ready(owned, manifest)


def discard(folder: Path) -> None:
    """Have it removed, later: nobody waits for thousands of files."""
    with contextlib.suppress(OSError):
        folder.rename(folder.with_name(f"{_REMOVING}{secrets.token_hex(8)}"))


def gone_of(files: Path) -> Path:
    """Where to move what is taken out of the files of a copy."""
    return files.with_name(_GONE)


def put_ready(folder: Path, work: Path) -> bool:
    """Let others take a copy that this process has. False: there is another one by now, this one is thrown away."""
    try:
        with _parent_of(folder) as parent:
            safefs.rename_new(folder.name, parent, place_of(work).name, parent)
    except FileExistsError:
        discard(folder)
        return False
    return True


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """All files that it names must be on the disk."""
    durable.write_durably(folder / _MANIFEST, isolate_manifest.encode(manifest))


# --- taking it ---------------------------------------------------------------------------------------------------


def plan(ready: Ready, *, dest: Path, entry: Path, ref: str, commit: str) -> None:
    """Write down what is about to be written outside, so that it can be taken back after a kill."""
    text = json.dumps({"dest": str(dest), "entry": str(entry), "ref": ref, "commit": commit})
    (ready.folder / _PLAN).write_text(text, "ascii")


def hand_over(ready: Ready, dest: Path) -> None:
    """Put its files in their place, as a whole; what is left of it then is to be discarded. Raises OSError."""
    with _parent_of(ready.files) as old, _parent_of(dest) as new:
        safefs.rename_new(FILES, old, dest.name, new)
    if not gone_of(ready.files).exists():
        shutil.rmtree(ready.folder, ignore_errors=True)  # two small files; what stays goes with `finish`


@contextlib.contextmanager
def _parent_of(path: Path) -> Iterator[int]:
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


# --- order -------------------------------------------------------------------------------------------------------


def finish() -> None:
    """Remove what processes that ended have left, what is thrown away, and copies that cannot be used any more."""
    for path in list(paths.ready_dir().iterdir()):
        if path.name.startswith(_OWNED):
            if _is_owned(path):
                continue
            _take_back(path)
        elif not path.name.startswith("."):
            if _is_useful(path):
                continue
        elif not path.name.startswith(_REMOVING):
            continue
        _remove(path)


def is_left() -> bool:
    """Whether there is something that a process which ended has left, or that is thrown away. Only names are looked at."""
    return any(
        path.name.startswith(_REMOVING) or (path.name.startswith(_OWNED) and not _is_owned(path))
        for path in paths.ready_dir().iterdir()
    )


def _is_owned(path: Path) -> bool:
    """Whether the process that the name tells of lives."""
    _, pid, started, _ = path.name.rsplit("~", 3) if path.name.count("~") >= 3 else ("", "0", "", "")
    return lives(int(pid) if pid.isdecimal() else 0, started)


def _is_useful(path: Path) -> bool:
    copy = _look(path)
    return (
        copy is not None
        and os.path.lexists(copy.source / ".git")
        and time.time() - copy.made < UNUSED_DAYS * 86_400
    )


def _look(path: Path) -> ReadyCopy | None:
    try:
        with (path / _MANIFEST).open("rb") as file:
            head = isolate_manifest.head_of(file.read(_HEAD_BYTES))
            made = os.fstat(file.fileno()).st_mtime
    except (OSError, BadManifest):
        return None
    return ReadyCopy(path, Path(head["source"]), head["bytes"], made)


def _take_back(folder: Path) -> None:
    """The registration of a worktree whose files were never put in their place."""
    try:
        found = json.loads(read_plain(folder / _PLAN, 1 << 20))
        dest, entry, ref, commit = (str(found[key]) for key in ("dest", "entry", "ref", "commit"))
    except (OSError, ValueError, TypeError, KeyError):
        return  # nothing was written outside yet
    if os.path.lexists(dest) or not os.path.lexists(folder / FILES):
        return  # it is in its place
    place, home = Path(dest), Path(entry)
    if registration.is_of(home, place, begun=True):
        registration.remove(home)
    common = home.parent.parent
    with contextlib.suppress(OSError):
        is_ours = ref.startswith("refs/heads/worldline/") and ".." not in ref.split("/")
        if is_ours and commit and read_plain(common / ref, 10_000).strip() == commit.encode("ascii"):
            for path in (common / ref, common / "logs" / ref):
                path.unlink(missing_ok=True)
    for path in (
        *(place.with_name(place.name + end) for end in (".info", ".lease")),
        *place.parent.glob(f"{place.name}.*.tmp"),
    ):
        path.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    """Gone from its place at once; the rest at the next time, where it cannot be removed now."""
    going = path if path.name.startswith(_REMOVING) else path.with_name(_REMOVING + secrets.token_hex(8))
    with contextlib.suppress(OSError):
        if going != path:
            path.rename(going)
        if going.is_symlink() or not going.is_dir():
            going.unlink()
        else:
            going.chmod(0o700)
            remove_tree(going)


def found() -> list[ReadyCopy]:
    """All that wait, the oldest first."""
    rows = [_look(path) for path in paths.ready_dir().iterdir() if not path.name.startswith(".")]
    return sorted((row for row in rows if row is not None), key=lambda row: row.made)


def found_at(path: Path) -> list[ReadyCopy]:
    """The one that waits at this path; [] = there is none."""
    place = path.expanduser().absolute()
    return [copy for copy in found() if copy.path == place]


def remove(path: Path) -> int:
    """Remove one that waits; how many bytes that was. Raises `WorkspaceError` (kind `refused`) where there is none."""
    copies = found_at(path)
    if not copies:
        raise WorkspaceError(
            f"{path} is not a copy that Worldline keeps ready.", "Look at the list again.", kind="refused"
        )
    _remove(copies[0].path)
    return copies[0].bytes
