"""Where else the files of a session's workspace lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from worldline.core import paths
from worldline.protocol.model import SessionInfo


def folder_of_person(info: SessionInfo) -> Path | None:
    """The top of the repository that the workspace is a worktree of; None = the agent works in the person's own folder."""
    if not info.root or info.workspace_mode != "isolated":
        return None
    opened = Path(info.root).resolve()
    return next((p for p in (opened, *opened.parents) if os.path.lexists(p / ".git")), opened)


def copies_elsewhere(workspace: Path) -> list[Path]:
    """Worktrees of other sessions, and copies that are kept ready. Blocking."""
    own = workspace.resolve()
    found: list[Path] = []
    for home in (paths.worktrees_dir(), paths.ready_dir()):
        with os.scandir(home) as entries:
            there = [Path(entry.path).resolve() for entry in entries if entry.is_dir(follow_symlinks=False)]
        found += [folder for folder in there if not own.is_relative_to(folder)]
    return found
