"""Comparing attempts, taking files over, and changing what the model sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from worldline.agent.conversation import conversation_seqs
from worldline.agent.journal import one_line
from worldline.context.budget import Limits
from worldline.context.lossy import expand_draft, lossy_at
from worldline.context.model import ViewOptions
from worldline.core.errors import BadInput, WorkspaceError
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.engine.disk_node import save_disk
from worldline.engine.effects import EffectList
from worldline.engine.files import Files
from worldline.engine.jumps import shown_path
from worldline.engine.models import ModelDesk
from worldline.engine.queries import Queries
from worldline.engine.recovery import home_store
from worldline.engine.shared import Shared
from worldline.engine.views import poisoned_blocks
from worldline.protocol import commands as c
from worldline.protocol.model import JumpResult, PlanEntry
from worldline.session.branches import common_ancestor
from worldline.session.model import NodeDraft

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace
    from worldline.workspace.home_report import HomeReport
    from worldline.workspace.take import Taken

_SAY_NOTHING = frozenset({NodeKind.ROOT, NodeKind.JUMP, NodeKind.EXTERNAL_CHANGE, NodeKind.CONTEXT_EDIT})


class Edits:
    def __init__(self, shared: Shared, files: Files, models: ModelDesk, busy: Callable[[], bool]) -> None:
        self._shared = shared
        self._models = models
        self._busy = busy
        self._files = files

    async def compare(self, p: c.CompareFor) -> c.Compare:
        """Two to four attempts from where their paths part."""
        doc = self._shared.doc
        uids = list(dict.fromkeys(doc.resolve(n) for n in p.nodes))
        if not 2 <= len(uids) <= 4:
            raise BadInput("Two to four different nodes can be compared.", "Select them in the tree.")
        tree = doc.tree
        ancestor = common_ancestor(tree, map(doc.seq, uids))
        if not ancestor:
            raise BadInput("These nodes have no common beginning.", "Compare nodes of one tree.")
        top = doc.uid(ancestor)
        effects = EffectList(self._shared).all()
        attempts = []
        for uid in uids:
            facts = Queries(self._shared).attempt(uid, top)
            files = await self._files.between(top, uid)
            own = set(facts["path"])
            attempts.append(
                c.Attempt(
                    **facts,
                    files=files,
                    added=sum(f.added for f in files),
                    removed=sum(f.removed for f in files),
                    effects=[e for e in effects if e.node in own],
                )
            )
        goal = next(
            (h.preview for h in reversed(doc.headers_of(tree.path(ancestor))) if h.kind is NodeKind.USER), ""
        )
        return c.Compare(ancestor=top, goal=goal, attempts=attempts)

    async def bring_home(self, p: c.BringHome) -> c.BringHomeResult:
        """Bring a node's files into the person's own folder; `dry_run` shows what would be done."""
        shared = self._shared
        shared.writable()
        if shared.info.workspace_mode == "in_place":
            raise BadInput(
                "This session works in your folder already.", "Commit or merge what is there with git."
            )
        state = shared.state(shared.doc.resolve(p.node))
        start = shared.good_state(shared.doc.resolve("root"))
        root = Path(shared.info.root)
        store = home_store(shared)

        def bring(source: Workspace) -> HomeReport:
            from worldline.workspace.bring_home import bring_home
            from worldline.workspace.engine import Workspace

            home = Workspace(root, store)
            try:
                return bring_home(
                    source, home, state, how=p.how, start=start, message=p.message, branch=p.branch,
                    dry_run=p.dry_run, choices=p.choices,
                )  # fmt: skip
            finally:
                home.close()

        report = await shared.workspace().call(bring)
        return c.BringHomeResult(
            entries=[
                PlanEntry(path=shown_path(e.path), action=e.action, reason=e.reason) for e in report.entries
            ],
            conflicts=[shown_path(path) for path in report.conflicts],
            done=report.done,
            branch=report.branch,
            commit=report.commit,
            note=report.note,
        )

    async def take_file(self, p: c.TakeFile) -> c.JumpAnswer:
        """Put a file, or some hunks of it, from another node onto disk; what is there becomes a node first."""
        shared = self._shared
        shared.writable()
        doc = shared.doc
        async with shared.turnstile:
            if self._busy():
                raise BadInput("A run is going on.", "Stop it first, or wait.")
            state = shared.state(doc.resolve(p.node))
            against = shared.state(doc.resolve(p.against)) if p.against not in ("", "disk") else ""
            last = shared.good_state(doc.cursor)

            def take(workspace: Workspace) -> Taken:
                from worldline.workspace.take import take_file

                return take_file(
                    workspace, state, p.path, hunks=p.hunks, against=against, last=last, context=p.context,
                    undo=p.undo, other=p.other, remove=p.remove,
                )  # fmt: skip

            await save_disk(shared, "before a file was taken over")
            taken = await shared.workspace().call(take)
            if not taken.report.done:
                raise WorkspaceError(taken.note, "Nothing was changed.", kind="not_taken")
            taken_from = self._asked_for(doc.resolve(p.node))
            await save_disk(shared, f"took {p.path} from {taken_from}", by_others=False)
        shared.status.files_changed(doc.cursor)
        return c.JumpAnswer(
            result=JumpResult(
                node=doc.resolve(p.node), cursor=doc.cursor, branch=shared.branch.removeprefix("refs/heads/"),
                verified=taken.report.verified, of=taken.report.of, note=taken.note,
            )
        )  # fmt: skip

    def _asked_for(self, uid: str) -> str:
        """What tells an attempt from others: its last prompt. Its last words are "Done." in all of them."""
        doc = self._shared.doc
        for seq in reversed(doc.tree.path(doc.seq(uid))):
            header = doc.headers_of([seq])[0]
            if header.kind is NodeKind.USER and not header.flags & NodeFlag.HIDDEN:
                return header.preview[:60]
        return doc.header(uid).preview[:60]

    def context_edit(self, p: c.ContextEdit) -> None:
        """From here on, on this branch, a node or a whole turn is left out of the view, replaced by a text, or sent
        again as it was. A node of its own: nothing is deleted, and jumping before it undoes it."""
        self._may_edit()
        doc = self._shared.doc
        uid = doc.resolve(p.node)
        if not doc.tree.is_ancestor(doc.seq(uid), doc.seq(doc.cursor)):
            raise BadInput("This node is not on the current branch.", "Go to a node below it first.")
        kind = doc.header(uid).kind
        if p.scope == "node" and kind in _SAY_NOTHING:
            raise BadInput(
                "This node says nothing to the model.", "Choose a message, a reply or a tool call."
            )
        if p.restore and p.replacement is not None:
            raise BadInput(
                "A node can be restored or replaced, not both.", "Restore it first, then replace it."
            )
        what = "sent again" if p.restore else "left out" if p.replacement is None else "replaced"
        which = "a turn is " if p.scope == "turn" else ""
        self._shared.journal().append(
            NodeDraft(
                kind=NodeKind.CONTEXT_EDIT,
                parent=doc.cursor,
                detail={"target": uid, "replacement": p.replacement, "scope": p.scope, "restore": p.restore},
                preview=one_line(f"{which}{what} for the model: {doc.header(uid).preview}"),
            )
        )

    def expand(self) -> None:
        """From here on, on this branch, the originals stand in the view in place of summaries. Raises BadInput where
        nothing is summarised, or where the originals do not fit into the model."""
        self._may_edit()
        doc = self._shared.doc
        place = self._models.place()
        found = lossy_at(
            self._shared.memory.path(conversation_seqs(doc, doc.cursor)),
            ViewOptions(model=place.model, local=place.local, poisoned=poisoned_blocks(self._shared)),
            Limits(self._models.window()),
        )
        if not found.steps:
            raise BadInput(
                "Nothing is summarised on this branch.", "The model knows all of it word for word."
            )
        if not found.can_expand:
            raise BadInput(
                found.note, "Choose a model with a larger window, or go to the node that you need."
            )
        self._shared.journal().append(expand_draft(doc.cursor, found))

    def _may_edit(self) -> None:
        self._shared.writable()
        if self._busy():
            raise BadInput("A run is going on.", "Stop it first, then change what the model sees.")
        if self._shared.turnstile.locked():
            raise BadInput("The session is being changed at this moment.", "Try again in a moment.")
