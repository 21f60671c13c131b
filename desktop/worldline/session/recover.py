"""Writing a sound session from a damaged one. The source is only read, byte by byte; nothing is invented.

Every row that is still whole, wherever it lies, is taken over. What is lost is marked as lost: a parent that is gone becomes an unknown
node that stands as a root, so that what hung on it is seen to stand apart; a message that is gone is replaced by a note saying so.
"""

from __future__ import annotations

import bisect
import contextlib
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.core.ids import is_node_id, new_uid
from worldline.core.jsontext import dumps, loads
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session import bodies, connect
from worldline.session.copies import Copies, Rows
from worldline.session.document import now_ms
from worldline.session.facts import COLUMNS, is_fact
from worldline.session.pages import PageFile, Value
from worldline.session.schema import LOST_KIND

_WORD = re.compile(r"[a-z][a-z_]*")
"""Kinds and outcomes, of any version."""


@dataclass(slots=True)
class Recovered:
    """What came through."""

    out: Path
    nodes: int = 0
    bodies: int = 0
    rows: int = 0
    """All rows of history, those of nodes and bodies included."""
    rebuilt_nodes: int = 0
    """Of these, so many are in their place thanks to the copy beside their texts."""
    lost_nodes: list[int] = field(default_factory=list)
    """Numbers of nodes that are gone, in the numbering of the damaged file."""
    lost_bodies: list[str] = field(default_factory=list)
    """uids of nodes whose text is gone, and which results are; each once."""
    notes: list[str] = field(default_factory=list)
    """What else did not come through."""
    remarks: list[str] = field(default_factory=list)
    """What came through in another way than it was."""

    def body_lost(self, whose: str) -> None:
        if whose not in self.lost_bodies:
            self.lost_bodies.append(whose)

    def losses(self) -> list[str]:
        """What did not come through, for the person; empty = everything did."""
        told = []
        if count := len(self.lost_nodes):
            told.append("1 step is lost." if count == 1 else f"{count} steps are lost.")
        if count := len(self.lost_bodies):
            told.append(
                "The text or result of 1 step is lost."
                if count == 1
                else f"The text or result of {count} steps is lost."
            )
        return told + self.notes


def _ints(*values: Value) -> bool:
    return all(isinstance(value, int) for value in values)


def _texts(*values: Value) -> bool:
    return all(isinstance(value, str) and "\0" not in value for value in values)


def _word(value: Value) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _refs(values: list[Value]) -> bool:
    return all(value is None or isinstance(value, int) for value in values)


def _is_body(row: list[Value]) -> bool:
    _, digest, codec, size, shared, data = row if len(row) == 6 else (*row[:5], row[-1])
    if not (
        isinstance(digest, bytes)
        and isinstance(data, bytes)
        and isinstance(codec, int)
        and isinstance(size, int)
    ):
        return False
    try:
        bodies.decode(codec, data, size, digest)
    except ValueError:
        return False
    return shared in (0, 1)


def _is_node(row: list[Value]) -> bool:
    return (
        isinstance(row[1], str)
        and is_node_id(row[1])
        and _refs([row[2]])
        and _word(row[3])
        and _word(row[6])
        and _texts(row[5], *row[9:14])
        and _ints(row[4], row[7], row[8], *row[14:19])
        and _refs(row[19:])
    )


def _known_words(row: list[Value]) -> bool:
    kind, outcome = str(row[3]), str(row[6])
    known = kind in (LOST_KIND, NodeKind.UNKNOWN.value) or NodeKind.of(kind) is not NodeKind.UNKNOWN
    return known and (outcome == Outcome.NONE.value or Outcome.of(outcome) is not Outcome.NONE)


def _is_end(row: list[Value]) -> bool:
    return (
        _ints(row[1], row[2], row[5], row[6], *row[8:11])
        and _word(row[3])
        and _texts(row[4], row[7])
        and _refs(row[11:])
    )


