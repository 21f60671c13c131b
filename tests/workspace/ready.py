"""Making and taking copies that are kept ready, and all that can be seen of the worktrees made of them."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.workspace import indexfile, isolate, isolate_make, isolate_ready, leases
from worldline.workspace.isolate_make import Made

from .conftest import run_sh, snapshot

TICK_NS = 30_000_000
"""Longer than the clock of any file system here takes to go on."""


def settle() -> None:
    """Until what was written before can be told by its times from what is written after."""
    end = time.time_ns() + TICK_NS
    while time.time_ns() <= end:
        time.sleep(0.005)


def make(work: Path, **options: Any) -> Made:
    settle()
    return isolate_make.make(work, **{"least_files": 0, "settled_ns": TICK_NS // 2, **options})


def waiting() -> list[Path]:
    return [copy.path for copy in isolate_ready.found()]


def everything(made: isolate.Isolated) -> dict[str, Any]:
    """All that can be seen of a worktree, but for its name."""
    top = made.path
    files = snapshot(top)
    times = {p: (top / p).stat().st_mtime_ns for p, (mode, _) in files.items() if stat.S_ISREG(mode)}
    entry = Path(os.fsdecode((top / ".git").read_bytes()[8:].strip()))
    index = entry / "index"
    entries = indexfile.parse(index.read_bytes()) if index.is_file() else []
    session = made.branch.split("/")[1]
    known = {p: v for p, (mode, v) in snapshot(entry).items() if p != "index" and stat.S_ISREG(mode)}
    return {
        "files": files,
        "times": times,
        "top": stat.S_IMODE(top.stat().st_mode),
        "index": [(e.path, e.mode, e.oid, e.stage, e.flags, any(e.stat), e.size) for e in entries],
        "entry": {p: v.replace(session.encode(), b"SESSION") for p, v in known.items()},
        "lease": leases.read(made.root) is not None,
        "status": run_sh("git status --porcelain=v2 -z --ignored", top),
        "head": run_sh("git rev-parse -q --verify HEAD; git stash list", top, check=False),
        "facts": (
            made.base_commit,
            made.base_branch,
            sorted(made.included),
            sorted(made.notes),
            made.uncommitted,
        ),
    }


def same_both_ways(work: Path, **options: Any) -> dict[str, Any]:
    """Make a worktree of the copy that waits and one without; both must be the same, and the copy must have been used."""
    assert waiting()
    ready = isolate.prepare(work, "aaaaaaaa", **options)
    assert not waiting()
    plain = isolate.prepare(work, "bbbbbbbb", **options)
    seen = everything(ready)
    assert seen == everything(plain)
    assert ready.path.parent == plain.path.parent
    assert (ready.path.with_name(ready.path.name + ".info")).is_file()
    assert [row for row in os.listdir(paths.ready_dir()) if not row.startswith(".removing-")] == []
    return seen
