"""Folders that no session may work in, and why."""

from __future__ import annotations

import os
from pathlib import Path

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import leases

HAS_WORKSPACES = os.name == "posix"
"""States and sandboxes need locks, modes and links as Linux and macOS have them."""


def platform() -> None:
    """Raise `WorkspaceError` (kind `platform`) where no workspace can be opened, before anything of it is loaded."""
    if not HAS_WORKSPACES:
        raise WorkspaceError(
            "Working in a folder needs Linux or macOS.",
            "On Windows, run Worldline inside WSL. Sessions can be read, searched, imported and exported here.",
            kind="platform",
        )


def refuse(path: Path, *, session_id: str = "") -> None:
    """Raise `WorkspaceError` (kinds `refused`, `leased`, `missing`) before a byte is copied, if this folder must not
    be a workspace. `session_id` may use its own worktree."""
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise WorkspaceError(f"{folder} is not a folder.", "Choose a folder that exists.", kind="missing")
    real = folder.resolve()
    if real == Path(real.anchor) or (real.is_mount() and real.parent == Path(real.anchor)):
        raise WorkspaceError(
            f"{real} is a whole disk.", "Open the folder of one project instead.", kind="refused"
        )
    home = Path("~").expanduser().resolve()
    if real == home or real in home.parents:
        raise WorkspaceError(
            f"{real} is your home folder or contains it.",
            "Open the folder of one project: going back to a node would touch everything you have.",
            kind="refused",
        )
    data = paths.data_home().resolve()
    worktrees = data / "worktrees"
    if real == data or real in data.parents:
        raise WorkspaceError(
            f"{real} contains Worldline's own data.", "Open a folder beside it.", kind="refused"
        )
    if data in real.parents and worktrees not in real.parents:
        raise WorkspaceError(
            f"{real} belongs to Worldline's own data.", "Open the folder of one project.", kind="refused"
        )
    if worktrees in real.parents:
        name = real.relative_to(worktrees).parts[0]
        leases.check(worktrees / name, session_id)
