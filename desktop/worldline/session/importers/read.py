"""Which agent wrote a file, and its records as a tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldline.core.errors import BadInput
from worldline.session.importers import claude, codex, pi
from worldline.session.importers.lines import LineReport, SourceRecord, read_records
from worldline.session.importers.tree import ImportedTree

FORMATS: dict[
    str, tuple[Callable[[list[dict[str, Any]]], bool], Callable[[ImportedTree, list[SourceRecord]], None]]
]
FORMATS = {
    "claude-code": (claude.looks_like, claude.build),
    "codex": (codex.looks_like, codex.build),
    "pi": (pi.looks_like, pi.build),
}
_SNIFF = 200
"""Records looked at to tell the format."""


def detect(records: list[dict[str, Any]]) -> str:
    """Name of the format, "" if it is none of the known ones."""
    for name, (looks_like, _build) in FORMATS.items():
        if looks_like(records):
            return name
    return ""


def read_session(path: Path) -> ImportedTree:
    """Read one file of another agent. Only ever reads it.

    Raises BadInput when the file cannot be read or holds no session. Damage inside is not an error: it is in
    `tree.lines.gaps` and `tree.lines.warnings`.
    """
    report = LineReport()
    try:
        records = list(read_records(path, report))
    except IsADirectoryError as error:
        raise BadInput(
            f"{path} is a folder.", "Name a session file, or import the folder as a whole."
        ) from error
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.", "Check the name and the permissions."
        ) from error
    if path.suffix == ".gz" or path.suffix == ".zst":
        raise BadInput(f"{path.name} is compressed.", "Unpack it first, then import the .jsonl file.")
    name = detect([r.value for r in records[:_SNIFF]])
    if not name:
        raise BadInput(
            f"{path.name} holds no session of pi, Claude Code or Codex.",
            "These are JSON lines files, usually in ~/.pi/agent/sessions, ~/.claude/projects and ~/.codex/sessions.",
        )
    tree = ImportedTree(format=name, source=str(path), lines=report)
    FORMATS[name][1](tree, records)
    if report.undecodable:
        tree.warn(f"{report.undecodable} lines hold bytes that are not UTF-8; these are shown as �")
    return tree
