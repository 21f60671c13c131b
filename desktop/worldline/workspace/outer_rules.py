"""Ignore rules that lie outside of the workspace's files: the person's own, and those of the repository."""

from __future__ import annotations

import os

import pygit2

from worldline.core.plainfile import read_plain
from worldline.workspace.ignore import RuleSet, Stack
from worldline.workspace.repos import GitRoot


def global_rules(root: GitRoot | None) -> bytes:
    """Text of the person's own ignore file (`core.excludesFile`), b"" when there is none."""
    name = ""
    try:
        config = root.config if root is not None else None
        if config is None:
            config = pygit2.Config.get_global_config()
        if "core.excludesfile" in config:
            name = str(config["core.excludesfile"] or "")
    except (OSError, KeyError, pygit2.GitError):
        name = ""
    path = name or f"{os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/ignore"
    path = os.path.expanduser(path)  # noqa: PTH111 - asked for each capture
    if not os.access(path, os.F_OK):  # as a rule
        return b""
    try:
        return read_plain(path)
    except OSError:
        return b""


def stack_for(root: GitRoot | None, global_text: bytes) -> Stack:
    stack: Stack = (RuleSet(global_text),)
    return (*stack, root.exclude_rules()) if root is not None else stack