_SHAPES: dict[int, tuple[tuple[str, Callable[[list[Value]], bool]], ...]] = {
    4: (("meta", lambda r: _texts(r[1], r[2]) and _ints(r[3])),),
    5: (
        ("cursor_moves", lambda r: _ints(r[1], r[2], r[4]) and _texts(r[3])),
        ("openings", lambda r: _ints(r[1], r[3], r[4]) and _texts(r[2])),
    ),
    6: (
        ("bodies", _is_body),
        ("runs", lambda r: _texts(r[1], r[2], r[4]) and _ints(r[3], r[5])),
        ("records", lambda r: _texts(r[1], r[4], r[5]) and _ints(r[2]) and _refs([r[3]])),
    ),
    7: (
        ("bodies", lambda r: (r[5] is None or isinstance(r[5], bytes)) and _is_body(r)),
        ("run_ends", lambda r: _ints(r[1], r[2]) and _texts(*r[3:7])),
    ),
    8: (("usage", lambda r: _ints(*r[1:6], r[7]) and (r[6] is None or isinstance(r[6], int | float))),),
    15: (("node_ends", _is_end),),
    23: (("nodes", _is_node),),
}
"""Number of columns → tables with rows of that width. The first value of each row is the key, which SQLite keeps as the rowid.
Bodies are kept as the first schema has them, without `head`."""

_JSON_AT = {"records": 5, "runs": 4, "run_ends": 6}
"""Table → place of the column that is JSON."""


def recover(path: Path, out: Path) -> Recovered:
    """Save whatever is readable of `path` into the new file `out`.

    Raises SessionError `missing`, `exists`, `not_saved`, and `not_a_session` when nothing of a session is in it."""
    if not path.is_file():
        raise SessionError(f"There is no file {path}.", "Check the name.", kind="missing")
    if out.exists():
        raise SessionError(f"{out} is already there.", "Choose another name.", kind="exists")
    with connect.told(path):
        rows, copies = _collect(path)
    # A word that nobody knows is that of a newer version, or a damaged one: then the copy beside the text has it right.
    doubtful = {seq: row for seq, row in rows["nodes"].items() if not _known_words(row)}
    for seq in doubtful:
        del rows["nodes"][seq]
    copies.fill(rows)
    for seq, row in doubtful.items():
        rows["nodes"].setdefault(seq, row)
    if not rows["nodes"] and not rows["meta"]:
        raise SessionError(f"Nothing of a session can be found in {path.name}.", kind="not_a_session")
    report = Recovered(out, rebuilt_nodes=copies.nodes)
    if copies.nodes:
        report.remarks.append(
            f"{copies.nodes} steps: their place in the tree is taken from the copy beside their texts"
        )
    connect.create_file(out)
    try:
        with connect.told(out, saving=True), contextlib.closing(connect.connect_write(out)) as target:
            target.execute("BEGIN IMMEDIATE")
            _write(target, rows, report, path)
            target.execute("COMMIT")
    except BaseException:
        for left in (out, out.with_name(out.name + "-wal"), out.with_name(out.name + "-shm")):
            left.unlink(missing_ok=True)
        raise
    return report


def _collect(path: Path) -> tuple[Rows, Copies]:
    found: Rows = {name: {} for shapes in _SHAPES.values() for name, _ in shapes}
    copies = Copies()
    with contextlib.closing(PageFile(path)) as pages:
        for rowid, values, whole in pages.rows():
            if rowid <= 0 or not values or values[0] is not None:
                continue
            if len(values) == 6 + whole and isinstance(values[1], bytes):
                # What stands before the data of a body is used whether or not the data is whole.
                copies.take(rowid, values[5])
            if not whole:
                continue
            for name, fits in _SHAPES.get(len(values), ()):
                if fits(values):
                    kept = [*values[:5], values[6]] if (name, len(values)) == ("bodies", 7) else values
                    found[name].setdefault(rowid, kept)
                    break
    return found, copies


