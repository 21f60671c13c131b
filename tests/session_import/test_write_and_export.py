"""Imported sessions are documents like any other; exports carry everything there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from worldline.core.errors import BadInput, SessionError
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.session.document import SessionDocument
from worldline.session.export.run import export_session
from worldline.session.importers.run import import_all
from worldline.session.model import NodeDraft, NodeEnd, RunRecord
from worldline.session.reader import SessionReader

SOURCE = [
    {"type": "session", "id": "s1", "cwd": "/w", "version": 3},
    {"type": "message", "id": "u1", "parentId": None, "message": {"role": "user", "content": "fix it"}},
    {"type": "message", "id": "a1", "parentId": "u1", "message": {"role": "assistant", "model": "m", "content": [
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]}},
    {"type": "message", "id": "r1", "parentId": "a1", "message": {
        "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [{"type": "text", "text": "a.txt"}]}},
    {"type": "message", "id": "u2", "parentId": "a1", "message": {"role": "user", "content": "other way"}},
    {"type": "label", "id": "l1", "parentId": "u2", "targetId": "u1", "label": "start here"},
]  # fmt: skip


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    source = tmp_path / "in" / "old.jsonl"
    source.parent.mkdir()
    source.write_text("\n".join(map(json.dumps, SOURCE)) + "\n")
    (report,) = import_all([source.parent], tmp_path / "out")
    assert report["branches"] == 2 and report["format"] == "pi" and report["gaps"] == []
    return Path(report["out"])


def test_an_imported_session_is_sound_and_can_be_continued(imported: Path) -> None:
    with SessionDocument.open(imported) as session:
        assert [h.uid for h in session.headers()][1:] == ["u1", "a1", "r1", "u2", "l1"]
        tool = session.body("r1")
        assert tool.detail["call"]["input"] == {"command": "ls"} and tool.outcome is Outcome.OK
        assert session.header("r1").flags & NodeFlag.IMPORTED
        assert session.marks()["u1"].label == "start here" and session.cursor == "l1"
        session.append(NodeDraft(kind=NodeKind.USER, parent="r1", message={"role": "user", "content": []}))


def test_a_folder_with_a_bad_file_imports_the_rest(tmp_path: Path, imported: Path) -> None:
    folder = tmp_path / "in"
    (folder / "bad.jsonl").write_text("hello\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "old.jsonl").write_text((folder / "old.jsonl").read_text())
    reports = import_all([folder], tmp_path / "out")
    assert [bool(r.get("error")) for r in reports] == [True, False, False]
    names = sorted(p.name for p in (tmp_path / "out").iterdir() if p.suffix == ".worldline")
    assert names == ["old-2.worldline", "old-3.worldline", "old.worldline"]


def rich_session(path: Path) -> Path:
    with SessionDocument.create(path, title="Title", workspace={"mode": "isolated", "root": "/w"}) as session:
        root = session.append(NodeDraft(kind=NodeKind.ROOT, parent=None, state="s0"))
        prompt = {
            "role": "user",
            "content": [{"type": "text", "text": "<b>fix</b> `it` [x](javascript:alert(1))"}],
        }
        user = session.append(NodeDraft(kind=NodeKind.USER, parent=root.uid, message=prompt, run="r"))
        session.begin_run(RunRecord("r", user.uid, 0, {"mode": "work"}))
        reply = session.append(NodeDraft(kind=NodeKind.ASSISTANT, parent=user.uid, outcome=Outcome.OK,
            message={"role": "assistant", "content": [{"type": "text", "text": "doing"}]},
            usage=Usage(input_tokens=5, output_tokens=2, answers=1), task_state={"plan": [1]}))  # fmt: skip
        tool = session.append(NodeDraft(kind=NodeKind.TOOL, parent=reply.uid, tool="bash", outcome=Outcome.RUNNING,
                                        detail={"call": {"id": "c", "name": "bash", "input": {"command": "ls"}}}))  # fmt: skip
        blob = session.put_blob(b"\xff\x00" * 5000)
        result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "``` x"}]}
        session.finish(tool.uid, NodeEnd(Outcome.FAILED, {"role": "user", "content": [result]}, {"blob": blob}, "exit 1",
                                         state="s1", added=3, files=1, search_text="needle"))  # fmt: skip
        session.end_run("r", StopReason.COMPLETED, "done", usage=Usage(input_tokens=5, answers=1))
        session.append(
            NodeDraft(kind=NodeKind.UNKNOWN, raw_kind="hologram", parent=user.uid, detail={"new": True})
        )
        session.add_record("diagnostic", {"kind": "retry"}, node=reply.uid)
        session.set_mark(user.uid, "label", "here", "red")
        session.set_cursor(tool.uid)
    return path


def test_json_lines_are_lossless(tmp_path: Path) -> None:
    first = rich_session(tmp_path / "a.worldline")
    exported = export_session(first, "jsonl")
    (report,) = import_all([exported], tmp_path / "back")
    assert report["format"] == "worldline" and "error" not in report
    again = export_session(Path(report["out"]), "jsonl")
    assert again.read_bytes() == exported.read_bytes()
    with SessionReader(Path(report["out"])) as session:
        assert session.blob(session.body(session.cursor).end_detail["blob"]) == b"\xff\x00" * 5000
        assert [h.uid for h in session.headers()] and session.search("needle")


@pytest.mark.parametrize(
    "damage", [b'{"type": "node"}\n', b"[]\n", b"{", b'{"type":"body","sha256":"0","text":"x"}\n']
)
def test_a_broken_export_is_refused_whole(tmp_path: Path, damage: bytes) -> None:
    exported = export_session(rich_session(tmp_path / "a.worldline"), "jsonl")
    exported.write_bytes(exported.read_bytes() + damage)
    (report,) = import_all([exported], tmp_path / "back")
    assert "Line" in report["error"] and list((tmp_path / "back").iterdir()) == []


def test_markdown_and_html_show_the_branch_and_run_nothing(tmp_path: Path) -> None:
    session = rich_session(tmp_path / "a.worldline")
    text = export_session(session, "markdown").read_text()
    assert "## You" in text and "**bash** `ls` · failed" in text and "````\n``` x" in text
    page = export_session(session, "html").read_text()
    assert "<b>fix" not in page and 'href="javascript' not in page and "&lt;b&gt;fix" in page
    assert page.count("<article") == 3 and "default-src 'none'" in page


def test_graphml_holds_the_shape_and_no_words(tmp_path: Path) -> None:
    session = rich_session(tmp_path / "a.worldline")
    out = export_session(session, "graphml")
    graph = nx.read_graphml(out, node_type=int)
    with SessionReader(session) as opened:
        assert sorted(graph) == sorted({*opened.tree.roots(), *opened.tree.forks(), *opened.tree.leaves()})
        assert sum(edge["nodes"] for *_, edge in graph.edges(data=True)) + 1 == len(opened.tree)
        assert all(opened.uid(seq) == facts["uid"] for seq, facts in graph.nodes(data=True))
    assert out.name == "a.graphml" and "fix" not in out.read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    session = rich_session(tmp_path / "a.worldline")
    (tmp_path / "a.md").write_text("mine")
    assert export_session(session, "markdown") == tmp_path / "a-2.md"
    with pytest.raises(BadInput, match="already there"):
        export_session(session, "markdown", tmp_path / "a.md")
    with pytest.raises(SessionError):
        export_session(tmp_path / "none.worldline", "jsonl")
    assert (tmp_path / "a.md").read_text() == "mine" and not (tmp_path / "none.jsonl").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"uid": "../x"}, {"created": "soon"}, {"flags": 10**30}, {"message": [1]}, {"preview": 5}, {"parent": "nobody"},
    ],
)  # fmt: skip
def test_an_export_that_was_changed_is_refused_and_leaves_nothing(
    tmp_path: Path, imported: Path, change: dict[str, Any]
) -> None:
    """SQLite takes any type in any column, and the row could never be read again."""
    exported = export_session(imported, "jsonl", tmp_path / "x.jsonl")
    rows = [json.loads(line) for line in exported.read_text().splitlines()]
    next(row for row in rows if row["type"] == "node" and row["parent"]).update(change)
    exported.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (report,) = import_all([exported], tmp_path / "back")
    assert "cannot be read" in report["error"] and list((tmp_path / "back").iterdir()) == []


def test_an_export_that_lost_its_end_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    exported = export_session(rich_session(tmp_path / "a.worldline"), "jsonl")
    lines = exported.read_bytes().splitlines(keepends=True)
    for missing in (1, 2, len(lines) // 2):
        exported.write_bytes(b"".join(lines[:-missing]))
        (report,) = import_all([exported], tmp_path / "back")
        assert "ends too early" in report["error"] and list((tmp_path / "back").iterdir()) == []


@pytest.mark.parametrize(
    "records",
    [
        [
            {"type": "session_meta", "timestamp": "2025-12-05T11:00:00Z", "payload": {"id": "a", "cwd": "/w"}},
            {"type": "response_item", "timestamp": "2025-12-05T11:00:01Z", "payload": {
                "type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}},
            {"type": "response_item", "timestamp": "2025-12-05T11:00:02Z", "payload": {
                "type": "function_call", "name": "shell", "call_id": "c1",
                "arguments": '{"command": ["bash", "-lc", "make  test"]}'}},
            {"type": "response_item", "timestamp": "2025-12-05T11:00:07Z", "payload": {
                "type": "function_call_output", "call_id": "c1", "output": "fine"}},
        ],
        [
            {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "timestamp": "2025-12-05T11:00:01Z",
             "message": {"role": "user", "content": "go"}},
            {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s", "timestamp": "2025-12-05T11:00:02Z",
             "message": {"id": "m", "role": "assistant", "content": [
                 {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}]}},
            {"type": "user", "uuid": "r1", "parentUuid": "a1", "sessionId": "s", "timestamp": "2025-12-05T11:00:07Z",
             "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "fine"}]}},
        ],
    ],
    ids=["codex", "claude"],
)  # fmt: skip
def test_a_step_says_what_it_did_and_took_as_long_as_it_took_there(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    """All were named by their tool alone, and each had lasted until the day of the import."""
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    (report,) = import_all([source], tmp_path / "out")
    document = SessionDocument.open(Path(report["out"]), mode="read")
    (step,) = [one for one in document.headers() if one.tool]
    document.close()
    assert step.preview == f"{step.tool} make test"
    assert step.duration_ms <= 5_000
