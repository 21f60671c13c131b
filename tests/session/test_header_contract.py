"""The window reads rows with `core.header_reader` alone: what it needs of the file must not change under it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from session import make
from worldline.core import header_reader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session.document import SessionDocument

CONTRACT = {
    "nodes": "seq uid parent kind created preview outcome flags size run branch tool model state added removed files moved",
    "node_ends": "id node at outcome preview flags size state added removed files",
    "cursor_moves": "id node after_node",
    "records": "id kind node data",
    "meta": "id key value",
    "openings": "id last_node",
}


def test_tables_and_columns_that_readers_rely_on(doc: SessionDocument, path: Path) -> None:
    raw = sqlite3.connect(path)
    for table, columns in CONTRACT.items():
        there = {row[1] for row in raw.execute(f"PRAGMA table_info({table})")}
        assert set(columns.split()) <= there, table
    assert raw.execute("PRAGMA application_id").fetchone() == (0x574C444E,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_rows_read_without_the_session_package_are_the_same(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid, flags=NodeFlag.RETRIED))
    doc.finish(call.uid, make.tool_end(flags=NodeFlag.EFFECT, preview="ended", state="s9", files=3))
    running = doc.append(make.tool(call.uid))
    doc.set_cursor(root.uid)
    doc.set_mark(call.uid, "label", "x")
    connection = header_reader.connect_readonly(path)
    headers = header_reader.read_headers(connection)
    assert headers == doc.headers()
    ended = headers[1]
    assert (ended.outcome, ended.preview, ended.state, ended.files) == (Outcome.OK, "ended", "s9", 3)
    assert ended.flags == NodeFlag.RETRIED | NodeFlag.EFFECT and ended.finished
    assert headers[2].outcome is Outcome.RUNNING
    assert header_reader.read_headers(connection, live=False)[2].outcome is Outcome.INTERRUPTED
    columns = header_reader.read_columns(connection)
    assert list(columns.parent) == [0, 0, 1, 2]
    assert [header_reader.KINDS[code] for code in columns.kind[1:]] == [
        NodeKind.ROOT,
        NodeKind.TOOL,
        NodeKind.TOOL,
    ]
    assert columns.unfinished == [running.seq] and columns.flags[2] == int(ended.flags)
    assert header_reader.uid_of(connection, header_reader.read_cursor(connection)) == root.uid
    assert set(header_reader.read_marks(connection)) == {call.uid}
    assert header_reader.read_meta(connection)["title"] == "A session"
    connection.close()


def test_it_loads_nothing_that_the_window_must_not(path: Path) -> None:
    code = "import sys, worldline.core.header_reader; print([m for m in sys.modules if m.startswith('worldline.session')])"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert out.stdout.strip() == "[]", out.stderr


def test_the_cursor_is_the_last_of_rows_and_moves(doc: SessionDocument, path: Path) -> None:
    connection = header_reader.connect_readonly(path)
    a = doc.append(make.root())
    b = doc.append(make.user(a.uid))
    for move, expected in (
        (lambda: None, b),
        (lambda: doc.set_cursor(a.uid), a),
        (lambda: doc.append(make.user(b.uid), move_cursor=False), a),
        (lambda: doc.set_cursor(b.uid), b),
        (lambda: doc.set_cursor(a.uid), a),
    ):
        move()
        assert header_reader.read_cursor(connection) == expected.seq == doc.seq(doc.cursor)
    last = doc.append(make.user(a.uid))
    assert header_reader.read_cursor(connection) == last.seq
    connection.close()
