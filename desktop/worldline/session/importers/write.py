"""An imported tree as a session document of our own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import worldline
from worldline.core.ids import is_node_id
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session.document import SessionDocument
from worldline.session.importers.tree import ImportedTree, SourceNode, parents_first
from worldline.session.model import NodeDraft, NodeEnd

_BATCH = 500
"""Nodes in one commit: an import that is killed leaves no file behind, so durability per node buys nothing."""


def write_session(tree: ImportedTree, out: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Write `tree` to the new file `out`; returns the number of nodes written. `progress(done, total)` may raise to
    cancel: the unfinished file is removed by the caller."""
    workspace = {"mode": "none", "root": tree.cwd, "work_path": "", "imported_from": tree.format,
                 "base_commit": tree.base_commit}  # fmt: skip
    title = tree.title or _title_of(tree)
    document = SessionDocument.create(
        out, title=title, workspace=workspace, app_version=worldline.__version__
    )
    try:
        root = document.append(
            NodeDraft(kind=NodeKind.ROOT, parent=None, preview=f"imported from {tree.format}")
        )
        written: dict[str, str] = {}
        nodes = parents_first(tree)
        for start in range(0, len(nodes), _BATCH):
            with document.transaction():
                for node in nodes[start : start + _BATCH]:
                    written[node.id] = _append(
                        document, node, written.get(node.parent or "", root.uid), written
                    )
            if progress is not None:
                progress(min(start + _BATCH, len(nodes)), len(nodes))
        document.set_cursor(written.get(tree.leaf, root.uid), "open")
        for target, label in tree.labels.items():
            if target in written and label:
                document.add_record("label", {"text": label}, node=written[target])
        document.add_record("import", report_of(tree, out, len(nodes)))
        return len(nodes)
    finally:
        document.close()


def _append(document: SessionDocument, node: SourceNode, parent: str, written: dict[str, str]) -> str:
    detail = dict(node.detail)
    if node.call is not None:
        detail["call"] = {"id": node.call["id"], "name": node.call["name"], "input": node.call["input"]}
    kept = detail.get("kept_from")
    if kept is not None:
        detail["kept_from"] = written.get(str(kept), kept)
    several = detail.get("kept")
    if isinstance(several, list):
        detail["kept"] = [written.get(str(uid), uid) for uid in several]
    target = detail.get("target")
    if target is not None:
        detail["target"] = written.get(str(target), target)
    if node.attachment is not None:
        try:
            detail["persisted_output"]["blob"] = document.put_blob(node.attachment.read_bytes())
        except OSError as error:
            detail["persisted_output"]["not_copied"] = error.strerror or str(error)
    is_tool = node.kind is NodeKind.IMPORTED_TOOL
    header = document.append(
        NodeDraft(
            kind=node.kind,
            parent=parent,
            message=node.message,
            detail=detail,
            preview=node.preview,
            outcome=Outcome.RUNNING if is_tool else node.outcome,
            flags=node.flags | NodeFlag.IMPORTED,
            tool=node.tool,
            model=node.model,
            state="",
            usage=node.usage,
            uid=_uid_of(node.id),
            created=node.created,
        ),
        move_cursor=False,
    )
    if is_tool:
        # Also calls without a result get an end: this document is not the place where they are still running.
        # It ended when it did there, not now.
        at = max(node.finished, node.created)
        end = NodeEnd(outcome=node.outcome, message=node.result, preview=node.preview, at=at)
        document.finish(header.uid, end)
    return header.uid


def _uid_of(source_id: str) -> str:
    """The source's own id where it can be one of ours; else one that is made from it, always the same."""
    if is_node_id(source_id):
        return source_id
    return hashlib.sha256(source_id.encode("utf-8", "replace")).hexdigest()[:16]


def _title_of(tree: ImportedTree) -> str:
    for node in tree.nodes:
        if node.kind is NodeKind.IMPORTED_USER and node.preview:
            return node.preview[:80]
    return Path(tree.source).stem


def report_of(tree: ImportedTree, out: Path | None, nodes: int) -> dict[str, Any]:
    """One entry of `worldline import --json` (design §9)."""
    return {
        "source": tree.source,
        "format": tree.format,
        "out": str(out) if out is not None else "",
        "records": tree.lines.records,
        "nodes": nodes,
        "branches": tree.branches,
        "compactions": tree.compactions,
        "recovered": tree.lines.recovered,
        "gaps": [g.to_json() for g in tree.lines.gaps],
        "orphan_calls": tree.orphan_calls,
        "orphan_results": tree.orphan_results,
        "warnings": [*tree.lines.warnings, *_notes(tree)],
        "unknown": tree.unknown_types,
        "side_files": tree.side_files,
        "workspace": tree.workspace,
    }


def _notes(tree: ImportedTree) -> list[str]:
    notes = []
    if tree.side_files:
        notes.append(f"{tree.side_files} files of sub-agents beside it were read with it")
    if tree.unknown_types:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(tree.unknown_types.items()))
        notes.append(f"record types that are not known, kept as they are: {kinds}")
    return notes
