"""Comparing attempts, taking files over, and changing what the model sees."""

from __future__ import annotations

from worldline.agent.journal import one_line
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.kinds import NodeKind
from worldline.engine.effects import EffectList
from worldline.engine.files import Files
from worldline.engine.jumps import Jumps
from worldline.engine.queries import Queries
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.session.model import NodeDraft


class Edits:
    def __init__(self, shared: Shared, files: Files, jumps: Jumps) -> None:
        self._shared = shared
        self._files = files
        self._jumps = jumps

    async def compare(self, p: c.CompareFor) -> c.Compare:
        """Two to four attempts from where their paths part."""
        doc = self._shared.doc
        uids = list(dict.fromkeys(doc.resolve(n) for n in p.nodes))
        if not 2 <= len(uids) <= 4:
            raise BadInput("Two to four different nodes can be compared.", "Select them in the tree.")
        tree = doc.tree
        ancestor = doc.seq(uids[0])
        for uid in uids[1:]:
            ancestor = tree.lca(ancestor, doc.seq(uid))
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

    def bring_home(self, p: c.BringHome) -> c.BringHomeResult:
        raise WorldlineError(
            "Bringing changes to your branch is not part of this version.",
            "The fork's branch is an ordinary branch of your repository: merge it with git.",
            kind="unavailable",
        )

    def return_home(self) -> c.JumpAnswer:
        raise WorldlineError(
            "Returning to your own branch is not part of this version.",
            "Check it out with git; the session keeps its nodes.",
            kind="unavailable",
        )

    def take_file(self, p: c.TakeFile) -> c.JumpAnswer:
        raise WorldlineError(
            "Taking a single file from another node is not part of this version.",
            "Show its diff and copy what you need.",
            kind="unavailable",
        )

    def context_edit(self, p: c.ContextEdit) -> None:
        """From here on, on this branch, a node is left out of the view or replaced by a text."""
        doc = self._shared.doc
        uid = doc.resolve(p.node)
        if not doc.tree.is_ancestor(doc.seq(uid), doc.seq(doc.cursor)):
            raise BadInput("This node is not on the current branch.", "Go to a node below it first.")
        what = "left out" if p.replacement is None else "replaced"
        self._shared.journal().append(
            NodeDraft(
                kind=NodeKind.CONTEXT_EDIT,
                parent=doc.cursor,
                detail={"target": uid, "replacement": p.replacement},
                preview=one_line(f"{what} for the model: {doc.header(uid).preview}"),
            )
        )
