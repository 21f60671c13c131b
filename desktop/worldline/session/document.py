"""The session document: everything that happened, in one append-only SQLite file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
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
from worldline.session import bodies, connect, lock, search, text, writing
from worldline.session.marks import MARK_KINDS, MarkKind
from worldline.session.model import NodeDraft, NodeEnd, Record, RunRecord
from worldline.session.reader import SessionReader

Why = Literal["append", "jump", "open", "fork"]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class SessionDocument(SessionReader):
    """Appending a node is one durable transaction: when `append` returns, the node survives a kill and a power cut.

    Belongs to one thread: the one that opened it (of the engine, its store executor), asserted at every call; `adopt`
    hands it to another. Other threads read through a `SessionReader` of their own.

    A write that fails raises SessionError `not_saved`; file and memory are then as they were before, and the next write works
    as soon as the disk does. With mode "read" the document follows another writer by `poll` and refuses to write.
    """

    _lock: lock.WriterLock | None = None

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writer: lock.WriterLock | None) -> None:
        self._lock = writer
        self._depth = 0
        self._doomed: BaseException | None = None
        self._undo: list[Callable[[], None]] = []
        self._places: dict[Path, tuple[int, int]] = {}
        self.interrupted_on_open: list[str] = []
        """Nodes that were found started and not finished: what they did by then is not known."""
        # Read with `live`: whatever is unfinished since the last opening is listed, then marked.
        self._start(path, connection, live=writer is not None or lock.writer_lives(path))

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
                document._note_opening()
        except BaseException:
            document.close()
            raise
        return document

    @classmethod
    def open(cls, path: Path, mode: Literal["write", "read"] = "write") -> SessionDocument:
        """Open a session. Raises SessionError `missing`, `not_a_session`, `damaged`, `unreadable`, and for writing also `locked`,
        `newer_schema` and `not_saved`. A file is never repaired, migrated or shortened by opening it.

        For writing, runs without an end are closed as `interrupted`, and nodes without one are shown as interrupted."""
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
        except BaseException:
            document.close()
            raise
        return document

    def _after_crash(self) -> None:
        columns = self.tree.columns
        open_runs = self._rows(
            "SELECT id FROM runs WHERE NOT EXISTS (SELECT 1 FROM run_ends WHERE run_ends.run = runs.id)"
        )
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
                )
            self._note_opening()
        self.interrupted_on_open = self.uids(columns.unfinished)
        code = header_reader.OUTCOMES.index(Outcome.INTERRUPTED)
        for seq in columns.unfinished:
            columns.outcome[seq] = code
        columns.unfinished = []

    def _note_opening(self) -> None:
        self._db.execute(
            "INSERT INTO openings(at, pid, app, last_node) VALUES(?, ?, ?, ?)",
            (now_ms(), os.getpid(), __version__, len(self.tree)),
        )

    def close(self) -> None:
        """Idempotent; gives the lock back."""
        if self._closed:
            return
        super().close()
        if self._lock is not None:
            self._lock.release()

    @property
    def read_only(self) -> bool:
        return self._lock is None

    # -- transactions -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several writes, one commit. Inner ones join the outer one. If anything in it fails, nothing of it stays, neither in
        the file nor in memory."""
        self._check()
        if self._lock is None:
            raise SessionError(
                "This session is open for reading only.", self._why_read_only(), kind="read_only"
            )
        if self._depth:
            self._depth += 1
            try:
                yield
            except sqlite3.Error as problem:
                self._doomed = problem
                raise
            finally:
                self._depth -= 1
            return
        self._undo = []
        self._doomed = None
        try:
            self._check_in_place()
            self._db.execute("BEGIN IMMEDIATE")
            self._depth = 1
            yield
            if self._doomed is not None:
                raise self._doomed
            self._check_in_place()
            self._db.execute("COMMIT")
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            self._roll_back()
            raise
        except sqlite3.DatabaseError as problem:
            self._roll_back()
            raise connect.translate(problem, self.path, saving=True) from problem
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._depth = 0
        self._undo = []

    def _roll_back(self) -> None:
        # On some errors (disk full) SQLite has rolled back by itself already.
        if self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
        for back in reversed(self._undo):
            back()
        self._undo = []

    def _check_in_place(self) -> None:
        """The file and its log must still be where we opened them: writes to deleted files succeed and are lost."""
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                found = path.stat()
            except FileNotFoundError:
                if path is not self.path and path not in self._places:
                    continue  # the log appears with the first write
                raise SessionError(
                    f"The session could not be saved: {path.name} is gone from {path.parent}.",
                    "Put it back, or save a copy of the session elsewhere; it is still in memory.",
                    kind="not_saved",
                ) from None
            except OSError as problem:
                raise connect.translate(problem, self.path, saving=True) from problem
            if self._places.setdefault(path, (found.st_dev, found.st_ino)) != (found.st_dev, found.st_ino):
                raise SessionError(
                    f"The session could not be saved: another file is now at {path}.",
                    "Save a copy of the session elsewhere, then open the file that is there now.",
                    kind="not_saved",
                )

    def save_copy(self, out: Path) -> None:
        """Write the whole session, as it is known here, into a new file; also when its own file was deleted meanwhile."""
        self._check()
        if out.exists():
            raise SessionError(f"{out} is already there.", "Choose another name.", kind="exists")
        with connect.told(out, saving=True):
            with contextlib.closing(sqlite3.connect(out)) as target:
                self._db.backup(target)
            connect.sync_folder(out.parent)

    # -- the tree ---------------------------------------------------------------------------------------------------

    def append(self, draft: NodeDraft, *, move_cursor: bool = True, why: Why = "append") -> NodeHeader:
        """Add a node, durably. The cursor moves onto it unless told otherwise. Raises BadInput (unknown parent, uid taken,
        values that are not JSON), SessionError `not_saved`."""
        self._check()
        parent = 0 if draft.parent is None else self.seq(draft.parent)
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
            branch=clean_text(draft.branch),
            tool=clean_text(draft.tool),
            model=clean_text(draft.model),
            state=draft.state,
            added=draft.added,
            removed=draft.removed,
            files=draft.files,
            raw_kind=draft.raw_kind if draft.kind is NodeKind.UNKNOWN else "",
        )
        if header.kind is NodeKind.TOOL and header.outcome is Outcome.NONE:
            header.outcome = Outcome.RUNNING  # a tool node is stored when it starts
        with self.transaction():
            writing.insert_node(self._db, header, payload, fork=self.tree.has_fork_at(parent))
            if draft.usage is not None:
                writing.insert_usage(self._db, header.seq, draft.usage)
            length = len(self.tree)
            self.tree.append(header)
            self._undo.append(lambda: self.tree.truncate(length))
            if move_cursor:
                self._move(header.seq, why, header.created)
        return header

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
            end_id = writing.insert_end(self._db, seq, end, payload, preview, at)
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
            self._move(seq, why, now_ms())

    def _move(self, seq: int, why: str, at: int) -> None:
        writing.insert_cursor(self._db, seq, at, why)
        before, self._cursor = self._cursor, seq
        self._undo.append(lambda: setattr(self, "_cursor", before))

    # -- runs -------------------------------------------------------------------------------------------------------

    def begin_run(self, run: RunRecord) -> None:
        if self._rows("SELECT 1 FROM runs WHERE uid = ?", (run.uid,)):
            raise BadInput(f"There is already a run {run.uid}.")
        settings = dumps(run.settings).decode()
        with self.transaction():
            self._db.execute(
                "INSERT INTO runs(uid, prompt, started, settings, after_node) VALUES(?, ?, ?, ?, ?)",
                (run.uid, run.prompt, run.started or now_ms(), settings, len(self.tree)),
            )

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
                self._db, rows[0][0], now_ms(), stop_reason.value, detail, api_said, usage or Usage()
            )

    # -- beside the tree --------------------------------------------------------------------------------------------

    def add_record(self, kind: str, data: dict[str, Any], node: str = "", run: str = "") -> Record:
        seq = self.seq(node) if node else 0
        at = now_ms()
        with self.transaction():
            record_id = writing.insert_record(self._db, kind, at, seq, run, data)
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
            bodies.put(self._db, data)
        return hashlib.sha256(data).hexdigest()

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction():
            writing.insert_meta(self._db, key, value, now_ms())

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
