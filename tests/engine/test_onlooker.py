"""What the person changes on disk while a run goes on is told to the model before it is asked again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench
from engine.support import call, reply
from tests_support import wait_until
from worldline.core.kinds import NodeFlag


def last_text(b: Bench, number: int) -> str:
    """What the last message of a request says beside its results."""
    content = b.sent(number)["messages"][-1]["content"]
    return "\n".join(block["text"] for block in content if block["type"] == "text")


async def run(b: Bench, changes: dict[int, dict[str, str]], *replies: Any) -> None:
    """The person writes these files while the model thinks about its answer to the request of that number."""
    script = [*replies, reply("Done.")]

    def answer(talk: Any) -> Any:
        for name, text in changes.get(talk.count, {}).items():
            (b.root / name).write_text(text)
        return script[talk.count]

    b.server.scenario.answerer = answer
    assert await b.ask("go") == "completed"


NOTE = "while you worked these files were changed, and not by you"


async def test_before_the_next_request_also_when_only_reads_follow(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    await run(
        b, {1: {"a.txt": "mine now\n", "new.txt": "new\n"}},
        reply("", call("read", path="a.txt")), reply("", call("list_dir", path=".")), reply("", call("list_dir", path=".")),
    )  # fmt: skip
    told = last_text(b, 2)
    assert NOTE in told and "a.txt" in told and "new.txt" in told and "Read them again" in told
    assert all(NOTE not in last_text(b, number) for number in (0, 1, 3))
    # It is a node of the person's with a state of its own; the note is hidden and not their words.
    (external,) = b.nodes("external_change")
    assert external.files == 2 and external.state
    (note,) = [n for n in b.nodes("user") if n.flags & NodeFlag.HIDDEN]
    assert b.doc.body(note.uid).detail["by_engine"]
    assert await b.actor.shared.work.call(lambda w: w.read_file(external.state, "a.txt")) == b"mine now\n"


async def test_what_was_found_before_a_step_that_writes_is_told_after_it(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    await run(
        b, {0: {"mine.txt": "changed by me\n"}},
        reply("", call("write", path="own.txt", content="x\n")), reply("", call("bash", command="echo y > own2.txt")),
    )  # fmt: skip
    assert NOTE in last_text(b, 1) and "mine.txt" in last_text(b, 1)
    assert "own.txt" not in last_text(b, 1).partition(NOTE)[2].partition(".txt. ")[0]
    assert NOTE not in last_text(b, 2)
    assert b.nodes("external_change") == [] and len(b.doc.records("outside")) == 1


@pytest.mark.parametrize("background", [False, True])
async def test_what_the_agent_does_itself_is_not_told(bench: Any, repo: Path, background: bool) -> None:
    b = await bench(workspace=repo)
    command = "for i in 1 2 3; do echo $i >> log.txt; sleep 0.05; done"
    await run(
        b, {}, reply("", call("bash", command=command, background=background)),
        reply("", call("write", path="own.txt", content="x\n")), reply("", call("list_dir", path=".")),
    )  # fmt: skip
    assert all(NOTE not in str(b.sent(number)["messages"]) for number in range(4))
    await b.actor.processes.stop_all()


async def test_what_a_process_of_the_agent_wrote_at_its_end_is_not_the_persons(
    bench: Any, repo: Path
) -> None:
    b = await bench(workspace=repo)
    late = b.root / "late.txt"
    script = [
        reply("", call("bash", command="(sleep 0.5; echo x > late.txt) > /dev/null 2>&1 & echo started")),
        reply("", call("list_dir", path=".")),
        reply("", call("list_dir", path=".")),
        reply("Done."),
    ]

    def answer(talk: Any) -> Any:
        if talk.count == 1:  # the model thinks until the process is over
            wait_until(late.exists)
            time.sleep(0.3)
        return script[talk.count]

    b.server.scenario.answerer = answer
    assert await b.ask("go") == "completed"
    assert late.exists() and all(NOTE not in str(b.sent(number)["messages"]) for number in range(4))
    # Nor is it said that it is the command's: the person may have saved a file of that name meanwhile.
    (node,) = b.nodes("external_change")
    assert len(b.doc.body(node.uid).detail["commands"]) == 1
    assert "by it or by the person: late.txt" in last_text(b, 2)
