"""A file that is cut at its end keeps the tree of what is left of it: no text without its place."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from session import make
from worldline.core.errors import SessionError
from worldline.core.headers import NodeHeader
from worldline.core.kinds import Outcome
from worldline.session import heads, schema
from worldline.session.document import SessionDocument
from worldline.session.export import jsonl
from worldline.session.recover import _collect, recover
from worldline.session.verify import verify


def fill(path: Path, nodes: int, size: int) -> dict[str, NodeHeader]:
    """A session with texts of all lengths up to some times `size`; some of them come twice."""
    rng = random.Random(7)
    with SessionDocument.create(path, title="T") as doc:
        uids = [doc.append(make.root(detail={"head": "x"})).uid]
        text = ""
        for number in range(nodes):
            if number % 7 != 6:
                text = f"{number} " + "".join(rng.choices("abcde ", k=int(rng.expovariate(1 / size))))
            parent = rng.choice(uids[-3:])
            if number % 3 == 2:
                node = doc.append(make.tool(parent, command=text[:50], state=f"{number:040x}", run="r"))
                end = make.tool_end(text, state=f"{number:040x}", added=1, files=number % 2)
                doc.finish(node.uid, end)
            elif number % 3:
                node = doc.append(make.assistant(parent, text, model="m", task_state={"n": number}))
            else:
                node = doc.append(make.user(parent, text, detail={"text": text[:20]}))
            uids.append(node.uid)
        return {header.uid: header for header in doc.headers()}


def orphans(path: Path) -> int:
    """Bodies that are whole and belong to no row of a node or an end."""
    rows, copies, _ = _collect(path)
    copies.fill(rows)
    used = {body for row in rows["nodes"].values() for body in row[19:] if body}
    used |= {body for row in rows["node_ends"].values() for body in row[11:] if body}
    return len(rows["bodies"].keys() - used)


@pytest.mark.parametrize(("nodes", "size"), [(30, 300), (60, 2000), (300, 300), (200, 6000)])
def test_what_is_left_of_a_cut_file_is_a_tree(tmp_path: Path, nodes: int, size: int) -> None:
    path = tmp_path / "s.worldline"
    before = fill(path, nodes, size)
    uid_of = {header.seq: uid for uid, header in before.items()}
    data = path.read_bytes()
    rebuilt = 0
    for cut in range(40, 100, 3):
        short, out = tmp_path / f"cut{cut}.worldline", tmp_path / f"out{cut}.worldline"
        short.write_bytes(data[: len(data) * cut // 100])
        try:
            report = recover(short, out)
        except SessionError as nothing:
            assert nothing.kind == "not_a_session" and not _collect(short)[0]["bodies"]
            continue
        rebuilt += report.rebuilt_nodes
        assert orphans(short) == 0
        with SessionDocument.open(out, "read") as new:
            numbers = {header.seq: header for header in new.headers()}
            for header in numbers.values():
                if header.raw_kind == "lost":
                    continue
                was = before[header.uid]
                same = ("kind", "created", "run", "branch", "tool", "model")
                assert [getattr(header, name) for name in same] == [getattr(was, name) for name in same]
                assert (
                    header.parent == 0
                    or numbers[header.parent].uid in ("", uid_of[was.parent])
                    or (numbers[header.parent].raw_kind == "lost")
                )
                if header.uid not in report.lost_bodies and header.outcome is not Outcome.INTERRUPTED:
                    assert (header.preview, header.state) == (was.preview, was.state)
        assert {fault.kind for fault in verify(out).faults} <= {"no_cursor"}
    assert rebuilt > 0, "no cut hit a page of rows that texts before it need"


def test_the_tree_of_a_short_session_survives_without_one_row_of_it(tmp_path: Path) -> None:
    """The worst of them: the only page with rows is the last one of the file."""
    path = tmp_path / "s.worldline"
    before = fill(path, 30, 300)
    short = tmp_path / "short.worldline"
    data = path.read_bytes()
    for cut in range(99, 60, -1):
        short.write_bytes(data[: len(data) * cut // 100])
        rows, *_ = _collect(short)
        if not rows["nodes"] and len(rows["bodies"]) > 20:
            break
    else:
        pytest.fail("no such cut")
    report = recover(short, tmp_path / "new.worldline")
    assert report.nodes == report.rebuilt_nodes > 20
    with SessionDocument.open(tmp_path / "new.worldline") as new:
        assert {h.uid for h in new.headers() if h.raw_kind != "lost"} <= before.keys()
        assert sum(h.parent > 0 for h in new.headers()) > 20
        assert any(h.preview for h in new.headers())


def test_a_text_that_reaches_over_the_cut_keeps_its_place(tmp_path: Path) -> None:
    path, short = tmp_path / "s.worldline", tmp_path / "short.worldline"
    with SessionDocument.create(path, title="T") as doc:
        root = doc.append(make.root(detail={"a": 1}))
        large = doc.append(make.user(root.uid, "the beginning " + random.Random(1).randbytes(40_000).hex()))
    # What was stored last lies last: its row is before that, and of its text the last pages are gone.
    short.write_bytes(path.read_bytes()[: -3 * 4096])
    report = recover(short, tmp_path / "new.worldline")
    with SessionDocument.open(tmp_path / "new.worldline") as new:
        assert new.header(large.uid).preview.startswith("the beginning")
        assert "was lost" in str(new.body(large.uid).message) and large.uid in report.lost_bodies
        assert new.uid(new.header(large.uid).parent) == root.uid


def as_of(version: int) -> str:
    """What made a new file in an earlier version."""
    script = schema.create_script().replace("user_version = 3", f"user_version = {version}")
    script = re.sub(r",\s*sum BLOB", "", script)
    return script.replace("head BLOB, ", "") if version == 1 else script


@pytest.fixture
def first_schema(tmp_path: Path) -> Path:
    """An empty session as the first versions made it."""
    path = tmp_path / "old.worldline"
    script = as_of(1)
    raw = sqlite3.connect(path, isolation_level=None)
    raw.executescript(script)
    raw.execute("PRAGMA journal_mode = WAL")
    assert [row[1] for row in raw.execute("PRAGMA table_info(bodies)")].count("head") == 0
    raw.close()
    return path


def test_a_file_of_the_first_schema_is_gone_on_with_as_it_is(first_schema: Path, tmp_path: Path) -> None:
    with SessionDocument.open(first_schema) as doc:
        root = doc.append(make.root())
        asked = doc.append(make.user(root.uid, "hello"))
        call = doc.append(make.tool(asked.uid))
        doc.finish(call.uid, make.tool_end("x" * 50_000, state="s"))
        rows = doc.headers()
    assert verify(first_schema).sound
    raw = sqlite3.connect(first_schema)
    assert raw.execute("PRAGMA user_version").fetchone() == (1,)
    raw.close()
    with SessionDocument.open(first_schema) as doc:
        assert doc.headers() == rows and "hello" in str(doc.body(asked.uid).message)
    report = recover(first_schema, tmp_path / "new.worldline")
    assert report.nodes == 3 and not report.lost_bodies and not report.rebuilt_nodes
    with SessionDocument.open(tmp_path / "new.worldline") as new:
        assert new.headers() == rows and "hello" in str(new.body(asked.uid).message)


@pytest.mark.parametrize(
    "head",
    [
        None, "m[1]", b"", b"x[1]", b"m", b"m{}", b"m[]", b"m[0]", b"m[true]", b"m[1,2]", b"m\xff", b"m[1", b'M[1,"x"]',
        b'm[2,"u",2,"user",1,null,"none",0,"","","","","",1]', b'm[2,"a b",1,"user",1,null,"none",0,"","","","","",1]',
        b'm[2,"u",1,"user",1,null,"none",false,"","","","","",1]',
    ],
)  # fmt: skip
def test_what_has_not_the_form_of_a_copy_is_none(head: object) -> None:
    assert heads.read(head) is None


def test_a_copy_says_what_was_stored(tmp_path: Path) -> None:
    with SessionDocument.create(tmp_path / "s.worldline") as doc:
        doc.append(make.root(detail={"a": 1}, files=3, added=2, removed=1))
        (stored,) = doc._rows("SELECT head FROM bodies")
    copy = heads.read(stored[0])
    assert copy is not None and (copy.seq, copy.end, copy.part, copy.values[-4:]) == (
        1,
        False,
        1,
        [1, 2, 1, 3],
    )
    short = heads.read(b"t[5]")
    assert short is not None and (short.part, short.seq, short.values) == (2, 5, [])


def saved_by_recovery(path: Path, out: Path) -> None:
    recover(path, out)


def read_from_an_export(path: Path, out: Path) -> None:
    export = path.with_suffix(".jsonl")
    export.write_bytes(b"\n".join(jsonl.lines(path)))
    jsonl.read_back(export, out)


@pytest.mark.parametrize("again", [saved_by_recovery, read_from_an_export])
def test_a_session_that_was_written_anew_has_copies_too(
    tmp_path: Path, again: Callable[[Path, Path], None]
) -> None:
    path, new = tmp_path / "s.worldline", tmp_path / "new.worldline"
    before = fill(path, 60, 2000)
    again(path, new)
    assert verify(new).sound
    with sqlite3.connect(new) as db:
        assert db.execute("SELECT count(*) FROM bodies WHERE head IS NULL AND shared = 0").fetchone() == (0,)
        db.execute("DROP TRIGGER nodes_delete")
        db.execute("DELETE FROM nodes WHERE seq > 1")
    db.close()
    report = recover(new, tmp_path / "out.worldline")
    assert report.rebuilt_nodes == len(before) - 1 and not report.lost_nodes
    with SessionDocument.open(tmp_path / "out.worldline") as doc:
        found = {header.uid: header for header in doc.headers()}
    assert found.keys() == before.keys()
    for uid, header in found.items():
        assert (header.state, header.preview, header.outcome) == (
            before[uid].state,
            before[uid].preview,
            before[uid].outcome,
        )


def changed(path: Path, change: str) -> set[tuple[str, str, str]]:
    """What `verify` says after a change that no hash and no page tells: kind, where, and the name of a column."""
    with SessionDocument.create(path, title="T") as doc:
        root = doc.append(make.root(detail={"head": "x"}))
        asked = doc.append(make.user(root.uid, "hello"))
        call = doc.append(make.tool(asked.uid, state="a" * 40))
        doc.finish(call.uid, make.tool_end("done", state="b" * 40, files=1, added=2))
        doc.append(make.user(call.uid, "thanks"))
    assert verify(path).sound
    with sqlite3.connect(path) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(change)
        for _, sql in triggers:
            db.execute(sql)
    db.close()
    return {
        (fault.kind, fault.where, fault.meaning.partition("(")[2].partition(")")[0])
        for fault in verify(path).faults
    }


@pytest.mark.parametrize(
    ("change", "kind", "where", "column"),
    [
        ("UPDATE nodes SET state = 'c' WHERE seq = 3", "copy_differs", 3, "state"),
        ("UPDATE nodes SET parent = 1 WHERE seq = 4", "copy_differs", 4, "parent"),
        ("UPDATE nodes SET uid = '7777777777777777' WHERE seq = 2", "copy_differs", 2, "uid"),
        ("UPDATE nodes SET message = 1 WHERE seq = 2", "copy_differs", 2, "message"),
        ("UPDATE node_ends SET state = 'c'", "copy_differs", 3, "state"),
        ("UPDATE node_ends SET added = 3", "copy_differs", 3, "added"),
        ("UPDATE node_ends SET outcome = 'failed'", "copy_differs", 3, "outcome"),
        ("DELETE FROM node_ends", "row_lost", 3, ""),
        ("DELETE FROM nodes WHERE seq = 4", "row_lost", 4, ""),
    ],
)
def test_a_changed_row_is_told_by_its_copy(
    tmp_path: Path, change: str, kind: str, where: int, column: str
) -> None:
    found = changed(tmp_path / "s.worldline", change)
    assert (kind, f"node number {where}", column) in found, found
    assert {one for one in found if one[0] in ("copy_differs", "row_lost", "bad_copy")} == {
        (kind, f"node number {where}", column)
    }


def test_a_damaged_copy_is_told(tmp_path: Path) -> None:
    found = changed(tmp_path / "s.worldline", "UPDATE bodies SET head = x'6d7b' WHERE id = 2")
    assert found == {("bad_copy", "body 2", "")}
