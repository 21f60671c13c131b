"""Copies of what a command may write outside the workspace, made before it runs, and put back on demand."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.core.access import AccessRequest

COPY_LIMIT = 50_000_000
"""Bytes of a file or folder that are copied before a command may write to it."""
_MOST_FILES = 20_000


@dataclass(slots=True)
class SavedCopy:
    """What a granted path was before the command ran."""

    target: Path
    copy: Path | None
    """None: nothing was there, or it was not copied (`skipped` says why)."""
    existed: bool
    skipped: str = ""


class Copies:
    """Copies of paths outside the workspace, kept in the app's data until the session is pruned."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, target: Path) -> SavedCopy:
        """Copy a file or a folder (up to `COPY_LIMIT`) aside. Never raises for what cannot be read: it is said."""
        try:
            info = target.lstat()
        except FileNotFoundError:
            return SavedCopy(target, None, False)
        except OSError as error:
            return SavedCopy(target, None, True, error.strerror or "cannot be read")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = sum(1 for _ in self._folder.iterdir())
        place = self._folder / f"{number:05d}-{secrets.token_hex(3)}-{target.name[:60]}"
        try:
            if stat.S_ISDIR(info.st_mode):
                size = _size_of(target)
                if size > COPY_LIMIT:
                    return SavedCopy(target, None, True, f"larger than {COPY_LIMIT // 1_000_000} MB")
                shutil.copytree(target, place, symlinks=True)
            elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
                if info.st_size > COPY_LIMIT:
                    return SavedCopy(target, None, True, f"larger than {COPY_LIMIT // 1_000_000} MB")
                shutil.copy2(target, place, follow_symlinks=False)
            else:
                return SavedCopy(target, None, True, "not a file or a folder")
        except OSError as error:
            return SavedCopy(target, None, True, error.strerror or "cannot be copied")
        return SavedCopy(target, place, True)

    def restore(self, detail: dict[str, Any]) -> None:
        """Put one path back as it was; what is there now is copied aside first.

        `detail` is that of an `outside_write` effect. Raises OSError when it cannot be done.
        """
        target = Path(detail["path"])
        copy = detail.get("copy")
        if detail.get("existed") and not (copy and os.path.lexists(copy)):
            raise FileNotFoundError(f"the copy of {target} is gone")
        kept = self.save(target)
        if kept.existed and kept.copy is None:
            # It may have become something of the person's since, which nothing else holds.
            raise OSError(f"what is at {target} now cannot be saved first: {kept.skipped}")
        if not detail.get("existed"):
            _remove(target)
            return
        source = Path(str(copy))
        target.parent.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(3)
        passing, old = (target.with_name(f".{mark}-{word}") for word in ("restoring", "replaced"))
        try:
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, passing, symlinks=True)
            else:
                shutil.copy2(source, passing, follow_symlinks=False)
            _put(passing, target, old)
        except BaseException:
            _remove(passing)
            raise


def _put(passing: Path, target: Path, old: Path) -> None:
    """Put `passing` in the place of `target`. On a failure that is there as before."""
    if not (target.is_dir() and not target.is_symlink()) and not passing.is_dir():
        passing.replace(target)
        return
    if os.path.lexists(target):
        target.rename(old)
    try:
        passing.rename(target)
    except BaseException:
        if os.path.lexists(old):
            old.rename(target)
        raise
    _remove(old)


def will_copy(target: Path) -> str:
    """What the dialog says before a write outside: which copy is made, or that it cannot be restored."""
    try:
        info = target.lstat()
    except FileNotFoundError:
        return f"{target} does not exist yet; undoing removes it."
    except OSError as error:
        return f"Not restorable: {target} cannot be read ({error.strerror})."
    size = _size_of(target) if stat.S_ISDIR(info.st_mode) else info.st_size
    if size > COPY_LIMIT:
        return f"Not restorable: {target} is larger than {COPY_LIMIT // 1_000_000} MB (or {_MOST_FILES:,} files), so no copy is made."
    if stat.S_ISDIR(info.st_mode):
        return f"The folder {target} is copied first ({size:,} bytes); it can be put back from the list of effects."
    if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
        return f"{target} is copied first ({size:,} bytes); it can be put back from the list of effects."
    return f"Not restorable: {target} is neither a file nor a folder."


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _size_of(folder: Path) -> int:
    """Bytes in it; stops when it is too large to copy, in bytes or in files."""
    total = count = 0
    for base, _folders, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += (Path(base) / name).lstat().st_size
            count += 1
            if total > COPY_LIMIT or count > _MOST_FILES:
                return max(total, COPY_LIMIT + 1)
    return total


def same(copy: Path, target: Path) -> bool:
    """Are two files the same, bytes and mode? Links by their target, folders by all that is in them."""
    if copy.is_symlink() or target.is_symlink():
        return copy.is_symlink() and target.is_symlink() and copy.readlink() == target.readlink()
    if copy.is_dir() or target.is_dir():
        if not (copy.is_dir() and target.is_dir()):
            return False
        names = {p.name for p in copy.iterdir()} | {p.name for p in target.iterdir()}
        return all(
            os.path.lexists(copy / n) and os.path.lexists(target / n) and same(copy / n, target / n)
            for n in names
        )
    if not target.is_file():
        return False
    a, b = copy.stat(), target.stat()
    return a.st_size == b.st_size and a.st_mode == b.st_mode and copy.read_bytes() == target.read_bytes()


def copy_first(request: AccessRequest) -> str:
    """Which copy is made before a write outside the workspace, or that it cannot be restored."""
    kind, _, target = request.target.partition(":")
    paths = [Path(target)] if kind == "write" else request.writes
    outside = [path for path in paths if not path.is_relative_to(request.root.resolve())]
    return " ".join(will_copy(path) for path in outside[:3])
