"""A report on the attempt that is being left, for the one that begins at the target of a jump."""

from __future__ import annotations

import asyncio

from worldline.agent.conversation import conversation_seqs
from worldline.agent.summaries import Summariser
from worldline.context.branch_summary import BranchSummary, Choice, summarise_branch
from worldline.core.errors import WorldlineError
from worldline.core.ids import new_uid
from worldline.engine.models import ModelDesk
from worldline.engine.shared import Shared


class BranchSummaries:
    """Makes branch summaries. One at a time; `cancel` gives up the one that is being made."""

    def __init__(self, shared: Shared, models: ModelDesk) -> None:
        self._shared = shared
        self._models = models
        self._task: asyncio.Task[BranchSummary] | None = None

    async def summarise(self, target: str, wish: str) -> BranchSummary:
        """What the fork at `target` is told of the path that is left. `wish`: none, auto, or instructions. Stores
        nothing. Raises WorldlineError (kind `cancelled`) when it is given up."""
        if wish in ("none", ""):
            return BranchSummary(None)
        shared = self._shared
        doc = shared.doc
        common = doc.tree.lca(doc.seq(doc.cursor), doc.seq(target))
        path = shared.memory.path(conversation_seqs(doc, doc.cursor))
        choice: Choice = "auto" if wish == "auto" else "instructions"
        await self._models.choose()
        place = self._models.place()
        asker = Summariser(
            self._models, place, self._models.chain(place.model), asyncio.Event(), shared.status
        )
        # Not "jumping": as long as it is being written it can be stopped.
        shared.status.set(state="compacting", sentence="The attempt that you leave is being summarised.")
        self._task = asyncio.ensure_future(
            summarise_branch(
                path,
                doc.uid(common) if common else "",
                choice=choice,
                ask=asker.ask,
                instructions="" if choice == "auto" else wish,
                task_state=doc.task_state(doc.cursor),
            )
        )
        try:
            summary = await self._task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
                raise
            raise WorldlineError(
                "The jump was cancelled; nothing was changed.", "You are where you were.", kind="cancelled"
            ) from None
        finally:
            self._task = None
        if summary.draft is not None:
            summary.draft.uid = new_uid()
            summary.draft.usage = asker.used if asker.used.answers else None
            summary.draft.model = asker.served
        if summary.note:
            shared.journal().diagnose("branch_summary", summary.note, node=doc.cursor)
        return summary

    def cancel(self) -> None:
        """Give up the summary that is being made, and with it the jump."""
        if self._task is not None:
            self._task.cancel()
