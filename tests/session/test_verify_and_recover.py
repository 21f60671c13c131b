from __future__ import annotations

import hashlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from session import make
from worldline.core.errors import SessionError
from worldline.core.kinds import NodeKind
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session.document import SessionDocument
from worldline.session.model import RunRecord
from worldline.session.recover import recover
from worldline.session.verify import verify


def fill(path: Path, turns: int = 40) -> list[str]:
    rng = random.Random(5)
    with SessionDocument.create(path, title="T") as doc, doc.transaction():
        uids = [doc.append(make.root()).uid]
        for turn in range(turns):
            run = f"run{turn}"
            asked = doc.append(make.user(rng.choice(uids[-4:]), f"prompt {turn} " + "word " * 80, run=run))
            doc.begin_run(RunRecord(run, asked.uid, 1))
            said = doc.append(
                make.assistant(asked.uid, "reply " * rng.randrange(300), usage=Usage(cost=0.5, answers=1))
            )
            call = doc.append(make.tool(said.uid, task_state={"turn": turn}))
            doc.finish(call.uid, make.tool_end(f"output {turn} " * rng.randrange(3000), state=f"{turn:040x}"))
            doc.end_run(run, StopReason.COMPLETED)
            uids += [asked.uid, said.uid, call.uid]
        doc.set_mark(uids[3], "label", "good")
        doc.set_cursor(uids[10])
    return uids


@pytest.fixture
def filled(path: Path) -> Path:
    fill(path)
    return path


def kinds(path: Path, **more: Callable[[str], bool]) -> set[str]:
    before = hashlib.sha256(path.read_bytes()).digest()
    report = verify(path, **more)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    for fault in (*report.faults, *report.notes):
        assert fault.kind and fault.where and fault.meaning and fault.still_works
    assert report.sound == (not report.faults)
    return {fault.kind for fault in report.faults}


def test_a_sound_file_is_sound(filled: Path) -> None:
    assert kinds(filled, state_exists=lambda state: True) == set()
    assert verify(filled).notes == []


def freed(path: Path) -> sqlite3.Connection:
    """A connection that may change history, as a hex editor may."""
    raw = sqlite3.connect(path, isolation_level=None)
    for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    return raw


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ("DELETE FROM nodes WHERE seq = 5", "missing_node"),
        ("PRAGMA ignore_check_constraints = 1; UPDATE nodes SET parent = 7 WHERE seq = 7", "bad_parent"),
        ("PRAGMA ignore_check_constraints = 1; UPDATE nodes SET parent = 9 WHERE seq = 7", "bad_parent"),
        ("UPDATE nodes SET uid = 'x y' WHERE seq = 7", "bad_id"),
        ("UPDATE nodes SET fork = 1 - fork WHERE seq = 7", "fork_mark"),
        ("UPDATE nodes SET kind = 'hologram' WHERE seq = 7", "unknown_kind"),
        ("DELETE FROM bodies WHERE id = 3", "broken_reference"),
        ("UPDATE bodies SET data = x'00' || substr(data, 2) WHERE id = 3", "bad_body"),
        ("UPDATE bodies SET codec = 9 WHERE id = 3", "bad_body"),
        ("UPDATE nodes SET outcome = 'ok' WHERE kind = 'tool' AND seq < 9", "end_without_start"),
        ("UPDATE cursor_moves SET node = 999", "cursor_lost"),
        ("DELETE FROM runs WHERE id = 2", "end_without_start"),
        ("SELECT 1", "schema_changed"),
    ],
)
def test_each_fault_is_found(filled: Path, change: str, kind: str) -> None:
    raw = freed(filled)
    raw.executescript(change)
    raw.close()
    assert kind in kinds(filled)


def test_a_path_over_a_lost_row_is_damage_and_not_a_defect(filled: Path) -> None:
    raw = freed(filled)
    (lost,) = raw.execute("SELECT parent FROM nodes WHERE seq = (SELECT max(seq) FROM nodes)").fetchone()
    raw.execute("DELETE FROM nodes WHERE seq = ?", (lost,))
    raw.commit()
    raw.close()
    with SessionDocument.open(filled, "read") as doc:
        last = doc.uid(len(doc.tree))
        with pytest.raises(SessionError, match=f"node number {lost} is missing") as caught:
            doc.path_bodies(last)
        assert caught.value.kind == "damaged" and doc.body(last).uid == last


def test_missing_states_are_found(filled: Path) -> None:
    gone = f"{3:040x}"
    report = verify(filled, state_exists=lambda state: state != gone)
    assert [(fault.kind, gone[:12] in fault.meaning) for fault in report.faults] == [("state_missing", True)]


def test_interrupted_steps_are_a_note(path: Path) -> None:
    with SessionDocument.create(path) as doc:
        root = doc.append(make.root())
        doc.append(make.tool(root.uid))
        assert verify(path).notes == []  # it runs
    report = verify(path)
    assert report.sound and [note.kind for note in report.notes] == ["interrupted"]