def _leave_out(rows: Rows, report: Recovered) -> None:
    """What is stored as JSON and is none: a session that holds it cannot be opened."""
    for table, _, fits in COLUMNS:
        for rowid, row in list(rows[table].items()):
            at = _JSON_AT[table]
            if fits(row[at]):
                continue
            report.notes.append(f"{table} {rowid}: what it says is damaged")
            if table == "records":
                del rows[table][rowid]
            else:
                row[at] = "{}"  # that there was a run, and how it ended, is worth more
    for rowid, row in list(rows["meta"].items()):
        if not is_fact(row[1], row[2]):
            report.notes.append(f"what was stored of the session under {row[1]!r} is damaged")
            del rows["meta"][rowid]


def _write(target: sqlite3.Connection, rows: Rows, report: Recovered, source: Path) -> None:
    _leave_out(rows, report)
    for body_id, row in sorted(rows["bodies"].items()):
        _insert(target, "bodies", body_id, [*row[1:5], None, row[5]])
    report.bodies = len(rows["bodies"])
    numbers = _write_nodes(target, rows, report)
    _write_ends(target, rows, numbers, report)
    for rowid, row in sorted(rows["usage"].items()):
        if rowid in numbers:
            _insert(target, "usage", numbers[rowid], row[1:])
        else:
            report.notes.append(f"usage of node number {rowid}: the node is gone")
    old_numbers = sorted(numbers)
    for rowid, row in sorted(rows["cursor_moves"].items()):
        if row[1] in numbers and isinstance(row[1], int) and isinstance(row[4], int):
            before = bisect.bisect_right(old_numbers, row[4])
            _insert(target, "cursor_moves", rowid, [numbers[row[1]], *row[2:4], before])
        else:
            report.notes.append(f"cursor move {rowid}: its node is gone")
    for rowid, row in sorted(rows["records"].items()):
        if row[3] is not None and row[3] not in numbers:
            report.notes.append(f"record {rowid}: its node is gone")
        node = numbers.get(row[3]) if isinstance(row[3], int) else None
        _insert(target, "records", rowid, [row[1], row[2], node, *row[4:]])
    for name in ("runs", "meta", "openings"):
        for rowid, row in sorted(rows[name].items()):
            _insert(target, name, rowid, row[1:])
    for rowid, row in sorted(rows["run_ends"].items()):
        if row[1] in rows["runs"]:
            _insert(target, "run_ends", rowid, row[1:])
        else:
            report.notes.append(f"the end of run {row[1]!r}: its beginning is gone")
    report.rows = sum(map(len, rows.values()))
    at_ms = now_ms()
    for key, value in (("recovered_from", str(source)), ("recovered_at", str(at_ms))):
        target.execute("INSERT INTO meta(key, value, at) VALUES(?, ?, ?)", (key, value, at_ms))
    # Whatever was running ended with the damaged file.
    last = target.execute("SELECT ifnull(max(seq), 0) FROM nodes").fetchone()[0]
    target.execute("INSERT INTO openings(at, app, pid, last_node) VALUES(?, 'recover', 0, ?)", (at_ms, last))


def _write_nodes(target: sqlite3.Connection, rows: Rows, report: Recovered) -> dict[int, int]:
    """Old number → new number."""
    nodes = rows["nodes"]
    wanted = {int(row[2]) for row in nodes.values() if isinstance(row[2], int)}
    ended = {int(row[1]) for row in rows["node_ends"].values() if isinstance(row[1], int)}
    wanted |= ended
    last = max((*nodes, *wanted), default=0) if len(wanted) < 1 << 24 else max(nodes, default=0)
    report.lost_nodes = [seq for seq in range(1, last + 1) if seq not in nodes] if last < 1 << 24 else []
    numbers: dict[int, int] = {}
    uids: set[str] = set()
    has_child: set[int] = set()
    for seq in sorted({*nodes, *(seq for seq in wanted if 0 < seq <= last)}):
        new = len(numbers) + 1
        row = nodes.get(seq)
        if row is None:
            values: list[Value] = _lost_node(ended=seq in ended)
        else:
            values = list(row[1:])
            parent = values[1]
            values[1] = numbers.get(parent) if isinstance(parent, int) and parent < seq else None
            if str(values[0]) in uids:
                values[0] = new_uid()
                report.remarks.append(f"node number {seq}: its id was taken, it has a new one")
            _mend(target, rows, values, str(values[2]), report)
            report.nodes += 1
        uids.add(str(values[0]))
        hung_on = int(values[1] or 0) if isinstance(values[1], int) else 0
        values[16] = int(hung_on in has_child)
        has_child.add(hung_on)
        numbers[seq] = new
        _insert(target, "nodes", new, values)
    return numbers


