"""Where the notes about a project lie, and the move there of those that an older version kept with a session."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from worldline.core import paths
from worldline.engine.opening import slug_of
from worldline.workspace.safefs import NO_LINKS

_OF_A_SESSION = re.compile(r"-[0-9a-z]{4}$")
"""Folders of projects end in eight characters: no name of a session leads to one."""


def memory_folder(root: str) -> Path:
    """The same for every session on the folder `root`."""
    mark = hashlib.blake2b(root.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return paths.data_home() / "memory" / f"{slug_of(Path(root).name)}-{mark}"


def adopt_notes(slug: str, folder: Path) -> int:
    """Move the notes that lie with the session `slug` to those of its project; how many there were. Nothing is written
    over: of two different notes with one name, the moved one bears the session's name as well. Interrupted anywhere, the
    next call goes on. Raises OSError; what was not moved by then stays where it is."""
    old = folder.parent / slug
    if not _OF_A_SESSION.search(slug) or old.is_symlink() or not old.is_dir():
        return 0
    notes = sorted(p for p in old.glob("*.md") if p.is_file() and not p.is_symlink())
    if notes:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for note in notes:
        _move(note, folder, slug)
    if not any(old.iterdir()):
        old.rmdir()
    return len(notes)


def _move(note: Path, folder: Path, slug: str) -> None:
    # Names that differ only in case are one note, see `tools.memory`.
    taken = {path.stem.casefold(): path for path in folder.glob("*.md")}
    name, number = note.stem, 1
    while (there := taken.get(name.casefold())) is not None:
        if there.read_bytes() == note.read_bytes():
            note.unlink()
            return
        suffix = f" {slug}" if number == 1 else f" {slug} {number}"
        name, number = note.stem[: 80 - len(suffix)] + suffix, number + 1
    target = folder / f"{name}.md"
    try:
        os.link(note, target)  # unlike a rename, this never replaces what came there meanwhile
    except OSError as error:
        if error.errno not in NO_LINKS or target.exists():
            raise
        note.rename(target)
        return
    note.unlink()
