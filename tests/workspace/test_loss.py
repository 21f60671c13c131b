"""What a look at a worktree must not be led astray by, or held up by, before it is removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace import isolate, worktrees

from .conftest import run_sh
from .test_isolate import INNER
from .test_scenarios import BASE

Sh = Callable[..., str]
_LOOK = (
    "import json, sys; from pathlib import Path; from worldline.workspace import worktrees; "
    "print(json.dumps(worktrees.would_lose(Path(sys.argv[1]))))"
)
INNER_LOST = "repository nested/inner with its own commits and changes"


@pytest.fixture
def made(work: Path, sh: Sh) -> Path:
    sh(f"{BASE} && {INNER} && cd nested/inner && echo more > c && git add c && git commit -qm more")
    place = isolate.prepare(work, "5e55")
    isolate.release(place.root)
    assert worktrees.would_lose(place.root) == []
    return place.root


def _looked(made: Path) -> list[str]:
    """In a process of its own: waiting for a pipe inside libgit2 could not be ended otherwise."""
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, str(made)], capture_output=True, check=True, timeout=120, env=os.environ
    )
    lines: list[str] = json.loads(done.stdout)
    return lines


def _unknown(*names: str) -> list[str]:
    return [f"file {name} (git cannot say whether it is in a commit)" for name in names]


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitmodules"])
def test_pipes_in_the_place_of_rules_hold_nothing_up(made: Path, name: str) -> None:
    run_sh(f"rm -f {name} && mkfifo {name} && echo x > new", made)
    lost = _looked(made)
    assert set(_unknown(name, "new")) <= set(lost) and INNER_LOST in lost


def test_a_link_to_a_device_in_the_place_of_rules_is_not_read(made: Path) -> None:
    run_sh("ln -s /dev/zero dir/.gitignore && echo x > dir/new", made)
    assert set(_unknown("dir/.gitignore", "dir/new")) <= set(_looked(made))


@pytest.mark.parametrize(
    "place", [".git/packed-refs", ".git/refs/heads/pipe", ".git/info/exclude", ".gitignore"]
)
def test_pipes_in_a_repository_inside_hold_nothing_up(made: Path, place: str) -> None:
    run_sh(f"rm -f nested/inner/{place} && mkfifo nested/inner/{place}", made)
    assert INNER_LOST in _looked(made)


def test_a_pipe_in_the_place_of_the_registration_holds_nothing_up(made: Path) -> None:
    run_sh(
        "mkdir -p evil/objects evil/refs && cp $(git rev-parse --git-dir)/HEAD evil && mkfifo evil/gitdir && "
        "cp $(git rev-parse --git-common-dir)/config evil && echo \"gitdir: $PWD/evil\" > .git",
        made,
    )  # fmt: skip
    assert set(_unknown("evil/HEAD")) <= set(_looked(made))


def test_a_repository_in_the_folder_does_not_vouch_for_it(made: Path) -> None:
    """It has a commit of everything, says that it is the worktree's own, and would be removed with it."""
    run_sh(
        "echo secret > a.txt && git init -q -b main evil && cp a.txt evil && git -C evil add a.txt && "
        "git -C evil commit -qm all && rm evil/a.txt && echo $PWD/.git > evil/.git/gitdir && "
        "echo \"gitdir: $PWD/evil/.git\" > .git",
        made,
    )  # fmt: skip
    lost = worktrees.would_lose(made)
    assert lost[0] == _unknown("a.txt")[0] and "repository evil with its own commits and changes" in lost


def test_what_libgit2_cannot_read_is_looked_at_without_it(made: Path) -> None:
    run_sh("git update-index --split-index && echo 1 > a.txt", made)
    lost = worktrees.would_lose(made)
    assert lost[0] == _unknown("a.txt")[0] and INNER_LOST in lost


def test_a_staged_link_that_is_a_file_again_is_named(made: Path) -> None:
    run_sh(
        "rm a.txt && ln -s nowhere a.txt && git add a.txt && rm a.txt && git show HEAD:a.txt > a.txt", made
    )
    assert worktrees.would_lose(made) == ["what is staged of file a.txt"]


@pytest.mark.parametrize(
    "change",
    [
        "git config core.worktree $(mktemp -d) && echo mine > untracked",
        "git update-index --assume-unchanged c && echo mine > c",
        "echo staged > c && git add c && git show HEAD:c > c",
        "git rev-parse HEAD~1 > .git/MERGE_HEAD",
        "echo 1 > c && git stash -q && cp .git/logs/refs/stash ../log && git stash drop -q && "
        "git update-ref --create-reflog refs/stash HEAD && cat ../log > .git/logs/refs/stash && rm ../log",
    ],
    ids=["other worktree", "not looked at", "staged only", "merge", "stash below the last"],
)  # fmt: skip
def test_what_a_repository_inside_would_lose_is_not_overlooked(made: Path, change: str) -> None:
    run_sh(f"cd nested/inner && {change}", made)
    assert worktrees.would_lose(made) == [INNER_LOST]
