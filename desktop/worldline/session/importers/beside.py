"""Files beside a Claude Code session that belong to it: its sub-agents, and outputs that were too long."""

from __future__ import annotations

import json
from pathlib import Path

from worldline.core.errors import BadInput
from worldline.session.importers.packed import open_source

_LARGEST = 64 << 20
"""Bytes of an output that is taken over; of a larger one only the link is kept."""


def beside(session: Path, named: str) -> Path | None:
    """The file that a session names as its own, if it is there. Only below the session's own folder: a session from
    elsewhere must not make the importer copy any file of this machine."""
    folder = session.absolute().parent.resolve()
    parts = Path(named.replace("\\", "/")).parts
    for candidate in (Path(named), folder.joinpath(*parts[-3:])):
        try:
            found = candidate.resolve()
            if found.is_relative_to(folder) and found.is_file() and found.stat().st_size <= _LARGEST:
                return found
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def sub_agents(session: Path) -> list[Path]:
    """Files of the sub-agents of the session in `session`: in its folder, and of older versions the ones beside it."""
    own = session.with_name(session.name.split(".")[0]) / "subagents"
    found = sorted(p for p in own.rglob("agent-*.jsonl") if p.is_file()) if own.is_dir() else []
    stem = session.name.split(".")[0]
    found += [p for p in sorted(session.parent.glob("agent-*.jsonl")) if p != session and owner_of(p) == stem]
    return found


def owner_of(agent: Path) -> str:
    """Id of the session that a sub-agent's file belongs to; "" when it does not say."""
    if not agent.name.startswith("agent-"):
        return ""
    try:
        with open_source(agent) as file:
            first = json.loads(file.readline(1 << 20))
    except (OSError, ValueError, RecursionError, BadInput):
        return ""
    return str(first.get("sessionId") or "") if isinstance(first, dict) else ""
