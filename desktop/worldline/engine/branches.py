"""Git branches of forks."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path

logger = logging.getLogger(__name__)


def delete_branch(folder: Path, name: str, commit: str) -> bool:
    """Remove a branch of ours, if it still stands where it was made. Blocking. A branch that got a commit, or that
    somebody has checked out, stays."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder)]
    checked_out = subprocess.run(
        [*command, "worktree", "list", "--porcelain"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if f"branch refs/heads/{name}\n" in checked_out.stdout + "\n":
        return False
    done = subprocess.run(
        [*command, "update-ref", "-d", f"refs/heads/{name}", commit],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        logger.info("branch %s stays: %s", name, done.stderr.strip())
    return done.returncode == 0
