"""The public face of the session document."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from session import make
from worldline.core.errors import BadInput, SessionError
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session import schema
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, RunRecord
from worldline.session.verify import verify


def test_what_was_appended_is_there_after_reopening(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    asked = doc.append(make.user(root.uid, "fix the tests", run="r1"))
    said = doc.append(make.assistant(asked.uid, "looking", usage=Usage(input_tokens=5, cost=0.25, answers=1)))
    call = doc.append(make.tool(said.uid, task_state={"plan": ["a"]}))
    assert call.outcome is Outcome.RUNNING
    ended = doc.finish(
        call.uid, make.tool_end("all fine", flags=NodeFlag.FILES_CHANGED, state="s1", files=2, added=7)
    )
    doc.close()
    with SessionDocument.open(path) as again:
        assert again.headers() == [root, asked, said, ended]
        assert again.cursor == call.uid
        assert again.interrupted_on_open == []
        body = again.body(call.uid)
        assert body.detail["call"]["input"] == {"command": "ls"}
        assert body.end_message is not None and body.end_message["content"][0]["content"] == "all fine"
        assert body.message is None and body.message_bytes == b""
        assert [b.uid for b in again.path_bodies(call.uid)] == [root.uid, asked.uid, said.uid, call.uid]
        assert again.task_state(call.uid) == {"plan": ["a"]}
        assert again.task_state(said.uid) is None
        assert again.state(call.uid) == "s1" and again.state(said.uid) == "s0"
        assert again.usage_of([root.uid, said.uid]) == Usage(input_tokens=5, cost=0.25, answers=1)
        assert again.info()["title"] == "A session" and again.info()["workspace"] == {"root": "/w"}


def test_history_refuses_change_in_every_way(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid, usage=Usage(answers=1)))
    doc.finish(call.uid, make.tool_end())
    doc.begin_run(RunRecord("r1", root.uid, 1))
    doc.end_run("r1", StopReason.COMPLETED)
    doc.set_cursor(root.uid)
    doc.set_mark(root.uid, "label", "x")
    raw = sqlite3.connect(path, isolation_level=None)
    for table in schema.HISTORY_TABLES:
        columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        before = raw.execute(f"SELECT * FROM {table}").fetchall()
        assert before, table
        for statement in (
            f"UPDATE {table} SET {columns[-1]} = {columns[-1]}",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1",
            f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                raw.execute(statement)
        assert raw.execute(f"SELECT * FROM {table}").fetchall() == before
    raw.close()


def test_a_parent_must_be_there(doc: SessionDocument, path: Path) -> None:
    with pytest.raises(BadInput):
        doc.append(make.user("0" * 16))
    root = doc.append(make.root())
    raw = sqlite3.connect(path, isolation_level=None)
    row = raw.execute("SELECT * FROM nodes").fetchone()
    for parent in (2, 9, -1):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(
                f"INSERT INTO nodes VALUES({','.join('?' * len(row))})", (2, "f" * 16, parent, *row[3:])
            )
    raw.close()
    assert [h.uid for h in doc.headers()] == [root.uid]


def test_ids_are_unique_and_wellformed(doc: SessionDocument) -> None:
    doc.append(make.root(uid="a" * 16))
    with pytest.raises(BadInput):
        doc.append(make.root(uid="a" * 16))
    with pytest.raises(BadInput):
        doc.append(make.root(uid="no id!"))
    with pytest.raises(BadInput):
        doc.append(NodeDraft(NodeKind.USER, "a" * 16, {"role": "user", "content": float("nan")}))
    assert len(doc.tree) == 1


def test_a_second_writer_is_refused_and_may_follow(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    with pytest.raises(SessionError) as refused:
        SessionDocument.open(path)
    assert refused.value.kind == "locked"
    with SessionDocument.open(path, "read") as follower:
        assert follower.info()["read_only"] and follower.poll() == []
        call = doc.append(make.tool(root.uid))
        assert follower.poll() == [call]
        ended = doc.finish(call.uid, make.tool_end())
        second = doc.append(make.user(call.uid))
        doc.set_cursor(root.uid)
        assert follower.poll() == [ended, second]
        assert follower.poll() == []
        assert follower.cursor == root.uid
        assert follower.tree.outcome(call.seq) is Outcome.OK
        with pytest.raises(SessionError) as read_only:
            follower.append(make.user(root.uid))
        assert read_only.value.kind == "read_only"


def test_unfinished_is_interrupted_at_the_next_opening(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    doc.begin_run(RunRecord("r1", root.uid, 1))
    call = doc.append(make.tool(root.uid))
    assert doc.header(call.uid).outcome is Outcome.RUNNING
    doc.close()
    with SessionDocument.open(path, "read") as dead:
        assert dead.header(call.uid).outcome is Outcome.INTERRUPTED
        assert dead.tree.outcome(call.seq) is Outcome.INTERRUPTED
    with SessionDocument.open(path) as again:
        assert again.interrupted_on_open == [call.uid] and again.runs_ended_on_open == 1
        assert again.body(call.uid).outcome is Outcome.INTERRUPTED
        assert again.runs()[0].stop_reason is StopReason.INTERRUPTED
        new = again.append(make.tool(call.uid))
        assert again.header(new.uid).outcome is Outcome.RUNNING
        assert again.header(call.uid).outcome is Outcome.INTERRUPTED
    with SessionDocument.open(path) as third:
        assert third.interrupted_on_open == [new.uid] and third.runs_ended_on_open == 0
        assert third.finish(call.uid, make.tool_end()).outcome is Outcome.OK


def test_ends_are_final(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid))
    doc.finish(call.uid, make.tool_end())
    doc.begin_run(RunRecord("r1", root.uid, 1))
    doc.end_run("r1", StopReason.ABORTED)
    for again in (
        lambda: doc.finish(call.uid, make.tool_end()),
        lambda: doc.finish(root.uid, make.tool_end()),
        lambda: doc.end_run("r1", StopReason.COMPLETED),
    ):
        with pytest.raises(SessionError) as refused:
            again()
        assert refused.value.kind == "already_ended"
    assert doc.runs()[0].stop_reason is StopReason.ABORTED


def test_a_transaction_is_all_or_nothing(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid))
    with pytest.raises(ZeroDivisionError), doc.transaction():
        doc.finish(call.uid, make.tool_end())
        inner = doc.append(make.user(call.uid))
        doc.append(make.assistant(inner.uid))
        raise ZeroDivisionError
    assert len(doc.tree) == 2 and doc.cursor == call.uid
    assert doc.tree.outcome(call.seq) is Outcome.RUNNING and doc.header(call.uid).outcome is Outcome.RUNNING
    assert doc.tree.children(call.seq) == []
    after = doc.append(make.user(call.uid))
    assert after.seq == 3 and doc.tree.children(call.seq) == [3]


def test_bodies_are_stored_once(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    big = "the same long output " * 5000
    for _ in range(5):
        call = doc.append(make.tool(root.uid))
        doc.finish(call.uid, make.tool_end(big))
    name = doc.put_blob(big.encode())
    assert doc.blob(name) == big.encode() and doc.put_blob(big.encode()) == name
    with pytest.raises(BadInput):
        doc.blob("00" * 32)
    rows = (
        sqlite3.connect(path).execute("SELECT size, length(data) FROM bodies WHERE size > 10000").fetchall()
    )
    assert len(rows) == 2 and all(stored < size / 20 for size, stored in rows)


def test_bodies_of_middle_size_are_stored_once_also_after_a_write_that_was_taken_back(
    doc: SessionDocument, path: Path
) -> None:
    root = doc.append(make.root())
    output = "the same output of some size " * 400

    def ended() -> str:
        call = doc.append(make.tool(root.uid))
        doc.finish(call.uid, make.tool_end(output))
        return call.uid

    with pytest.raises(ZeroDivisionError), doc.transaction():
        ended()
        _ = 1 / 0
    uids = [ended() for _ in range(5)]
    rows = sqlite3.connect(path).execute("SELECT count(*) FROM bodies WHERE size > 10000").fetchone()
    assert rows == (1,)
    bodies = [doc.body(uid).end_message for uid in uids]
    assert all(output in json.dumps(body) for body in bodies)
    doc.close()
    with SessionDocument.open(path) as again:
        assert [again.body(uid).end_message for uid in uids] == bodies
    assert verify(path).sound


def test_records_are_sieved_by_what_they_hold(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    for number, kind in enumerate(("retry", "poisoned", "view_repair", "poisoned")):
        doc.add_record("diagnostic", {"kind": kind, "data": {"number": number}}, node=root.uid)
    doc.add_record("jump", {"why": "poisoned"})
    found = doc.records("diagnostic", holding="poisoned")
    assert [record.data["data"]["number"] for record in found] == [1, 3]
    assert found == [r for r in doc.records("diagnostic") if r.data["kind"] == "poisoned"]
    assert doc.records("diagnostic", since=found[0].seq, holding="poisoned") == found[1:]


def test_references(doc: SessionDocument) -> None:
    with pytest.raises(BadInput):
        doc.resolve("cursor")
    root = doc.append(make.root(uid="aa00000000000000"))
    left = doc.append(make.user(root.uid, uid="ab00000000000000"))
    right = doc.append(make.user(root.uid, uid="ba00000000000000"))
    doc.set_cursor(left.uid)
    assert doc.resolve("root") == root.uid
    assert doc.resolve("cursor") == doc.resolve("ab") == doc.resolve("leaf") == left.uid
    assert doc.resolve("b") == doc.resolve(right.uid) == right.uid
    for bad in ("a", "c", "", "%", "a*", "ä"):
        with pytest.raises(BadInput):
            doc.resolve(bad)


def test_unknown_kinds_are_kept_word_for_word(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    doc.append(NodeDraft(NodeKind.UNKNOWN, root.uid, detail={"x": 1}, raw_kind="hologram"))
    header = doc.headers()[1]
    assert header.kind is NodeKind.UNKNOWN and header.raw_kind == "hologram"
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT kind FROM nodes WHERE seq = 2").fetchone() == ("hologram",)
    raw.close()


def test_a_newer_schema_opens_for_reading_only(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    doc.close()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.executescript(
        "ALTER TABLE nodes ADD COLUMN mood TEXT; CREATE TABLE dreams(id INTEGER PRIMARY KEY); PRAGMA user_version = 99;"
    )
    raw.close()
    with pytest.raises(SessionError) as refused:
        SessionDocument.open(path)
    assert refused.value.kind == "newer_schema" and "newer version" in str(refused.value)
    with SessionDocument.open(path, "read") as reader:
        assert reader.headers() == [root]
        assert "newer" in reader.info()["read_only_why"]


def test_files_that_are_no_sessions_are_named_and_untouched(tmp_path: Path) -> None:
    text, empty, zeros, other = (tmp_path / name for name in ("a.txt", "e.txt", "z.worldline", "o.db"))
    text.write_text("hello")
    empty.touch()
    zeros.write_bytes(bytes(9000))
    foreign = sqlite3.connect(other)
    foreign.executescript("CREATE TABLE t(x); INSERT INTO t VALUES(1);")
    foreign.close()
    for file, kind in (
        (text, "not_a_session"),
        (empty, "not_a_session"),
        (zeros, "damaged"),
        (other, "not_a_session"),
        (tmp_path, "not_a_session"),
        (tmp_path / "none", "missing"),
    ):
        before = file.read_bytes() if file.is_file() else b""
        for mode in ("read", "write"):
            with pytest.raises(SessionError) as refused:
                SessionDocument.open(file, mode)  # type: ignore[arg-type]
            assert refused.value.kind == kind, (file, mode)
        assert (file.read_bytes() if file.is_file() else b"") == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "e.txt", "o.db", "z.worldline"]
    with pytest.raises(SessionError) as taken:
        SessionDocument.create(text, title="")
    assert taken.value.kind == "exists" and text.read_text() == "hello"


def test_marks(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    call = doc.append(make.user(root.uid))
    doc.set_mark(root.uid, "label", "keep", color="green")
    doc.set_mark(root.uid, "label", "failed", color="red")
    doc.set_mark(root.uid, "note", "as I said")
    doc.set_mark(call.uid, "bookmark", "1")
    doc.set_mark(call.uid, "bookmark", "")
    assert list(doc.marks()) == [root.uid]
    mark = doc.marks()[root.uid]
    assert (mark.label, mark.color, mark.note, mark.bookmark) == ("failed", "red", "as I said", "")
    assert len(doc.records("label", node=root.uid)) == 2
    with pytest.raises(BadInput):
        doc.set_mark("0" * 16, "label", "x")
    assert doc.cursor == call.uid


def test_records_and_titles(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    first = doc.add_record("diagnostic", {"text": "一"}, node=root.uid, run="r1")
    doc.add_record("effect", {})
    assert doc.records("diagnostic") == [first]
    assert doc.records(since=first.seq)[0].kind == "effect"
    doc.set_title("two\nlines")
    assert doc.info()["title"] == "two lines"


def test_it_belongs_to_one_thread(doc: SessionDocument) -> None:
    failures: list[BaseException] = []

    def elsewhere() -> None:
        try:
            doc.headers()
        except AssertionError as problem:
            failures.append(problem)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(failures) == 1


def test_nobody_else_reads_a_session(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with SessionDocument.create(tmp_path / "s.worldline") as document:
            document.save_copy(tmp_path / "copy.worldline")
            modes = {p.name: p.stat().st_mode & 0o077 for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) >= {"s.worldline", "s.worldline-wal", "copy.worldline"}
    assert not any(modes.values()), modes
