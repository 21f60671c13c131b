"""Bringing what a node has to the person's branch, and taking files from other nodes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.kinds import NodeKind
from worldline.engine.jumps import entry, short
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import JumpResult, PlanEntry
from worldline.session.model import NodeDraft

if TYPE_CHECKING:
    from worldline.workspace.bring_home import HomeReport
    from worldline.workspace.engine import Workspace
    from worldline.workspace.take import Taken

_CHOICES: dict[str, Literal["", "keep", "restore"]] = {"ours": "keep", "theirs": "restore"}


def home_store(root: Path) -> Path:
    """Copies of the person's folder, taken before something is brought there; apart from the session's own."""
    name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return paths.stores_dir() / f"home-{name}"


class Home:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def bring(self, p: c.BringHome) -> c.BringHomeResult:
        """A preview, or the thing itself. Conflicts without a choice: nothing is done and they are listed."""
        shared = self._shared
        if not p.dry_run:
            shared.writable()
        doc = shared.doc
        state = shared.state(doc.resolve(p.node))
        start = shared.good_state(doc.resolve("root"))
        branch = p.branch or (f"from-agent/{shared.slug}" if p.how == "branch" else "")
        root = Path(shared.info.root)
        in_place = shared.info.workspace_mode == "in_place"

        def act(source: Workspace) -> HomeReport:
            from worldline.workspace.bring_home import bring_home
            from worldline.workspace.engine import Workspace

            home = source if in_place else Workspace(root, home_store(root))
            try:
                return bring_home(
                    source, home, state, how=p.how, start=start, message=p.message, branch=branch,
                    dry_run=p.dry_run, choices=p.choices,
                )  # fmt: skip
            finally:
                if home is not source:
                    home.close()

        async with shared.turnstile:
            report = await shared.workspace().call(act)
        entries = [
            PlanEntry(path=e.path, action=e.action, reason=e.reason, choice=_CHOICES.get(e.choice, ""))
            for e in report.entries
        ]
        return c.BringHomeResult(
            entries=entries, conflicts=report.conflicts, done=report.done, branch=report.branch,
            commit=report.commit, note=report.note or f"In {report.path}.",
        )  # fmt: skip

    async def take(self, p: c.TakeFile) -> c.JumpAnswer:
        """Put a file, or some of its changes, as another node has it onto disk. What is there and in no node yet becomes
        a node first."""
        shared = self._shared
        shared.writable()
        doc = shared.doc
        node = doc.resolve(p.node)
        state = shared.state(node)
        against = shared.good_state(doc.resolve(p.against)) if p.against and p.against != "disk" else ""
        last = shared.good_state(doc.cursor)

        def act(workspace: Workspace) -> Taken:
            from worldline.workspace.take import take_file

            return take_file(workspace, state, p.path, hunks=p.hunks, against=against, last=last)

        async with shared.turnstile:
            taken = await shared.workspace().call(act)
            if not taken.report.done or taken.report.failed:
                raise WorkspaceError(
                    taken.note or "Nothing was changed.", "Try again.", kind="restore_failed"
                )
            safety = self._keep(taken.safety) if taken.safety_changed else ""
        shared.status.files_changed(doc.cursor)
        result = JumpResult(
            node=node, cursor=doc.cursor, branch=short(shared.branch), verified=taken.report.verified,
            of=taken.report.of, entries=[entry(i) for i in taken.report.items], safety_node=safety, note=taken.note,
        )  # fmt: skip
        return c.JumpAnswer(result=result)

    def _keep(self, state: str) -> str:
        draft = NodeDraft(
            NodeKind.EXTERNAL_CHANGE,
            self._shared.doc.cursor,
            state=state,
            preview="before a file was taken from another node",
        )
        return self._shared.journal().append(draft).uid
