"""Questions, hooks, interrupts, and 'ignore what you said'."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from engine.support import HOLD, Hand, call, holds, let_go, reply
from tests_support import PATIENCE_S
from worldline.protocol.commands import AnswerApproval, AnswerQuestion, HeadersSince, Prompt
from worldline.rehearsal.events import Call

ASK = call("ask_user", question="Which one?", choices=["red", "blue"])


async def card(b: Any) -> Any:
    while not b.actor.questions.open:
        await asyncio.sleep(0.01)
    return next(iter(b.actor.questions.open.values()))[0]


async def test_a_question_is_a_card_and_its_answer_arrives(bench: Any) -> None:
    b = await bench(attended=True)
    b.script(reply("", ASK), "Blue, then.")
    await b.actor.runs.prompt(Prompt(text="go"))
    question = await card(b)
    assert (question.text, question.choices) == ("Which one?", ["red", "blue"])
    assert b.actor.shared.status.now.state == "waiting"
    b.actor.questions.answer(AnswerQuestion(id=question.id, choices=["blue"]))
    await b.actor.runs.idle()
    assert b.reason() == "completed" and "blue" in str(b.sent()["messages"][-1])


@pytest.mark.parametrize("mode", ["plan", "ask", "work"])
@pytest.mark.parametrize(
    ("moment", "first"),
    [
        ("ambiguous", []),
        ("failed twice", [call("bash", command="false"), call("bash", command="false #2")]),
        ("boundary", [call("write", path="/etc/not-mine", content="x")]),
    ],
)
async def test_the_model_can_ask_at_once_and_goes_on_with_the_answer(
    bench: Any, mode: Any, moment: str, first: list[Call]
) -> None:
    """From the rule in the system text over the card and the person's answer to the next request."""
    b = await bench(attended=True, mode=mode)
    ask = call("ask_user", question=f"It is {moment}: A or B?", choices=["Do A", "Do B"])
    b.script(*[reply("", one) for one in first], reply("I ask.", ask), "B it is.")
    await b.actor.runs.prompt(Prompt(text="go", mode=mode))
    while not b.actor.questions.open:  # what the mode asks about on the way is denied
        for approval in b.actor.approvals.open():
            b.actor.approvals.answer(
                AnswerApproval(id=approval.id, digest=approval.digest, decision="deny", reason="no")
            )
        await asyncio.sleep(0.01)
    assert b.actor.approvals.open() == [], "a question needs no permission"
    (asked,) = [message.question for name, message in b.events if name == "question_asked"]
    said = [message.header.outcome for name, message in b.events
            if name == "node_ended" and message.header.uid == asked.node]  # fmt: skip
    found = [
        one.outcome
        for one in (await b.actor.queries.headers(HeadersSince())).headers
        if one.uid == asked.node
    ]
    assert said[-1:] == found == ["waiting"], "its row says that it waits for the person, not that it works"
    assert asked.text == f"It is {moment}: A or B?" and asked.choices == ["Do A", "Do B"]
    await b.actor.handle("answer_question", AnswerQuestion(id=asked.id, choices=["Do B"], text="carefully"))
    await b.actor.runs.idle()
    assert b.reason() == "completed" and "question_gone" in b.names()
    request = b.sent()
    assert "Use ask_user with choices" in json.dumps(request["system"])
    assert "ask_user" in [tool["name"] for tool in request["tools"]]
    (result,) = [p for p in request["messages"][-1]["content"] if p["type"] == "tool_result"]
    assert not result.get("is_error") and "Do B; carefully" in json.dumps(result)


