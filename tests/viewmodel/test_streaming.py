"""What is streaming, for whoever begins to show it in the middle."""

from __future__ import annotations

from typing import Any

from worldline.protocol.events import Delta
from worldline.viewmodel.chat import ChatModel
from worldline.viewmodel.streaming import MOST_OUTPUT, Streaming


def delta(text: str, block: int = 0, *, run: str = "r", turn: int = 1, kind: str = "text", tool: str = "") -> dict[str, Any]:  # fmt: skip
    return {"run": run, "turn": turn, "block": block, "kind": kind, "text": text, "tool": tool}


DELTAS = [
    delta("Let me ", kind="thinking"), delta("think", kind="thinking"), delta("I ", 1), delta("will", 1),
    delta('{"path"', 2, kind="tool_input", tool="read"), delta(': "a"}', 2, kind="tool_input"),
    delta("other", run="s"),
]  # fmt: skip


def shown(deltas: list[dict[str, Any]]) -> list[list[tuple[str, str, str]]]:
    model = ChatModel()
    model.set_path([], live=True)
    model.deltas(Delta.model_validate(one) for one in deltas)
    return [[(block.kind, block.text, block.tool) for block in row.blocks] for row in model._replies.values()]


def test_the_part_so_far_is_shown_as_if_all_of_it_had_been_seen() -> None:
    for cut in range(len(DELTAS) + 1):
        streaming = Streaming()
        streaming.take_deltas(DELTAS[:cut])
        assert shown([*streaming.deltas(), *DELTAS[cut:]]) == shown(DELTAS)


def test_what_is_stored_discarded_or_over_is_let_go() -> None:
    streaming = Streaming()
    streaming.take_deltas([*DELTAS, delta("again", turn=2)])
    streaming.node_stored({"kind": "tool", "run": "r", "uid": "t"})
    assert len(streaming.deltas()) == 5
    streaming.node_stored({"kind": "assistant", "run": "r", "uid": "a"})
    assert [one["text"] for one in streaming.deltas()] == ["other", "again"]
    streaming.discarded("r", 2)
    assert [one["text"] for one in streaming.deltas()] == ["other"]
    streaming.run_ended("s")
    assert streaming.deltas() == []


def test_a_copy_goes_on_by_itself() -> None:
    streaming = Streaming()
    streaming.take_deltas(DELTAS[:3])
    streaming.take_outputs([{"node": "t", "text": "one"}])
    other = streaming.copy()
    streaming.take_deltas(DELTAS[3:])
    streaming.take_outputs([{"node": "t", "text": "two"}])
    assert [one["text"] for one in other.deltas()] == ["Let me think", "I "]
    assert other.outputs() == {"t": "one"}
    other.clear()
    assert streaming.outputs() == {"t": "onetwo"} and len(streaming.deltas()) == 4


def test_what_a_command_prints_is_kept_from_its_end_until_it_ends() -> None:
    streaming = Streaming()
    for at in range(60_000):
        streaming.take_outputs([{"node": "t", "text": f"line {at:010}\n"}])
    kept = streaming.outputs()["t"]
    assert MOST_OUTPUT <= len(kept) <= 2 * MOST_OUTPUT and kept.endswith("line 0000059999\n")
    streaming.node_ended({"kind": "tool", "uid": "t", "outcome": "running"})
    assert streaming.outputs()
    streaming.node_ended({"kind": "tool", "uid": "t", "outcome": "ok"})
    assert streaming.outputs() == {}
