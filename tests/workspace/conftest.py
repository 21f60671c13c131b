"""Real repositories, the person's git configuration masked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2
import pytest

from tests_support import PATIENCE_S
from worldline.workspace.bring_home import bring_home
from worldline.workspace.engine import Workspace
from worldline.workspace.home_report import HomeReport

ENV = {
    **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "LC_ALL": "C.UTF-8",
}


def run_sh(command: str, cwd: Path, check: bool = True) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=ENV, capture_output=True, check=False, timeout=PATIENCE_S
    )
    if check and done.returncode:
        raise AssertionError(f"{command}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "surrogateescape")


def snapshot(work: Path, *, skip: tuple[str, ...] = (".git",)) -> dict[str, tuple[int, bytes]]:
    """Every file, link and folder with its mode and bytes."""
    found: dict[str, tuple[int, bytes]] = {}

    def visit(folder: bytes, prefix: bytes) -> None:
        for entry in os.scandir(folder):
            if os.fsdecode(entry.name) in skip:
                continue
            path = prefix + entry.name
            mode = entry.stat(follow_symlinks=False).st_mode
            if entry.is_symlink():
                found[os.fsdecode(path)] = (mode, os.readlink(entry.path))
            elif entry.is_dir():
                found[os.fsdecode(path)] = (mode, b"")
                visit(entry.path, path + b"/")
            elif entry.is_file():
                with open(entry.path, "rb") as file:
                    found[os.fsdecode(path)] = (mode, file.read())

    visit(os.fsencode(work), b"")
    return found


def settled(workspace: Workspace, state: str | None = None) -> str:
    """A state, once nothing is so fresh any more that it has to be read again whatever stat says."""
    while True:
        state = workspace.capture(state).state
        left, fresh = [workspace._capturer.top], False
        while left and not fresh:
            node = left.pop()
            fresh = node.sig is None or any(sig[1] == -1 for sig in node.files.values())
            left += node.dirs.values()
        if not fresh:
            return state


def go(ws: Workspace, target: str, last: str, branch: str = "worldline/t/2") -> None:
    """Put the files of `target` back; nothing may be left undone."""
    report = ws.apply(ws.plan(target, last=last, default_choice="restore"), new_branch=branch)
    assert report.done and not report.failed, (report.note, report.failed)


@pytest.fixture(autouse=True)
def masked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for level in (
        pygit2.enums.ConfigLevel.GLOBAL,
        pygit2.enums.ConfigLevel.XDG,
        pygit2.enums.ConfigLevel.SYSTEM,
    ):
        pygit2.option(pygit2.enums.Option.SET_SEARCH_PATH, level, "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "worldline-home"))
    yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def sh(work: Path) -> Callable[..., str]:
    def run(command: str, cwd: Path | None = None, check: bool = True) -> str:
        return run_sh(command, cwd or work, check)

    return run


@pytest.fixture
def open_workspace(work: Path, tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    opened: list[Workspace] = []

    def make(path: Path | None = None, store: Path | None = None, **options: object) -> Workspace:
        workspace = Workspace(path or work, store or tmp_path / "store", **options)  # type: ignore[arg-type]
        opened.append(workspace)
        return workspace

    yield make
    for workspace in opened:
        workspace.close()


TwoStates = Callable[[str, str], tuple[Workspace, str, str]]


@pytest.fixture
def two_states(sh: Callable[..., str], open_workspace: Callable[..., Workspace]) -> TwoStates:
    """A workspace and its states before and after `change`, in a folder that `setup` has made."""

    def make(setup: str, change: str) -> tuple[Workspace, str, str]:
        sh(setup)
        workspace = open_workspace()
        first = workspace.capture(None).state
        sh(change)
        return workspace, first, workspace.capture(first).state

    return make


REPO = "git init -q -b main . && "


BASE = "git init -q -b main; seq 20 >f; echo k >keep; echo d >del; git add -A; git commit -qm base"


@dataclass
class Sides:
    """The person's folder, and a worktree of the session made from it."""

    mine: Path
    theirs: Path
    home: Workspace
    source: Workspace
    start: str = ""

    def begin(self) -> None:
        self.start = self.source.capture(None).state

    def node(self, command: str) -> str:
        run_sh(command, self.theirs)
        result = self.source.capture(self.start or None)
        assert not result.error
        return result.state

    def bring(self, state: str, how: Any, **options: Any) -> HomeReport:
        options.setdefault("dry_run", False)
        return bring_home(self.source, self.home, state, how=how, start=self.start, **options)

    def everything(self) -> dict[str, Any]:
        """The person's files, and what git says of their repository."""
        return {
            "files": snapshot(self.mine),
            "status": run_sh("git status --porcelain=v1 -uall", self.mine),
            "refs": run_sh("git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD", self.mine),
            "index": run_sh("git ls-files -s", self.mine),
        }


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    run_sh(BASE, mine)
    run_sh(f"git worktree add -q -b worldline/s/start {theirs}", mine)
    home, source = (
        Workspace(mine, tmp_path / "h", free_floor=0),
        Workspace(theirs, tmp_path / "s", free_floor=0),
    )
    made = Sides(mine, theirs, home, source)
    made.begin()
    yield made
    home.close()
    source.close()
