"""Removing a folder of ours as far as that is possible."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder with all in it as far as that is possible; never raises for what stays."""
    for place, names, _ in os.walk(folder):
        for name in names:  # folders without write permission would keep their files
            path = Path(place) / name
            # Somebody else's, gone by now, or so deep that it cannot be named: those last can be removed all the same.
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o700)
    shutil.rmtree(folder, ignore_errors=True)
