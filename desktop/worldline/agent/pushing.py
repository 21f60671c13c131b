"""Runs an approved push outside the sandbox, with the keys of the person, and says what it changed there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldline.core.access import CommandResult, Emit
from worldline.policy.ledger import pushed
from worldline.policy.pushing import Push, uses_lfs
from worldline.policy.sandbox.places import git_places
from worldline.tools.process import finish, start

_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "push.recurseSubmodules=no", "core.askPass=", "push.gpgSign=false",
)  # fmt: skip
"""Nothing of the workspace may run out here: hooks can lie in it."""
_WITHOUT_LFS = (
    b"[not uploaded: the contents of files that this repository keeps with Git LFS, since hooks do not run here; the person "
    b"was told to run git lfs push, tell them again]\n"
)
_TRANSPORTS = "ssh:https:http"
_LOOK_S = 60.0
_REPORT = re.compile(r"^[ +*=-]\t[^\t\n]*:(refs/[^\t\n]+)\t", re.MULTILINE)


def person_env() -> dict[str, str]:
    """The environment that the person's own git would have, without what names another repository, and in one language."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY", "GIT_CONFIG_VALUE", "GIT_CONFIG_PARAMETERS")
        )
        and name
        not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
        and not name.startswith("ANTHROPIC_")
    }
    return env | {"GIT_ALLOW_PROTOCOL": _TRANSPORTS, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


async def _git(args: list[str], root: Path, timeout_s: float, emit: Emit | None = None) -> CommandResult:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    # Named, and not looked for: a folder of the workspace may hold a repository with a configuration of its own.
    here = {"GIT_DIR": str(git_places(root).git_dir), "GIT_WORK_TREE": str(root)}
    started = start(["git", *settings, *args], cwd=root, emit=emit, extra_env=person_env() | here)
    return await finish(started, timeout_s)


async def _refs(push: Push, root: Path) -> dict[str, str] | None:
    """Refs of the other side; None = it did not say them."""
    result = await _git(["ls-remote", "--quiet", push.remote or push.url], root, _LOOK_S)
    if result.exit_code != 0:
        return None
    rows = (line.split("\t") for line in result.output.decode("utf-8", "replace").splitlines())
    return {row[1]: row[0] for row in rows if len(row) == 2 and re.fullmatch("[0-9a-f]{40,64}", row[0])}


async def push_with_keys(
    push: Push, *, root: Path, timeout_s: float, emit: Emit, began: Callable[[], None]
) -> CommandResult:
    """Exactly this push, by git itself and no shell. Its effects name each ref with where it was before. `began` is called
    when something may have been changed from then on."""
    before = await _refs(push, root)
    if before is not None and push.destroys:
        await _fetch_old(push, before, root)
    args = [w for w in push.words if w != "--porcelain"]
    began()
    result = await _git(["push", "--porcelain", *args], root, timeout_s, emit)
    # What it says it pushed, held against what is there now.
    reported = set(_REPORT.findall(result.output.decode("utf-8", "replace")))
    if "-n" in args or "--dry-run" in args or not (reported or result.timed_out):
        return result
    if reported and uses_lfs(root):
        result.output += _WITHOUT_LFS
        result.total_bytes += len(_WITHOUT_LFS)
    after = await _refs(push, root)
    result.effects += _effects(push, before, after, reported)
    return result


def _effects(
    push: Push, before: dict[str, str] | None, after: dict[str, str] | None, reported: set[str]
) -> list[dict[str, Any]]:
    found = []
    for ref in sorted(reported or (before or {}).keys() | (after or {}).keys()):
        old, new = (before or {}).get(ref, ""), (after or {}).get(ref, "")
        if before is None or after is None or old != new:
            entry = pushed(ref, old, new if after is not None else "?", push.url, 0)
            entry["detail"]["name"] = push.remote if "/" not in push.remote and ":" not in push.remote else ""
            if before is None or after is None:  # the push went through, but where things were is not known
                entry |= {"reversibility": "irreversible", "evidence": "assumed", "undo_label": ""}
            found.append(entry)
    return found


async def _fetch_old(push: Push, before: dict[str, str], root: Path) -> None:
    """Have what is about to be overwritten here, or it could never be pushed back. Nothing points to it, as nothing of
    the person's may move; git keeps it for two weeks."""
    heads = [r if r.startswith("refs/") else f"refs/heads/{r}" for r in push.refs] or list(before)
    wanted = []
    for ref in heads:
        if ref in before and (await _git(["cat-file", "-e", before[ref]], root, _LOOK_S)).exit_code != 0:
            wanted.append(ref)
    if wanted:
        quiet = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="]
        await _git(["fetch", *quiet, push.remote or push.url, *wanted[:50]], root, _LOOK_S)


def cancelled_push(push: Push) -> list[dict[str, Any]]:
    """What is entered for a push that was stopped half way: it may have gone through."""
    entry = pushed("refs/" + (push.refs or ["(its branches)"])[0], "", "?", push.url, 0)
    entry |= {"reversibility": "irreversible", "evidence": "assumed", "undo_label": ""}
    entry["summary"] = f"May have pushed to {push.url}: it was stopped half way"
    return [entry]
