"""Attempts aligned, files × attempts, jump plans in groups."""

from __future__ import annotations

import random

from tests_support import calls_of
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.protocol.commands import Compare
from worldline.protocol.model import FileChange, PlanEntry
from worldline.viewmodel.compare import (
    Step,
    StepRow,
    align,
    checks_words,
    file_rows,
    parting,
    steps_of,
    title_of,
)
from worldline.viewmodel.plan import group, short_paths

from .support import attempt


def steps(text: str) -> list[Step]:
    return [Step(f"{text}{at}", NodeKind.TOOL, word, "ok") for at, word in enumerate(text)]


def test_steps_are_aligned_until_they_part_and_meet_again() -> None:
    rows = align([steps("abxd"), steps("abyzd"), steps("abd")])
    texts = [[step.text if step else "" for step in row.steps] for row in rows]
    assert texts[:2] == [["a"] * 3, ["b"] * 3] and texts[-1] == ["d"] * 3
    assert parting(rows) == 2
    for column, wanted in enumerate(("abxd", "abyzd", "abd")):
        assert "".join(row[column] for row in texts) == wanted


def test_titles_and_replies_are_without_the_marks_of_markdown() -> None:
    assert title_of("## Fix **the** `parser`\n\n- now") == "Fix the parser now"
    assert title_of("**" + "long " * 20 + "end**", 22) == "long long long long l…"
    headers = {
        uid: NodeHeader(seq=at, parent=at - 1, created=0, uid=uid, kind=kind, preview="**Done**: `x` works")
        for at, (uid, kind) in enumerate({"a": NodeKind.USER, "b": NodeKind.ASSISTANT}.items(), 1)
    }
    # What the person wrote stays as it was written.
    assert [step.text for step in steps_of(attempt("a", "b"), headers)] == [
        "**Done**: `x` works",
        "Done: x works",
    ]


def test_a_step_that_failed_says_how_in_words_as_the_tree_does() -> None:
    header = NodeHeader(seq=1, parent=0, created=0, uid="a", kind=NodeKind.TOOL, tool="edit", preview="edit a.py no_match",
                        outcome=Outcome.FAILED)  # fmt: skip
    assert [step.text for step in steps_of(attempt("a"), {"a": header})] == ["edit a.py · no match"]


def test_files_more_attempts_touched_come_first() -> None:
    attempts = [
        attempt("u", files=[FileChange(path=path, status="M") for path in paths]) for paths in ("az", "z")
    ]
    rows = file_rows(Compare(ancestor="", goal="", attempts=attempts))
    assert [row.path for row in rows] == ["z", "a"]
    assert [change is not None for change in rows[1].changes] == [True, False]


def test_unknown_check_results_stay_unknown() -> None:
    checks = [
        {"command": "make all"},
        {"command": "python3 -m pytest -q", "tool": "pytest", "exit_code": 1, "passed": 3, "failed": 1},
    ]
    assert checks_words(attempt("u", checks=checks)) == [("make", None, None, None), ("pytest", False, 3, 1)]
    checks = [{"command": "make"}, {"command": "pytest", "exit_code": 1, "passed": 3, "failed": 1}]
    assert checks_words(attempt("u", checks=checks)) == [("make", None, None, None), ("pytest", False, 3, 1)]


def test_a_plan_is_told_in_groups() -> None:
    entries = [
        PlanEntry(path="a", action="overwrite"), PlanEntry(path="b", action="keep_mine", choice="keep"),
        PlanEntry(path="c", action="not_captured"), PlanEntry(path="d", action="keep_foreign"),
        PlanEntry(path="e", action="overwrite", choice="restore"),
    ]  # fmt: skip
    groups = group(entries)
    assert [[entry.path for entry in one] for one in (groups.back, groups.mine, groups.not_captured, groups.foreign)] == [
        ["a"], ["b", "e"], ["c"], ["d"],
    ]  # fmt: skip
    assert short_paths(entries, 2) == ("a, b", 3)
    assert short_paths([PlanEntry(path="a\u202etxt.exe", action="delete")])[0] == "a▯txt.exe"


def test_thousands_of_steps_that_are_called_the_same_are_aligned_at_once() -> None:
    def many(seed: int) -> list[Step]:
        chosen = random.Random(seed).choices("abc", k=4000)
        chosen[2000] = "the rare one"
        return [Step(str(at), NodeKind.TOOL, text, "ok") for at, text in enumerate(["start", *chosen, "end"])]

    first, second = many(1), many(2)
    rows: list[StepRow] = []
    # Held against each other, they would be millions.
    assert calls_of(lambda: rows.extend(align([first, second]))) < 300_000
    for column, steps_there in enumerate((first, second)):
        assert [row.steps[column] for row in rows if row.steps[column] is not None] == steps_there
    met = [row.steps[0].text for row in rows if row.same and row.steps[0] is not None]
    assert met[0] == "start" and met[-1] == "end" and "the rare one" in met
