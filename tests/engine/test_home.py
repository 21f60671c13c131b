"""From a node of the session to the person's own branch and folder."""

from __future__ import annotations

from typing import Any

import pytest

from tests_support import git
from worldline.core.errors import WorldlineError
from worldline.core.kinds import NodeKind, Outcome
from worldline.protocol.commands import BringHome, JumpPlanFor, TakeFile
from worldline.session.model import NodeDraft


async def test_bring_home_shows_and_then_does(written: Any, repo: Any) -> None:
    b = await written(in_place=False)
    first, second = b.nodes("tool")
    shown = await b.actor.handle("bring_home", BringHome(node=first.uid, how="commit"))
    assert [(e.path, e.action) for e in shown.entries] == [("one.txt", "create")] and not shown.done
    assert not (repo / "one.txt").exists()
    done = await b.actor.handle(
        "bring_home", BringHome(node=first.uid, how="commit", message="From the agent", dry_run=False)
    )
    assert done.done and git(repo, "log", "-1", "--format=%s") == "From the agent"
    assert git(repo, "rev-parse", "HEAD") == done.commit and (repo / "one.txt").read_text() == "1\n"
    assert (repo / "mine.txt").read_text() == "my own work\n"
    done = await b.actor.handle(
        "bring_home", BringHome(node=second.uid, how="branch", branch="from-agent", dry_run=False)
    )
    assert done.done and git(repo, "show", f"{done.branch}:one.txt") == "2"


async def test_take_a_file_from_another_node(written: Any) -> None:
    b = await written(in_place=False)
    first, _ = b.nodes("tool")
    (b.root / "one.txt").write_text("by hand\n")
    answer = await b.actor.handle("take_file", TakeFile(node=first.uid, path="one.txt"))
    assert (b.root / "one.txt").read_text() == "1\n"
    assert answer.result.verified == 1
    with pytest.raises(WorldlineError, match="not in that state"):
        await b.actor.handle("take_file", TakeFile(node=first.uid, path="nowhere"))


async def test_a_jump_says_what_the_model_knows_only_as_a_summary(written: Any) -> None:
    b = await written(in_place=True)
    tip = b.doc.cursor
    draft = NodeDraft(NodeKind.COMPACTION, tip, detail={"summary": "S", "kept_from": tip}, outcome=Outcome.OK)
    header = b.actor.shared.journal().append(draft)
    before = await b.actor.handle("jump_plan", JumpPlanFor(node=tip))
    after = await b.actor.handle("jump_plan", JumpPlanFor(node=header.uid))
    assert before.lossy == ""
    assert "the first 5 messages only as a summary" in after.lossy
