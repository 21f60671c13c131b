"""Git branches of forks."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path

from worldline.core.errors import WorldlineError
from worldline.engine.shared import Shared

logger = logging.getLogger(__name__)


def short(branch: str) -> str:
    return branch.removeprefix("refs/heads/")


def next_branch(shared: Shared) -> str:
    """A name for the next branch of this session that none had before."""
    names = [str(r.data.get("name", "")) for r in shared.doc.records("branch")]
    own = f"worldline/{shared.slug}/"
    tails = [name.removeprefix(own) for name in names if name.startswith(own)]
    if not tails and shared.info.workspace_mode == "in_place":
        return f"{own}start"
    return f"{own}{max([1, *(int(tail) for tail in tails if tail.isdigit())]) + 1}"


def delete_branch(folder: Path, name: str, commit: str) -> bool:
    """Remove a branch of ours, if it still stands where it was made. Blocking. A branch that got a commit, or that
    somebody has checked out, stays."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder)]
    checked_out = subprocess.run(
        [*command, "worktree", "list", "--porcelain"],
        capture_output=True,
        encoding="utf-8",
        errors="replace",  # branches of the person may have names that are no text
        env=environment,
        check=False,
    )
    if checked_out.returncode:
        logger.info("branch %s stays: %s", name, checked_out.stderr.strip())
        return False
    if f"branch refs/heads/{name}\n" in checked_out.stdout + "\n":
        return False
    done = subprocess.run(
        [*command, "update-ref", "-d", f"refs/heads/{name}", commit],
        capture_output=True, encoding="utf-8", errors="replace", env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        logger.info("branch %s stays: %s", name, done.stderr.strip())
    return done.returncode == 0


async def drop_empty(shared: Shared, branch: str) -> str:
    """Remove a fork of ours that never got a commit or a node of its own, when it is left. Returns a sentence where that
    failed: what was done before stays done, so it is no error."""
    name = branch.removeprefix("refs/heads/")
    if not name.startswith("worldline/") or branch == shared.branch or shared.work is None:
        return ""
    if any(h.branch == branch for h in shared.doc.headers()):
        return ""
    records = reversed(shared.doc.records("branch"))
    commit = next((r.data.get("commit", "") for r in records if r.data["name"] == name), "")
    if not commit:
        return ""
    try:
        await shared.work.call(lambda _: delete_branch(shared.root, name, commit))
    except (OSError, WorldlineError) as error:
        logger.warning("the empty branch %s stays", name, exc_info=error)
        return f"The empty branch {name} stays: git could not remove it ({error})."
    return ""
