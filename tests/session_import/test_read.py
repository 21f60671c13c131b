"""Importers read every damaged, glued or torn file they meet, and count what is lost."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.core.errors import BadInput
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session.importers.lines import LineReport, read_records
from worldline.session.importers.read import read_session
from worldline.session.importers.tree import ImportedTree, parents_first

HEADER = {"type": "session", "id": "s1", "cwd": "/w"}


def message(uid: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "id": uid, "parentId": parent, "message": body, **more}


N1, N2 = message("n1", None, "user", "a"), message("n2", "n1", "assistant", "b")
N3, N4 = message("n3", "n2", "user", "c"), message("n4", "n3", "assistant", "d")


def lines(*items: Any) -> bytes:
    return b"".join((i if isinstance(i, bytes) else json.dumps(i).encode()) + b"\n" for i in items)


def read(tmp_path: Path, data: bytes, name: str = "session.jsonl") -> ImportedTree:
    path = tmp_path / name
    path.write_bytes(data)
    before = path.stat()
    tree = read_session(path)
    assert path.read_bytes() == data and path.stat().st_mtime_ns == before.st_mtime_ns
    return tree


def ids(tree: ImportedTree) -> list[str]:
    return [n.id for n in parents_first(tree)]


@pytest.mark.parametrize(
    ("data", "expected", "recovered", "gaps"),
    [
        (lines(HEADER, N1, N2, b"\0" * 500, N3, N4), ["n1", "n2", "n3", "n4"], 0, 1),
        (lines(HEADER, N1, json.dumps(N2).encode() + b"\0" * 9000, N3) + b"\0" * 143000, ["n1", "n2", "n3"], 1, 2),
        (lines(HEADER, N1, json.dumps(N2).encode()[:70] + json.dumps(N2).encode(), N3), ["n1", "n2", "n3"], 1, 1),
        (lines(HEADER, N1) + b"\0" * 1206, ["n1"], 0, 1),
        (lines(HEADER, N1, json.dumps(N2).encode() + json.dumps(N3).encode(), N4), ["n1", "n2", "n3", "n4"], 2, 0),
        (lines(HEADER, N1, b"{not json", N2), ["n1", "n2"], 0, 1),
        (lines(HEADER, N1, N2)[:-20], ["n1"], 0, 1),
        (lines(HEADER, N1, N2)[:-1], ["n1", "n2"], 0, 0),
        (b"\xef\xbb\xbf" + lines(HEADER, N1).replace(b"\n", b"\r\n"), ["n1"], 0, 0),
        (lines(HEADER, message("n1", None, "user", "a\u2028b\u0085c")), ["n1"], 0, 0),
    ],
    ids=["nul line", "nul padding", "partial then whole", "nul tail", "glued", "garbage", "torn tail", "no newline",
         "bom and crlf", "unicode line ends"],
)  # fmt: skip
def test_damaged_lines(tmp_path: Path, data: bytes, expected: list[str], recovered: int, gaps: int) -> None:
    tree = read(tmp_path, data)
    assert ids(tree) == expected
    assert tree.lines.recovered == recovered
    assert len(tree.lines.gaps) == gaps


def test_records_of_a_damaged_line_are_whole_or_nothing(tmp_path: Path) -> None:
    # The content block inside the torn record would parse by itself, but it is no record.
    torn = json.dumps(N2).encode()[:-1]
    report = LineReport()
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(HEADER, torn))
    assert [r.value["type"] for r in read_records(path, report)] == ["session"]


class TestTreeSanity:
    def test_missing_parent_is_a_gap_and_a_root(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(HEADER, N1, N2, message("n3", "GONE", "user", "c")))
        assert {n.id: n.parent for n in tree.nodes} == {"n1": None, "n2": "n1", "n3": None}
        assert len(tree.lines.gaps) == 1 and tree.leaf == "n3"

    def test_equal_duplicates_are_one_and_the_last_body_wins(self, tmp_path: Path) -> None:
        changed = message("n2", "n1", "assistant", "other")
        tree = read(tmp_path, lines(HEADER, N1, N2, N1, HEADER, changed))
        assert ids(tree) == ["n1", "n2"]
        node = tree.nodes[1]
        assert node.preview == "other" and node.detail["revisions"][0]["content"][0]["text"] == "b"

    @pytest.mark.parametrize("size", [1, 2, 3, 5000])
    def test_circles_are_cut_where_they_close(self, tmp_path: Path, size: int) -> None:
        chain = [message(f"c{i}", f"c{(i - 1) % size}", "user", str(i)) for i in range(size)]
        tree = read(tmp_path, lines(HEADER, *chain))
        assert len(ids(tree)) == size
        assert sum(1 for n in tree.nodes if n.parent is None) == 1
        assert sum(1 for n in tree.nodes if n.flags & NodeFlag.GUESSED_PARENT) == 1

    def test_children_may_stand_before_their_parents(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(HEADER, N2, N1))
        assert ids(tree) == ["n1", "n2"] and tree.lines.gaps == []

    def test_deep_chain_and_wide_node(self, tmp_path: Path) -> None:
        deep = [message(f"d{i}", f"d{i - 1}" if i else None, "user", "x") for i in range(20_000)]
        wide = [message(f"w{i}", "d0", "user", "x") for i in range(10_000)]
        tree = read(tmp_path, lines(HEADER, *deep, *wide))
        assert len(ids(tree)) == 30_000 and tree.branches == 10_001

    def test_the_leaf_is_chosen_by_links_not_by_a_sub_agent(self, tmp_path: Path) -> None:
        sub = message("n4", "n1", "assistant", "sub", timestamp="2026-01-01T11:00:00Z", sidechain=True)
        tree = read(tmp_path, lines(HEADER, N1, N2, sub))
        assert tree.leaf == "n2" and tree.branches == 1


class TestPi:
    def test_first_version_without_ids_is_a_chain(self, tmp_path: Path) -> None:
        entries = [
            {"type": "message", "message": {"role": "user", "content": "one"}},
            {
                "type": "message",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
            },
            {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 1},
            {"type": "message", "message": {"role": "user", "content": "three"}},
        ]
        tree = read(tmp_path, lines(HEADER, *entries))
        assert [n.parent for n in tree.nodes] == [None, "line-2", "line-3", "line-4"]
        assert tree.nodes[2].detail["kept_from"] == "line-2" and tree.compactions == 1

    def test_calls_results_and_orphans(self, tmp_path: Path) -> None:
        reply = {"role": "assistant", "stopReason": "toolUse", "model": "m", "content": [
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
            {"type": "toolCall", "id": "c2", "name": "bash", "arguments": {"command": "pwd"}}]}  # fmt: skip
        result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": True,
                  "content": [{"type": "text", "text": "no"}]}  # fmt: skip
        stray = {"role": "toolResult", "toolCallId": "zz", "toolName": "bash", "content": None}
        tree = read(tmp_path, lines(HEADER, N1,
            {"type": "message", "id": "a", "parentId": "n1", "message": reply},
            {"type": "message", "id": "r", "parentId": "a", "message": result},
            {"type": "message", "id": "s", "parentId": "r", "message": stray}))  # fmt: skip
        assert (tree.orphan_calls, tree.orphan_results) == (1, 1)
        tool = next(n for n in tree.nodes if n.id == "r")
        assert tool.kind is NodeKind.IMPORTED_TOOL and tool.outcome is Outcome.FAILED
        assert tool.call is not None and tool.call["input"] == {"command": "ls"}

    def test_one_call_stored_in_two_places_is_one_call(self, tmp_path: Path) -> None:
        reply = {"role": "assistant",
                 "content": [{"type": "tool_use", "id": "toolu_q", "name": "Bash", "input": {"command": "ls"}}],
                 "tool_calls": [{"id": "toolu_q", "type": "function",
                                 "function": {"name": "Bash", "arguments": "{\"command\":\"ls\"}"}}]}  # fmt: skip
        tree = read(
            tmp_path, lines(HEADER, N1, {"type": "message", "id": "a", "parentId": "n1", "message": reply})
        )
        content = (tree.nodes[1].message or {})["content"]
        assert [b["type"] for b in content] == ["tool_use"] and tree.orphan_calls == 1

    def test_newer_version_and_missing_header_are_told(self, tmp_path: Path) -> None:
        assert any("newer" in w for w in read(tmp_path, lines(HEADER | {"version": 99}, N1)).lines.warnings)
        assert any("header" in w for w in read(tmp_path, lines(N1, N2)).lines.warnings)


def claude(uid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"role": kind if kind == "assistant" else "user", "content": content}
    body |= more.pop("body", {})
    return {"type": kind, "uuid": uid, "parentUuid": parent, "sessionId": "S", "message": body, **more}


def use(uid: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": uid, "name": "Bash", "input": {"command": uid}}


def answer(uid: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": uid, "content": "ok"}]


class TestClaude:
    def test_blocks_of_one_reply_are_joined_and_parallel_results_kept(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(
            claude("u1", None, "user", "go"),
            claude("a1", "u1", "assistant", [use("x")], body={"id": "m1"}),
            claude("a2", "a1", "assistant", [use("y")], body={"id": "m1"}),
            claude("r1", "a1", "user", answer("x")),
            claude("r2", "a2", "user", answer("y")),
            claude("a3", "r2", "assistant", [{"type": "text", "text": "done"}], body={"id": "m2"})))  # fmt: skip
        assert [(n.id, n.parent) for n in parents_first(tree)] == [
            ("u1", None), ("a1", "u1"), ("r1", "a1"), ("r2", "r1"), ("a3", "r2")]  # fmt: skip
        assert tree.branches == 1 and tree.leaf == "a3"

    def test_results_are_not_moved_across_thinking(self, tmp_path: Path) -> None:
        think = [{"type": "thinking", "thinking": t, "signature": f"s{t}"} for t in "ab"]
        tree = read(tmp_path, lines(
            claude("u1", None, "user", "go"),
            claude("a1", "u1", "assistant", [think[0]], body={"id": "m1"}),
            claude("a2", "a1", "assistant", [use("x")], body={"id": "m1"}),
            claude("r1", "a2", "user", answer("x")),
            claude("a3", "r1", "assistant", [think[1]], body={"id": "m1"}),
            claude("a4", "a3", "assistant", [use("y")], body={"id": "m1"}),
            claude("r2", "a4", "user", answer("y"))))  # fmt: skip
        replies = [n for n in parents_first(tree) if n.kind is NodeKind.IMPORTED_ASSISTANT]
        assert [[b["type"] for b in (n.message or {})["content"]] for n in replies] == [
            ["thinking", "tool_use"]
        ] * 2
        assert [(n.message or {})["content"][0]["signature"] for n in replies] == ["sa", "sb"]

    def test_real_forks_stay_progress_records_do_not_fork(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(
            claude("u1", None, "user", "go"),
            claude("a1", "u1", "assistant", [{"type": "text", "text": "?"}], body={"id": "m1"}),
            {"type": "progress", "uuid": "p1", "parentUuid": "a1", "sessionId": "S"},
            claude("u2", "p1", "user", "left"),
            claude("u3", "a1", "user", "right")))  # fmt: skip
        assert tree.branches == 2 and {n.id: n.parent for n in tree.nodes}["u2"] == "a1"

    def test_compaction_follows_its_logical_parent(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(
            claude("u1", None, "user", "go"),
            {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None,
             "logicalParentUuid": "u1", "sessionId": "S", "compactMetadata": {"trigger": "auto"}},
            claude("s", "b", "user", "summary so far", isCompactSummary=True),
            claude("u2", "s", "user", "next")))  # fmt: skip
        assert [(n.id, n.parent) for n in parents_first(tree)] == [("u1", None), ("b", "u1"), ("u2", "b")]
        assert tree.nodes[1].detail["summary"] == "summary so far" and tree.compactions == 1

    @pytest.mark.parametrize(("hint_last", "leaf"), [(True, "u2"), (False, "u3")])
    def test_a_leaf_hint_counts_only_if_it_is_newer(self, tmp_path: Path, hint_last: bool, leaf: str) -> None:
        hint = {"type": "last-prompt", "lastPrompt": "x", "leafUuid": "u2", "sessionId": "S"}
        records = [
            claude("u1", None, "user", "a"),
            claude("u2", "u1", "user", "b"),
            claude("u3", "u1", "user", "c"),
        ]
        order = [*records, hint] if hint_last else [*records[:2], hint, records[2]]
        assert read(tmp_path, lines(*order)).leaf == leaf

    def test_errors_denials_and_side_chains(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(
            claude("u1", None, "user", "go"),
            claude("a1", "u1", "assistant", [use("x")], body={"id": "m1"}),
            claude("r1", "a1", "user", answer("x"), toolDenialKind="user"),
            claude("e", "r1", "assistant", [{"type": "text", "text": "API Error"}], body={"model": "<synthetic>"}),
            claude("z", "u1", "user", "sub task", isSidechain=True)))  # fmt: skip
        by_id = {n.id: n for n in tree.nodes}
        assert by_id["r1"].outcome is Outcome.DENIED and by_id["e"].kind is NodeKind.IMPORTED_EVENT
        assert by_id["z"].side and tree.branches == 1 and tree.leaf == "e"


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def say(role: str, text: str) -> dict[str, Any]:
    return item("response_item", type="message", role=role, content=[{"type": "output_text", "text": text}])


META = item("session_meta", id="X", cwd="/w", git={"commit_hash": "abc"})


class TestCodex:
    def test_rollback_makes_a_side_branch(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(META, say("user", "one"), say("assistant", "1"), say("user", "two"),
                                    say("assistant", "2"), item("event_msg", type="thread_rolled_back", num_turns=1),
                                    say("user", "other")))  # fmt: skip
        texts = {n.preview: n for n in tree.nodes}
        assert texts["other"].parent == texts["1"].id and tree.branches == 2 and tree.base_commit == "abc"
        assert tree.leaf == texts["other"].id

    def test_rolling_back_more_turns_than_there_are_goes_to_the_root(self, tmp_path: Path) -> None:
        tree = read(tmp_path, lines(META, say("user", "one"),
                                    item("event_msg", type="thread_rolled_back", num_turns=9), say("user", "two")))  # fmt: skip
        assert [n.parent for n in tree.nodes] == [None, None]

    def test_calls_are_joined_by_id_and_replies_by_order(self, tmp_path: Path) -> None:
        call = item(
            "response_item", type="function_call", name="shell", arguments='{"command": "ls"}', call_id="c1"
        )
        out = item("response_item", type="function_call_output", call_id="c1", output="a.txt")
        lost = item("response_item", type="function_call_output", call_id="c9", output="?")
        tree = read(
            tmp_path,
            lines(
                META, say("user", "go"), say("assistant", "look"), call, out, say("assistant", "done"), lost
            ),
        )
        kinds = [n.kind for n in parents_first(tree)]
        assert kinds == [NodeKind.IMPORTED_USER, NodeKind.IMPORTED_ASSISTANT, NodeKind.IMPORTED_TOOL,
                         NodeKind.IMPORTED_ASSISTANT, NodeKind.IMPORTED_EVENT]  # fmt: skip
        assert (tree.orphan_calls, tree.orphan_results) == (0, 1)

    def test_injected_context_is_no_prompt_and_a_replacement_is_no_chat(self, tmp_path: Path) -> None:
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]}]
        tree = read(tmp_path, lines(META, say("user", "<environment_context>x</environment_context>"),
                                    say("user", "go"), item("event_msg", type="user_message", message="go"),
                                    item("compacted", message="short", replacement_history=history)))  # fmt: skip
        assert [n.kind for n in tree.nodes] == [
            NodeKind.IMPORTED_EVENT, NodeKind.IMPORTED_USER, NodeKind.IMPORTED_COMPACTION]  # fmt: skip
        # What the model saw from there on: what of it is not in the tree is told with the summary.
        assert tree.nodes[2].detail["summary"] == "kept\n\nshort" and tree.nodes[2].preview == "short"


SAMPLES = {
    "pi": lines(HEADER | {"version": 3}, N1, N2, message("n3", "n1", "user", "fork")),
    "claude": lines(claude("u1", None, "user", "go"), claude("a1", "u1", "assistant", [use("x")], body={"id": "m1"}),
                    claude("r1", "a1", "user", answer("x"))),
    "codex": lines(META, say("user", "one"), say("assistant", "1"),
                   item("event_msg", type="thread_rolled_back", num_turns=1), say("user", "two")),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_at_every_byte_never_fails_and_never_shrinks(tmp_path: Path, name: str) -> None:
    data = SAMPLES[name]
    records = 0
    for cut in range(len(data) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:cut])
        try:
            tree = read_session(path)
        except BadInput:
            assert records == 0
            continue
        assert len(parents_first(tree)) == len(tree.nodes)
        assert tree.lines.records >= records
        records = tree.lines.records
    assert records == data.count(b"\n")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    name=st.sampled_from(sorted(SAMPLES)),
    noise=st.binary(max_size=60),
    at=st.floats(0, 1),
    drop=st.integers(0, 80),
)
def test_any_damage_is_survived(tmp_path: Path, name: str, noise: bytes, at: float, drop: int) -> None:
    data = SAMPLES[name]
    place = int(at * len(data))
    path = tmp_path / "noise.jsonl"
    path.write_bytes(data[:place] + noise + data[place + drop :])
    try:
        tree = read_session(path)
    except BadInput:
        return
    assert len(parents_first(tree)) == len(tree.nodes)


def test_what_is_no_session_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    for data in (b"", b"hello\n", b'{"a": 1}\n', base64.b64decode("AAAA")):
        path.write_bytes(data)
        with pytest.raises(BadInput, match="no session"):
            read_session(path)
    with pytest.raises(BadInput, match="folder"):
        read_session(tmp_path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_session(tmp_path / "gone.jsonl")
