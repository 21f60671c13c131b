"""What stays the same along a branch: its system text and its list of tools, so that caches and thinking stay valid."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldline.context.system_prompt import MAX_INSTRUCTIONS, PromptParts, system_prompt
from worldline.engine.shared import Shared
from worldline.protocol.model import Mode
from worldline.session.model import Record
from worldline.tools.schema import schema_problem

logger = logging.getLogger(__name__)

_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")


def project_instructions(root: Path) -> list[tuple[str, str]]:
    """AGENTS.md and CLAUDE.md, from the top of the repository down to the workspace. A file that says the same as one
    before is left out, and so is a link that leads out of the repository: the text goes to the model."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    folders = [root]
    while folders[0] != top:
        folders.insert(0, folders[0].parent)
    found: list[tuple[str, str]] = []
    for folder in folders:
        for name in _INSTRUCTION_FILES:
            text = _read(folder / name, top)
            if text.strip() and text.strip() not in {t.strip() for _, t in found}:
                found.append((os.path.relpath(folder / name, root), text))
    return found


def _read(path: Path, top: Path) -> str:
    try:
        if not path.is_file() or not path.resolve().is_relative_to(top.resolve()):
            return ""
        with path.open("rb") as handle:
            return handle.read(4 * MAX_INSTRUCTIONS).decode("utf-8", "replace")
    except OSError as error:
        # A run goes on without it; the list of what the next request holds does not name it.
        logger.warning("%s cannot be read: %s", path, error)
        return ""


def records_at(shared: Shared, kind: str, at: str) -> list[Record]:
    """Records of this kind on the path to `at`, newest first."""
    doc = shared.doc
    here = doc.seq(at)
    return [r for r in reversed(doc.records(kind)) if r.node and doc.tree.is_ancestor(doc.seq(r.node), here)]


def frozen_system(shared: Shared, mode: Mode, confinement: Any, *, at: str = "", role: str = "") -> str:
    """The system text of the branch at `at` ("" = the cursor): the one it began with, as long as the mode is the same.
    `role` is what a sub-agent is told besides; it counts as part of the key. What is only looked at is not recorded."""
    doc = shared.doc
    node = at or doc.cursor
    for record in records_at(shared, "frozen_prompt", node):
        data = record.data
        same = data.get("mode") == mode and data.get("root") == str(shared.root)
        if same and (not role or data.get("role") == role):
            return str(data["text"])
    text = system_prompt(
        PromptParts(
            root=str(shared.root),
            mode=mode,
            platform=f"{platform.system()}, shell {Path(os.environ.get('SHELL', 'sh')).name}",
            git=f"A git repository, on branch {shared.branch.removeprefix('refs/heads/')}."
            if shared.info.is_git
            else "",
            confinement=confinement,
            instructions=project_instructions(shared.root),
            extra=shared.settings.text("instructions"),
        )
    )
    if role:
        text = f"{text.rstrip()}\n\n{role}"
    if not shared.info.read_only and (not at or role):
        doc.add_record(
            "frozen_prompt", {"mode": mode, "root": str(shared.root), "text": text, "role": role}, node=node
        )
    return text


def frozen_tools(shared: Shared, at: str = "") -> list[dict[str, Any]]:
    """Tools from outside that the branch at `at` was offered, in order: [{"name", "server", "tool", "description",
    "schema"}]."""
    found = records_at(shared, "frozen_tools", at or shared.doc.cursor)
    tools = found[0].data.get("tools", []) if found else []
    return [entry for entry in tools if not schema_problem(entry["schema"])]


def freeze_tools(shared: Shared, offered: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The list that holds for the branch at the cursor from here on, and the names that are new in it. What was
    offered once stays, as it was described then; what is new joins at the end."""
    before = frozen_tools(shared)
    known = {entry["name"] for entry in before}
    new = [entry for entry in offered if entry["name"] not in known]
    tools = [*before, *new]
    if new and not shared.info.read_only:
        shared.doc.add_record("frozen_tools", {"tools": tools}, node=shared.doc.cursor)
    return tools, [entry["name"] for entry in new] if before else []
