"""Which nodes of a path are in the view: compactions, truncation, context edits, branch summaries."""

from __future__ import annotations

from typing import Any

import pytest

from context.support import (
    accepted,
    kinds,
    node,
    reply,
    root,
    shape,
    tool,
    use,
    user,
    view_of,
)
from worldline.context.model import PathNode
from worldline.context.texts import SUMMARY_HEAD, TRUNCATED
from worldline.core.kinds import NodeKind


def compacted(uid: str, summary: str, kept_from: str, **detail: Any) -> PathNode:
    return node(uid, NodeKind.COMPACTION, summary=summary, kept_from=kept_from, **detail)


def long_path() -> list[PathNode]:
    path = [root()]
    for i in range(4):
        path += [
            user(f"u{i}", f"q{i}"),
            reply(f"a{i}", use(f"t{i}")),
            tool(f"x{i}", f"t{i}", f"r{i}"),
            reply(f"b{i}", f"s{i}"),
        ]
    return path


def test_compaction_then_kept_then_rest() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1"), user("n", "next")]
    view = accepted(view_of(path))
    assert shape(view) == [
        ["u", f"{SUMMARY_HEAD}\n\nS1", "q1"],
        ["a", "t1"],
        ["u", "r1"],
        ["a", "s1"],
        ["u", "next"],
    ]
    assert view.origin[0] == [("c", 0), ("u1", 0)]
    assert kinds(view) == ["summary_applied"]


def test_second_compaction_keeps_what_the_first_kept() -> None:
    path = long_path()
    path.insert(9, compacted("c1", "S1", "u1"))
    view = accepted(view_of([*path, compacted("c2", "S2", "b1"), user("n", "next")]))
    flat = [t for m in shape(view) for t in m[1:]]
    assert flat[0].endswith("S2")
    assert (
        flat[1:3]
        == ["[The conversation starts in the middle: what came before is not part of this request.]", "s1"]
        or flat[1] == "s1"
    )
    assert "q2" in flat and "q3" in flat and not any("S1" in t for t in flat)


def test_compaction_that_keeps_nothing() -> None:
    for kept in ("", "c"):
        view = accepted(view_of([*long_path()[:9], compacted("c", "S1", kept)]))
        assert shape(view) == [["u", f"{SUMMARY_HEAD}\n\nS1"]]


def test_compaction_that_names_something_that_is_not_there_loses_nothing() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "gone")]
    view = accepted(view_of(path))
    assert kinds(view)[0] == "summary_mismatch"
    assert "q0" in shape(view)[0]
    known = accepted(view_of([*path[:-1], compacted("c", "S1", "gone", covers=["u0", "b0"])]))
    assert shape(known)[0][-1] == "q1"


def test_compaction_cut_at_a_result_is_still_acceptable() -> None:
    view = accepted(view_of([*long_path()[:9], compacted("c", "S1", "x1"), user("n", "next")]))
    assert "orphan_result" in kinds(view)


def test_expanding_a_compaction_again() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1")]
    plain = view_of(long_path()[:9])
    assert view_of(path, expand=frozenset({"c"})).messages == plain.messages
    by_node = [*path, node("e", NodeKind.CONTEXT_EDIT, target="c", expand=True)]
    assert view_of(by_node).messages == plain.messages


def test_nodes_before_a_compaction_keep_their_full_view() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1")]
    assert accepted(view_of(path[:9])).messages == view_of(long_path()[:9]).messages


def test_truncation_is_marked() -> None:
    view = accepted(view_of(long_path(), truncate_before="u2"))
    assert shape(view)[0] == ["u", TRUNCATED, "q2"]
    assert view.origin[0][0] == ("", -1)
    stored = [*long_path()[:9], compacted("c", "", "u1", truncated=True)]
    assert shape(accepted(view_of(stored)))[0] == ["u", TRUNCATED, "q1"]


@pytest.mark.parametrize(
    ("detail", "first", "result"),
    [
        ({"target": "x0"}, ["u", "q0"], ["u", "[Left out by the person.]"]),
        ({"target": "x0", "replacement": "(log)"}, ["u", "q0"], ["u", "(log)"]),
        ({"target": "u0", "replacement": "(note)"}, ["u", "(note)"], ["u", "r0"]),
    ],
)
def test_context_edits(detail: dict[str, Any], first: list[str], result: list[str]) -> None:
    view = accepted(view_of([*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, **detail)]))
    assert shape(view)[0] == first
    assert shape(view)[2] == result


def test_leaving_out_a_reply_takes_its_results_along() -> None:
    path = [*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, target="a0")]
    view = accepted(view_of(path))
    assert shape(view)[:2] == [["u", "q0"], ["a", "s0"]]
    assert kinds(view) == ["left_out", "trailing_assistant"]


def test_leaving_out_a_turn_and_taking_that_back() -> None:
    path = [
        *long_path()[:9],
        node("e", NodeKind.CONTEXT_EDIT, target="x0", scope="turn", replacement="(first try)"),
    ]
    view = accepted(view_of(path))
    assert shape(view)[0] == ["u", "(first try)", "q1"]
    back = [*path, node("f", NodeKind.CONTEXT_EDIT, target="x0", scope="turn", restore=True)]
    assert view_of(back).messages == view_of(long_path()[:9]).messages


def test_edit_of_another_branch_does_nothing_here() -> None:
    assert (
        view_of([*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, target="elsewhere")]).messages
        == view_of(long_path()[:9]).messages
    )


def test_branch_summary_is_told() -> None:
    path = [
        user("u", "hi"),
        node("s", NodeKind.BRANCH_SUMMARY, summary="Tried A; it broke B."),
        user("v", "try C"),
    ]
    view = accepted(view_of(path))
    assert "Tried A; it broke B." in shape(view)[0][2]
