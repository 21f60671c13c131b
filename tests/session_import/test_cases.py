"""Damaged session files of other agents, through the command line: what is loaded, what is told, what the model would see."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from worldline.cli.main import main

HEAD: dict[str, Any] = {"type": "session", "id": "s1", "cwd": "/w"}
Item = dict[str, Any]


def said(uid: str, parent: str | None, role: str, text: str, **more: Any) -> Item:
    body = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "id": uid, "parentId": parent, "message": body, **more}


N1, N2 = said("n1", None, "user", "a"), said("n2", "n1", "assistant", "b")
N3, N4 = said("n3", "n2", "user", "c"), said("n4", "n3", "assistant", "d")


def c_rec(uid: str, parent: str | None, kind: str, content: Any, **more: Any) -> Item:
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg-{uid}", "model": "m"}
    return {"type": kind, "uuid": uid, "parentUuid": parent, "sessionId": "s1", "message": message, **more}


C1, C2 = c_rec("n1", None, "user", "a"), c_rec("n2", "n1", "assistant", [{"type": "text", "text": "b"}])
C3 = c_rec("n3", "n2", "user", "c")


def x_rec(role: str, text: str, **more: Any) -> Item:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item",
            "payload": {"type": "message", "role": role, "content": content}, **more}  # fmt: skip


X0: Item = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/w"}}
X1, X2 = x_rec("user", "a"), x_rec("assistant", "b")


def nul(count: int) -> Item:
    return {"raw_nul": count}


def raw(text: str) -> Item:
    return {"raw": text}


def bytes_of(items: list[Item]) -> bytes:
    """A file as the cases describe it: records, and pieces of damage."""
    lines = []
    for item in items:
        if "raw" in item:
            lines.append(item["raw"].encode())
        elif "raw_b64" in item:
            lines.append(base64.b64decode(item["raw_b64"]))
        elif "raw_nul" in item:
            lines.append(b"\0" * item["raw_nul"])
        elif "raw_then_nul" in item:
            lines.append(json.dumps(item["raw_then_nul"]).encode() + b"\0" * item["nul"])
        elif "glued" in item:
            lines.append(b"".join(json.dumps(part).encode() for part in item["glued"]))
        else:
            lines.append(json.dumps(item).encode())
    return b"\n".join(lines) + b"\n"


@dataclass
class Case:
    name: str
    lines: list[Item]
    texts: list[str]
    """Texts of the loaded messages, in the order of the file."""
    gaps: int = 0
    recovered: int = 0
    branches: int = 1
    view: list[str] | None = None
    """Texts that the model would get at the cursor; the same as `texts` by default."""
    orphans: tuple[int, int] = (0, 0)
    cut: int = 0
    """Bytes missing at the end."""
    fails: bool = False
    more: dict[str, Any] = field(default_factory=dict)


HALF = json.dumps(N2)[:70]
ABCD = ["a", "b", "c", "d"]
CALL = {"role": "assistant", "content": [
    {"type": "toolCall", "id": "k1", "name": "bash", "arguments": {"command": "ls"}},
    {"type": "toolCall", "id": "k2", "name": "bash", "arguments": {"command": "pwd"}}]}  # fmt: skip
CASES = [
    Case("nothing wrong", [HEAD, N1, N2, N3, N4], ABCD),
    Case("run of NUL in the middle", [HEAD, N1, N2, nul(500), N3, N4], ABCD, gaps=1),
    Case("two runs of NUL", [HEAD, nul(7), N1, N2, nul(70000), N3, N4], ABCD, gaps=2),
    Case("NUL behind a record and at the end", [HEAD, N1, {"raw_then_nul": N2, "nul": 9000}, N3, nul(143000)],
         ["a", "b", "c"], gaps=2, recovered=1),
    Case("NUL before a record", [HEAD, N1, raw("\0" * 40 + json.dumps(N2)), N3], ["a", "b", "c"], gaps=1, recovered=1),
    Case("NUL instead of a header", [nul(120), N1, N2, N3], ["a", "b", "c"], gaps=1),
    Case("half a record, then whole", [HEAD, N1, raw(HALF + json.dumps(N2)), N3], ["a", "b", "c"], gaps=1, recovered=1),
    Case("half twice, then whole", [HEAD, N1, raw(HALF + HALF + json.dumps(N2)), N3], ["a", "b", "c"], gaps=1, recovered=1),
    Case("whole, then half", [HEAD, N1, raw(json.dumps(N2) + HALF), N3], ["a", "b", "c"], gaps=1, recovered=1),
    Case("half only", [HEAD, N1, N2, raw(json.dumps(N3)[:60]), N4], ["a", "b", "d"], gaps=2, view=["d"], branches=2),
    Case("two glued", [HEAD, N1, {"glued": [N2, N3]}, N4], ABCD, recovered=2),
    Case("three glued with the header", [{"glued": [HEAD, N1, N2]}, N3, N4], ABCD, recovered=3),
    Case("glued with a foreign record", [HEAD, N1, {"glued": [N2, {"type": "summary", "summary": "x", "leafUuid": "n2"}]},
                                         N3], ["a", "b", "c"], recovered=2),
    Case("all on one line", [{"glued": [HEAD, N1, N2, N3, N4]}], ABCD, recovered=5),
    Case("garbage lines", [raw("?!"), HEAD, N1, raw("{not json"), N2, raw("]"), raw("null"), N3], ["a", "b", "c"], gaps=4),
    Case("empty lines", [HEAD, raw(""), N1, raw("   "), N2, raw("\r"), N3], ["a", "b", "c"]),
    Case("torn tail", [HEAD, N1, N2, N3], ["a", "b"], gaps=1, cut=30),
    Case("no newline at the end", [HEAD, N1, N2, N3], ["a", "b", "c"], cut=1),
    Case("island", [HEAD, N1, N2, said("n3", "GONE", "user", "c")], ["a", "b", "c"], gaps=1, branches=2, view=["c"]),
    Case("two islands", [HEAD, N1, said("n2", "G1", "assistant", "b"), said("n3", "G2", "user", "c")],
         ["a", "b", "c"], gaps=2, branches=3, view=["c"]),
    Case("a sub-agent is no leaf", [HEAD, N1, N2, said("n4", "n1", "assistant", "sub", sidechain=True)],
         ["a", "b", "sub"], view=["a", "b"]),
    Case("times go back", [HEAD, {**N1, "timestamp": "2026-01-02T00:00:00Z"}, {**N2, "timestamp": "2020-01-01T00:00:00Z"},
                           {**N3, "timestamp": "soon"}], ["a", "b", "c"]),
    Case("two branches", [HEAD, N1, N2, N3, said("n4", "n2", "user", "d")], ABCD, branches=2, view=["a", "b", "d"]),
    Case("equal duplicates", [HEAD, N1, N2, HEAD, N1, N2, N3], ["a", "b", "c"]),
    Case("the last body of an id", [HEAD, N1, N2, said("n2", "n1", "assistant", "B"), N3], ["a", "B", "c"]),
    Case("self parent", [HEAD, said("n1", "n1", "user", "a"), N2], ["a", "b"]),
    Case("circle", [HEAD, said("n1", "n3", "user", "a"), N2, N3], ["c", "a", "b"], view=["c"]),
    Case("child before parent", [HEAD, N2, N1, N3], ["a", "b", "c"]),
    Case("header in the middle", [N1, N2, HEAD, N3], ["a", "b", "c"]),
    Case("no header", [N1, N2, N3], ["a", "b", "c"]),
    Case("version 99", [{**HEAD, "version": 99}, N1, N2], ["a", "b"]),
    Case("unknown record in the chain", [HEAD, N1, {"type": "novel", "id": "u", "parentId": "n1", "x": 1},
                                         said("n2", "u", "assistant", "b")], ["a", "b"]),
    Case("custom ids", [{**HEAD, "id": "my.session_1-x"}, said("a.b-c_1", None, "user", "a"),
                        said("weird id/é", "a.b-c_1", "assistant", "b"), said("n3", "weird id/é", "user", "c")],
         ["a", "b", "c"]),
    Case("no ids, two on one line", [HEAD, {"glued": [{"type": "message", "message": N1["message"]},
                                                      {"type": "message", "message": N2["message"]}]},
                                     {"type": "message", "message": N3["message"]}], ["a", "b", "c"], recovered=2),
    Case("call without result", [HEAD, N1, {**N2, "message": CALL}, said("n3", "n2", "user", "c")], ["a", "c"],
         orphans=(2, 0), view=None, more={"view": False}),
    Case("result without call", [HEAD, N1, {"type": "message", "id": "n2", "parentId": "n1", "message": {
        "role": "toolResult", "toolCallId": "zz", "toolName": "bash", "content": []}}, said("n3", "n2", "user", "c")],
         ["a", "c"], orphans=(0, 1), more={"view": False}),
    Case("claude: nothing wrong", [C1, C2, C3], ["a", "b", "c"]),
    Case("claude: NUL and glued", [C1, nul(50), {"glued": [C2, C3]}], ["a", "b", "c"], gaps=1, recovered=2),
    Case("claude: child before parent", [C2, C1, C3], ["a", "b", "c"]),
    Case("claude: duplicates", [C1, C2, C1, C3, C2], ["a", "b", "c"]),
    Case("claude: circle", [{**C1, "parentUuid": "n3"}, C2, C3], ["c", "a", "b"], view=["c"]),
    Case("claude: island", [C1, C2, {**C3, "parentUuid": "GONE"}], ["a", "b", "c"], gaps=1, view=["c"]),
    Case("claude: a turn behind an island", [C1, {**C2, "parentUuid": "GONE"}, C3], ["a", "b", "c"], gaps=1, view=["b", "c"]),
    Case("claude: cleared", [C1, C2, c_rec("n3", None, "user", "c")], ["a", "b", "c"], branches=2, view=["c"]),
    Case("claude: progress makes no fork", [C1, {"type": "progress", "uuid": "p", "parentUuid": "n1", "sessionId": "s1"},
                                            {**C2, "parentUuid": "p"}, C3], ["a", "b", "c"]),
    Case("codex: nothing wrong", [X0, X1, X2, x_rec("user", "c")], ["a", "b", "c"]),
    Case("codex: NUL, torn and glued", [X0, X1, nul(99), raw(json.dumps(X2)[:50] + json.dumps(X2)),
                                        {"glued": [x_rec("user", "c"), x_rec("assistant", "d")]}], ABCD, gaps=2, recovered=3),
    Case("codex: rolled back", [X0, X1, X2, x_rec("user", "c"), {"type": "event_msg", "payload": {
        "type": "thread_rolled_back", "num_turns": 1}}, x_rec("user", "d")], ABCD, branches=2, view=["a", "b", "d"]),
    Case("codex: no envelope", [{"id": "x", "timestamp": "2025-01-01T00:00:00Z", "instructions": None},
                                X1["payload"], X2["payload"]], ["a", "b"]),
    Case("chat messages without an envelope", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
         ["a", "b"]),
    Case("nothing but NUL", [nul(4000)], [], fails=True),
    Case("another program's file", [{"level": "info", "msg": "hello"}], [], fails=True),
]  # fmt: skip


def texts_of(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [b["text"] for b in blocks if b.get("type") == "text"]
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_damaged_file(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.jsonl"
    data = bytes_of(case.lines)
    source.write_bytes(data[: len(data) - case.cut])
    before = source.read_bytes()

    def run(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = main(arguments)
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    code, result = run("import", str(source), "--out", str(tmp_path / "out"), "--json")
    assert source.read_bytes() == before
    (report,) = result["files"]
    if case.fails:
        assert code == 2 and report["error"] and not report["out"]
        assert list((tmp_path / "out").iterdir()) == []
        return
    assert code == 0, report
    assert len(report["gaps"]) == case.gaps and report["branches"] == case.branches, report
    assert (report["orphan_calls"], report["orphan_results"]) == case.orphans
    if case.recovered:
        assert report["recovered"] == case.recovered
    if case.gaps or case.recovered:
        assert all(gap["reason"] and gap["line"] >= 1 for gap in report["gaps"])
    _, seen = run("inspect", report["out"], "--json")
    nodes = [
        n
        for n in seen["nodes"]
        if n["kind"] in ("imported_user", "imported_assistant") and len(n["preview"]) < 4
    ]
    assert [n["preview"] for n in nodes] == case.texts
    assert len(seen["nodes"]) == report["nodes"] + 1
    code, verdict = run("verify", report["out"], "--json")
    assert code == 0 and verdict["sound"], verdict
    if case.more.get("view", True):
        _, body = run("view", report["out"], "cursor", "--json")
        # What the view itself says stands in brackets (a reply at the end, a conversation that begins in the middle).
        shown = [text for text in texts_of(body["messages"]) if not text.startswith("[")]
        assert shown == (case.texts if case.view is None else case.view)
