"""The session document: everything that happened, in one append-only SQLite file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Literal

from worldline import __version__
from worldline.core import header_reader
from worldline.core.errors import BadInput, SessionError
from worldline.core.headers import NodeHeader
from worldline.core.ids import is_node_id, new_uid
from worldline.core.jsontext import clean_text, dumps
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session import bodies, connect, heads, lock, search, sums, text, writing
from worldline.session.marks import MARK_KINDS, MarkKind
from worldline.session.model import NodeDraft, NodeEnd, Record, RunRecord
from worldline.session.transactions import TransactionalSession

Why = Literal["append", "jump", "open", "fork"]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class SessionDocument(TransactionalSession):
    """Appending a node is one durable transaction: when `append` returns, the node survives a kill and a power cut.

    Belongs to one thread: the one that opened it (of the engine, its store executor), asserted at every call. Other
    threads read through a `SessionReader` of their own.

    A write that fails raises SessionError `not_saved`; file and memory are then as they were before, and the next write works
    as soon as the disk does. With mode "read" the document follows another writer by `poll` and refuses to write.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writer: lock.WriterLock | None) -> None:
        self._newest: dict[str, int] = {}
        self.interrupted_on_open: list[str] = []
        """Nodes that were found started and not finished: what they did by then is not known."""
        self.runs_ended_on_open = 0
        """Runs without an end that this opening has closed as interrupted."""
        super().__init__(path, connection, writer=writer)
        self._with_heads = writer is not None and header_reader.schema_of(connection) >= heads.SINCE_SCHEMA
        self._summed = writer is not None and sums.has_sums(connection)

    # -- opening and closing ----------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        title: str = "",
        workspace: dict[str, Any] | None = None,
        app_version: str = __version__,
    ) -> SessionDocument:
        """Make a new, empty session, open for writing. Raises SessionError `exists` (nothing is overwritten),
        `not_saved`, `locked`."""
        path = path.absolute()
        if not path.parent.is_dir():
            raise SessionError(
                f"The folder {path.parent} is not there.", "Make it, or choose another.", kind="not_saved"
            )
        if path.exists():
            raise SessionError(f"{path} is already there.", "Choose another name, or open it.", kind="exists")
        writer = lock.WriterLock.take(path)
        try:
            connect.create_file(path)
            document = cls(path, connect.connect_write(path), writer=writer)
        except BaseException:
            writer.release()
            raise
        try:
            with document.transaction():
                document.set_meta("created", str(now_ms()))
                document.set_meta("app_version", app_version)
                document.set_meta("workspace", dumps(workspace or {}).decode())
                document.set_meta("title", title)
        except BaseException:
            document.close()
            raise
        return document

    @classmethod
    def open(cls, path: Path, mode: Literal["write", "read"] = "write") -> SessionDocument:
        """Open a session. Raises SessionError `missing`, `not_a_session`, `damaged`, `unreadable`, and for writing also `locked`,
        `newer_schema` and `not_saved`. A file is never repaired, migrated or shortened by opening it, and a damaged one keeps its
        bytes, with what a crash has left in its log.

        For writing, runs without an end are closed as `interrupted`, and nodes without one are shown as interrupted. Where
        there is neither, the file keeps its bytes until the first write."""
        path = path.absolute()
        connect.check_file(path)
        if mode == "read":
            return cls(path, connect.connect_read(path), writer=None)
        writer = lock.WriterLock.take(path)
        try:
            document = cls(path, connect.connect_write(path), writer=writer)
        except BaseException:
            writer.release()
            raise
        try:
            document._after_crash()
        except SessionError as problem:
            if problem.kind == "damaged":
                document.damage = [problem.message]
            document.close()
            raise
        except BaseException:
            document.close()
            raise
        return document

    def _after_crash(self) -> None:
        columns = self.tree.columns
        open_runs = self._rows(
            "SELECT id FROM runs WHERE NOT EXISTS (SELECT 1 FROM run_ends WHERE run_ends.run = runs.id)"
        )
        if not open_runs and not columns.unfinished:
            self._check_writable()
            return
        # A crash is what damages files, and what it left is about to be written down: that waits for the look.
        self._refuse_damage()
        with self.transaction():
            for (run,) in open_runs:
                writing.insert_run_end(
                    self._db,
                    run,
                    now_ms(),
                    StopReason.INTERRUPTED.value,
                    "The program ended in the middle of it.",
                    "",
                    Usage(),
                    summed=self._summed,
                )
        self.interrupted_on_open = self.uids(columns.unfinished)
        self.runs_ended_on_open = len(open_runs)
        code = header_reader.OUTCOMES.index(Outcome.INTERRUPTED)
        for seq in columns.unfinished:
            columns.outcome[seq] = code
        columns.unfinished = []

    def _refuse_damage(self) -> None:
        """Raises SessionError `damaged`."""
        from worldline.session import health

        with connect.told(self.path):
            faults = health.tree_faults(self.tree.columns) or health.page_faults(self._db)
        if faults:
            what, *more = health.damage_of(self.path, faults)
            raise SessionError(what, " ".join(more), kind="damaged")

    def _first_write(self) -> None:
        # Rows that are unfinished up to here are interrupted ones, for whoever reads the file from now on.
        writing.insert_opening(
            self._db, now_ms(), __version__, os.getpid(), len(self.tree), summed=self._summed
        )

    # -- the tree ---------------------------------------------------------------------------------------------------

    def append(self, draft: NodeDraft, *, move_cursor: bool = True) -> NodeHeader:
        """Add a node, durably. The cursor moves onto it unless told otherwise. Raises BadInput (unknown parent, uid taken,
        values that are not JSON), SessionError `not_saved`."""
        self._check()
        parent = 0 if draft.parent is None else self._newest.get(draft.parent) or self.seq(draft.parent)
        if draft.uid and not is_node_id(draft.uid):
            raise BadInput(
                f"{draft.uid!r} cannot be the id of a node.", "Ids are letters, digits and ._+- alone."
            )
        uid = draft.uid or new_uid()
        if draft.uid and self._rows("SELECT 1 FROM nodes WHERE uid = ?", (uid,)):
            raise BadInput(f"There is already a node {uid}.")
        payload = _payload(draft)
        header = NodeHeader(
            seq=len(self.tree) + 1,
            uid=uid,
            parent=parent,
            kind=draft.kind,
            created=draft.created or now_ms(),
            preview=text.preview_of(draft.preview or text.message_text(draft.message)),
            outcome=draft.outcome,
            flags=draft.flags,
            size=payload.size,
            run=draft.run,
            branch=draft.branch and clean_text(draft.branch),
            tool=draft.tool and clean_text(draft.tool),
            model=draft.model and clean_text(draft.model),
            state=draft.state,
            added=draft.added,
            removed=draft.removed,
            files=draft.files,
            raw_kind=draft.raw_kind if draft.kind is NodeKind.UNKNOWN else "",
        )
        if header.kind is NodeKind.TOOL and header.outcome is Outcome.NONE:
            header.outcome = Outcome.RUNNING  # a tool node is stored when it starts
        with self.transaction():
            writing.insert_node(
                self._db, header, payload, self._recent, fork=self.tree.has_fork_at(parent), moved=move_cursor,
                heads=self._node_heads(header, draft, payload, move_cursor),
            )  # fmt: skip
            if draft.usage is not None:
                writing.insert_usage(self._db, header.seq, draft.usage, summed=self._summed)
            length = len(self.tree)
            self.tree.append(header)
            self._undo.append(lambda: self.tree.truncate(length))
            # The next node hangs on this one nearly always: that saves looking it up.
            before, self._newest = self._newest, {uid: header.seq}
            self._undo.append(lambda: setattr(self, "_newest", before))
            if move_cursor:
                self._moved_to(header.seq)
        return header

    def _node_heads(
        self, header: NodeHeader, draft: NodeDraft, payload: writing.Payload, moved: bool
    ) -> heads.Heads:
        if not self._with_heads:
            return writing.NO_HEADS
        return heads.of_node(
            header, moved=moved, given_preview=draft.preview, message_size=len(payload.message)
        )

    def finish(self, uid: str, end: NodeEnd) -> NodeHeader:
        """Add the end of a node that was appended before it was done. A node ends once: raises SessionError `already_ended`."""
        seq = self.seq(uid)
        before = self.headers_of([seq])[0]
        if before.finished or before.outcome not in (Outcome.RUNNING, Outcome.WAITING, Outcome.INTERRUPTED):
            raise SessionError(f"Node {uid} has its end already ({before.outcome}).", kind="already_ended")
        payload = _payload(end)
        preview = text.preview_of(end.preview) if end.preview else ""
        columns = self.tree.columns
        with self.transaction():
            at = end.at or now_ms()
            copies = (
                heads.of_end(seq, end, preview, at, message_size=len(payload.message))
                if self._with_heads
                else writing.NO_HEADS
            )
            end_id = writing.insert_end(self._db, seq, end, payload, self._recent, preview, at, copies)
            outcome, flags, last = columns.outcome[seq], columns.flags[seq], columns.last_end

            def back() -> None:
                columns.outcome[seq], columns.flags[seq], columns.last_end = outcome, flags, last

            self._undo.append(back)
            columns.last_end = end_id
            header = self.headers_of([seq])[0]
            self.tree.update(header)
        return header

    def set_cursor(self, uid: str, why: Why = "jump") -> None:
        seq = self.seq(uid)
        with self.transaction():
            writing.insert_cursor(self._db, seq, now_ms(), why, len(self.tree), summed=self._summed)
            self._moved_to(seq)

    def _moved_to(self, seq: int) -> None:
        before, self._cursor = self._cursor, seq
        self._undo.append(lambda: setattr(self, "_cursor", before))

    # -- runs -------------------------------------------------------------------------------------------------------

    def begin_run(self, run: RunRecord) -> None:
        if self._rows("SELECT 1 FROM runs WHERE uid = ?", (run.uid,)):
            raise BadInput(f"There is already a run {run.uid}.")
        with self.transaction():
            writing.insert_run(self._db, run, now_ms(), len(self.tree), summed=self._summed)

    def end_run(
        self,
        uid: str,
        stop_reason: StopReason,
        detail: str = "",
        api_said: str = "",
        usage: Usage | None = None,
    ) -> None:
        """A run ends with exactly one stop reason: raises SessionError `already_ended` for a second."""
        rows = self._rows(
            "SELECT r.id, e.stop_reason FROM runs r LEFT JOIN run_ends e ON e.run = r.id WHERE r.uid = ?",
            (uid,),
        )
        if not rows:
            raise BadInput(f"There is no run {uid!r} in this session.")
        if rows[0][1] is not None:
            raise SessionError(f"Run {uid} has ended already ({rows[0][1]}).", kind="already_ended")
        with self.transaction():
            writing.insert_run_end(
                self._db, rows[0][0], now_ms(), stop_reason.value, detail, api_said, usage or Usage(),
                summed=self._summed,
            )  # fmt: skip

    # -- beside the tree --------------------------------------------------------------------------------------------

    def add_record(self, kind: str, data: dict[str, Any], node: str = "", run: str = "") -> Record:
        seq = self.seq(node) if node else 0
        at = now_ms()
        with self.transaction():
            record_id = writing.insert_record(self._db, kind, at, seq, run, data, summed=self._summed)
        return Record(record_id, kind, at, node, run, data)

    def set_mark(self, uid: str, what: MarkKind, content: str, color: str = "") -> Record:
        """Label, note or bookmark of a node; the newest wins, "" takes it away. Never in the parent chain or the view."""
        if what not in MARK_KINDS:
            raise BadInput(f"{what!r} is no kind of mark.", "There are label, note and bookmark.")
        data = {"text": clean_text(content)}
        if color:
            data["color"] = color
        return self.add_record(what, data, node=uid)

    def put_blob(self, data: bytes) -> str:
        """Store bytes once; the hex SHA-256 that `blob` takes."""
        with self.transaction():
            bodies.put(self._db, data, shared=True)
        return hashlib.sha256(data).hexdigest()

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction():
            writing.insert_meta(self._db, key, value, now_ms(), summed=self._summed)

    def set_title(self, title: str) -> None:
        self.set_meta("title", " ".join(clean_text(title).split()))

    def info(self) -> dict[str, Any]:
        facts = super().info()
        if not self.read_only:
            facts.update(read_only=False, read_only_why="")
        return facts

    def index(self, limit: int = 500) -> int:
        """Bring the search index forward by up to `limit` entries; 0 = it is up to date. For idle moments: search finds
        everything without it too, only slower."""
        if not self._rows("SELECT 1 FROM search_upto") or not search.pending(self._db):
            return 0
        with self.transaction():
            return search.catch_up(self._db, limit)

    def poll(self) -> list[NodeHeader]:
        """What another writer added (mode "read"). The writer itself knows: nothing."""
        return super().poll() if self.read_only else []


def _payload(part: NodeDraft | NodeEnd) -> writing.Payload:
    try:
        return writing.Payload(part)
    except (TypeError, ValueError) as problem:
        raise BadInput(f"This cannot be stored as JSON: {problem}.") from problem
