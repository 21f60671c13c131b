"""A damaged session through the command line: what is readable is shown, the rest is named, the file stays as it is."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from worldline.cli import output
from worldline.cli.main import main
from worldline.core.errors import SessionError
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.session.tree import SessionTree
from worldline.viewmodel import engine_words


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    capsys.readouterr()
    code = main(arguments)
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """A session in which the preview of one step is no text any more. SQLite finds no fault in such a page."""
    path = tmp_path / "s.worldline"
    with SessionDocument.create(path, title="torn") as doc:
        parent = doc.append(NodeDraft(NodeKind.ROOT, None)).uid
        for word in ("first", "PREVIEW-OF-IT", "third"):
            message = {"role": "user", "content": [{"type": "text", "text": word.lower()}]}
            parent = doc.append(NodeDraft(NodeKind.USER, parent, message, preview=word)).uid
    data = path.read_bytes()
    assert b"PREVIEW-OF-IT" in data
    path.write_bytes(data.replace(b"PREVIEW-OF-IT", b"PRE\xffIEW-OF-IT"))
    return path


def test_one_torn_row_hides_nothing_else(torn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = torn.read_bytes()
    code, seen, said = run(capsys, "inspect", str(torn), "--json")
    assert code == 1 and "damaged" in said
    assert [n["preview"] for n in seen["nodes"] if n["kind"] == "user"] == ["first", "third"]
    assert any("1 step is lost" in text for text in seen["damage"])
    code, body, _ = run(capsys, "view", str(torn), "cursor", "--json")
    assert code == 0 and "third" in json.dumps(body["messages"])
    assert torn.read_bytes() == before


def test_verify_names_the_torn_row(torn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict, _ = run(capsys, "verify", str(torn), "--json")
    assert code == 1 and "bad_row" in {fault["kind"] for fault in verdict["faults"]}
    new = torn.with_name("new.worldline")
    code, saved, _ = run(capsys, "recover", str(torn), "--out", str(new), "--json")
    assert code == int(bool(saved["losses"]))
    assert run(capsys, "verify", str(new), "--json")[0] == 0


def test_a_lost_beginning_is_shown_as_far_as_it_goes(torn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = torn.read_bytes()
    torn.write_bytes(bytes(4096) + data[4096:])
    code, seen, _ = run(capsys, "inspect", str(torn), "--json")
    assert code == 1 and len(seen["nodes"]) >= 2 and seen["damage"]


def test_what_is_no_session_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "x.worldline"
    other.write_text("hello")
    for command in ("inspect", "verify"):
        code, _, said = run(capsys, command, str(other), "--json")
        assert code == 2 and "not a session" in said


def test_the_leaf_is_not_in_a_sub_agent(tmp_path: Path) -> None:
    from worldline.core.kinds import NodeFlag

    with SessionDocument.create(tmp_path / "s.worldline") as doc:
        root = doc.append(NodeDraft(NodeKind.ROOT, None))
        main_line = doc.append(NodeDraft(NodeKind.USER, root.uid))
        side = doc.append(NodeDraft(NodeKind.USER, root.uid, flags=NodeFlag.SIDE_BRANCH))
        deeper = doc.append(NodeDraft(NodeKind.USER, side.uid, flags=NodeFlag.SIDE_BRANCH))
        tree: SessionTree = doc.tree
        assert tree.newest_leaf(root.seq) == main_line.seq
        assert tree.newest_leaf(side.seq) == deeper.seq


def test_people_are_told_in_their_language_and_programs_in_english(
    torn: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDLINE_LANG", "zh_CN")
    output._catalogue.cache_clear()
    try:
        assert main(["verify", str(torn)]) == 1
        said = capsys.readouterr().out
        assert "仍可用：" in said and "Still works" not in said
        assert main(["inspect", str(torn.with_name("none.worldline"))]) == 2
        assert any("\u4e00" <= char <= "\u9fff" for char in capsys.readouterr().err)
        _, verdict, _ = run(capsys, "verify", str(torn), "--json")
        assert "damaged" in json.dumps(verdict["faults"])
    finally:
        output._catalogue.cache_clear()
        engine_words.use("en")


def test_a_copy_without_one_node_is_no_success(torn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(torn) as db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute("DELETE FROM nodes")
        db.execute("DELETE FROM bodies")  # beside each text stands whose it is
    db.execute("VACUUM")
    db.close()
    new = torn.with_name("new.worldline")
    code, found, _ = run(capsys, "recover", str(torn), "--out", str(new), "--json")
    assert (code, found["nodes"]) == (1, 0)


def test_a_session_without_a_readable_cursor_is_called_damaged(torn: Path) -> None:
    with SessionDocument.open(torn, mode="read") as doc, pytest.raises(SessionError) as caught:
        doc.seq("")
    assert caught.value.kind == "damaged" and "worldline recover" in caught.value.hint
