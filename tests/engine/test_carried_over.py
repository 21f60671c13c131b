"""A new session in a worktree of its own says what of the person's came along."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests_support import git
from worldline.engine.opening import MOST_NOTES, OpenRequest, _carried_over, open_session
from worldline.engine.session import SessionActor
from worldline.protocol.commands import Hello, HelloResult
from worldline.protocol.wire import PROTOCOL_VERSION
from worldline.viewmodel import engine_words

STAYS = "The agent works in a worktree of its own; your folder stays as it is."


@pytest.mark.parametrize(("files", "said"), [(0, ""), (1, "1 file."), (3, "3 files.")])
async def test_the_window_is_told_of_uncommitted_work(repo: Path, files: int, said: str) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "all")
    for number in range(files):
        (repo / f"mine{number}.txt").write_text("mine")
    actor = SessionActor(OpenRequest(workspace=repo), lambda *_: None)
    try:
        await actor.start()
        hello = await actor.handle("hello", Hello(protocol=PROTOCOL_VERSION))
        assert isinstance(hello, HelloResult)
        assert hello.note == (f"Your uncommitted work came along: {said} {STAYS}" if files else "")
    finally:
        await actor.close()
    # Opened again it is told no more: it is an old story by then.
    again = open_session(OpenRequest(session=actor.shared.doc.path))
    assert again.said == ""
    assert again.work is not None
    await again.work.close()
    again.close()


def test_what_could_not_be_carried_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [f"f{number} cannot be read; it was not copied" for number in range(MOST_NOTES + 3)]
    said = _carried_over(0, notes)
    assert said.count("cannot be read") == MOST_NOTES and said.endswith(".")
    engine_words.use("zh_CN")
    try:
        shown = engine_words.say(_carried_over(2, notes[:1]))
        assert "2 个文件" in shown and "f0 无法读取" in shown and "uncommitted" not in shown
    finally:
        engine_words.use("en")
