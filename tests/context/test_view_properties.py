"""Random histories, cut and damaged anywhere: the view is always acceptable, honest, stable and says what it did."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context.support import body, from_messages, view_of
from worldline.context.checker import check
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome

IDS = st.sampled_from(["t1", "t2", "t3", "t4", "bad id|1", "bad id|2", "", "ü" * 70])
TEXTS = st.sampled_from(["hello", "", "  \n", "half \ud800", "ends with space \n", "中文", "x" * 700])
NAMES = st.sampled_from(["read_file", "run.command", "", "n" * 90])
INPUTS = st.sampled_from([{}, {"a": 1}, '{"a": 1}', '{"a"', None, [1], {"x": float("nan")}, {"y": "\udc00"}])
TEXT = st.builds(lambda t: {"type": "text", "text": t}, TEXTS)
THINKING = st.builds(
    lambda t, s: {"type": "thinking", "thinking": t, "signature": s},
    st.sampled_from(["a", ""]),
    st.sampled_from(["sig", ""]),
)
USE = st.builds(lambda i, n, v: {"type": "tool_use", "id": i, "name": n, "input": v}, IDS, NAMES, INPUTS)
RESULT = st.builds(
    lambda i, c, e: {"type": "tool_result", "tool_use_id": i, "content": c, **({"is_error": True} if e else {})},
    IDS, st.one_of(TEXTS, st.lists(TEXT, max_size=2), st.none()), st.booleans(),
)  # fmt: skip
ODD = st.sampled_from(
    [
        {"type": "fallback"},
        {"type": "image"},
        {"type": "web_search_tool_result", "tool_use_id": "s"},
        None,
        {},
        "str",
    ]
)
MODELS = st.sampled_from(["claude-sonnet-5-5", "claude-opus-5-5", ""])


@st.composite
def paths(draw: st.DrawFn) -> list[PathNode]:
    """Nodes as an engine, an importer, or a damaged file could have left them."""
    nodes: list[PathNode] = []
    for index in range(draw(st.integers(0, 14))):
        uid = f"n{index}"
        which = draw(st.integers(0, 11))
        if which <= 2:
            content: Any = draw(st.lists(st.one_of(TEXT, RESULT, ODD), max_size=3))
            nodes.append(PathNode(uid, NodeKind.USER, Outcome.NONE, {"role": "user", "content": content}))
        elif which <= 6:
            content = draw(st.lists(st.one_of(TEXT, USE, THINKING, ODD, RESULT), max_size=4))
            detail = {"model": draw(MODELS)}
            nodes.append(
                PathNode(
                    uid,
                    NodeKind.ASSISTANT,
                    Outcome.OK,
                    {"role": "assistant", "content": content},
                    detail=detail,
                )
            )
        elif which <= 9:
            use_id = draw(IDS)
            done = draw(st.booleans())
            end = {"role": "user", "content": [{**draw(RESULT), "tool_use_id": use_id}]} if done else None
            outcome = draw(st.sampled_from([Outcome.OK, Outcome.FAILED, Outcome.INTERRUPTED, Outcome.DENIED]))
            nodes.append(
                PathNode(uid, NodeKind.TOOL, outcome, None, end, {"id": use_id, "name": "t", "input": {}})
            )
        elif which == 10:
            kept = draw(st.sampled_from(["", *(n.uid for n in nodes), "nowhere"]))
            nodes.append(
                PathNode(
                    uid, NodeKind.COMPACTION, Outcome.OK, None, detail={"summary": "S", "kept_from": kept}
                )
            )
        else:
            target = draw(st.sampled_from(["nowhere", *(n.uid for n in nodes)]))
            detail = {
                "target": target,
                "replacement": draw(st.sampled_from([None, "note"])),
                "scope": draw(st.sampled_from(["node", "turn"])),
                "restore": draw(st.booleans()),
            }
            nodes.append(PathNode(uid, NodeKind.CONTEXT_EDIT, Outcome.NONE, None, detail=detail))
    return nodes


def speaks(view: View) -> bool:
    return bool(view.messages)


def dump(view: View) -> str:
    return json.dumps([view.messages, view.origin])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths(), st.booleans())
def test_any_history_gives_an_acceptable_request(path: list[PathNode], drop: bool) -> None:
    before = copy.deepcopy(path)
    options = ViewOptions(model="claude-sonnet-5-5", drop_thinking=drop)
    view = build_view(path, options)
    if speaks(view):
        assert check(body(view)) == []
        assert view.messages[0]["role"] == "user"
        assert view.messages[-1]["role"] == "user"
        assert all(a["role"] != b["role"] for a, b in zip(view.messages, view.messages[1:], strict=False))
    for mine, stored in zip(path, before, strict=True):
        assert repr((mine.message, mine.end_message, mine.detail)) == repr(
            (stored.message, stored.end_message, stored.detail)
        )
    assert dump(build_view(path, options)) == dump(view)
    assert dump(build_view(before, options)) == dump(view)
    uids = {n.uid for n in path} | {""}
    assert all(r.node in uids and r.detail for r in view.repairs)
    for message, origin in zip(view.messages, view.origin, strict=True):
        assert len(message["content"]) == len(origin)
    size = len(json.dumps(view.messages, ensure_ascii=False, separators=(",", ":")).encode())
    assert size <= view.bytes <= size * 1.3 + 64 * len(view.messages) + 64


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths())
def test_a_view_of_a_view_is_the_same(path: list[PathNode]) -> None:
    view = view_of(path, model="claude-sonnet-5-5")
    again = view_of(from_messages(copy.deepcopy(view.messages)), model="claude-sonnet-5-5")
    assert again.messages == view.messages
    assert again.repairs == []


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths(), st.integers(0, 14))
def test_cut_anywhere(path: list[PathNode], at: int) -> None:
    view = view_of(path[:at], model="claude-sonnet-5-5")
    if speaks(view):
        assert check(body(view)) == []


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths())
def test_every_block_leads_back_to_history(path: list[PathNode]) -> None:
    """What stands in the view under a node's name is that node's, or a repair of the node says why not."""
    view = view_of(path, model="claude-sonnet-5-5")
    nodes = {n.uid: n for n in path}
    repaired = {r.node for r in view.repairs}
    for message, origins in zip(view.messages, view.origin, strict=True):
        for block, (uid, index) in zip(message["content"], origins, strict=True):
            if uid == "" or uid in repaired:
                continue
            stored = (nodes[uid].end_message or nodes[uid].message or {}).get("content")
            assert isinstance(stored, list)
            original = (
                stored[index]
                if not isinstance(stored[index], str)
                else {"type": "text", "text": stored[index]}
            )
            if block["type"] == "tool_result":
                assert block.get("is_error") == original.get("is_error")
            else:
                assert block == original
