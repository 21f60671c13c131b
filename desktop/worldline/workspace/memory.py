"""The last walk, kept between two starts of the program, so that a new process need not read every file again.

It only saves work: stat data decides as always, and a file that is damaged, of another version or of another workspace
is thrown away.
"""

from __future__ import annotations

import hashlib
import marshal
from pathlib import Path
from typing import Any

from worldline.workspace.after_power import LAST_WALK
from worldline.workspace.folders import IGNORED, Context, Dir
from worldline.workspace.ignore import RuleSet

_VERSION = 3


def _pack(node: Dir) -> tuple[Any, ...]:
    dirs = {name: _pack(child) for name, child in node.dirs.items()}
    rules = node.rules.text if node.rules is not None else None
    return (
        node.files, dirs, node.skipped, node.sig, node.tree, node.perms, rules, node.repo, node.in_ignored, node.mode, node.ino, node.clash, node.linked,
    )  # fmt: skip


def _unpack(row: tuple[Any, ...], prefix: str, context: Context) -> Dir:
    node = Dir()
    node.stale = False
    rules: bytes | None
    (node.files, dirs, node.skipped, node.sig, node.tree, node.perms, rules, node.repo, node.in_ignored, node.mode, node.ino, node.clash, node.linked) = row  # fmt: skip
    node.rules = RuleSet(rules, prefix) if rules is not None else None
    if node.repo or node.clash or node.linked or any(reason != IGNORED for reason in node.skipped.values()):
        context.special[prefix] = node
    for name, child in dirs.items():
        node.dirs[name] = _unpack(child, f"{prefix}{name}/", context)
    return node


def _head(work: Path, context: Context) -> tuple[Any, ...]:
    return (_VERSION, str(work), context.chosen, context.max_bytes, context.file_perm, context.dir_perm)


def save(
    folder: Path, work: Path, context: Context, top: Dir, rules: list[list[str]], roots: dict[str, Any]
) -> None:
    try:
        data = marshal.dumps((_head(work, context), rules, roots, _pack(top)))
    except (ValueError, RecursionError):  # folders nested too deep for it: it is only a saving
        return
    temp = folder / f"{LAST_WALK}.tmp"
    temp.write_bytes(hashlib.sha1(data, usedforsecurity=False).digest() + data)
    temp.replace(folder / LAST_WALK)


def load(folder: Path, work: Path, context: Context) -> tuple[Dir, list[list[str]], dict[str, Any]] | None:
    try:
        data = (folder / LAST_WALK).read_bytes()
    except OSError:
        return None
    digest, data = data[:20], data[20:]
    if hashlib.sha1(data, usedforsecurity=False).digest() != digest:
        return None
    try:
        head, rules, roots, row = marshal.loads(data)
    except (ValueError, EOFError, TypeError):
        return None
    if head != _head(work, context):
        return None
    return _unpack(row, "", context), rules, roots


def drop(folder: Path) -> None:
    (folder / LAST_WALK).unlink(missing_ok=True)
