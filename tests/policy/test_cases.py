"""Permission failures that other agents' users reported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from toolbench import Bench, error_of
from worldline.core.errors import BadInput
from worldline.policy.approvals import ApprovalDesk, digest_of
from worldline.policy.decide import PolicyGate
from worldline.policy.rules import RuleSet, parse_rule
from worldline.protocol.commands import AnswerApproval
from worldline.protocol.model import Approval

LINES = (Path(__file__).parent.parent / "tools" / "cases.jsonl").read_text("utf-8").splitlines()
PERMISSION = [case for case in map(json.loads, LINES) if case["payload"]["kind"].startswith("permission")]
CASES = {case["id"]: case["payload"] for case in map(json.loads, LINES)}


@pytest.mark.parametrize("payload", [c["payload"] for c in PERMISSION], ids=[c["id"] for c in PERMISSION])
def test_commands(payload: dict[str, Any], tmp_path: Path) -> None:
    rules = [
        parse_rule(f"Bash({pattern})", decision)
        for decision, patterns in payload["rules"].items()
        for pattern in patterns
    ]
    judge = RuleSet(rules, tmp_path)
    if "pairs" in payload:
        wanted = dict(payload["pairs"])
    else:
        commands = payload.get("commands") or [payload["command"]]
        wanted = dict.fromkeys(commands, payload["expect"]["decision"])
    assert {command: judge.command(command).decision for command in wanted} == wanted


def test_a_grant_of_one_session_is_none_of_another_and_never_opens_what_is_protected(tmp_path: Path) -> None:
    payload = CASES["apv-002"]
    granted = RuleSet([parse_rule(payload["grant"]["pattern"], "allow", "session")], tmp_path)
    sessions = {"S1": granted, "S2": RuleSet([], tmp_path)}
    decisions = []
    for later in payload["later"]:
        path = later["call"].removeprefix("Write(").removesuffix(")")
        decisions.append(sessions[later["session"]].path("Write", tmp_path / path).decision)
    assert decisions == payload["expect"]["decisions"]
    assert granted.path("Write", tmp_path / "src/a").decision == "allow"


async def test_a_click_reaches_what_was_shown_and_nothing_else() -> None:
    shown: list[Approval] = []
    desk = ApprovalDesk(shown.append, lambda id_, why: None)
    ran: list[str] = []

    async def request(command: str) -> None:
        digest = digest_of("bash", {"command": command})
        verdict = await desk.ask(
            Approval(id="", digest=digest, node="", tool="bash", title="", command=command, why="")
        )
        if verdict.allowed:
            ran.append(command)

    payload = CASES["apv-001"]
    tasks = []
    for item in payload["requests"]:
        tasks.append(asyncio.create_task(request(item["command"])))
        await asyncio.sleep(0)
    first, second = shown
    with pytest.raises(BadInput):
        desk.answer(AnswerApproval(id=first.id, digest=second.digest, decision="allow"))
    desk.answer(AnswerApproval(id=first.id, digest=first.digest, decision="allow"))
    await tasks[0]
    assert ran == payload["expect"]["ran"]
    assert [approval.command for approval in desk.pending()] == [second.command]
    with pytest.raises(BadInput):
        desk.answer(AnswerApproval(id=first.id, digest=first.digest, decision="allow"))
    desk.answer(AnswerApproval(id=second.id, digest=second.digest, decision="deny"))
    await tasks[1]
    assert ran == payload["expect"]["ran"]


async def test_one_denied_the_other_runs_and_both_have_results(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    shown: list[Approval] = []
    desk = ApprovalDesk(shown.append, lambda id_, why: None)
    bench.pipeline.policy = PolicyGate(RuleSet([], tmp_path), desk)
    (tmp_path / "clock").write_text("12")
    denied = asyncio.create_task(bench.call("bash", command="send mail"))
    read = await bench.call("read", path="clock")
    assert read.ok
    while not shown:
        await asyncio.sleep(0.01)
    desk.answer(AnswerApproval(id=shown[0].id, digest=shown[0].digest, decision="deny", reason="not today"))
    outcome = await denied
    assert error_of(outcome) == "permission_denied"
    assert outcome.error is not None and "not today" in outcome.error.message
    again = await bench.call("bash", command="send mail")
    assert error_of(again) == "permission_denied" and len(shown) == 1
