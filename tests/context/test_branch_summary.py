from __future__ import annotations

import asyncio
from typing import Any

import pytest

from context.support import body, reply, text_of, tool, use, user, view_of
from context.test_compaction import Model, as_node
from worldline.context.branch_summary import BranchSummary, Choice, summarise_branch
from worldline.context.checker import check
from worldline.context.compact_run import SummaryAnswer
from worldline.core.kinds import NodeKind, Outcome

PATH = [user("u", "make it fast"), reply("a", "I will cache"), user("v", "go"),
        reply("b", use("t", "edit_file", path="cache.py")), tool("x", "t", "no such file", error=True, outcome=Outcome.FAILED)]  # fmt: skip
REPORT = SummaryAnswer(
    "## Tried\nA cache. ## Failed\nIt broke the tests. ## Do not repeat\nGlobal caches.", "end_turn"
)


def summarise(model: Model, choice: Choice = "auto", **options: Any) -> BranchSummary:
    return asyncio.run(summarise_branch(PATH, "a", choice=choice, ask=model, **options))


def test_the_report_is_told_to_the_next_attempt() -> None:
    model = Model(REPORT)
    done = summarise(model, "instructions", instructions="why did it break?")
    assert done.draft is not None and done.draft.parent == "a" and done.note == ""
    asked = text_of(model.requests[0][0]["content"][0])
    assert "why did it break?" in asked and "cache.py" in asked and "make it fast" not in asked
    view = view_of([*PATH[:2], as_node("s", done.draft), user("n", "try again")])
    assert check(body(view)) == []
    assert "Global caches" in text_of(view.messages[2]["content"][0])


def test_none_and_nothing_to_tell() -> None:
    model = Model(REPORT)
    assert summarise(model, "none").draft is None
    assert asyncio.run(summarise_branch(PATH[:3], "a", choice="auto", ask=model)).draft is None
    assert model.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        SummaryAnswer(failure="the service is overloaded"),
        SummaryAnswer("x" * 50, "max_tokens"),
        SummaryAnswer("", "end_turn"),
    ],
)
def test_without_a_usable_report_the_record_speaks(answer: SummaryAnswer) -> None:
    model = Model(answer)
    done = summarise(model, task_state={"plan": [{"text": "measure", "status": "done"}]})
    assert len(model.requests) == 2
    assert done.draft is not None and "No summary" in done.note
    text = done.draft.detail["summary"]
    for fact in ("cache.py", "no such file", "[done] measure", "go"):
        assert fact in text
    assert done.draft.kind is NodeKind.BRANCH_SUMMARY
