"""Notes of a project: they outlive the session that made them, and stay within the project."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from worldline.engine.memory_folder import adopt_notes, memory_folder
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


async def test_notes_that_an_older_version_kept_with_the_session_move_to_the_project(
    bench: Any, repo: Path
) -> None:
    b = await bench(workspace=repo)
    folder = memory_folder(b.actor.shared.info.root)
    old = folder.parent / b.actor.shared.slug
    old.mkdir(parents=True)
    (old / "build.md").write_text("use make\n")
    b.script(memory(action="read", name="build"), "Read.")
    assert await b.ask("what do you know") == "completed"
    assert "use make" in str(b.sent()["messages"][-1]) and not old.exists()
    (told,) = b.diagnostics("memory")
    assert told.data["detail"].endswith(": 1.")
    # Once: what comes there later by itself is nobody's.
    old.mkdir()
    b.script("Fine.")
    assert await b.ask("again") == "completed" and len(b.diagnostics("memory")) == 1


def test_nothing_is_written_over_when_notes_move(tmp_path: Path) -> None:
    folder, old = tmp_path / "project-0123abcd", tmp_path / "title-1a2b"
    for place in (folder, old):
        place.mkdir()
    (folder / "Build.md").write_text("of the project\n")
    (folder / "same.md").write_text("same\n")
    for name, text in (("build", "of the session\n"), ("same", "same\n"), ("mine", "mine\n")):
        (old / f"{name}.md").write_text(text)
    (old / "link.md").symlink_to(tmp_path / "elsewhere.md")
    assert adopt_notes("title-1a2b", folder) == 3
    assert {p.name: p.read_text() for p in folder.iterdir()} == {
        "Build.md": "of the project\n", "same.md": "same\n", "mine.md": "mine\n", "build title-1a2b.md": "of the session\n",
    }  # fmt: skip
    assert [p.name for p in old.iterdir()] == ["link.md"]  # no note, so it stays
    assert adopt_notes("title-1a2b", folder) == 0


def test_a_move_that_was_interrupted_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, old = tmp_path / "project-0123abcd", tmp_path / "title-1a2b"
    old.mkdir()
    for name in "abc":
        (old / f"{name}.md").write_text(name)
    real = Path.unlink
    left = [1]

    def unlink(self: Path, missing_ok: bool = False) -> None:
        if not left[0]:
            raise OSError(5, "Input/output error")
        left[0] -= 1
        real(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(OSError, match="Input"):
        adopt_notes("title-1a2b", folder)
    monkeypatch.undo()
    assert sorted(p.name for p in old.iterdir()) == ["b.md", "c.md"]
    assert adopt_notes("title-1a2b", folder) == 2 and not old.exists()
    assert {p.name: p.read_text() for p in folder.iterdir()} == {"a.md": "a", "b.md": "b", "c.md": "c"}


def test_notes_move_on_a_file_system_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    folder, old = tmp_path / "project-0123abcd", tmp_path / "title-1a2b"
    for place, text in ((folder, "of the project"), (old, "of the session")):
        place.mkdir()
        (place / "a.md").write_text(text)
    assert adopt_notes("title-1a2b", folder) == 1 and not old.exists()
    assert sorted(p.read_text() for p in folder.iterdir()) == ["of the project", "of the session"]


def test_the_folder_of_another_project_is_never_taken_for_one_of_a_session(tmp_path: Path) -> None:
    other = tmp_path / "other-0123abcd"
    other.mkdir()
    (other / "a.md").write_text("a")
    for slug in ("other-0123abcd", "session", ".."):
        assert adopt_notes(slug, tmp_path / "project-0123abcd") == 0
    assert (other / "a.md").exists()
