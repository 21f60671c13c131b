"""What commands that go on side by side have moved in their repository: told once, of the one that moved it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import git
from worldline.agent import beforehand
from worldline.agent.beforehand import Before, Ongoing
from worldline.policy.copies import Copies
from worldline.policy.sandbox.model import Profile
from worldline.policy.sandbox.places import git_places


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "-q", folder], check=True)
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


@pytest.fixture
def look(repository: Path, tmp_path: Path) -> Callable[[], Before]:
    places = git_places(repository)

    def look() -> Before:
        profile = Profile(workspace=repository, private_tmp=tmp_path / "tmp", git=places)
        return beforehand.look("true", profile, Copies(tmp_path / "copies"))

    return look


async def told(ongoing: Ongoing, before: Before) -> list[str]:
    was, now = await ongoing.moves_of(before)
    return sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))


async def test_what_moved_while_a_command_was_made_ready_is_not_its_own(
    repository: Path, look: Callable[[], Before]
) -> None:
    ongoing = Ongoing()
    first = look()
    await ongoing.began(first)
    second = look()
    git(repository, "tag", "mark")
    assert await told(ongoing, first) == ["refs/tags/mark"]
    await ongoing.began(second)
    assert await told(ongoing, second) == []


async def test_a_push_takes_nothing_from_a_command_that_goes_on(
    repository: Path, look: Callable[[], Before]
) -> None:
    ongoing = Ongoing()
    before = look()
    await ongoing.began(before)
    was = await beforehand.refs_at(before.profile.git)
    git(repository, "tag", "mark")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    await ongoing.pushed(was, before.profile.git)
    assert await told(ongoing, before) == ["refs/tags/mark"]
