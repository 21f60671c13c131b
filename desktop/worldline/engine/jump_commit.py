"""A jump becomes part of the session, in one commit, and is told."""

from __future__ import annotations

from typing import Any

from worldline.engine.branches import short
from worldline.engine.home import OWN, show_home
from worldline.engine.shared import Shared
from worldline.engine.standing import show_context
from worldline.protocol.events import CursorMoved, NodeStored
from worldline.protocol.model import Header
from worldline.session.model import NodeDraft
from worldline.workspace.model import RestoreReport


def commit_jump(shared: Shared, facts: dict[str, Any], report: RestoreReport) -> None:
    """Make the jump part of the session: cursor, record and branch in one commit."""
    doc = shared.doc
    kept = [i.path for i in report.items if i.action in ("keep_mine", "keep_foreign", "conflict")]
    unsure = [i.path for i in report.items if i.unsure and i.path in set(kept)]
    done = {**facts, "kept_unsure": unsure, "branch": report.branch, "kept": kept, "verified": report.verified,
            "of": report.of}  # fmt: skip
    draft: NodeDraft | None = done.pop("summary", None)
    home = done.pop("home", None)
    commands: list[str] = done.pop("commands")
    with doc.transaction():
        doc.set_cursor(facts["cursor"], "jump")
        if draft is not None:
            draft.parent = facts["cursor"]
            draft.branch = f"refs/heads/{report.branch}" if report.branch else shared.branch
            stored = doc.append(draft)
            done["cursor"] = stored.uid
        if unsure:
            shared.meanwhile.carry(commands)
        doc.add_record("jump", done, node=facts["node"])
        if home is not None and f"refs/heads/{report.branch}".startswith(OWN):
            doc.add_record("home", home, node=home["node"])
        if facts.get("returned"):
            doc.add_record(
                "home", {"returned": True, "left": short(shared.branch), "ahead": 0}, node=facts["node"]
            )
        if report.branch or facts.get("returned"):
            doc.add_record(
                "branch",
                {"name": report.branch, "node": facts["cursor"], "commit": facts["commit"]},
                node=facts["cursor"],
            )
    if report.branch:
        shared.branch = f"refs/heads/{report.branch}"
    elif facts.get("returned"):
        shared.branch = ""
    if draft is not None:
        shared.emit("node_stored", NodeStored(header=Header.of(stored)))


def announce_jump(shared: Shared) -> None:
    cursor = shared.doc.cursor
    shared.emit("cursor_moved", CursorMoved(node=cursor, why="jump", branch=shared.branch))
    show_home(shared)
    show_context(shared)
    shared.status.files_changed(cursor)
