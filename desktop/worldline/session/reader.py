"""Everything that is read from a session file. `SessionDocument` adds writing; other threads use a `SessionReader`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from worldline.core import header_reader
from worldline.core.headers import NodeHeader
from worldline.core.jsontext import loads
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session import connect, lock, marks, search
from worldline.session.facts import workspace_of
from worldline.session.model import Marks, Record, RunRecord, SearchHit
from worldline.session.node_reader import NodeReader, parts, places


class SessionReader(NodeReader):
    """A read-only view of a session file: its nodes, and what is kept beside the tree; follows a writer by `poll`."""

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
        for part in parts([self.seq(uid) for uid in uids]):
            total = total + self._usage(f"WHERE node IN ({places(part)})", part)
        return total

    def usage_of_path(self, uid: str) -> Usage:
        total = Usage()
        for part in parts(self.tree.path(self.seq(uid))):
            total = total + self._usage(f"WHERE node IN ({places(part)})", part)
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
