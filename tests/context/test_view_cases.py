"""Failures that other programs had, each as one case."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from context.support import body, cases, from_messages, image, text_of, view_of
from worldline.context.checker import check
from worldline.context.model import PathNode
from worldline.core.kinds import NodeKind, Outcome


def blocks(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [b for m in messages for b in m["content"] if b["type"] == kind]


def assert_paired(messages: list[dict[str, Any]]) -> None:
    for index, message in enumerate(messages):
        uses = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        if uses:
            following = messages[index + 1]["content"]
            assert [b["tool_use_id"] for b in following[: len(uses)]] == uses
            assert all(b["type"] != "tool_result" for b in following[len(uses) :])


@pytest.mark.parametrize("case", cases("messages"), ids=lambda c: c["id"])
def test_messages(case: dict[str, Any]) -> None:
    payload, expect = case["payload"], case["payload"]["expect"]
    path = from_messages(payload["messages"])
    before = copy.deepcopy([n.message for n in path])
    view = view_of(path, model=expect.get("target_model", "claude-sonnet-5-5"))
    messages = view.messages
    assert check(body(view)) == []
    assert [n.message for n in path] == before
    assert_paired(messages)
    results = {b["tool_use_id"]: b for b in blocks(messages, "tool_result")}
    for use_id in expect.get("synthetic_results", []):
        assert results[use_id]["is_error"] is True
        assert "Not executed" in text_of(results[use_id])
        assert any(r.kind == "missing_result" for r in view.repairs)
    for use_id in expect.get("dropped_results", []):
        assert use_id not in results
    for kind in expect.get("no_block_type_orphans", []):
        assert blocks(messages, kind) == []
    if "results_in_order" in expect:
        assert [text_of(b) for b in blocks(messages, "tool_result")] == expect["results_in_order"]
    if expect.get("unique_ids"):
        ids = [b["id"] for b in blocks(messages, "tool_use")]
        assert len(ids) == len(set(ids))
    if expect.get("one_result_per_id"):
        assert [text_of(b) for b in blocks(messages, "tool_result")] == ["real output"]
    if expect.get("last_role"):
        assert messages[-1]["role"] == expect["last_role"]
    if expect.get("final_assistant_no_trailing_ws"):
        final = [m for m in messages if m["role"] == "assistant"][-1]["content"][-1]["text"]
        assert final == final.rstrip()
    if "thinking_from_other_models" in expect:
        assert blocks(messages, "thinking") == []
    if expect.get("input_is_object"):
        assert all(isinstance(b["input"], dict) for b in blocks(messages, "tool_use"))
    assert messages[0]["role"] == "user"
    assert not any("cache_control" in b for m in messages for b in m["content"])


def test_switching_back_to_the_model_that_thought() -> None:
    (case,) = [c for c in cases("messages") if c["id"] == "ctx-051"]
    path = from_messages(case["payload"]["messages"])
    view = view_of(path, model="claude-a")
    assert blocks(view.messages, "thinking") == [case["payload"]["messages"][1]["content"][0]]
    assert view.repairs == []


@pytest.mark.parametrize("case", cases("image"), ids=lambda c: c["id"])
def test_images(case: dict[str, Any]) -> None:
    payload, expect = case["payload"], case["payload"]["expect"]
    content = [image(40, 30, i) for i in range(payload["images_before"])]
    content += [image(*payload["new_image_px"]), {"type": "text", "text": "what is this?"}]
    path = from_messages([{"role": "user", "content": content}])
    view = view_of(path)
    assert check(body(view)) == []
    assert view.images <= expect.get("max_images_in_view", 100)
    assert view.bytes <= expect.get("request_bytes_max", 32_000_000)
    newest = len(content) - 2
    assert view.messages[0]["content"][-2]["type"] == "image"
    poisoned = view_of(path, poisoned={("n0", newest): "Could not process image"})
    assert check(body(poisoned)) == []
    assert "Could not process image" in poisoned.messages[0]["content"][newest]["text"]
    assert [r.kind for r in poisoned.repairs].count("poisoned") == 1


@pytest.mark.parametrize("case", cases("records"), ids=lambda c: c["id"])
def test_records_of_one_message(case: dict[str, Any]) -> None:
    path: list[PathNode] = []
    for index, record in enumerate(case["payload"]["records"]):
        if "block" in record:
            message = {"role": "assistant", "content": [record["block"]]}
            path.append(
                PathNode(f"n{index}", NodeKind.ASSISTANT, Outcome.OK, message, detail={"model": "claude-a"})
            )
        else:
            result = {"type": "tool_result", "tool_use_id": record["user_result"], "content": "ok"}
            path.append(
                PathNode(
                    f"n{index}", NodeKind.TOOL, Outcome.OK, None, {"role": "user", "content": [result]},
                    {"id": record["user_result"], "name": "Bash", "input": {}},
                )
            )  # fmt: skip
    view = view_of(path, model="claude-a")
    assert_paired(view.messages)
    assert check(body(view)) == []
    stored = [r["block"] for r in case["payload"]["records"] if r.get("block", {}).get("type") == "thinking"]
    assert blocks(view.messages, "thinking") == stored
