"""Take the git objects that confined commands made over into the repository, each hashed anew on the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pygit2

_KEPT = frozenset({"info", "refs", "logs"})
"""What lies beside the objects and belongs to the session."""


def absorb(private: Path, objects: Path) -> int:
    """Write every object of the folder `private` into the object folder `objects`, then empty `private`.

    Nothing that is there already is touched, and what arrives gets the name of its own contents: a planted file cannot
    stand in for an object. Returns how many were taken over. Raises OSError when the repository cannot be
    written; then `private` keeps what it has, and the next call tries again.
    """
    if not private.is_dir():
        return 0
    alternates = private / "info" / "alternates"
    kept = alternates.read_bytes() if alternates.exists() else None
    alternates.unlink(missing_ok=True)  # only what lies here is new
    count = 0
    try:
        source = pygit2.Odb(str(private))
        target = pygit2.Odb(str(objects))
        for oid in list(source):
            if oid in target:
                continue
            try:
                kind, data = source.read(oid)
            except (pygit2.GitError, KeyError):
                continue  # junk under the name of an object: nothing that git made, so nothing to keep
            target.write(kind, data)
            count += 1
    except pygit2.GitError as error:
        raise OSError(f"the repository cannot take the new objects: {error}") from error
    finally:
        if kept is not None:
            alternates.write_bytes(kept)
    for child in private.iterdir():
        if child.is_dir() and child.name not in _KEPT:
            shutil.rmtree(child, ignore_errors=True)
    (private / "pack").mkdir(exist_ok=True)
    return count


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
