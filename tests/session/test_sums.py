"""A changed letter beside the tree that leaves everything readable: the sum of the row tells."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from session import make
from session.test_facts import damage, fill
from session.test_heads import as_of
from worldline.core.errors import BadInput
from worldline.core.usage import Usage
from worldline.session import sums
from worldline.session.document import SessionDocument
from worldline.session.export import jsonl
from worldline.session.recover import recover
from worldline.session.verify import verify

CHANGES = {
    "records 2": (b'{"name":"one"', b'{"name":"two"'),
    "runs 1": (b'{"model":"m"', b'{"model":"n"'),
    "run_ends 1": (b'"answers":7', b'"answers":8'),
    "meta 3": (b'"path":"/nowhere"', b'"path":"/nowhen/"'),
}


@pytest.mark.parametrize("where", CHANGES)
def test_a_changed_row_is_told_and_kept(tmp_path: Path, where: str) -> None:
    path, out = tmp_path / "s.worldline", tmp_path / "out.worldline"
    fill(path)
    assert verify(path).sound
    damage(path, *CHANGES[where])
    (fault,) = verify(path).faults
    assert (fault.kind, fault.where) == ("row_changed", where)
    report = recover(path, out)
    assert report.notes == [f"{where}: the damage changed what it says"]
    assert verify(out).sound
    with SessionDocument.open(out) as doc:
        assert len(doc.headers()) == 3 and len(doc.records("branch")) == 1 and len(doc.runs()) == 1


def test_a_row_of_every_table_has_its_sum(tmp_path: Path) -> None:
    path = tmp_path / "s.worldline"
    fill(path)
    with SessionDocument.open(path) as doc:
        root = doc.uid(1)
        doc.set_cursor(root)
        for number, cost in enumerate((None, 0.0, 3.0, 0.1)):
            doc.append(make.user(root, str(number), usage=Usage(input_tokens=5, cost=cost, answers=1)))
    assert verify(path).sound
    with sqlite3.connect(path) as raw:
        for (name,) in raw.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%update'"
        ).fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        for table, columns in sums.COLUMNS.items():
            number = raw.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
            assert number, table
            raw.execute(f"UPDATE {table} SET {columns[1]} = {columns[1]} || '1' WHERE rowid = ?", (number,))
    raw.close()
    told = {
        fault.where.split()[0] for fault in verify(path).faults if fault.kind in ("row_changed", "bad_fact")
    }
    assert told == set(sums.COLUMNS)


def test_they_come_through_recovery_and_through_an_export(tmp_path: Path) -> None:
    path, out, text, back = (
        tmp_path / name for name in ("s.worldline", "out.worldline", "s.jsonl", "back.worldline")
    )
    fill(path)
    with SessionDocument.open(path) as doc:
        root = doc.uid(1)
        for number, cost in enumerate((None, 0.0, 3.0, 0.1)):
            doc.append(make.user(root, str(number), usage=Usage(input_tokens=5, cost=cost, answers=1)))
        doc.set_cursor(root)
    assert not recover(path, out).notes
    text.write_bytes(b"\n".join(jsonl.lines(path)) + b"\n")
    jsonl.read_back(text, back)
    for made in (out, back):
        assert verify(made).sound, verify(made).faults
        with sqlite3.connect(made) as raw:
            for table in sums.COLUMNS:
                assert raw.execute(f"SELECT count(*) FROM {table} WHERE sum IS NULL").fetchone() == (0,), (
                    table
                )
        raw.close()


def test_an_export_that_cannot_be_read_leaves_its_neighbours_alone(tmp_path: Path) -> None:
    text, out = tmp_path / "s.jsonl", tmp_path / "back.worldline"
    neighbours = [tmp_path / "back.worldline.old", tmp_path / "back.worldline-2"]
    for path in neighbours:
        path.write_bytes(b"the person's")
    fill(tmp_path / "s.worldline")
    text.write_bytes(b"\n".join([*jsonl.lines(tmp_path / "s.worldline")][:-1]) + b"\n")
    with pytest.raises(BadInput):
        jsonl.read_back(text, out)
    assert sorted(tmp_path.glob("back*")) == sorted(neighbours)


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_gone_on_with_as_it_is(tmp_path: Path, version: int) -> None:
    path, out = tmp_path / "old.worldline", tmp_path / "out.worldline"
    raw = sqlite3.connect(path, isolation_level=None)
    raw.executescript(as_of(version))
    raw.execute("PRAGMA journal_mode = WAL")
    raw.close()
    with SessionDocument.open(path) as doc:
        root = doc.append(make.root()).uid
        said = doc.append(make.user(root, "hello", usage=Usage(cost=1.0, answers=1))).uid
        doc.add_record("lines", {"added": 1}, node=said)
        doc.set_title("Old")
        doc.set_cursor(root)
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (version,)
        assert "sum" not in {row[1] for row in raw.execute("PRAGMA table_info(records)")}
    raw.close()
    assert verify(path).sound
    assert not recover(path, out).notes
    for file in (path, out):
        with SessionDocument.open(file) as doc:
            assert doc.info()["title"] == "Old" and doc.cursor == root and doc.usage_total().cost == 1.0
            assert [record.data for record in doc.records("lines")] == [{"added": 1}]
            doc.add_record("lines", {"added": 2}, node=said)
        assert verify(file).sound
    with sqlite3.connect(out) as raw:
        assert raw.execute("SELECT count(*) FROM records WHERE sum IS NULL").fetchone() == (0,)
    raw.close()
