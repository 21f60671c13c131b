"""Rules of the formats: what belongs together, what is counted once, what a compaction keeps."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from session_import.test_cases import C1, C2, HEAD, N1, N2, X0, X1, X2, c_rec, said, x_rec
from tests_support import PATIENCE_S, halt_imports
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session.importers.read import read_session
from worldline.session.importers.run import import_all
from worldline.session.importers.tree import ImportedTree, SourceNode


def write(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def node(tree: ImportedTree, uid: str) -> SourceNode:
    return next(n for n in tree.nodes if n.id == uid)


def call(uid: str, parent: str, call_id: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "Task", "input": {"prompt": "look round"}}
    record: dict[str, Any] = c_rec(uid, parent, "assistant", [block], **more)
    return record


def result(uid: str, parent: str, call_id: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "done"}
    record: dict[str, Any] = c_rec(uid, parent, "user", [block], **more)
    return record


class TestClaude:
    def test_sub_agents_in_files_of_their_own(self, tmp_path: Path) -> None:
        main = write(
            tmp_path / "s1.jsonl",
            C1,
            call("n2", "n1", "t1"),
            result("n3", "n2", "t1", toolUseResult={"agentId": "ag"}),
            c_rec("n4", "n3", "user", "next"),
        )
        side = {"isSidechain": True, "agentId": "ag"}
        write(
            tmp_path / "s1" / "subagents" / "agent-ag.jsonl",
            c_rec("q1", None, "user", "look round", **side),
            c_rec("q2", "q1", "assistant", [{"type": "text", "text": "I saw"}], **side),
        )
        write(
            tmp_path / "agent-old.jsonl",
            c_rec("o1", None, "user", "look round", agentId="old", isSidechain=True),
        )
        tree = read_session(main)
        assert node(tree, "q1").parent == "n3" and node(tree, "o1").parent == "n3"
        assert tree.leaf == "n4" and tree.branches == 1 and tree.side_files == 2
        assert all(node(tree, u).flags & NodeFlag.SIDE_BRANCH for u in ("q1", "q2", "o1"))
        reports = import_all([tmp_path], tmp_path / "out")
        assert [Path(r["source"]).name for r in reports] == ["s1.jsonl"]

    def test_the_file_of_a_sub_agent_by_itself_is_a_main_line(self, tmp_path: Path) -> None:
        path = write(tmp_path / "agent-x.jsonl", {**C1, "isSidechain": True}, {**C2, "isSidechain": True})
        tree = read_session(path)
        assert tree.leaf == "n2" and tree.branches == 1 and not any(n.side for n in tree.nodes)

    def test_usage_of_a_reply_is_counted_once(self, tmp_path: Path) -> None:
        def part(uid: str, parent: str, block: dict[str, Any], tokens: int) -> dict[str, Any]:
            record: dict[str, Any] = c_rec(uid, parent, "assistant", [block], requestId="r")
            record["message"] |= {"id": "m1", "usage": {"output_tokens": tokens}}
            return record

        use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
        path = write(
            tmp_path / "s1.jsonl", C1,
            part("a1", "n1", {"type": "thinking", "thinking": "a", "signature": "1"}, 5), part("a2", "a1", use, 6),
            result("r1", "a2", "t1"), part("a3", "r1", {"type": "thinking", "thinking": "b", "signature": "2"}, 9),
            {**part("c1", "n1", {"type": "text", "text": "copy"}, 9), "isSidechain": True, "requestId": "other"},
        )  # fmt: skip
        tree = read_session(path)
        assert [n.usage.output_tokens for n in tree.nodes if n.usage] == [9]

    def test_copied_turns_are_counted_once_over_all_files(self, tmp_path: Path) -> None:
        reply = {**C2, "requestId": "r"}
        reply["message"] = {**reply["message"], "usage": {"output_tokens": 7}}
        write(tmp_path / "in" / "s1.jsonl", C1, reply)
        copies = [
            {**r, "sessionId": "s2", "forkedFrom": {"sessionId": "s1", "messageUuid": r["uuid"]}}
            for r in (C1, reply)
        ]
        write(tmp_path / "in" / "s2.jsonl", *copies, {**c_rec("n3", "n2", "user", "c"), "sessionId": "s2"})
        # A continuation keeps the id of its parent on what it copied.
        write(tmp_path / "in" / "s3.jsonl", C1, reply, {**c_rec("n9", "n2", "user", "z"), "sessionId": "s3"})
        reports = import_all([tmp_path / "in"], tmp_path / "out")
        assert [r["copied"] for r in reports] == [0, 2, 2]
        from worldline.session.reader import SessionReader

        paid = []
        for report in reports:
            with SessionReader(Path(report["out"])) as session:
                paid.append(session.usage_total().output_tokens)
        assert paid == [7, 0, 0]

    def test_what_a_compaction_keeps(self, tmp_path: Path) -> None:
        boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "sessionId": "s1",
                    "logicalParentUuid": "n4"}  # fmt: skip
        before = [
            C1,
            C2,
            c_rec("n3", "n2", "user", "c"),
            c_rec("n4", "n3", "assistant", [{"type": "text", "text": "d"}]),
        ]
        summary = c_rec("s", "b", "user", "so far", isCompactSummary=True)
        for meta, kept in (
            ({"preservedSegment": {"headUuid": "n3", "anchorUuid": "s", "tailUuid": "n4"}}, ["n3", "n4"]),
            ({"preservedMessages": {"uuids": ["n4"], "allUuids": ["n4"]}}, ["n4"]),
            ({"preservedSegment": {"headUuid": "gone", "tailUuid": "n4"}}, []),
        ):
            again = [before[2], before[3]]  # appended once more behind the cut, as some versions do
            path = write(tmp_path / "s1.jsonl", *before, {**boundary, "compactMetadata": meta}, summary, *again,
                         c_rec("n5", "s", "user", "e"))  # fmt: skip
            tree = read_session(path)
            assert node(tree, "b").parent == "n4" and node(tree, "b").detail["kept"] == kept
            assert tree.compactions == 1 and tree.branches == 1 and tree.leaf == "n5"

    def test_a_long_output_beside_the_session(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside.txt"
        outside.write_text("secret")
        inside = tmp_path / "p" / "s1" / "tool-results" / "x.txt"
        inside.parent.mkdir(parents=True)
        inside.write_text("long output")
        for named, taken in ((inside, True), (outside, False)):
            facts = {"persistedOutputPath": str(named)}
            path = write(
                tmp_path / "p" / "s1.jsonl",
                C1,
                call("n2", "n1", "t1"),
                result("n3", "n2", "t1", toolUseResult=facts),
            )
            assert (node(read_session(path), "n3").attachment is not None) is taken

    def test_odd_values_end_nothing(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "x.jsonl", C1, {**C2, "type": ["x"]}, {"type": {"a": 1}, "uuid": "u", "parentUuid": 3},
            {"type": "file-history-snapshot", "sessionId": "s1", "snapshot": {"trackedFileBackups": {"a": 1}}},
        )  # fmt: skip
        assert len(read_session(path).nodes) == 3
        only = write(
            tmp_path / "y.jsonl",
            {"type": "file-history-snapshot", "sessionId": "s", "snapshot": {"trackedFileBackups": {"a": 1}}},
        )
        assert read_session(only).nodes == []


class TestPi:
    def test_a_retained_tail(self, tmp_path: Path) -> None:
        tail = [N2["message"], {"role": "user", "content": "not in the file"}]
        path = write(tmp_path / "x.jsonl", HEAD, N1, N2, {"type": "compaction", "id": "c", "parentId": "n2",
                                                          "summary": "so far", "retainedTail": tail})  # fmt: skip
        detail = node(read_session(path), "c").detail
        assert detail["kept"] == ["n2"] and "not in the file" in detail["summary"]

    def test_numbers_that_no_column_holds(self, tmp_path: Path) -> None:
        message = {**N2["message"], "usage": {"input": 10**40, "cost": {"total": 1e300}}, "x": float("inf")}
        path = write(
            tmp_path / "x.jsonl", HEAD, N1, {**N2, "message": message}, said("n3", "n2", "user", "c")
        )
        (report,) = import_all([path], tmp_path / "out")
        assert "error" not in report and report["nodes"] == 3


class TestCodex:
    def test_packed(self, tmp_path: Path) -> None:
        plain = write(tmp_path / "rollout.jsonl", X0, X1, X2).read_bytes()
        (tmp_path / "in").mkdir()
        packed = zstandard.ZstdCompressor().compress(plain)
        (tmp_path / "in" / "rollout.jsonl.zst").write_bytes(packed)
        (tmp_path / "in" / "torn.jsonl.zst").write_bytes(packed[:-8])
        whole, torn = import_all([tmp_path / "in"], tmp_path / "out")
        assert whole["records"] == 3 and whole["gaps"] == [] and whole["out"].endswith("rollout.worldline")
        assert torn.get("error") or any("unpacked" in gap["reason"] for gap in torn["gaps"])

    def test_ordinals(self, tmp_path: Path) -> None:
        items = [{**X0, "ordinal": 0}, {**X1, "ordinal": 1}, {**X1, "ordinal": 1}, {**X2, "ordinal": 4}]
        tree = read_session(write(tmp_path / "x.jsonl", *items))
        assert len(tree.nodes) == 2 and len(tree.lines.warnings) == 2

    def test_steering_goes_away_with_its_turn(self, tmp_path: Path) -> None:
        begun = {"type": "event_msg", "payload": {"type": "task_started"}}
        back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
        tree = read_session(
            write(
                tmp_path / "x.jsonl",
                X0,
                begun,
                X1,
                X2,
                begun,
                x_rec("user", "c"),
                x_rec("user", "steer"),
                back,
                x_rec("user", "d"),
            )
        )
        assert tree.nodes[-1].parent == tree.nodes[1].id and tree.branches == 2

    def test_a_replacement_refers_and_does_not_copy(self, tmp_path: Path) -> None:
        history = [X1["payload"], {"type": "message", "role": "user", "content": [{"text": "the summary"}]}]
        cut = {"type": "compacted", "payload": {"message": "", "replacement_history": history}}
        tree = read_session(write(tmp_path / "x.jsonl", X0, X1, X2, cut, x_rec("user", "e")))
        compaction = next(n for n in tree.nodes if n.kind is NodeKind.IMPORTED_COMPACTION)
        assert (
            compaction.detail["kept"] == [tree.nodes[0].id] and compaction.detail["summary"] == "the summary"
        )

    def test_a_fork_replays_its_parent(self, tmp_path: Path) -> None:
        fork = {**X0, "payload": {"id": "y", "cwd": "/w", "forked_from_id": "x"}}
        write(tmp_path / "in" / "rollout-1.jsonl", X0, X1, X2)
        write(tmp_path / "in" / "rollout-2.jsonl", fork, X0, X1, X2, x_rec("user", "own"))
        reports = import_all([tmp_path / "in"], tmp_path / "out")
        assert [r["copied"] for r in reports] == [0, 2]


def test_the_same_call_as_block_and_as_field(tmp_path: Path) -> None:
    record = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "q", "name": "Bash", "input": {"command": "ls"}}],
        "tool_calls": [
            {"id": "q", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
        ],
    }
    for records in (
        [record],
        [HEAD, N1, {"type": "message", "id": "n2", "parentId": "n1", "message": record}],
    ):
        tree = read_session(write(tmp_path / "x.jsonl", *records))
        blocks = [b for n in tree.nodes if n.message for b in n.message["content"] if b["type"] == "tool_use"]
        assert len(blocks) == 1 and tree.orphan_calls == 1


def test_a_signal_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halt_imports(monkeypatch, tmp_path / "halts", "nodes")
    source = write(
        tmp_path / "x.jsonl",
        HEAD,
        *(said(f"n{i}", f"n{i - 1}" if i else None, "user", "t") for i in range(20000)),
    )
    command = [
        sys.executable,
        "-m",
        "worldline",
        "import",
        str(source),
        "--out",
        str(tmp_path / "out"),
        "--json",
        "--progress",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while " nodes" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and out == "" and list((tmp_path / "out").iterdir()) == []


def test_arguments_that_are_text_and_no_json(tmp_path: Path) -> None:
    for arguments in ("Infinity", '{"a": 1e999}', "[" * 5000 + "]" * 5000, "no"):
        item = {"type": "function_call", "name": "x", "arguments": arguments, "call_id": "k"}
        path = write(tmp_path / "x.jsonl", X0, X1, {"type": "response_item", "payload": item})
        (report,) = import_all([path], tmp_path / "out")
        assert "error" not in report and report["orphan_calls"] == 1
