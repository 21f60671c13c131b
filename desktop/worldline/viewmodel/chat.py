"""The chat of one path as rows: built from headers, filled with bodies, kept up to date by events. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.protocol.events import Delta
from worldline.protocol.model import Approval, Body, Question, RunInfo
from worldline.viewmodel.chat_rows import (
    ChatRow,
    DividerKind,
    LiveBlock,
    OutputTail,
    RowKind,
    divider_kind,
    row_kind,
)
from worldline.viewmodel.tree_model import TreeModel

QUIET_STOPS = frozenset({"", "completed"})
_HIDDEN, _FALLBACK = int(NodeFlag.HIDDEN), int(NodeFlag.FALLBACK)

MOST_BODIES = 3_000
"""That are kept, those of what is shown apart."""
MOST_TAILS = 100
"""Outputs of commands that are kept before their results are there; only some run at a time."""


class ChatModel:
    """Rows of the path to one node. `on_change(first, removed, added)` says which rows were replaced;
    a row whose content changed in place only gets a larger revision and `on_touch(row)`."""

    def __init__(self) -> None:
        self.rows: list[ChatRow] = []
        self.path: list[NodeHeader] = []
        self.live = True
        """Whether the path ends at the cursor: only then events of the run belong here."""
        self._by_key: dict[str, ChatRow] = {}
        self._places: dict[str, int] | None = None
        """Number of each row by its key; None = not counted since the rows changed."""
        self._bodies: dict[str, Body] = {}
        self._runs: dict[str, RunInfo] = {}
        self._offers: dict[str, list[str]] = {}
        self._approvals: dict[str, Approval] = {}
        self._questions: dict[str, Question] = {}
        self._replies: dict[str, ChatRow] = {}
        self._outputs: dict[str, OutputTail] = {}
        self._forks: Mapping[str, int] = {}
        self._left: frozenset[str] = frozenset()
        self._stale: list[ChatRow] = []
        """Rows that changed in place while the rows were made anew."""
        self.on_change: Callable[[int, int, int], None] = lambda first, removed, added: None
        self.on_touch: Callable[[ChatRow], None] = lambda row: None

    # -- the path

    def set_path(
        self,
        path: Sequence[NodeHeader],
        *,
        forks: Mapping[str, int] | None = None,
        left: Iterable[str] = (),
        live: bool = True,
    ) -> None:
        """Show the path root → node. `forks` maps uids to the number of other ways that lead on from there; `left` are the nodes
        where the path leaves a run that went on elsewhere: how that run ended is not part of this path.
        Rows that stay are kept with their content, so following a run never rebuilds what is on screen."""
        self.path = list(path)
        self.live = live
        self._forks = forks or {}
        self._left = frozenset(left)
        self._rebuild()

    def _rebuild(self) -> None:
        wanted = list(self._wanted())
        old = self.rows
        first = 0
        limit = min(len(old), len(wanted))
        while first < limit and old[first].key == wanted[first].key:
            first += 1
        tail = 0
        while tail < limit - first and old[-1 - tail].key == wanted[-1 - tail].key:
            tail += 1
        removed, added = len(old) - first - tail, len(wanted) - first - tail
        self.rows = wanted
        self._by_key = {row.key: row for row in wanted}
        self._places = None
        if removed or added:
            self.on_change(first, removed, added)
        stale, self._stale = self._stale, []
        for row in stale:
            self._touch(row)

    def _wanted(self) -> Iterable[ChatRow]:
        previous_run, previous = "", ""
        by_prompt = {run.prompt: run.uid for run in self._runs.values() if run.prompt}
        for at, header in enumerate(self.path):
            flags = int(
                header.flags
            )  # bits of a plain number: the enum would make an object for each question
            if flags & _HIDDEN:
                continue
            # A prompt may name its run only through the run's own record.
            run = header.run or by_prompt.get(header.uid, "")
            if previous_run and run and run != previous_run and previous not in self._left:
                yield from self._stop_row(previous_run)
            if flags & _FALLBACK and header.kind is NodeKind.ASSISTANT:
                yield self._row(f"fallback:{header.uid}", RowKind.DIVIDER, header, DividerKind.FALLBACK)
            kind = row_kind(header.kind)
            yield self._row(
                header.uid, kind, header, divider_kind(header.kind) if kind is RowKind.DIVIDER else None
            )
            others = self._forks.get(header.uid, 0)
            if others and at + 1 < len(self.path):
                row = self._row(f"fork:{header.uid}", RowKind.DIVIDER, header, DividerKind.FORK)
                row.count = others
                yield row
            if run:
                previous_run, previous = run, header.uid
        if self.live:
            yield from self._replies.values()
        if previous_run and previous not in self._left:
            yield from self._stop_row(previous_run, here=self.live)
        if self.live:
            for approval in self._approvals.values():
                row = self._row(f"approval:{approval.id}", RowKind.APPROVAL, None, None)
                row.approval = approval
                yield row
            for question in self._questions.values():
                row = self._row(f"question:{question.id}", RowKind.QUESTION, None, None)
                row.question = question
                yield row

    def _stop_row(self, uid: str, *, here: bool = False) -> Iterable[ChatRow]:
        """How a run ended. What can be done about it is offered at the cursor only: elsewhere it would act here."""
        run = self._runs.get(uid)
        if run is None or not run.ended or run.stop_reason in QUIET_STOPS:
            return
        row = self._row(f"stop:{uid}", RowKind.STOP, None, None)
        row.run = run
        offers = self._offers.get(uid, run.offers) if here else []
        if row.offers != offers:
            row.offers = offers
            self._stale.append(row)
        yield row

    def _row(
        self, key: str, kind: RowKind, header: NodeHeader | None, divider: DividerKind | None
    ) -> ChatRow:
        row = self._by_key.get(key)
        if row is None:
            row = ChatRow(key, kind, header, divider=divider)
        if header is not None and row.header is not header:
            changed = (
                row.header is None
                or row.header.outcome != header.outcome
                or row.header.finished != header.finished
            )
            row.header = header
            if changed:
                row.revision += 1
        if header is not None:
            row.body = self._bodies.get(header.uid)
            row.output = self._outputs.get(header.uid)
        return row

    def row(self, key: str) -> ChatRow | None:
        return self._by_key.get(key)

    def index_of(self, key: str) -> int:
        if self._places is None:
            self._places = {row.key: at for at, row in enumerate(self.rows)}
        return self._places.get(key, -1)

    # -- bodies

    def missing(self, rows: Iterable[ChatRow]) -> list[str]:
        """uids of rows that need their body."""
        return list(dict.fromkeys(row.uid for row in rows if row.uid and row.uid not in self._bodies))

    def set_bodies(self, bodies: Iterable[Body]) -> None:
        for body in bodies:
            self._bodies[body.uid] = body
            for key in (body.uid, f"fallback:{body.uid}"):
                if (row := self._by_key.get(key)) is not None:
                    row.body = body
                    if row.header is not None and row.header.finished:
                        # What it printed meanwhile is in its result, or at the end of it.
                        row.output = None
                        self._outputs.pop(body.uid, None)
                    self._touch(row)
        if len(self._bodies) > MOST_BODIES:
            self._forget()

    def _forget(self) -> None:
        """Let go of the oldest bodies of other paths; they are asked for again when they are needed."""
        shown = {header.uid for header in self.path}
        old = [uid for uid in self._bodies if uid not in shown]
        for uid in old[: len(self._bodies) - MOST_BODIES * 3 // 4]:
            del self._bodies[uid]

    def body(self, uid: str) -> Body | None:
        return self._bodies.get(uid)

    # -- events of a run

    def node_changed(self, header: NodeHeader) -> None:
        """The row of a node was written again (its end): its body is out of date."""
        self._bodies.pop(header.uid, None)
        if (row := self._by_key.get(header.uid)) is not None:
            row.header = header
            row.body = None
            for at, known in enumerate(self.path):
                if known.uid == header.uid:
                    self.path[at] = header
            self._touch(row)

    def node_stored(self, header: NodeHeader) -> None:
        """A new node. What was streamed for it becomes its text until its body is read, so nothing flickers."""
        if header.kind is NodeKind.ASSISTANT:
            self._settle_reply(header)
        if self.live and self.path and header.parent == self.path[-1].seq:
            self.path.append(header)
            self._rebuild()

    def _settle_reply(self, header: NodeHeader) -> None:
        live = [key for key in self._replies if key.startswith(f"live:{header.run}:")]
        if not live:
            return
        row = self._replies.pop(live[0])
        content = [
            {"type": block.kind, block.kind: block.text}
            for block in row.blocks
            if block.kind in ("text", "thinking") and block.text
        ]
        self._bodies[header.uid] = Body(
            uid=header.uid, kind=header.kind.value, message={"role": "assistant", "content": content}
        )
        self._rebuild()

    def deltas(self, batch: Iterable[Delta]) -> None:
        """Apply a batch of deltas; each reply that got some is touched once, whatever their number."""
        touched: dict[str, ChatRow] = {}
        fresh = False
        for delta in batch:
            key = f"live:{delta.run}:{delta.turn}"
            row = self._replies.get(key)
            if row is None:
                row = self._replies[key] = ChatRow(key, RowKind.LIVE)
                fresh = True
            while len(row.blocks) <= delta.block:
                row.blocks.append(LiveBlock(delta.kind))
            block = row.blocks[delta.block]
            block.kind = delta.kind
            block.tool = delta.tool or block.tool
            block.text += delta.text
            touched[key] = row
        if fresh:
            self._rebuild()
        for row in touched.values():
            self._touch(row)

    def reply_discarded(self, run: str, turn: int) -> None:
        if self._replies.pop(f"live:{run}:{turn}", None) is not None:
            self._rebuild()

    def tool_output(self, uid: str, text: str) -> None:
        tail = self._outputs.get(uid)
        if tail is None:
            for old in list(self._outputs)[: max(0, len(self._outputs) + 1 - MOST_TAILS)]:
                del self._outputs[old]
            tail = self._outputs[uid] = OutputTail()
        tail.add(text)
        if (row := self._by_key.get(uid)) is not None:
            row.output = tail
            self._touch(row)

    def run_changed(self, run: RunInfo, offers: list[str] | None = None) -> None:
        self._runs[run.uid] = run
        if offers is not None:
            self._offers[run.uid] = offers
        if run.ended:
            for key in [key for key in self._replies if key.startswith(f"live:{run.uid}:")]:
                del self._replies[key]
            if (row := self._by_key.get(f"stop:{run.uid}")) is not None:
                row.run = run
                self._touch(row)
        self._rebuild()

    def set_runs(self, runs: Iterable[RunInfo]) -> None:
        self._runs.update({run.uid: run for run in runs})
        ended = {run.uid for run in self._runs.values() if run.ended}
        # The engine that sent them is gone, perhaps: what of them was kept is a node by now.
        for key in [key for key in self._replies if key.split(":")[1] in ended]:
            del self._replies[key]
        self._rebuild()

    def approval_asked(self, approval: Approval) -> None:
        self._approvals[approval.id] = approval
        self._rebuild()

    def approval_gone(self, approval_id: str) -> None:
        if self._approvals.pop(approval_id, None) is not None:
            self._rebuild()

    def question_asked(self, question: Question) -> None:
        self._questions[question.id] = question
        self._rebuild()

    def question_gone(self, question_id: str) -> None:
        if self._questions.pop(question_id, None) is not None:
            self._rebuild()

    def touch(self, keys: Iterable[str]) -> None:
        """What stands beside the messages about these rows has changed."""
        for row in filter(None, map(self.row, keys)):
            self._touch(row)

    def _touch(self, row: ChatRow) -> None:
        row.revision += 1
        self.on_touch(row)


def left_runs(tree: TreeModel, rows: Sequence[int]) -> list[str]:
    """Of the path `rows`, the nodes where it leaves a run that went on elsewhere."""
    left = []
    for at, row in enumerate(rows):
        following = rows[at + 1] if at + 1 < len(rows) else None
        if tree.children[row] <= (following is not None):
            continue
        run = tree.run(row)
        for child in tree.children_of(row):
            if child == following or tree.kind_of(child) is NodeKind.USER:
                continue
            # A prompt need not name its run: what answers it does.
            if tree.run(child) == run or (tree.kind_of(row) is NodeKind.USER and not run):
                left.append(tree.uid(row))
                break
    return left
