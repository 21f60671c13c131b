"""What a session must hold after a list of operations, kept in plain dictionaries: the yardstick for crashes and for Hypothesis."""

from __future__ import annotations

import copy
import random
from typing import Any

from worldline.core.ids import new_uid
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd, RunRecord

Op = dict[str, Any]


class Model:
    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.cursor = ""
        self.marks: dict[str, str] = {}
        self.runs: dict[str, str | None] = {}

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def apply(self, op: Op) -> None:
        match op["op"]:
            case "append":
                running = op["kind"] == "tool"
                self.nodes[op["uid"]] = {
                    "parent": op["parent"],
                    "kind": op["kind"],
                    "text": op["text"],
                    "outcome": "running" if running else "none",
                    "end": "",
                }
                if op["move"]:
                    self.cursor = op["uid"]
            case "finish":
                self.nodes[op["uid"]].update(outcome=op["outcome"], end=op["text"])
            case "cursor":
                self.cursor = op["uid"]
            case "mark":
                self.marks.pop(op["uid"], None)
                if op["text"]:
                    self.marks[op["uid"]] = op["text"]
            case "run":
                self.runs[op["uid"]] = None
            case "end_run":
                self.runs[op["uid"]] = op["reason"]
            case "group":
                for inner in op["ops"]:
                    self.apply(inner)

    def after_crash(self) -> None:
        """What the next opening makes of the unfinished."""
        for node in self.nodes.values():
            if node["outcome"] == "running":
                node["outcome"] = "interrupted"
        self.runs = {uid: reason or "interrupted" for uid, reason in self.runs.items()}

    def snapshot(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "order": list(self.nodes),
            "cursor": self.cursor,
            "marks": self.marks,
            "runs": self.runs,
        }

    def random_op(self, rng: random.Random, *, nested: bool = False) -> Op:
        uids = list(self.nodes)
        if not uids:
            return {
                "op": "append",
                "uid": new_uid(),
                "parent": None,
                "kind": "root",
                "text": "",
                "move": True,
            }
        running = [uid for uid, node in self.nodes.items() if node["outcome"] == "running"]
        going = [uid for uid, reason in self.runs.items() if reason is None]
        roll = rng.random()
        if running and roll < 0.25:
            outcome = rng.choice(["ok", "failed", "denied", "aborted"])
            return {"op": "finish", "uid": rng.choice(running), "outcome": outcome, "text": _text(rng)}
        if roll < 0.32:
            return {"op": "cursor", "uid": rng.choice(uids)}
        if roll < 0.38:
            return {"op": "mark", "uid": rng.choice(uids), "text": rng.choice(["", "good", "bad"])}
        if roll < 0.44:
            if going:
                return {
                    "op": "end_run",
                    "uid": going[0],
                    "reason": rng.choice(["completed", "aborted", "max_turns"]),
                }
            return {"op": "run", "uid": new_uid(), "prompt": rng.choice(uids)}
        if roll < 0.50 and not nested:
            return {"op": "index"}
        if roll < 0.62 and not nested:
            inner: list[Op] = []
            scratch = self.copy()
            for _ in range(rng.randrange(1, 5)):
                inner.append(scratch.random_op(rng, nested=True))
                scratch.apply(inner[-1])
            return {"op": "group", "ops": inner}
        parent = self.cursor if rng.random() < 0.8 else rng.choice(uids)
        kind = rng.choice(["user", "assistant", "tool", "tool"])
        move = rng.random() < 0.9
        return {
            "op": "append",
            "uid": new_uid(),
            "parent": parent,
            "kind": kind,
            "text": _text(rng),
            "move": move,
        }


def _text(rng: random.Random) -> str:
    size = rng.choice((3, 40, 40, 900, 6000, 60_000))
    return f"{rng.random()} " + rng.choice(("word ", "字 ", "x\ud800"[:1])) * (size // 5)


def perform(doc: SessionDocument, op: Op) -> None:
    match op["op"]:
        case "append":
            role = "assistant" if op["kind"] == "assistant" else "user"
            message = {"role": role, "content": [{"type": "text", "text": op["text"]}]}
            draft = NodeDraft(NodeKind(op["kind"]), op["parent"], message, uid=op["uid"])
            doc.append(draft, move_cursor=op["move"])
        case "finish":
            block = {"type": "tool_result", "tool_use_id": "t", "content": op["text"]}
            doc.finish(op["uid"], NodeEnd(Outcome(op["outcome"]), {"role": "user", "content": [block]}))
        case "cursor":
            doc.set_cursor(op["uid"])
        case "mark":
            doc.set_mark(op["uid"], "label", op["text"])
        case "run":
            doc.begin_run(RunRecord(op["uid"], op["prompt"], 0))
        case "end_run":
            doc.end_run(op["uid"], StopReason(op["reason"]))
        case "index":
            doc.index(20)
        case "group":
            with doc.transaction():
                for inner in op["ops"]:
                    perform(doc, inner)


def snapshot(doc: SessionDocument) -> dict[str, Any]:
    """The same shape as `Model.snapshot`, from the document; the tree in memory must agree with the rows."""
    headers = doc.headers()
    names = {header.seq: header.uid for header in headers}
    nodes = {}
    for header in headers:
        body = doc.body(header.uid)
        assert body.message is not None
        assert doc.tree.parent(header.seq) == header.parent
        assert doc.tree.outcome(header.seq) is header.outcome is body.outcome
        nodes[header.uid] = {
            "parent": names.get(header.parent),
            "kind": header.kind.value,
            "text": body.message["content"][0]["text"],
            "outcome": header.outcome.value,
            "end": body.end_message["content"][0]["content"] if body.end_message else "",
        }
    assert len(doc.tree) == len(headers)
    runs = {run.uid: run.stop_reason.value if run.stop_reason else None for run in doc.runs()}
    marks = {uid: mark.label for uid, mark in doc.marks().items()}
    return {"nodes": nodes, "order": list(nodes), "cursor": doc.cursor, "marks": marks, "runs": runs}
