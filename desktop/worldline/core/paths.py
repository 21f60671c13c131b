"""Where the app keeps its data. `WORLDLINE_HOME` moves all of it (tests, portable installs)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SESSION_SUFFIX = ".worldline"


def data_home() -> Path:
    """The folder of everything the app writes by itself; made when missing, readable by its owner only."""
    configured = os.environ.get("WORLDLINE_HOME")
    home = (Path(configured) if configured else _platform_home()).expanduser().absolute()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


def _platform_home() -> Path:
    system: str = sys.platform
    if system.startswith("linux"):
        # What platformdirs says here (a test compares them); its import would cost the first paint 5 ms.
        chosen = os.environ.get("XDG_DATA_HOME", "")
        return Path(chosen if chosen.startswith("/") else "~/.local/share", "worldline")
    import platformdirs

    return Path(platformdirs.user_data_dir("worldline", appauthor=False))


def _sub(name: str) -> Path:
    path = data_home() / name
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def sessions_dir() -> Path:
    """`*.worldline` files."""
    return _sub("sessions")


def stores_dir() -> Path:
    """One bare object store for each workspace."""
    return _sub("stores")


def worktrees_dir() -> Path:
    """Isolated worktrees; never in a temp folder, so that they survive a reboot."""
    return _sub("worktrees")


def folder_leases_dir() -> Path:
    """Who works in which folder of the person."""
    return _sub("in-use")


def ready_dir() -> Path:
    """Copies of workspaces that are kept ready for the next session."""
    return _sub("ready")


def trash_dir() -> Path:
    """Session files that the person has deleted, to be had back."""
    return _sub("trash")


def logs_dir() -> Path:
    return _sub("logs")


def config_file() -> Path:
    """Settings of the person, as JSON; keys of services are never in it."""
    return data_home() / "settings.json"


def grants_key_file() -> Path:
    """Key of the seals on grants that sessions keep; see `policy.seal`."""
    return data_home() / "grants.key"


def resources_dir() -> Path:
    """Icons, translations, rehearsal scenarios: inside an installed package, else beside the source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "resources"
    return installed if installed.is_dir() else package.parent.parent / "resources"


def place_of(path: str) -> Path:
    """The place that a path names; ~ stands for a home folder where there is one."""
    place = Path(path)
    try:
        place = place.expanduser()
    except RuntimeError:
        pass  # ~somebody whom this computer does not know: a name like any other
    return place.absolute()
