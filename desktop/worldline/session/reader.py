"""Everything that is read from a session file. `SessionDocument` adds writing; other threads use a `SessionReader`."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from worldline.core import header_reader
from worldline.core.errors import BadInput, SessionError
from worldline.core.headers import NodeHeader
from worldline.core.ids import is_node_id
from worldline.core.jsontext import loads
from worldline.core.kinds import NodeKind
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session import bodies, connect, lock, marks, search
from worldline.session.facts import workspace_of
from worldline.session.model import Marks, NodeBody, Record, RunRecord, SearchHit
from worldline.session.tree import SessionTree

_CHUNK = 900
_BODY = (
    "n.seq, n.uid, n.kind, m.codec, m.data, m.size, m.hash, d.codec, d.data, d.size, d.hash,"
    " em.codec, em.data, em.size, em.hash, ed.codec, ed.data, ed.size, ed.hash"
    " FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
    " LEFT JOIN bodies m ON m.id = n.message LEFT JOIN bodies d ON d.id = n.detail"
    " LEFT JOIN bodies em ON em.id = e.message LEFT JOIN bodies ed ON ed.id = e.detail"
)


class SessionReader:
    """A read-only view of a session file, with its own connection; follows a writer by `poll`.

    Belongs to the thread that made it (asserted), so that no lock is needed.
    Raises SessionError (`missing`, `not_a_session`, `damaged`, `unreadable`) and never changes the file.
    """

    def __init__(self, path: Path) -> None:
        connect.check_file(path)
        self._start(path, connect.connect_read(path), live=lock.writer_lives(path))

    def _start(self, path: Path, connection: sqlite3.Connection, *, live: bool) -> None:
        self.path = path
        self._thread = threading.get_ident()
        self._db = connection
        self._live = live
        self._closed = False
        self.damage: list[str] = []
        """What is known to be damaged in the file, and what is lost where this is what could be read of it
        (`session.salvage`); sentences."""
        try:
            with connect.reading(path):
                self.tree = SessionTree(header_reader.read_columns(connection, live=live))
                self._cursor = header_reader.read_cursor(connection)
        except BaseException:
            connection.close()
            raise

    # -- life -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Idempotent."""
        if not self._closed:
            self._closed = True
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _check(self) -> None:
        assert threading.get_ident() == self._thread, "a session document belongs to one thread"
        if self._closed:
            raise SessionError("This session is closed.", "Open it again.", kind="closed")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._check()
        with connect.told(self.path):
            return self._db.execute(sql, values).fetchall()

    # -- names ------------------------------------------------------------------------------------------------------

    def seq(self, uid: str) -> int:
        """Raises BadInput for an unknown uid: never silently another node. SessionError `damaged` for the cursor of a session ("")
        in which none can be read."""
        self._check()
        with connect.told(self.path):
            found = header_reader.seq_of(self._db, uid)
        if not uid:
            raise SessionError(
                f"{self.path.name} is damaged: where its work stands cannot be read.",
                "It is left as it is. `worldline recover` saves what is readable into a new file.",
                kind="damaged",
            )
        if not found or found not in self.tree:
            raise BadInput(
                f"There is no node {uid!r} in this session.", "`worldline inspect FILE` lists them."
            )
        return found

    def uid(self, seq: int) -> str:
        rows = self._rows("SELECT uid FROM nodes WHERE seq = ?", (seq,))
        if not rows:
            raise BadInput(f"There is no node number {seq} in this session.")
        return str(rows[0][0])

    def uids(self, seqs: Sequence[int]) -> list[str]:
        """In the order of `seqs`; numbers without a row (in a damaged file) are left out."""
        found: dict[int, str] = {}
        for part in _parts(seqs):
            found.update(self._rows(f"SELECT seq, uid FROM nodes WHERE seq IN ({_marks(part)})", part))
        return [found[seq] for seq in seqs if seq in found]

    def resolve(self, ref: str) -> str:
        """uid for a uid, a unique prefix of one, `cursor`, `root` or `leaf` (the newest leaf below the cursor).
        Raises BadInput with what was meant instead."""
        self._check()
        if ref in ("cursor", "root", "leaf"):
            if not len(self.tree):
                raise BadInput("This session is empty: there is no node to name.")
            if ref == "root":
                return self.uid(self.tree.path(self._cursor or 1)[0])
            return self.cursor if ref == "cursor" else self.uid(self.tree.newest_leaf(self._cursor or 1))
        if not is_node_id(ref):
            raise BadInput(
                f"{ref!r} does not name a node.", "Give a uid, the beginning of one, cursor, root or leaf."
            )
        rows = self._rows(
            "SELECT uid, preview FROM nodes WHERE uid >= ? AND uid < ? ORDER BY uid LIMIT 6",
            (ref, ref + "\x7f"),
        )
        if len(rows) == 1 or (rows and rows[0][0] == ref):
            return str(rows[0][0])
        if not rows:
            raise BadInput(f"No node begins with {ref!r}.", "`worldline inspect FILE` lists them.")
        raise BadInput(
            f"{ref!r} fits several nodes: {', '.join(row[0] for row in rows[:5])}.", "Give more of it."
        )

    @property
    def cursor(self) -> str:
        """uid of the node that the next prompt hangs on; "" in an empty session."""
        return self.uid(self._cursor) if self._cursor else ""

    # -- headers and bodies -----------------------------------------------------------------------------------------

    def header(self, uid: str) -> NodeHeader:
        return self.headers_of([self.seq(uid)])[0]

    def headers_of(self, seqs: Sequence[int]) -> list[NodeHeader]:
        self._check()
        with connect.reading(self.path):
            return header_reader.read_some_headers(self._db, seqs, live=self._live)

    def headers(self, since_seq: int = 0, limit: int = -1) -> list[NodeHeader]:
        """Rows appended after `since_seq`, oldest first."""
        self._check()
        with connect.reading(self.path):
            return header_reader.read_headers(self._db, since_seq, limit, live=self._live)

    def body(self, uid: str) -> NodeBody:
        return self.bodies_at([self.seq(uid)])[0]

    def path_bodies(self, uid: str) -> list[NodeBody]:
        """Root → `uid`, both included."""
        return self.bodies_at(self.tree.path(self.seq(uid)))

    def bodies_of(self, uids: Iterable[str]) -> list[NodeBody]:
        return self.bodies_at([self.seq(uid) for uid in uids])

    def bodies_at(self, seqs: Sequence[int]) -> list[NodeBody]:
        """Of the nodes with these numbers, in this order. Raises SessionError `damaged` when one of them is gone."""
        self._check()
        found: dict[int, NodeBody] = {}
        for part in _parts(seqs):
            for row in self._rows(f"SELECT {_BODY} WHERE n.seq IN ({_marks(part)})", part):
                seq, uid, kind = row[:3]
                try:
                    message, detail, end_message, end_detail = (
                        b"" if row[at] is None else bodies.decode(*row[at : at + 4]) for at in (3, 7, 11, 15)
                    )
                except ValueError as problem:
                    raise bodies.damaged(f"the body of node {uid}: {problem}") from problem
                found[seq] = NodeBody(
                    uid,
                    NodeKind.of(kind),
                    self.tree.outcome(seq),
                    message_bytes=message,
                    detail_bytes=detail,
                    end_message_bytes=end_message,
                    end_detail_bytes=end_detail,
                )
        for seq in seqs:
            if seq not in found:
                raise bodies.damaged(f"node number {seq} is missing")
        return [found[seq] for seq in seqs]

    def blob(self, name: str) -> bytes:
        """Bytes stored by `put_blob` under this hex SHA-256. Raises BadInput for an unknown one."""
        self._check()
        with connect.told(self.path):
            data = bodies.by_hash(self._db, name)
        if data is None:
            raise BadInput(f"This session holds nothing under the hash {name[:12]}….")
        return data

    def blob_size(self, name: str) -> int:
        """Bytes of such a blob, without reading it. Raises BadInput for an unknown one."""
        self._check()
        with connect.told(self.path):
            size = bodies.size_of(self._db, name)
        if size is None:
            raise BadInput(f"This session holds nothing under the hash {name[:12]}….")
        return size

    def task_state(self, uid: str) -> dict[str, Any] | None:
        """The nearest one on the path from `uid` to the root."""
        return next((loads(data) for data in self._nearest_task(self.seq(uid))), None)

    def _nearest_task(self, seq: int) -> Iterator[bytes]:
        up = self.tree.path(seq)
        up.reverse()
        for part in _parts(up, 64):
            rows = self._rows(
                "SELECT n.seq, ifnull(e.task, n.task) FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
                f" WHERE n.seq IN ({_marks(part)}) AND (n.task IS NOT NULL OR e.task IS NOT NULL)",
                part,
            )
            for _, body_id in sorted(rows, reverse=True):
                with connect.told(self.path):
                    yield bodies.get(self._db, body_id)

    def state(self, uid: str) -> str:
        """The nearest workspace state on the path; "" when there is none, "!" when the nearest could not be captured."""
        up = self.tree.path(self.seq(uid))
        up.reverse()
        for part in _parts(up, 64):
            rows = self._rows(
                "SELECT n.seq, CASE WHEN ifnull(e.state, '') <> '' THEN e.state ELSE n.state END AS s"
                " FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
                f" WHERE n.seq IN ({_marks(part)}) AND s <> ''",
                part,
            )
            if rows:
                return str(max(rows)[1])
        return ""

    # -- beside the tree --------------------------------------------------------------------------------------------

    def records(
        self, kind: str | None = None, since: int = 0, node: str | None = None, *, holding: str = ""
    ) -> list[Record]:
        """Records with a larger `seq` than `since`, oldest first; all kinds for None. `holding`: only those whose data has
        this text somewhere in a name or a value; a sieve that saves reading all the others."""
        where, values = ["r.id > ?"], [since]  # type: list[str], list[Any]
        if kind is not None:
            where.append("r.kind = ?")
            values.append(kind)
        if node is not None:
            where.append("r.node = ?")
            values.append(self.seq(node))
        if holding:
            where.append("instr(r.data, ?) > 0")
            values.append(holding)
        rows = self._rows(
            "SELECT r.id, r.kind, r.at, ifnull(n.uid, ''), r.run, r.data FROM records r"
            f" LEFT JOIN nodes n ON n.seq = r.node WHERE {' AND '.join(where)} ORDER BY r.id",
            values,
        )
        with connect.reading(self.path):
            return [Record(row[0], row[1], row[2], row[3], row[4], loads(row[5])) for row in rows]

    def marks(self) -> dict[str, Marks]:
        """uid → label, note and bookmark of every node that carries one."""
        self._check()
        with connect.reading(self.path):
            return marks.folded(header_reader.read_marks(self._db))

    def usage(self, uid: str) -> Usage:
        """Of one node; zero for a node that called no model."""
        return self.usage_of([uid])

    def usage_of(self, uids: Iterable[str]) -> Usage:
        total = Usage()
        for part in _parts([self.seq(uid) for uid in uids]):
            total = total + self._usage(f"WHERE node IN ({_marks(part)})", part)
        return total

    def usage_of_path(self, uid: str) -> Usage:
        total = Usage()
        for part in _parts(self.tree.path(self.seq(uid))):
            total = total + self._usage(f"WHERE node IN ({_marks(part)})", part)
        return total

    def usage_total(self) -> Usage:
        return self._usage("", ())

    def known_cost(self) -> tuple[float | None, int]:
        """Dollars of all answers whose price is known, None = of none is; and how many there are without a price."""
        row = self._rows("SELECT sum(cost), count(*) - count(cost) FROM usage WHERE answers > 0", ())[0]
        return row[0], row[1]

    def _usage(self, where: str, values: Sequence[Any]) -> Usage:
        row = self._rows(
            "SELECT sum(input), sum(output), sum(cache_read), sum(cache_write), sum(thinking),"
            f" CASE WHEN count(cost) = count(*) THEN sum(cost) END, sum(answers) FROM usage {where}",
            values,
        )[0]
        if row[6] is None:
            return Usage()
        return Usage(
            input_tokens=row[0],
            output_tokens=row[1],
            cache_read_tokens=row[2],
            cache_write_tokens=row[3],
            thinking_tokens=row[4],
            cost=row[5],
            answers=row[6],
        )

    def runs(self) -> list[RunRecord]:
        """Oldest first; one without an end is going on (or its process died and nobody opened the session since)."""
        rows = self._rows(
            "SELECT r.uid, r.prompt, r.started, r.settings, e.at, e.stop_reason, e.detail, e.api_said, e.usage"
            " FROM runs r LEFT JOIN run_ends e ON e.run = r.id ORDER BY r.id"
        )
        found: list[RunRecord] = []
        with connect.reading(self.path):
            for uid, prompt, started, settings, ended, reason, detail, api_said, usage in rows:
                run = RunRecord(uid, prompt, started, loads(settings))
                if ended is not None:
                    run.ended, run.stop_reason = ended, StopReason.of(reason)
                    run.detail, run.api_said, run.usage = detail, api_said, Usage(**loads(usage))
                elif not self._live:
                    run.stop_reason = StopReason.INTERRUPTED
                found.append(run)
        return found

    def meta(self) -> dict[str, str]:
        self._check()
        with connect.told(self.path):
            return header_reader.read_meta(self._db)

    def info(self) -> dict[str, Any]:
        """What is known of the session as a whole: path, title, created, workspace, app_version, nodes, read_only,
        read_only_why, and whatever else was set by `set_meta`. Raises SessionError `damaged`."""
        facts: dict[str, Any] = dict(self.meta())
        with connect.reading(self.path):
            facts["workspace"] = workspace_of(facts.get("workspace", "{}"))
            facts["created"] = int(facts.get("created", 0))
        facts.setdefault("title", "")
        facts.update(
            path=str(self.path), nodes=len(self.tree), read_only=True, read_only_why=self._why_read_only()
        )
        return facts

    def _why_read_only(self) -> str:
        if self.damage:
            return " ".join(self.damage[:4])
        with connect.told(self.path):
            if header_reader.schema_of(self._db) > header_reader.SCHEMA_VERSION:
                return "It was written by a newer version of Worldline."
        return "It is open for writing elsewhere." if self._live else "It was opened for reading."

    def search(self, text: str, limit: int = 200) -> list[SearchHit]:
        """Nodes that hold all the words, newest first. Nothing that is stored is missed, indexed or not."""
        self._check()
        with connect.reading(self.path):
            return search.find(self._db, text, limit, session=str(self.path))

    # -- following --------------------------------------------------------------------------------------------------

    def poll(self) -> list[NodeHeader]:
        """Rows that are new or changed since the last call (ended, or found interrupted because their writer died)."""
        self._check()
        columns = self.tree.columns
        before, last_end, running = len(columns), columns.last_end, set(columns.unfinished)
        with connect.reading(self.path):
            self._live = lock.writer_lives(self.path)
            self._db.execute("BEGIN")  # one snapshot for all of it
            try:
                header_reader.read_columns(self._db, columns, live=self._live)
                self._cursor = header_reader.read_cursor(self._db)
                changed = {row[1] for row in header_reader.ends_since(self._db, last_end)}
                changed |= running - set(columns.unfinished)
                changed.update(range(before + 1, len(columns) + 1))
                self.tree.extended()
                return header_reader.read_some_headers(self._db, sorted(changed), live=self._live)
            finally:
                self._db.execute("COMMIT")


def _parts(seqs: Sequence[int], size: int = _CHUNK) -> Iterator[Sequence[int]]:
    for begin in range(0, len(seqs), size):
        yield seqs[begin : begin + size]


def _marks(part: Sequence[object]) -> str:
    return ",".join("?" * len(part))
