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
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.core.ids import is_node_id
from worldline.core.jsontext import clean_text
from worldline.core.kinds import NodeKind, Outcome
from worldline.session import bodies, connect, sums
from worldline.session.copies import Copies, Rows, beside
from worldline.session.document import now_ms
from worldline.session.facts import COLUMNS, is_fact
from worldline.session.pages import PageFile, Value
from worldline.session.recover_tree import Texts, ends_of, nodes_of
from worldline.session.recovered import Recovered as Recovered
from worldline.session.schema import LOST_KIND

_WORD = re.compile(r"[a-z][a-z_]*")
"""Kinds and outcomes, of any version."""


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
Bodies are kept as the first schema has them, without `head`, and the rows beside the tree without their sum."""
_SUMMED = {
    name: (width + 1, fits)
    for width, shapes in _SHAPES.items()
    for name, fits in shapes
    if name in sums.COLUMNS
}
"""Table → the width of its rows with a sum, which comes last."""

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
        rows, copies, changed = _collect(path)
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
            _write(target, rows, changed, report, path)
            target.execute("COMMIT")
    except BaseException:
        connect.remove(out)
        raise
    return report


def _collect(path: Path) -> tuple[Rows, Copies, set[tuple[str, int]]]:
    """Rows; what the copies say; rows (table and key) that say something else than when they were stored."""
    changed: set[tuple[str, int]] = set()
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
            else:
                _take_summed(found, changed, rowid, values)
    return found, copies, changed


def _take_summed(found: Rows, changed: set[tuple[str, int]], rowid: int, values: list[Value]) -> None:
    """A row of a table beside the tree. One that does not fit its sum is kept: what else it says is worth more."""
    if not isinstance(values[-1], bytes | None):
        return
    row = values[:-1]
    for name, (width, fits) in _SUMMED.items():
        if width == len(values) and fits(row):
            if rowid not in found[name] and not sums.fits(name, _of_sum(name, rowid, row), values[-1]):
                changed.add((name, rowid))
            found[name].setdefault(rowid, row)
            return


def _of_sum(name: str, key: int, row: list[Value]) -> list[Value]:
    """What the sum of a row is made of."""
    return [key, *row[1:]] if name == "usage" else row[1:]


def _leave_out(rows: Rows, changed: set[tuple[str, int]], report: Recovered) -> None:
    """What is stored as JSON and is none: a session that holds it cannot be opened. Of other rows that were changed it is
    said."""
    for table, _, fits in COLUMNS:
        for rowid, row in list(rows[table].items()):
            at = _JSON_AT[table]
            if fits(row[at]):
                continue
            report.notes.append(f"{table} {rowid}: what it says is damaged")
            changed.discard((table, rowid))
            if table == "records":
                del rows[table][rowid]
            else:
                row[at] = "{}"  # that there was a run, and how it ended, is worth more
    for rowid, row in list(rows["meta"].items()):
        if not is_fact(row[1], row[2]):
            report.notes.append(f"what was stored of the session under {row[1]!r} is damaged")
            del rows["meta"][rowid]
            changed.discard(("meta", rowid))
    report.notes += [f"{table} {rowid}: the damage changed what it says" for table, rowid in sorted(changed)]


def _write(
    target: sqlite3.Connection, rows: Rows, changed: set[tuple[str, int]], report: Recovered, source: Path
) -> None:
    _leave_out(rows, changed, report)
    report.bodies, report.rows = len(rows["bodies"]), sum(map(len, rows.values()))
    numbers = _write_tree(target, rows, report)
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
    at_ms = now_ms()
    for key, value in (("recovered_from", str(source)), ("recovered_at", str(at_ms))):
        sums.insert(target, "meta", (key, clean_text(value), at_ms), summed=True)
    # Whatever was running ended with the damaged file.
    last = target.execute("SELECT ifnull(max(seq), 0) FROM nodes").fetchone()[0]
    sums.insert(target, "openings", (at_ms, "recover", 0, last), summed=True)


def _write_tree(target: sqlite3.Connection, rows: Rows, report: Recovered) -> dict[int, int]:
    """Nodes, ends and bodies, with the copies beside these. Returns old number → new number."""
    texts = Texts(rows["bodies"])
    numbers, nodes = nodes_of(rows, texts, report)
    ends = ends_of(rows, texts, numbers, report)
    copies = beside(rows["bodies"], nodes, ends)
    for body_id, row in sorted(rows["bodies"].items()):
        _insert(target, "bodies", body_id, [*row[1:5], copies.get(body_id), row[5]])
    for table, made in (("nodes", nodes), ("node_ends", ends)):
        for key, values in made.items():
            _insert(target, table, key, values)
    return numbers


def _insert(target: sqlite3.Connection, table: str, rowid: int, values: list[Value]) -> None:
    if table in sums.COLUMNS:
        values = [*values, sums.sum_of(table, _of_sum(table, rowid, [None, *values]))]
    target.execute(f"INSERT INTO {table} VALUES({','.join('?' * (len(values) + 1))})", (rowid, *values))
