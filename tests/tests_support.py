"""Small things that tests of several parts use."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def wait_until(fits: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for a condition that another process or thread brings about; fail when it does not come."""
    end = time.monotonic() + seconds
    while not fits():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)
