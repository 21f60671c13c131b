from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from session import make
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session import catalog
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, RunRecord
from worldline.session.reader import SessionReader


def fill(doc: SessionDocument) -> dict[str, str]:
    root = doc.append(make.root())
    asked = doc.append(make.user(root.uid, "Fix the naïve parser in src/app_core/parser.py"))
    said = doc.append(make.assistant(asked.uid, "I look at the 解析器 first, then the tests."))
    call = doc.append(make.tool(said.uid, command="pytest tests/test_parser.py -k unicode"))
    doc.finish(call.uid, make.tool_end("E   AssertionError: expected 42"))
    output = doc.put_blob(b"line of a very long log with the word quixotic in it\n" * 3000)
    draft = make.tool(call.uid, command="make")
    draft.detail["output"] = {"blob": output, "bytes": 1}
    long = doc.append(draft)
    return {"asked": asked.uid, "said": said.uid, "call": call.uid, "long": long.uid}


@pytest.mark.parametrize("indexed", [False, True], ids=["lagging", "indexed"])
def test_everything_is_found_indexed_or_not(doc: SessionDocument, indexed: bool) -> None:
    nodes = fill(doc)
    if indexed:
        while doc.index(2):
            pass
    for query, expected in (
        ("parser", ["call", "asked"]),
        ("PARSER fix", ["asked"]),
        ("app_core/parser.py", ["asked"]),
        ("解析", ["said"]),
        ("析器", ["said"]),
        ("assertionerror", ["call"]),
        ("assertionerr", ["call"]),
        ("assertionerr expected", []),
        ("unicode pytest", ["call"]),
        ("quixotic", ["long"]),
        ("toolu_1", []),
        ("nowhere", []),
        ("", []),
        ('"', []),
        ("* OR (", []),
    ):
        hits = doc.search(query)
        assert [hit.uid for hit in hits] == [nodes[name] for name in expected], query
        assert all("\x02" in hit.snippet for hit in hits), query
    assert doc.search("parser", limit=1)[0].uid == nodes["call"]
    assert "\x02quixotic\x03" in doc.search("quixotic")[0].snippet


def test_a_reader_in_another_process_misses_nothing(doc: SessionDocument, path: Path) -> None:
    fill(doc)
    doc.index(3)
    with SessionReader(path) as reader:
        assert len(reader.search("parser")) == 2


def test_the_list_of_sessions_tolerates_what_it_finds(tmp_path: Path) -> None:
    one = SessionDocument.create(tmp_path / "one.worldline", title="First", workspace={"root": "/w"})
    root = one.append(make.root(created=1_000))
    asked = one.append(make.user(root.uid, created=2_000))
    one.append(make.assistant(asked.uid, created=9_000_000_000_000, usage=Usage(cost=0.5, answers=1)))
    one.append(make.user(root.uid, created=3_000))
    one.begin_run(RunRecord("r1", asked.uid, 1))
    one.end_run("r1", StopReason.MAX_TURNS)
    two = SessionDocument.create(tmp_path / "two.worldline", title="Second")
    start = two.append(make.root())
    two.append(make.assistant(start.uid, usage=Usage(cost=None, answers=1)))
    two.begin_run(RunRecord("r2", start.uid, 1))
    two.close()
    (tmp_path / "broken.worldline").write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    (tmp_path / "empty.worldline").touch()
    (tmp_path / "other.txt").touch()
    entries = {entry.path.name: entry for entry in catalog.list_sessions(tmp_path)}
    assert set(entries) == {"one.worldline", "two.worldline", "broken.worldline", "empty.worldline"}
    first, second = entries["one.worldline"], entries["two.worldline"]
    assert (first.title, first.workspace, first.problem) == ("First", {"root": "/w"}, "")
    assert first.updated and first.bytes and second.updated
    assert entries["broken.worldline"].problem and entries["empty.worldline"].problem
    one.append(make.user(root.uid, "the needle"))
    assert [hit.session for hit in catalog.search_sessions(tmp_path, "needle")] == [str(one.path)]
    one.close()


def test_the_list_never_opens_bodies(doc: SessionDocument, path: Path) -> None:
    fill(doc)
    doc.close()
    raw = sqlite3.connect(path)
    (page,) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'bodies'").fetchone()
    raw.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    entry = catalog.entry_of(path)
    assert entry.updated and not entry.problem


def test_unknown_words_in_drafts_are_found_by_search_text(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    node = doc.append(
        NodeDraft(make.user("x").kind, root.uid, {"role": "user", "content": "a"}, search_text="zebra")
    )
    assert [hit.uid for hit in doc.search("zebra")] == [node.uid]
