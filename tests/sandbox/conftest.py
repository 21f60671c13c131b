"""A workspace that is a worktree of somebody's repository, and a runner that confines commands to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.agent.confined import ConfinedRunner, SandboxPlace
from worldline.core.access import CommandResult
from worldline.policy.closed import Closed, closed_to_commands
from worldline.policy.copies import Copies
from worldline.policy.rule import Rule
from worldline.policy.rules import RuleSet
from worldline.policy.sandbox import selftest
from worldline.policy.sandbox.model import Grant, Label
from worldline.policy.sandbox.network import SessionNetwork
from worldline.tools.process_table import ProcessTable
from worldline.workspace.absorb import absorb


@pytest.fixture(scope="session")
def best_label(tmp_path_factory: pytest.TempPathFactory) -> Label:
    """What this machine really enforces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDLINE_HOME", str(tmp_path_factory.mktemp("selftest")))
        return selftest.run().label


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def lab_root() -> Path:
    """Not below /tmp: confined commands have a /tmp of their own. Another user brings a folder of theirs."""
    given = os.environ.get("WORLDLINE_LAB")
    here = Path(given) if given else Path(__file__).resolve().parent
    return Path(pwd.getpwuid(os.getuid()).pw_dir) if here.is_relative_to("/tmp") else here


@contextlib.contextmanager
def ground_apart() -> Iterator[Path]:
    """A passing folder that is not below /tmp, as a project is not, with one inside that is not the agent's."""
    with tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder:
        (Path(folder) / "outside").mkdir()
        yield Path(folder)


@dataclass
class Lab:
    """`outside` is not the agent's; `repo` is the person's; `workspace` is the agent's worktree of it."""

    base: Path
    label: Label
    grants: list[Grant] = field(default_factory=list)
    answer: Callable[[str, int], str] = lambda host, port: "not approved"
    asked: list[tuple[str, int, str]] = field(default_factory=list)
    table: ProcessTable = field(default_factory=ProcessTable)
    entered: list[dict[str, Any]] = field(default_factory=list)
    """Effects of commands whose call was over."""
    network: SessionNetwork | None = None
    rules: list[Rule] = field(default_factory=list)
    """What is kept from being read."""
    copies: list[Path] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.base / "work"

    @property
    def repo(self) -> Path:
        return self.base / "repo"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def closed(self) -> Closed:
        rules = RuleSet(self.rules, self.workspace.resolve(), self.repo.resolve())
        return closed_to_commands(rules, self.copies)

    async def _ask(self, host: str, port: int, method: str, command: str) -> str:
        self.asked.append((host, port, method))
        return self.answer(host, port)

    def run(self, command: str, timeout_s: float = PATIENCE_S, background: bool = False) -> CommandResult:
        return asyncio.run(self.begin(command, timeout_s, background))

    async def begin(
        self, command: str, timeout_s: float = PATIENCE_S, background: bool = False
    ) -> CommandResult:
        place = SandboxPlace(
            self.workspace,
            self.base / "tmp",
            self.label,
            Copies(self.base / "copies"),
            absorb,
            network=self.network,
            enter=lambda node, effects: self.entered.extend(effects),
            closed=self.closed,
        )
        runner = ConfinedRunner(place, self.table, "node", lambda _: self.grants, self._ask)
        return await runner.run(
            command, cwd=self.workspace, timeout_s=timeout_s, emit=lambda *_: None, background=background
        )


@pytest.fixture
def lab(best_label: Label) -> Iterator[Lab]:
    if best_label != "complete":
        pytest.skip(
            "user namespaces are blocked on this machine; the self-test says so to the person as well"
        )
    with (
        tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder,
        contextlib.closing(SessionNetwork.create()) as network,
    ):
        yield furnish(Lab(Path(folder), "complete", network=network))


def furnish(lab: Lab) -> Lab:
    for folder in (lab.repo, lab.outside, lab.base / "tmp"):
        folder.mkdir()
    (lab.outside / "file").write_text("before\n")
    git(lab.repo, "init", "-q", "-b", "main")
    git(lab.repo, "config", "user.name", "Somebody")
    git(lab.repo, "config", "user.email", "somebody@example.org")
    (lab.repo / "a.txt").write_text("one\n")
    git(lab.repo, "add", ".")
    git(lab.repo, "commit", "-qm", "first")
    git(lab.repo, "branch", "other")
    git(lab.repo, "worktree", "add", "-q", "-b", "worldline/s/1", str(lab.workspace))
    return lab


@contextlib.contextmanager
def walled_lab(best_label: Label) -> Iterator[Lab]:
    """A furnished lab with a network of its own; skips the test where this machine has no walls."""
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    with (
        tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder,
        contextlib.closing(SessionNetwork.create()) as network,
    ):
        yield furnish(Lab(Path(folder), "complete", network=network))
