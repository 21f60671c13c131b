"""A commit that is being made in the person's repository, written down before their staging area and branch are touched:
after a kill files, staging area and branch are all as before, or all as brought."""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from worldline.workspace import gitfiles
from worldline.workspace.durable import write_durably
from worldline.workspace.gitlock import put_back
from worldline.workspace.repos import GitRoot

_NAME, _BEFORE = "commit", "commit-index"


def begin(folder: Path, gitdir: Path, ref: str, commit: str, before: bytes | None, staged: bytes) -> None:
    """`folder`: that of the journal of the restore that it belongs to. `before`, `staged`: the staging area as it is and
    as it will be."""
    if before is not None:
        write_durably(folder / _BEFORE, before)
    note = {
        "gitdir": str(gitdir), "ref": ref, "commit": commit, "staged": _digest(staged), "was_there": before is not None,
    }  # fmt: skip
    write_durably(folder / _NAME, json.dumps(note).encode("ascii"))


def is_made(folder: Path, work: Path) -> bool:
    """Whether the branch stands at the commit that was being made."""
    note = _load(folder)
    root = GitRoot.find(work, "") if note is not None else None
    return note is not None and root is not None and root.resolve(str(note["ref"])) == note["commit"]


def take_back(folder: Path) -> None:
    """Put the staging area back, unless somebody else has written it since. Can be repeated. Raises `WorkspaceError`
    (`repo_busy`)."""
    note = _load(folder)
    if note is None:
        return
    gitdir = Path(note["gitdir"])
    if not gitfiles.is_file(gitdir, "index"):
        return
    if note["was_there"]:
        before = (folder / _BEFORE).read_bytes()
        put_back(gitdir, "index", before, secrets.token_hex(8), lambda now: _digest(now) == note["staged"])
    elif _digest(gitfiles.read(gitdir, "index")) == note["staged"]:
        (gitdir / "index").unlink()


def _load(folder: Path) -> dict[str, Any] | None:
    try:
        note: dict[str, Any] = json.loads((folder / _NAME).read_bytes())
    except FileNotFoundError:
        return None
    return note


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
