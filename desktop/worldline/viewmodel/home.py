"""What is said when the work of a node has come to the person's own folder or branch. No Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from worldline.viewmodel.visible import settled
from worldline.viewmodel.words import translate

_COMMIT = 10
"""Digits of a commit that are shown."""


def brought_words(how: str, result: Mapping[str, Any], root: str) -> str:
    """`result` is a `BringHomeResult` that is done, `how` what was asked for, `root` the person's folder."""
    actions = Counter(str(entry.get("action", "")) for entry in result.get("entries") or [])
    count = actions["create"] + actions["overwrite"] + actions["delete"]
    files = translate("home", "1 file") if count == 1 else translate("home", "{n} files").format(n=count)
    branch = settled(str(result.get("branch", "")).removeprefix("refs/heads/"))
    commit = str(result.get("commit", ""))[:_COMMIT]
    if how == "branch":
        said = translate("home", "The branch {branch} has the work now ({files}). Merge it when you like.")
    elif how == "commit" and branch:
        said = translate("home", "Brought to {branch} as commit {commit} ({files}).")
    elif how == "commit":
        said = translate("home", "Brought to your folder as commit {commit} ({files}).")
    else:
        said = translate("home", "Brought to {root} as uncommitted changes ({files}).")
    parts = [said.format(branch=branch, commit=commit, files=files, root=settled(root))]
    if actions["keep_mine"]:
        parts.append(translate("home", "Kept as you have them: {n}.").format(n=actions["keep_mine"]))
    if actions["not_captured"]:
        parts.append(translate("home", "Could not be brought: {n}.").format(n=actions["not_captured"]))
    return " ".join(parts)
