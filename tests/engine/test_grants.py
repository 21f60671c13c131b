"""What was allowed for longer than once is listed with how far it goes, and can be taken back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench, Open
from engine.support import call, reply
from sandbox.conftest import best_label
from worldline.core import paths
from worldline.core.errors import BadInput, SessionError
from worldline.policy.sandbox.model import Label
from worldline.protocol import commands as c
from worldline.viewmodel.rules import apart, for_trial

__all__ = ["best_label"]


async def listed(one: Bench) -> list[c.GrantInfo]:
    answer = await one.actor.handle("grants", c.Nothing())
    assert isinstance(answer, c.Grants)
    return answer.grants


async def run(one: Bench, command: str, scope: str = "") -> bool:
    """Whether it was asked about."""
    one.script(reply("x", call("bash", command=command)), "done")
    await one.actor.runs.prompt(c.Prompt(text="go"))
    if scope:
        await one.answer("allow", scope=scope)
        return True
    while one.actor.runs.busy and not one.actor.approvals.open():
        await asyncio.sleep(0.01)
    asked = bool(one.actor.approvals.open())
    if asked:
        await one.answer("deny")
    await one.actor.runs.idle()
    return asked


@pytest.mark.parametrize("scope", ["session", "branch"])
async def test_one_is_listed_holds_and_holds_no_more_once_it_is_taken_back(bench: Open, scope: Any) -> None:
    one = await bench(attended=True, mode="ask", sandbox="off")
    assert await listed(one) == []
    assert await run(one, "echo a", scope)
    (grant,) = await listed(one)
    assert (grant.scope, grant.what, grant.tool) == (scope, "echo a", "bash") and grant.at > 0
    assert grant.reach.startswith("exactly this command")
    assert not await run(one, "echo a")
    left = await one.actor.handle("remove_grant", c.RemoveGrant(id=grant.id))
    assert isinstance(left, c.Grants) and left.grants == [] and await listed(one) == []
    assert await run(one, "echo a"), "it is asked about again at once"
    (record,) = one.doc.records("grant_removed")
    assert record.data["what"] == "echo a" and record.data["scope"] == scope
    with pytest.raises(BadInput):
        await one.actor.handle("remove_grant", c.RemoveGrant(id=grant.id))


async def test_one_of_a_branch_is_listed_where_it_holds_and_stays_taken_back(bench: Open) -> None:
    one = await bench(attended=True, mode="ask", sandbox="off")
    assert await run(one, "echo a", "branch")
    first = one.nodes("user")[0].uid
    await one.actor.jumps.jump(c.Jump(node=first))
    assert await listed(one) == [], "before it was given it was not given"
    assert await run(one, "echo a", "branch"), "another branch is asked"
    (grant,) = await listed(one)
    await one.actor.handle("remove_grant", c.RemoveGrant(id=grant.id))
    path = one.doc.path
    await one.actor.close()
    again = await bench(session=path, attended=True, mode="ask", sandbox="off")
    assert await listed(again) == []
    assert await run(again, "echo a")


async def test_one_is_taken_back_while_a_run_goes_on(bench: Open) -> None:
    one = await bench(attended=True, mode="ask", sandbox="off")
    one.script(reply("x", call("bash", command="echo a")), reply("x", call("bash", command="echo b")),
               reply("x", call("bash", command="echo a")), "done")  # fmt: skip
    await one.actor.runs.prompt(c.Prompt(text="go"))
    asked = await one.approval()
    one.actor.approvals.answer(
        c.AnswerApproval(id=asked.id, digest=asked.digest, decision="allow", scope="branch")
    )

    while not [a for a in one.actor.approvals.open() if a.command == "echo b"]:
        await asyncio.sleep(0.01)
    (grant,) = await listed(one)
    await one.actor.handle("remove_grant", c.RemoveGrant(id=grant.id))
    asked = await one.approval()
    one.actor.approvals.answer(c.AnswerApproval(id=asked.id, digest=asked.digest, decision="deny"))
    while not [a for a in one.actor.approvals.open() if a.command == "echo a"]:
        assert one.actor.runs.busy, "the third command was asked about"
        await asyncio.sleep(0.01)
    await one.answer("deny")


async def test_a_session_that_is_only_read_changes_nothing(bench: Open) -> None:
    one = await bench(attended=True, mode="ask", sandbox="off")
    assert await run(one, "echo a", "session")
    (grant,) = await listed(one)
    one.actor.shared.info.read_only = True
    with pytest.raises(SessionError):
        await one.actor.handle("remove_grant", c.RemoveGrant(id=grant.id))
    assert await listed(one) == [grant]


@pytest.mark.parametrize(
    ("mode", "line", "decision", "why"),
    [
        ("work", "ls", "allow", "runs in the sandbox"), ("ask", "ls", "ask", "no rule allows it"), ("plan", "ls", "deny", "plan mode only reads"),
        ("work", "npm publish", "ask", "publishes"), ("work", "dd if=x", "deny", "Bash(dd:*)"), ("work", "git show HEAD:secrets/x", "deny", "denies reading"),
    ],
)  # fmt: skip
async def test_a_command_is_tried_as_it_would_be_decided(
    bench: Open, best_label: Label, mode: Any, line: str, decision: str, why: str
) -> None:
    """Mode, sandbox and what may not be read count; nobody is asked."""
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    one = await bench(attended=True, mode=mode)
    one.actor.approvals.begin_run(mode)
    await one.actor.approvals.ready()
    given = {"deny": ["Bash(dd:*)", "Read(secrets/**)"]}
    said = await one.actor.handle("test_rule", c.RuleTest(command=line, rules=given))
    assert isinstance(said, c.RuleVerdict)
    assert said.decision == decision and why in said.why and one.actor.approvals.open() == []
    assert said.parts[0]["part"] == line


async def test_the_rules_of_the_folder_count_where_a_command_is_tried(bench: Open, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    rules = {"projects": {str(work.resolve()): {"permissions": {"deny": ["Bash(make:*)"]}}}}
    paths.config_file().write_text(json.dumps(rules))
    one = await bench(workspace=work, attended=True)
    said = await one.actor.handle("test_rule", c.RuleTest(command="make all"))
    assert isinstance(said, c.RuleVerdict) and said.decision == "deny"
    settings = await one.actor.handle("settings", c.Nothing())
    shown = apart(settings.model_dump())["permissions"]
    tried = for_trial({"deny": [], "ask": [], "allow": [], "here": []}, shown["project"], shown["firm"])
    said = await one.actor.handle("test_rule", c.RuleTest(command="make all", rules=tried))
    assert isinstance(said, c.RuleVerdict) and said.decision == "deny"


async def test_nothing_is_said_of_what_rules_keep_before_the_sandbox_is_known(bench: Open) -> None:
    given = {"deny": ["Read(secrets/**)", "Write(gen/**)"]}
    one = await bench(attended=True, sandbox="off", permissions=given)
    approvals, status = one.actor.approvals, one.actor.shared.status
    await approvals.ready()
    approvals.describe()
    assert (
        "Nothing hides here" in status.now.sandbox_why and "kept from tools alone" in status.now.sandbox_why
    )
    approvals.sandbox.checked.clear()
    approvals.describe()
    assert status.now.sandbox == "unknown" and "your rules" not in status.now.sandbox_why
    approvals.sandbox.checked.set()
