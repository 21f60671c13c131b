"""Reading the tree of a session file: names, headers and bodies of its nodes, and what holds at one of them."""

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
from worldline.session import bodies, connect, lock
from worldline.session.model import NodeBody
from worldline.session.tree import SessionTree

_CHUNK = 900
_BODY = (
    "n.seq, n.uid, n.kind, m.codec, m.data, m.size, m.hash, d.codec, d.data, d.size, d.hash,"
    " em.codec, em.data, em.size, em.hash, ed.codec, ed.data, ed.size, ed.hash"
    " FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
    " LEFT JOIN bodies m ON m.id = n.message LEFT JOIN bodies d ON d.id = n.detail"
    " LEFT JOIN bodies em ON em.id = e.message LEFT JOIN bodies ed ON ed.id = e.detail"
)


class NodeReader:
    """The nodes of a session file, through a connection of its own.

    Belongs to the thread that made it (asserted), so that no lock is needed. Never changes the file.
    Raises SessionError (`missing`, `not_a_session`, `damaged`, `unreadable`).
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
            self._let_go(as_found=True)
            raise

    # -- life -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Idempotent."""
        if not self._closed:
            self._closed = True
            self._let_go(as_found=bool(self.damage))

    def _let_go(self, *, as_found: bool) -> None:
        """Close the connection. `as_found`: nothing more may be written to the file."""
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
        for part in parts(seqs):
            found.update(self._rows(f"SELECT seq, uid FROM nodes WHERE seq IN ({places(part)})", part))
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
        for part in parts(seqs):
            for row in self._rows(f"SELECT {_BODY} WHERE n.seq IN ({places(part)})", part):
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
        for part in parts(up, 64):
            rows = self._rows(
                "SELECT n.seq, ifnull(e.task, n.task) FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
                f" WHERE n.seq IN ({places(part)}) AND (n.task IS NOT NULL OR e.task IS NOT NULL)",
                part,
            )
            for _, body_id in sorted(rows, reverse=True):
                with connect.told(self.path):
                    yield bodies.get(self._db, body_id)

    def state(self, uid: str) -> str:
        """The nearest workspace state on the path; "" when there is none, "!" when the nearest could not be captured."""
        up = self.tree.path(self.seq(uid))
        up.reverse()
        for part in parts(up, 64):
            rows = self._rows(
                "SELECT n.seq, CASE WHEN ifnull(e.state, '') <> '' THEN e.state ELSE n.state END AS s"
                " FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
                f" WHERE n.seq IN ({places(part)}) AND s <> ''",
                part,
            )
            if rows:
                return str(max(rows)[1])
        return ""


def parts(seqs: Sequence[int], size: int = _CHUNK) -> Iterator[Sequence[int]]:
    """In pieces that one statement may name."""
    for begin in range(0, len(seqs), size):
        yield seqs[begin : begin + size]


def places(part: Sequence[object]) -> str:
    """Place holders of one part in SQL."""
    return ",".join("?" * len(part))
