"""Which agent wrote a file, and its records as a tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldline.core.errors import BadInput
from worldline.session.importers import claude, codex, pi
from worldline.session.importers.beside import sub_agents
from worldline.session.importers.lines import Gap, LineReport, SourceRecord, read_records
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


class NoSession(BadInput):
    """A file that holds no session of a known agent."""


def detect(records: list[dict[str, Any]]) -> str:
    """Name of the format, "" if it is none of the known ones."""
    for name, (looks_like, _build) in FORMATS.items():
        if looks_like(records):
            return name
    return ""


def read_session(path: Path) -> ImportedTree:
    """Read one file of another agent, with what stands beside it and belongs to it. Only ever reads.

    Raises BadInput when the file cannot be read (NoSession: holds no session). Damage inside is not an error: it is in
    `tree.lines.gaps` and `tree.lines.warnings`.
    """
    report = LineReport()
    records = _records(path, report, 0)
    name = detect([r.value for r in records[:_SNIFF]])
    if not name:
        # Whole records of another kind are another program's business; nothing but damage may have been a session.
        foreign = report.records or not report.gaps
        raise (NoSession if foreign else BadInput)(
            f"{path.name} holds no session of pi, Claude Code or Codex.",
            "These are JSON lines files, usually in ~/.pi/agent/sessions, ~/.claude/projects and ~/.codex/sessions.",
        )
    tree = ImportedTree(format=name, source=str(path), lines=report)
    if name == "claude-code":
        for file in sub_agents(path):
            records += _side_records(file, tree, len(records))
    FORMATS[name][1](tree, records)
    if report.undecodable:
        tree.warn(f"{report.undecodable} lines hold bytes that are not UTF-8; these are shown as �")
    return tree


def _records(path: Path, report: LineReport, first: int) -> list[SourceRecord]:
    records: list[SourceRecord] = []
    try:
        for record in read_records(path, report):
            record.order = first + len(records)
            records.append(record)
    except IsADirectoryError as error:
        raise BadInput(
            f"{path} is a folder.", "Name a session file, or import the folder as a whole."
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{path} cannot be read: {why}.", "Check the name and the permissions.") from error
    return records


def _side_records(file: Path, tree: ImportedTree, first: int) -> list[SourceRecord]:
    """Records of a sub-agent's file; what is wrong with it is told, and keeps nothing else from being read."""
    report = LineReport()
    try:
        records = _records(file, report, first)
    except BadInput as error:
        tree.warn(f"the sub-agent in {file.name} is left out: {error.message}")
        return []
    tree.side_files += 1
    tree.lines.records += report.records
    tree.lines.recovered += report.recovered
    tree.lines.undecodable += report.undecodable
    tree.lines.gaps += [Gap(g.line, g.offset, f"{file.name}: {g.reason}") for g in report.gaps]
    for record in records:
        record.file = file.name
        record.value["isSidechain"] = True
    return records
