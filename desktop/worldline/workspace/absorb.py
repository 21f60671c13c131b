"""Take the git objects that confined commands made over into the repository, each hashed anew on the way."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from pathlib import Path

import pygit2

_TWO = re.compile(r"[0-9a-f]{2}")
_LEFT_S = 86_400
"""A passing file that nobody has written to for so long is nobody's any more."""
MOST_BYTES = 1_000_000_000
"""Of one object. A larger one is left where it is: a few bytes can say that they unpack to all the memory there is."""


def absorb(private: Path, objects: Path) -> int:
    """Write every object of the folder `private` into the object folder `objects`, then take it away from `private`.

    Nothing that is there already is touched, and what arrives gets the name of its own contents: a planted file cannot
    stand in for an object. What is written meanwhile, and what is not whole yet, stays for the next time. Returns how many
    were taken over. Raises OSError when the repository cannot be written, or an object is too large; then `private` keeps
    what it has.
    """
    if not private.is_dir():
        return 0
    there = _files(private)
    if not there:
        return 0
    count = 0
    large = 0
    try:
        source = pygit2.Odb(str(private))
        target = pygit2.Odb(str(objects))
        for oid in list(source):
            if oid in target:
                continue
            try:
                if source.read_header(oid)[1] > MOST_BYTES:
                    large += 1
                    continue
                kind, data = source.read(oid)
            except (pygit2.GitError, KeyError):
                continue  # junk under the name of an object: nothing that git made, so nothing to keep
            target.write(kind, data)
            count += 1
    except pygit2.GitError as error:
        raise OSError(f"the repository cannot take the new objects: {error}") from error
    if large:
        raise OSError(f"{large} objects are larger than {MOST_BYTES // 1_000_000} MB")
    for path in there:
        path.unlink(missing_ok=True)
    return count


def _files(private: Path) -> list[Path]:
    """Objects and packs that are whole; no link is followed."""
    found: list[Path] = []
    for folder in private.iterdir():
        if folder.is_symlink():
            folder.unlink()
        elif folder.is_dir() and (folder.name == "pack" or _TWO.fullmatch(folder.name)):
            there = [path for path in folder.iterdir() if path.is_symlink() or path.is_file()]
            packs = {path.stem for path in there if path.suffix == ".idx"}
            found += [path for path in there if _is_whole(path, packs)]
    return found


def _is_whole(path: Path, packs: Collection[str]) -> bool:
    """Not so as long as git writes: first to a passing file, and of a pack (`packs`: those that have one) the index, by which
    alone its objects are found, gets its name last."""
    if path.name.startswith("tmp_"):
        return _is_left(path)
    return not path.name.startswith("pack-") or path.stem in packs


def _is_left(path: Path) -> bool:
    """Whether a command that was killed has left it."""
    try:
        return path.lstat().st_mtime < time.time() - _LEFT_S
    except FileNotFoundError:
        return False


def move_ref(workspace: Path, name: str, expected: str, target: str) -> None:
    """Put a ref back where it was, if it still is where a command left it. `target` "" deletes it.

    Raises OSError when it has moved since, or the commit is gone.
    """
    try:
        repository = pygit2.Repository(str(workspace))
        current = str(repository.references[name].target) if name in repository.references else ""
        if current != expected:
            raise OSError(f"{name} has moved since")
        if not target:
            repository.references.delete(name)
        else:
            repository.references.create(name, pygit2.Oid(hex=target), force=True)
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise OSError(f"{name} cannot be moved: {error}") from error