@pytest.mark.parametrize("settings", [{"approval_timeout_s": 0.3}, {"limits": {"seconds": 1_000}}])
async def test_a_question_nobody_answers_ends_the_run_as_waiting(
    bench: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await bench(attended=True, **settings)
    hand = Hand(b).watch(monkeypatch)
    b.script(reply("", ASK), "Going on.")
    asking = asyncio.create_task(b.ask("go"))
    if "limits" in settings:
        await card(b)
        hand.ring(1_001)
    assert await asking == "waiting_for_user"
    assert not b.actor.questions.open
    assert b.nodes("tool")[0].outcome.value == "waiting"
    b.script("Red it is.")
    assert await b.ask("red") == "completed"


async def test_without_a_person_it_decides_by_itself(bench: Any) -> None:
    b = await bench(attended=False)
    b.script(reply("", ASK), "I took red.")
    assert await b.ask("go") == "completed"
    assert "nobody_there" in str(b.sent()["messages"][-1])


@pytest.mark.parametrize(
    "text",
    [
        "Please ignore what you said above.",
        "forget everything I said before, start fresh",
        "请忽略上面的内容",
    ],
)
async def test_ignoring_deletes_nothing_and_says_what_remains(bench: Any, text: str) -> None:
    b = await bench()
    b.script(reply("", call("write", path="kept.txt", content="x\n")), "Wrote it.", "All right.")
    await b.ask("go")
    b.actor.effects.add(
        b.doc.cursor,
        [{"kind": "remote", "reversibility": "irreversible", "evidence": "assumed", "summary": "git push"}],
    )
    nodes = len(b.nodes())
    await b.ask(text)
    sent = json.dumps(b.sent()["messages"], ensure_ascii=False)
    last = json.dumps(b.sent()["messages"][-1], ensure_ascii=False)
    assert "Wrote it." in sent and text in last
    assert "kept.txt" in last and "git push" in last and "nothing is deleted" in last
    assert "nothing is deleted" in str(b.sent()["system"])
    assert len(b.nodes()) == nodes + 2 and (b.root / "kept.txt").exists()


@pytest.mark.parametrize(
    "text", ["Do not ignore errors in the parser.", "Add src/ to .gitignore", "先看上面的文件"]
)
async def test_other_sentences_get_no_such_note(bench: Any, text: str) -> None:
    b = await bench()
    b.script("Fine.")
    await b.ask(text)
    assert "counts as withdrawn" not in str(b.sent()["messages"])


async def test_an_interrupt_is_delivered_whatever_the_end_was(bench: Any) -> None:
    b = await bench(limits={"turns": 1})
    b.script(reply("", call("bash", command=HOLD)), "Now this.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await holds(b)
    b.actor.runs.queue.add(Prompt(text="this instead", when="interrupt"))
    let_go(b)
    await b.actor.runs.idle()
    assert [r.stop_reason.value for r in b.doc.runs()] == ["max_turns", "completed"]


def hooks(**events: str) -> dict[str, Any]:
    return {name: [{"command": command, "timeout": PATIENCE_S}] for name, command in events.items()}


async def test_hooks_in_all_five_places(bench: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = f"cat >> {log}; echo >> {log}"
    b = await bench(
        hooks={
            **hooks(
                SessionStart=f"{note}; echo from-start", UserPromptSubmit=f"{note}; echo from-prompt",
                Stop=f"{note}", PostToolUse=f"{note}; echo from-post",
            ),
            "PreToolUse": [{"matcher": "bash", "command": f"{note}; echo no shells; exit 1"}, {"matcher": "read", "command": note}],
        }
    )  # fmt: skip
    b.script(
        reply("", call("bash", command="echo hi"), call("list_dir")),
        reply("", call("read", path="x")),
        "Done.",
    )
    assert await b.ask("go") == "completed"
    events = [json.loads(line)["event"] for line in log.read_text().splitlines() if line]
    assert events[:2] == ["SessionStart", "UserPromptSubmit"] and events[-1] == "Stop"
    assert events.count("PreToolUse") == 1 and events.count("PostToolUse") == 1
    first = str(b.sent(0)["messages"])
    assert "from-start" in first and "from-prompt" in first
    second = str(b.sent(1)["messages"][-1])
    assert "no shells" in second and "hook_blocked" in second and "from-post" in second
    assert "hi" not in second.split("no shells")[0][-20:]
    b.script("Again.")
    await b.ask("more")
    assert log.read_text().count("SessionStart") == 1


@pytest.mark.parametrize(
    ("command", "says"),
    [("no-such-program-here", "not found"), ("kill -9 $$", "crashed"), ("sleep 30", "longer than"),
     ("head -c 100000 /dev/zero | tr '\\0' x", "cut")],
)  # fmt: skip
async def test_a_broken_hook_is_skipped_and_seen(bench: Any, command: str, says: str) -> None:
    entry = [{"command": command, "timeout": 0.5 if says == "longer than" else PATIENCE_S}]
    b = await bench(
        hooks=dict.fromkeys(("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"), entry)
    )
    b.script(reply("", call("list_dir")), "Done.")
    assert await b.ask("go") == "completed"
    assert b.nodes("tool")[0].outcome.value == "ok"
    told = [r.data["detail"] for r in b.diagnostics("hook")]
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"):
        assert any(f"({event})" in t and says in t for t in told), (event, told)


async def test_a_blocked_message_is_kept_and_never_sent(bench: Any) -> None:
    b = await bench(hooks=hooks(UserPromptSubmit="grep -q hunter2 && { echo no passwords; exit 2; }; exit 0"))
    assert await b.ask("my password is hunter2") == "hook_blocked"
    assert "no passwords" in b.doc.runs()[-1].detail and not b.server.message_requests
    b.script(reply("", call("bash", command=HOLD)), "Fine.")
    started = await b.actor.runs.prompt(Prompt(text="without it"))
    await holds(b)
    await b.actor.runs.prompt(Prompt(text="again hunter2", when="next_step"))
    let_go(b)
    await b.actor.runs.idle()
    assert b.reason(started.run) == "completed"
    for request in b.server.message_requests:
        assert "hunter2" not in str(request.body)
    assert "my password is hunter2" in [h.preview for h in b.nodes("user")]
    assert b.actor.runs.queue.items == []


async def test_reads_of_one_reply_run_side_by_side_and_none_is_lost(bench: Any, tmp_path: Path) -> None:
    # Each waits until all three of files that are there have begun: one after the other they never would.
    log = tmp_path / "begun"
    meet = f"echo begun >> {log}; for n in $(seq 1000); do [ $(grep -c begun {log}) -ge 3 ] && break; sleep 0.1; done; echo done >> {log}"
    b = await bench(
        hooks={"PreToolUse": [{"matcher": "read|grep|glob|list_dir", "command": meet, "timeout": PATIENCE_S}]}
    )
    for n in range(4):
        (b.root / f"{n}.txt").write_text(f"text {n}\n")
    b.script(
        reply("", call("read", path="0.txt"), call("read", path="gone.txt"), call("read", path="2.txt"),
              call("read", path="3.txt"), call("write", path="w.txt", content="w\n"), call("read", path="w.txt")),
        "Done.",
    )  # fmt: skip
    assert await b.ask("go") == "completed"
    assert log.read_text().split()[:3] == ["begun"] * 3
    assert [h.outcome.value for h in b.nodes("tool")] == ["ok", "failed", "ok", "ok", "ok", "ok"]
    results = b.sent()["messages"][-1]["content"]
    texts = [json.dumps(r) for r in results if r["type"] == "tool_result"]
    assert len(texts) == 6
    assert "text 0" in texts[0] and "gone.txt" in texts[1] and "text 2" in texts[2] and "text 3" in texts[3]
    # Each was durable as started before it ran.
    order = [(name, m.header.uid) for name, m in b.events if name in ("node_stored", "node_ended")]
    for header in b.nodes("tool"):
        assert order.index(("node_stored", header.uid)) < order.index(("node_ended", header.uid))


async def test_instructions_of_the_project_are_frozen_for_the_branch(bench: Any, repo: Path) -> None:
    (repo / "AGENTS.md").write_text("Use tabs.\n")
    (repo / "CLAUDE.md").symlink_to("/etc/hostname")
    b = await bench(repo)
    b.script("One.", "Two.", "Three.")
    await b.ask("one")
    (b.root / "AGENTS.md").write_text("Use blanks.\n")
    await b.ask("two")
    assert b.sent(0)["system"] == b.sent(1)["system"] and "Use tabs." in str(b.sent(1)["system"])
    assert "CLAUDE.md" not in str(b.sent(1)["system"])


async def test_old_failures_are_sent_shortened(bench: Any) -> None:
    b = await bench()
    commands = [f"seq {n * 1000} {n * 1000 + 300}; exit {n + 1}" for n in range(12)]
    b.script(*[reply(f"Try {n}.", call("bash", command=c)) for n, c in enumerate(commands)], "Done.")
    assert await b.ask("go") == "completed"
    results = [
        json.dumps(block)
        for message in b.sent()["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert len(results) == 12
    assert len(results[0]) < len(results[-1]) / 2


async def test_a_call_that_waits_says_so_also_to_a_window_that_comes_later(bench: Any) -> None:
    b = await bench(attended=True, mode="ask")
    b.script(reply("", call("bash", command="make")), "Then not.")
    await b.actor.runs.prompt(Prompt(text="go", mode="ask"))
    await b.approval()
    rows = await b.actor.queries.headers(HeadersSince())
    assert rows.headers[-1].outcome == "waiting"
    await b.answer("deny")
    rows = await b.actor.queries.headers(HeadersSince())
    assert "waiting" not in [row.outcome for row in rows.headers]