def _lost_node(*, ended: bool) -> list[Value]:
    preview = "[lost: the file was damaged here]"
    flags = int(NodeFlag.INCOMPLETE | NodeFlag.GUESSED_PARENT)
    outcome = "running" if ended else "none"  # what has an end was started once
    texts: list[Value] = ["", "", "", "", ""]
    return [
        new_uid(),
        None,
        LOST_KIND,
        0,
        preview,
        outcome,
        flags,
        0,
        *texts,
        0,
        0,
        0,
        0,
        0,
        None,
        None,
        None,
        None,
    ]


def _mend(target: sqlite3.Connection, rows: Rows, values: list[Value], kind: str, report: Recovered) -> None:
    """Replace references to lost bodies: a message by a note that it is lost, the rest by nothing."""
    for at in range(18, 22):
        if values[at] is not None and values[at] not in rows["bodies"]:
            if at == 18:
                role = "assistant" if kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT) else "user"
                note = f"[The text of this step was lost when the session file was damaged. It began: {values[4]!s}]"
                message = {"role": role, "content": [{"type": "text", "text": note}]}
                values[at] = bodies.put(target, dumps(message))
            else:
                values[at] = None
            values[6] = int(values[6] or 0) | NodeFlag.INCOMPLETE if isinstance(values[6], int) else 0
            if at in (18, 19):
                report.body_lost(str(values[0]))


def _write_ends(target: sqlite3.Connection, rows: Rows, numbers: dict[int, int], report: Recovered) -> None:
    done: set[int] = set()
    for rowid, row in sorted(rows["node_ends"].items()):
        node = row[1]
        if not isinstance(node, int) or node not in numbers or node in done:
            report.notes.append(f"the end of node number {node!r}: its beginning is gone")
            continue
        done.add(node)
        values = list(row[1:])
        values[0] = numbers[node]
        for at in range(10, 14):
            if values[at] is not None and values[at] not in rows["bodies"]:
                values[at] = _lost_result(target, rows, node) if at == 10 else None
                if at in (10, 11):
                    report.body_lost(f"result of node number {node}")
        _insert(target, "node_ends", rowid, values)


def _lost_result(target: sqlite3.Connection, rows: Rows, node: int) -> Value:
    """A result that pairs with the call and says that it is lost; None when the call is lost as well."""
    detail = rows["nodes"].get(node, [None] * 23)[20]
    stored = rows["bodies"].get(detail) if isinstance(detail, int) else None
    if stored is None:
        return None
    _, digest, codec, size, _, data = stored
    if not (
        isinstance(codec, int)
        and isinstance(size, int)
        and isinstance(data, bytes)
        and isinstance(digest, bytes)
    ):
        return None
    call = loads(bodies.decode(codec, data, size, digest)).get("call") or {}
    text = "[The result of this call was lost when the session file was damaged.]"
    block = {"type": "tool_result", "tool_use_id": call.get("id", ""), "content": text, "is_error": True}
    return bodies.put(target, dumps({"role": "user", "content": [block]}))


def _insert(target: sqlite3.Connection, table: str, rowid: int, values: list[Value]) -> None:
    target.execute(f"INSERT INTO {table} VALUES({','.join('?' * (len(values) + 1))})", (rowid, *values))
