"""Notes of a project: they outlive the session that made them, and stay within the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.rehearsal.events import Call, Reply


def memory(**arguments: str) -> Reply:
    return Reply(text="", calls=[Call("memory", dict(arguments))])


async def test_a_later_session_on_the_same_project_knows_the_notes(
    bench: Any, repo: Path, tmp_path: Path
) -> None:
    first = await bench(workspace=repo)
    first.script(memory(action="write", name="build", content="use make"), "Noted.")
    assert await first.ask("note it") == "completed"
    await first.actor.close()

    # Another session, in another worktree of the same repository.
    second = await bench(workspace=repo)
    assert second.root != first.root
    second.script(memory(action="read", name="build"), "Read.")
    assert await second.ask("what do you know") == "completed"
    assert "use make" in str(second.sent()["messages"][-1])

    # The same name of a folder somewhere else is another project.
    other = tmp_path / "elsewhere" / repo.name
    other.mkdir(parents=True)
    third = await bench(workspace=other)
    third.script(memory(action="list"), "None.")
    assert await third.ask("what do you know") == "completed"
    assert "no notes yet" in str(third.sent()["messages"][-1])
