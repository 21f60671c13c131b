"""A damaged byte in what is stored as JSON beside the tree: no page is broken by it, and no hash tells."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from session import make
from worldline.core.errors import SessionError
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.engine.opening import OpenRequest, open_for_reading
from worldline.session.document import SessionDocument
from worldline.session.health import FileCheck
from worldline.session.model import RunRecord
from worldline.session.recover import recover
from worldline.session.verify import verify

DAMAGE = {
    "mode": (b'"mode":"in_place"', b'"mode":"in_pl\x7fce"'),
    "folder": (b'{"mode":"in_place"', b'{"mode":"in_place\x02'),
    "record": (b'{"added":1', b'{"added\x02:1'),
    "branch": (b'{"name":"one"', b'{"name"\x1a"one"'),
    "run": (b'{"model":"m"', b'{"model"\x1a"m"'),
    "usage": (b'"answers":7', b'"answers":x'),
}


def fill(path: Path) -> None:
    with SessionDocument.create(path, title="T", workspace={"mode": "in_place", "path": "/nowhere"}) as doc:
        root = doc.append(make.root()).uid
        said = doc.append(make.user(root, "hello")).uid
        call = doc.append(make.tool(said)).uid
        doc.finish(call, make.tool_end("done"))
        doc.add_record("lines", {"added": 1, "removed": 2}, node=said)
        doc.begin_run(RunRecord("run1", said, 1, {"model": "m"}))
        doc.end_run("run1", StopReason.COMPLETED, usage=Usage(answers=7))
        doc.add_record("branch", {"name": "one"}, node=said)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def damage(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("which", DAMAGE)
def test_it_is_reported_shown_and_recovered_into_a_sound_file(tmp_path: Path, which: str) -> None:
    path, out = tmp_path / "s.worldline", tmp_path / "out.worldline"
    fill(path)
    assert verify(path).sound and not FileCheck(path).run()
    damage(path, *DAMAGE[which])
    before = path.read_bytes()
    faults = verify(path).faults
    assert {fault.kind for fault in faults} == {"bad_fact" if which in ("mode", "folder") else "bad_record"}

    found = recover(path, out)
    assert any("damaged" in note for note in found.notes), "what was left out is named"
    assert verify(out).sound, verify(out).faults
    with SessionDocument.open(out) as doc:
        assert len(doc.headers()) == 3
        assert doc.info()["title"] == "T"
        assert [run.stop_reason for run in doc.runs()] == [StopReason.COMPLETED], (
            "a run is kept, whatever it lost"
        )
        assert len(doc.records("lines")) == (which != "record")
        doc.append(make.user(doc.cursor or "", "it goes on"))

    opened = open_for_reading(OpenRequest(session=path, read_only=True))
    try:
        assert len(opened.doc.headers()) == 3
        assert opened.doc.damage or FileCheck(path).run(), "the person is told"
    finally:
        opened.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("which", ["mode", "folder", "branch", "run", "usage"])
def test_such_a_session_is_opened_for_reading_and_not_held(tmp_path: Path, which: str) -> None:
    path = tmp_path / "s.worldline"
    fill(path)
    damage(path, *DAMAGE[which])
    opened = open_for_reading(OpenRequest(session=path))
    try:
        assert opened.doc.read_only and opened.doc.damage
        with pytest.raises(SessionError):
            opened.doc.append(make.user(opened.doc.cursor or "", "no"))
    finally:
        opened.close()
    SessionDocument.open(path).close()  # the lock of the attempt was given back


def changed_and_recovered(folder: Path, change: str) -> Path:
    """What is saved of a session in which rows of its tree were changed."""
    path, out = folder / "s.worldline", folder / "out.worldline"
    fill(path)
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER nodes_update")
        db.execute(f"UPDATE nodes SET {change}")
    db.close()
    recover(path, out)
    return out


def test_a_damaged_word_of_a_step_is_taken_from_the_copy_beside_its_text(tmp_path: Path) -> None:
    out = changed_and_recovered(tmp_path, "kind = 'toon', outcome = 'runninw' WHERE kind = 'tool'")
    with SessionDocument.open(out, "read") as doc:
        call = doc.headers()[-1]
        assert (call.kind, call.outcome) == (NodeKind.TOOL, Outcome.OK)
    assert verify(out).sound, verify(out).faults


def test_a_kind_of_a_newer_version_stays_as_it_is(tmp_path: Path) -> None:
    change = "kind = 'hologram', message = NULL, detail = NULL WHERE kind = 'root'"
    out = changed_and_recovered(tmp_path, change)
    with SessionDocument.open(out, "read") as doc:
        assert doc.headers()[0].raw_kind == "hologram"
