"""Where a run ended and what its last step said, as the tree shows it."""

from __future__ import annotations

from typing import Any

import pytest

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.viewmodel import run_ends, tree_text, words
from worldline.viewmodel.compare import steps_of
from worldline.viewmodel.tree_model import TreeModel

from .support import attempt


@pytest.fixture
def tree() -> TreeModel:
    """1 root, 2 prompt of run a, 3 reply, 4 failed check; 5 prompt of run b below the root, 6 its reply."""

    def row(seq: int, parent: int, kind: NodeKind, text: str, **more: Any) -> NodeHeader:
        return NodeHeader(
            seq=seq, uid=f"{seq:016x}", parent=parent, kind=kind, created=seq, preview=text, **more
        )

    model = TreeModel()
    model.extend([
        row(1, 0, NodeKind.ROOT, ""),
        row(2, 1, NodeKind.USER, "Fix it", run="a"),
        row(3, 2, NodeKind.ASSISTANT, "I run the tests.", run="a", outcome=Outcome.OK),
        row(4, 3, NodeKind.TOOL, "pytest -q 4 passed, 2 failed", run="a", tool="bash", outcome=Outcome.FAILED),
        row(5, 1, NodeKind.USER, "Again", run="b"),
        row(6, 5, NodeKind.TOOL, "read a.py 14 lines", run="b", tool="read", outcome=Outcome.OK),
    ])  # fmt: skip
    return model


def run(uid: str, prompt: int, reason: str, ended: int = 9) -> dict[str, Any]:
    return {"uid": uid, "prompt": f"{prompt:016x}", "stop_reason": reason, "ended": ended}


def test_the_result_of_a_step_stands_apart_and_is_never_cut_off(tree: TreeModel) -> None:
    failed, read = tree_text.row_text(tree, 3), tree_text.row_text(tree, 5)
    assert (failed.text, failed.side) == ("run pytest -q", [("2 failed", "bad")])
    assert (read.text, read.side) == ("read a.py", [("14 lines", "muted")])
    # Whoever hears it hears all of it.
    assert "4 passed, 2 failed" in tree_text.sentence(tree, 3)


def test_where_a_run_ended_badly_is_said(tree: TreeModel) -> None:
    assert run_ends.note(tree, run("a", 2, "repeated_failures")) == 3
    assert tree_text.row_text(tree, 3).side == [("■ same failure again", "warn")]
    assert "same failure again" in tree_text.sentence(tree, 3)
    assert run_ends.note(tree, run("b", 5, "completed")) == -1
    assert run_ends.note(tree, run("b", 5, "cost_limit", ended=0)) == -1
    assert run_ends.note(tree, run("x", 77, "cost_limit")) == -1
    assert list(tree.ends) == [3]


def test_every_stop_reason_has_words() -> None:
    words.set_translator(lambda _context, text: f"<{text}>")
    try:
        reasons = {reason.value for reason in StopReason} - run_ends.QUIET
        assert [one for one in reasons if not run_ends.words(one).startswith("<")] == []
    finally:
        words.set_translator(words._source)


def test_steps_of_an_attempt_speak_as_the_tree_does() -> None:
    header = NodeHeader(
        seq=1, uid="u", parent=0, kind=NodeKind.TOOL, created=0, preview="pytest -q", tool="bash"
    )
    assert [step.text for step in steps_of(attempt("u"), {"u": header})] == ["run pytest -q"]
