"""Who the person is for git, what happens to their branches, and what a command leaves behind."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Open, bench, server
from engine.support import call, reply
from sandbox.conftest import Lab, git
from tests_support import PATIENCE_S
from worldline.agent.confined import ConfinedRunner, SandboxPlace
from worldline.policy.copies import Copies
from worldline.policy.sandbox.model import Grant
from worldline.protocol.commands import ReturnHome
from worldline.workspace.absorb import absorb

__all__ = ["bench", "server"]


@pytest.fixture
def own(lab: Lab) -> Lab:
    """The agent works in the person's own folder, on their branch."""
    shutil.rmtree(lab.workspace)
    git(lab.base, "init", "-q", "-b", "main", str(lab.workspace))
    return lab


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder below a folder that the sandbox covers."""
    with tempfile.TemporaryDirectory(prefix="worldline-home-", dir="/tmp") as folder:
        home = Path(folder)
        monkeypatch.setenv("HOME", folder)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
        monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
        yield home


def identity(name: str) -> str:
    return f"[user]\n\tname = {name}\n\temail = {name}@example.org\n"


class TestWhoThePersonIs:
    COMMIT = "git commit -q --allow-empty -m x && git log -1 --format=%an"

    def nested(self, lab: Lab) -> str:
        result = lab.run(f"git init -q n && cd n && {self.COMMIT}")
        assert result.denials == []
        return result.output.decode().strip()

    def test_the_configuration_in_a_covered_home_is_known(self, lab: Lab, elsewhere: Path) -> None:
        (elsewhere / ".gitconfig").write_text("[include]\n\tpath = who\n")
        (elsewhere / "who").write_text(identity("included"))
        assert self.nested(lab) == "included"

    def test_so_is_that_of_xdg_and_a_named_one(
        self, lab: Lab, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (elsewhere / "conf" / "git").mkdir(parents=True)
        (elsewhere / "conf" / "git" / "config").write_text(identity("xdg"))
        assert self.nested(lab) == "xdg"
        (elsewhere / "named").write_text(identity("named"))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(elsewhere / "named"))
        assert self.nested(lab) == "named"

    def test_it_cannot_be_changed_and_credentials_are_not_there(self, lab: Lab, elsewhere: Path) -> None:
        (elsewhere / ".gitconfig").write_text(
            identity("me") + "[include]\n\tpath = ~/.git-credentials\n\tpath = ~/.ssh/config\n"
        )
        (elsewhere / ".git-credentials").write_text("secret-one\n")
        (elsewhere / ".ssh").mkdir()
        (elsewhere / ".ssh" / "config").write_text("secret-two\n")
        (elsewhere / "other").write_text("secret-three\n")
        result = lab.run(
            "echo x >> ~/.gitconfig; git config --global user.name evil; cat ~/.gitconfig ~/.git-credentials ~/.ssh/config ~/other"
        )
        assert b"name = me" in result.output and b"secret" not in result.output
        assert (elsewhere / ".gitconfig").read_text().startswith(identity("me"))

    def test_something_in_the_way_does_not_stop_the_next_command(self, lab: Lab, elsewhere: Path) -> None:
        (elsewhere / ".gitconfig").write_text(identity("me"))
        (lab.base / "tmp" / elsewhere.name).symlink_to("/etc")
        assert lab.run("echo fine").output == b"fine\n"


class TestBranchesOfThePerson:
    FIRST = "echo 1 > f && git add f && git commit -qm first"

    @pytest.mark.parametrize("born", [False, True])
    async def test_they_never_move_and_the_way_on_is_told(self, bench: Open, own: Lab, born: bool) -> None:
        root = own.workspace
        if born:
            git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
        before = git(root, "for-each-ref")
        one = await bench(workspace=root, in_place=True)
        name = "worldline/main"
        back = "git switch -q main" if born else "git symbolic-ref HEAD refs/heads/main"
        one.script(
            reply("a", call("bash", command=f"{back} && {self.FIRST}")),
            reply("b", call("bash", command=f"git switch -q -c {name} && {self.FIRST}")),
            "done",
        )
        assert await one.ask("commit") == "completed"
        refused, done = one.nodes("tool")
        error = one.doc.body(refused.uid).end_detail["error"]
        assert error["type"] == "sandbox_denied" and f"git switch -c {name}" in error["next"]
        assert done.outcome.value == "ok", one.doc.body(done.uid).end_detail
        after = git(root, "for-each-ref").splitlines()
        assert [line for line in after if "/worldline/" not in line] == before.splitlines()
        assert git(root, "log", "-1", "--format=%s", name) == "first\n"

    @pytest.mark.parametrize("born", [False, True])
    async def test_in_the_folder_of_the_person_it_commits_on_a_branch_of_its_own(
        self, bench: Open, own: Lab, born: bool
    ) -> None:
        root = own.workspace
        if born:
            git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
        before = git(root, "for-each-ref")
        one = await bench(workspace=root, in_place=True)
        one.script(reply("a", call("bash", command=self.FIRST)), "done")
        assert await one.ask("commit") == "completed"
        (node,) = one.nodes("tool")
        assert node.outcome.value == "ok", one.doc.body(node.uid).end_detail
        name = f"worldline/{one.actor.shared.slug}/start"
        assert git(root, "branch", "--show-current") == f"{name}\n"
        assert git(root, "log", "-1", "--format=%s", name) == "first\n"
        after = git(root, "for-each-ref").splitlines()
        assert [line for line in after if "/worldline/" not in line] == before.splitlines()
        answer = await one.actor.handle("return_home", ReturnHome())
        assert answer.result is not None and answer.result.branch == "main", answer
        assert git(root, "symbolic-ref", "HEAD") == "refs/heads/main\n"
        # What was committed there is here as something to commit.
        assert git(root, "status", "--porcelain") == "A  f\n"
        assert git(root, "for-each-ref", "refs/heads/main").splitlines() == before.splitlines()

    async def test_a_first_commit_beside_an_unborn_branch_is_no_failure(self, bench: Open, own: Lab) -> None:
        one = await bench(workspace=own.workspace)
        one.script(reply("a", call("bash", command=self.FIRST)), "done")
        assert await one.ask("commit") == "completed"
        (node,) = one.nodes("tool")
        assert node.outcome.value == "ok" and one.doc.body(node.uid).end_detail["denials"] == []

    def test_without_reflogs_a_commit_in_a_worktree_is_no_failure(self, lab: Lab) -> None:
        shutil.rmtree(lab.repo / ".git" / "logs")
        result = lab.run(self.FIRST)
        assert result.exit_code == 0 and result.denials == []


class TestLeftBehind:
    def test_it_is_listed_and_its_late_doings_are_entered(self, lab: Lab) -> None:
        target = lab.outside / "file"
        lab.grants = [Grant("write", str(target))]
        entered: list[dict[str, Any]] = []

        async def work() -> None:
            place = SandboxPlace(
                lab.workspace, lab.base / "tmp", lab.label, Copies(lab.base / "copies"), absorb,
                enter=lambda node, effects: entered.extend(effects),
            )  # fmt: skip
            runner = ConfinedRunner(place, lab.table, "node", lambda _: lab.grants, lab._ask)
            done = await runner.run(
                f"(while [ ! -e go ]; do sleep 0.05; done; echo late >> {target}) >/dev/null 2>&1 & echo $!",
                cwd=lab.workspace, timeout_s=PATIENCE_S, emit=lambda *_: None,
            )  # fmt: skip
            assert done.exit_code == 0 and done.effects == [] and done.survivors
            assert [p.id for p in lab.table.running()] == [done.process_id]
            (lab.workspace / "go").touch()
            await asyncio.wait_for(asyncio.gather(*place.watchers), PATIENCE_S)
            assert lab.table.running() == []

        asyncio.run(work())
        assert [e["summary"] for e in entered] == [f"Changed {target}"]

    def test_it_can_be_stopped(self, lab: Lab) -> None:
        async def work() -> None:
            place = SandboxPlace(
                lab.workspace, lab.base / "tmp", lab.label, Copies(lab.base / "copies"), absorb
            )
            runner = ConfinedRunner(place, lab.table, "node", lambda _: [], lab._ask)
            done = await runner.run(
                "trap '' TERM; nohup sleep 300 >/dev/null 2>&1 & echo $!",
                cwd=lab.workspace, timeout_s=PATIENCE_S, emit=lambda *_: None,
            )  # fmt: skip
            # It returned although the process it started has 300 s to go.
            assert done.exit_code == 0 and not done.timed_out and done.survivors
            assert await lab.table.stop_all() == []
            await asyncio.wait_for(asyncio.gather(*place.watchers), PATIENCE_S)

        asyncio.run(work())

    def test_what_cannot_be_read_afterwards_is_logged_and_entered(
        self, lab: Lab, caplog: pytest.LogCaptureFixture
    ) -> None:
        target = lab.outside / "file"
        entered: list[dict[str, Any]] = []

        def broken(private: Path, objects: Path) -> int:
            raise ValueError("the objects are strange")

        async def work() -> None:
            place = SandboxPlace(
                lab.workspace, lab.base / "tmp", lab.label, Copies(lab.base / "copies"), broken,
                enter=lambda node, effects: entered.extend(effects),
            )  # fmt: skip
            runner = ConfinedRunner(
                place, lab.table, "node", lambda _: [Grant("write", str(target))], lab._ask
            )
            await runner.run(
                f"echo x >> {target}",
                cwd=lab.workspace,
                timeout_s=PATIENCE_S,
                emit=lambda *_: None,
                background=True,
            )
            await asyncio.wait_for(asyncio.gather(*place.watchers), PATIENCE_S)

        with caplog.at_level(logging.ERROR):
            asyncio.run(work())
        assert [e["kind"] for e in entered] == ["unknown"] and str(target) in entered[0]["summary"]
        assert "the objects are strange" in caplog.text


def test_commands_of_two_sessions_do_not_stop_each_other_from_starting(lab: Lab) -> None:
    """The sockets of their name services come and go all the time."""
    other = Lab(lab.base / "second", "complete")
    other.workspace.mkdir(parents=True)
    (other.base / "tmp").mkdir()

    def many(one: Lab) -> list[int | None]:
        return [one.run("true").exit_code for _ in range(12)]

    with ThreadPoolExecutor(4) as pool:
        assert all(set(codes) == {0} for codes in pool.map(many, [lab, other] * 2))
