"""Side branches: the steps of a sub-agent, beside the branch that asked for them."""

from __future__ import annotations

from collections.abc import Callable

from worldline.agent.deps import Watcher
from worldline.agent.journal import Emit, Journal, mask_draft
from worldline.agent.loop import RunLoop
from worldline.agent.stops import RunEnd
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.protocol.events import NodeStored
from worldline.protocol.model import Header
from worldline.protocol.wire import Message
from worldline.provider.model import FallbackEvent, RetryEvent
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft

_NOT_SHOWN = frozenset({"delta", "reply_discarded"})
"""Belongs to the reply at the cursor; what a sub-agent writes is seen when its node is stored."""


class SideJournal(Journal):
    """Appends below a node of its own and never moves the cursor. Every node carries `SIDE_BRANCH`."""

    def __init__(
        self, doc: SessionDocument, emit: Emit, *, parent: str, run: str = "", branch: str = ""
    ) -> None:
        def quiet(name: str, message: Message) -> None:
            if name not in _NOT_SHOWN:
                emit(name, message)

        super().__init__(doc, quiet, run=run, branch=branch)
        self._tip = parent

    @property
    def tip(self) -> str:
        return self._tip

    def append(self, draft: NodeDraft, *, announce: bool = True) -> NodeHeader:
        mask_draft(draft)
        draft.run = draft.run or self.run
        draft.branch = draft.branch or self.branch
        draft.flags |= NodeFlag.SIDE_BRANCH
        header = self.doc.append(draft, move_cursor=False)
        self._tip = header.uid
        if announce:
            self.announce(header)
        return header

    def announce(self, header: NodeHeader) -> None:
        self.emit("node_stored", NodeStored(header=Header.of(header)))


class SideLoop(RunLoop):
    """The loop of a sub-agent. It is no run of the session: it belongs to the one that called it, and its end is a
    record beside the call (`side_run`)."""

    outer_end: Callable[[], RunEnd | None] = staticmethod(lambda: None)
    """What the run that called it was asked to end with, if it was."""

    def _cancelled_by(self) -> RunEnd:
        return self.outer_end() or RunEnd(
            StopReason.TIME_LIMIT, "It did not end within its time and was stopped."
        )

    async def _tell_hooks(self, end: RunEnd) -> None:
        """The hooks of the end are for the run of the person."""

    def _record(self, end: RunEnd) -> None:
        """Nothing here: who started it knows both the call and the end."""


class SideWatcher:
    """Passes on what the person should see of a sub-agent: that it works, waits, and what it costs."""

    def __init__(self, outer: Watcher, title: str) -> None:
        self._outer = outer
        self._title = title

    def working(self, sentence: str, state: str = "running") -> None:
        self._outer.working(f"Sub-agent ({self._title}): {sentence}", state)

    def retrying(self, event: RetryEvent | None) -> None:
        self._outer.retrying(event)

    def fell_back(self, event: FallbackEvent) -> None:
        self._outer.fell_back(event)

    def context(self, tokens: int, size: int, limit: int) -> None:
        """The context that is shown is the one of the branch at the cursor."""

    def used(self, usage: Usage, model: str) -> None:
        self._outer.used(usage, model)

    def cache(self, note: str) -> None:
        """As `context`."""

    def files_changed(self, node: str) -> None:
        self._outer.files_changed(node)