def test_recovering_a_sound_file_gives_the_same_session(filled: Path, tmp_path: Path) -> None:
    before = filled.read_bytes()
    out = tmp_path / "new.worldline"
    report = recover(filled, out)
    assert not report.lost_nodes and not report.lost_bodies and not report.notes
    assert filled.read_bytes() == before
    with SessionDocument.open(filled, "read") as old, SessionDocument.open(out, "read") as new:
        assert new.headers() == old.headers()
        assert new.cursor == old.cursor and new.marks() == old.marks() and new.runs() == old.runs()
        assert new.usage_total() == old.usage_total()
        for uid in old.uids(range(1, len(old.tree) + 1)):
            a, b = old.body(uid), new.body(uid)
            assert (a.message_bytes, a.end_message_bytes) == (b.message_bytes, b.end_message_bytes)
            assert old.task_state(uid) == new.task_state(uid)
        assert new.info()["recovered_from"] == str(filled)
    assert kinds(out) == set()


def test_what_is_still_in_the_log_is_recovered(path: Path, tmp_path: Path) -> None:
    with SessionDocument.create(path) as doc:
        uids = [doc.append(make.root()).uid]
        uids += [doc.append(make.user(uids[0], f"w{n}")).uid for n in range(50)]
        recover(path, tmp_path / "out.worldline")
    with SessionDocument.open(tmp_path / "out.worldline") as new:
        assert [h.uid for h in new.headers()] == uids


@pytest.mark.parametrize("page", ["first", "inner", "leaves"])
def test_whole_rows_survive_destroyed_pages(path: Path, tmp_path: Path, page: str) -> None:
    uids = fill(path, 100)
    data = bytearray(path.read_bytes())
    pages = len(data) // 4096
    rng = random.Random(page)
    if page == "first":
        hit = [0]
    elif page == "inner":
        hit = [n for n in range(1, pages) if data[n * 4096] in (0x05, 0x02)]
    else:
        hit = rng.sample(range(1, pages), pages // 10)
    for number in hit:
        data[number * 4096 : (number + 1) * 4096] = rng.randbytes(4096)
    path.write_bytes(data)
    before = bytes(data)
    report = recover(path, tmp_path / "new.worldline")
    assert path.read_bytes() == before
    with SessionDocument.open(tmp_path / "new.worldline") as new:
        found = {h.uid for h in new.headers() if h.raw_kind != "lost"}
        assert found <= set(uids)
        if page == "leaves":
            assert len(found) > len(uids) * 0.6
        else:
            assert found == set(uids) and not report.lost_nodes
        for header in new.headers():
            if header.kind is NodeKind.USER:
                message = new.body(header.uid).message
                assert message is not None and message["role"] == "user"
    assert kinds(tmp_path / "new.worldline") <= {"no_cursor"}


def test_recover_refuses_what_it_cannot_do(filled: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise.worldline"
    noise.write_bytes(random.Random(1).randbytes(50_000))
    for source, out, kind in (
        (filled, filled, "exists"),
        (tmp_path / "no", tmp_path / "x", "missing"),
        (noise, tmp_path / "x", "not_a_session"),
    ):
        with pytest.raises(SessionError) as refused:
            recover(source, out)
        assert refused.value.kind == kind
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("seed", range(12))
def test_damage_never_crashes_and_never_changes_the_file(path: Path, tmp_path: Path, seed: int) -> None:
    fill(path, 25)
    rng = random.Random(seed)
    data = bytearray(path.read_bytes())
    start = rng.randrange(0, len(data))
    length = rng.choice((1, 100, 5000, 40_000))
    how = seed % 4
    if how == 0:
        del data[start:]
    elif how == 1:
        data[start : start + length] = bytes(min(length, len(data) - start))
    elif how == 2:
        data[start : start + length] = rng.randbytes(min(length, len(data) - start))
    else:
        data += rng.randbytes(length)
    path.write_bytes(data)
    verify_report = None
    try:
        verify_report = verify(path)
        with SessionDocument.open(path, "read") as doc:
            for header in doc.headers():
                doc.body(header.uid)
    except SessionError as problem:
        assert problem.kind in ("damaged", "unreadable", "not_a_session"), problem
        assert verify_report is None or not verify_report.sound
    assert path.read_bytes() == bytes(data)
    try:
        recover(path, tmp_path / "new.worldline")
    except SessionError as problem:
        assert problem.kind == "not_a_session"
    else:
        assert kinds(tmp_path / "new.worldline") <= {"no_cursor"}


@pytest.mark.parametrize("column", ["flags", "created", "kind", "preview", "size"])
def test_a_torn_row_is_damage_and_not_a_defect(filled: Path, column: str) -> None:
    raw = freed(filled)
    raw.execute("PRAGMA writable_schema = ON")
    raw.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'nodes'")
    raw.close()
    raw = sqlite3.connect(filled, isolation_level=None)
    raw.execute(
        f"UPDATE nodes SET {column} = CASE '{column}' WHEN 'preview' THEN CAST(x'ff41' AS TEXT) END WHERE seq = 5"
    )
    raw.close()
    assert "unreadable" in kinds(filled) or column in ("kind", "preview", "size")
    try:
        with SessionDocument.open(filled, "read") as doc:
            doc.headers()
    except SessionError as problem:
        assert problem.kind == "damaged"
