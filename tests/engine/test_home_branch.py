"""Work in the person's own folder: HEAD goes on a branch of the session, nothing else moves, and it comes back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests_support import git, in_conflict
from worldline.core.errors import WorkspaceError
from worldline.protocol.commands import GoOn, Jump, ReturnHome
from worldline.rehearsal.events import Call, Reply

FILES = ("a.txt", "mine.txt", "untracked.txt")


def reply(text: str, command: str) -> Reply:
    return Reply(text=text, calls=[Call("bash", {"command": command})])


def write(path: str, content: str) -> Reply:
    return Reply(text=path, calls=[Call("write", {"path": path, "content": content})])


def facts(repo: Path) -> dict[str, Any]:
    """All that must not change when HEAD moves: bytes and times of the files and of the staging area, branches, config."""
    stats = {name: (repo / name).stat() for name in FILES}
    index = repo / ".git" / "index"
    return {
        "files": {name: ((repo / name).read_bytes(), s.st_mtime_ns, s.st_ino) for name, s in stats.items()},
        "index": (index.read_bytes(), index.stat().st_mtime_ns) if index.exists() else None,
        "refs": [line for line in git(repo, "for-each-ref").splitlines() if "worldline/" not in line],
        "config": (repo / ".git" / "config").read_bytes(),
        "stash": git(repo, "stash", "list"),
    }


def branch(repo: Path) -> str:
    return git(repo, "branch", "--show-current")


async def begin(bench: Any, repo: Any, *replies: Any, **more: Any) -> Any:
    b = await bench(workspace=repo, in_place=True, **more)
    b.script(*replies)
    return b


async def go(b: Any, jump: Jump) -> Any:
    answer = await b.actor.handle("jump", jump)
    while answer.result is None:
        answer = await b.actor.handle("jump", jump.model_copy(update={"plan": answer.plan.id}))
    return answer.result


async def home(b: Any, files: str = "keep") -> Any:
    answer = await b.actor.handle("return_home", ReturnHome(files=files))
    if answer.result is None:
        return await go(b, Jump(node=answer.plan.node, plan=answer.plan.id, fork=False))
    return answer.result


async def test_head_moves_with_the_first_run_and_nothing_else_does(bench: Any, repo: Any) -> None:
    git(repo, "add", "mine.txt")
    before = facts(repo)
    b = await begin(bench, repo, "Hello.", "Again.")
    assert branch(repo) == "main" and b.actor.shared.status.now.home == ""
    assert await b.ask("hello") == "completed"
    own = f"worldline/{b.actor.shared.slug}/start"
    assert branch(repo) == own and facts(repo) == before
    assert b.actor.shared.status.now.home == "main"
    assert [h.branch for h in b.nodes("assistant")] == [f"refs/heads/{own}"]
    assert own in str(b.sent()["messages"])
    # A second message finds HEAD where it belongs.
    assert await b.ask("again") == "completed"
    assert branch(repo) == own and not b.nodes("external_change")
    # As git does it, so that the person's own way back works too.
    git(repo, "switch", "-q", "-")
    assert branch(repo) == "main" and facts(repo)["files"] == before["files"]


async def test_a_plan_leaves_head_alone(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, "A plan.")
    assert await b.ask("what would you do", mode="plan") == "completed"
    assert branch(repo) == "main" and git(repo, "branch", "--list", "worldline/*") == ""


async def test_return_with_the_files_as_they_are(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, write("new.txt", "new\n"), "Done.", "More.")
    assert await b.ask("write") == "completed"
    git(repo, "add", "mine.txt")
    before, cursor = facts(repo), b.doc.cursor
    result = await home(b)
    assert result.branch == "main" == branch(repo) and facts(repo) == before
    assert (repo / "new.txt").read_text() == "new\n"
    # What was staged since the last step is safe in a node.
    assert result.safety_node and b.doc.header(result.safety_node).parent == b.doc.header(cursor).seq
    assert b.actor.shared.status.now.home == ""
    assert "already" in (await home(b)).note
    # Going on from here is the same attempt: its branch is taken up again.
    own = f"worldline/{b.actor.shared.slug}/start"
    assert await b.ask("more") == "completed"
    assert branch(repo) == own and git(repo, "branch", "--list", "worldline/*") == f"* {own}"


async def test_return_with_the_files_as_they_were(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, write("new.txt", "new\n"), write("a.txt", "agent\n"), "Done.", "Other.")
    before = facts(repo)
    assert await b.ask("write") == "completed"
    first = b.nodes("tool")[0]
    await b.actor.handle("jump", Jump(node=first.uid))
    assert branch(repo) == f"worldline/{b.actor.shared.slug}/2"
    (repo / "mine.txt").write_text("mine, later\n")
    result = await home(b, "back")
    assert result.branch == "main" == branch(repo)
    assert not (repo / "new.txt").exists() and (repo / "a.txt").read_text() == "alpha\n"
    assert (repo / "mine.txt").read_text() == "mine, later\n"
    assert facts(repo)["refs"] == before["refs"]
    # The next message is another attempt, from here.
    assert await b.ask("other") == "completed"
    assert branch(repo) == f"worldline/{b.actor.shared.slug}/3"
    # And what was made is a click away.
    await go(b, Jump(node=b.nodes("tool")[1].uid))
    assert (repo / "a.txt").read_text() == "agent\n"


async def test_what_was_committed_is_staged_after_the_return(bench: Any, repo: Any) -> None:
    commit = "echo 1 > new.txt && git add new.txt && git commit -qm made"
    b = await begin(bench, repo, reply("c", commit), "Done.", "Seen.")
    main = git(repo, "rev-parse", "main")
    assert await b.ask("commit") == "completed"
    own = branch(repo)
    result = await home(b)
    assert "1 commits" in result.note and own in result.note
    assert git(repo, "rev-parse", "main") == main == git(repo, "rev-parse", "HEAD")
    assert git(repo, "diff", "--cached", "--name-only") == "new.txt"
    assert (repo / "mine.txt").read_text() == "my own work\n"
    assert git(repo, "log", "-1", "--format=%s", own) == "made"
    assert await b.ask("go on") == "completed"
    assert branch(repo) != own and "staged here and not committed" in str(b.sent()["messages"])


async def test_a_detached_head_comes_back_detached(bench: Any, repo: Any) -> None:
    git(repo, "switch", "-q", "--detach")
    at = git(repo, "rev-parse", "HEAD")
    b = await begin(bench, repo, write("new.txt", "1\n"), "Done.", write("more.txt", "2\n"), "Done.")
    assert await b.ask("write") == "completed"
    assert branch(repo).endswith("/start") and b.actor.shared.status.now.home == at[:10]
    assert (await home(b)).branch == "" == branch(repo)
    assert git(repo, "rev-parse", "HEAD") == at and (repo / "new.txt").exists()
    assert await b.ask("more") == "completed"
    await home(b, "back")
    assert branch(repo) == "" and git(repo, "rev-parse", "HEAD") == at
    assert (repo / "new.txt").exists() and not (repo / "more.txt").exists()


async def test_a_merge_in_progress_keeps_head_where_it_is(bench: Any, repo: Any) -> None:
    git(repo, "checkout", "-q", "mine.txt")
    in_conflict(repo, "merge")
    before = facts(repo)
    b = await begin(bench, repo, "Seen.", "Done.")
    assert await b.ask("look") == "completed"
    assert branch(repo) == "main" and facts(repo) == before
    assert "merge is in progress" in b.diagnostics("head")[0].data["detail"]
    (repo / "a.txt").write_text("both\n")
    git(repo, "commit", "-qam", "merged")
    assert await b.ask("go on") == "completed"
    assert branch(repo).endswith("/start") and facts(repo)["refs"] != before["refs"]


async def test_a_merge_of_the_session_is_not_left(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, "Done.")
    assert await b.ask("hello") == "completed"
    git(repo, "checkout", "-q", "mine.txt")
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD") + "\n")
    with pytest.raises(WorkspaceError, match="merge is in progress"):
        await home(b)
    assert branch(repo).endswith("/start")


async def test_a_branch_that_is_checked_out_elsewhere_is_not_taken(
    bench: Any, repo: Any, tmp_path: Path
) -> None:
    b = await begin(bench, repo, write("new.txt", "1\n"), "Done.")
    assert await b.ask("hello") == "completed"
    own = branch(repo)
    git(repo, "worktree", "add", "-q", str(tmp_path / "beside"), "main")
    for files in ("keep", "back"):
        with pytest.raises(WorkspaceError, match="checked out in"):
            await home(b, files)
        assert branch(repo) == own and (repo / "new.txt").exists()
    git(repo, "worktree", "remove", str(tmp_path / "beside"))
    assert (await home(b)).branch == "main"


async def test_a_branch_that_moved_or_went_is_said(bench: Any, repo: Any, tmp_path: Path) -> None:
    b = await begin(bench, repo, "Done.")
    assert await b.ask("hello") == "completed"
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "beside"), "main")
    git(tmp_path / "beside", "commit", "-q", "--allow-empty", "-m", "theirs")
    git(repo, "branch", "-f", "main", git(tmp_path / "beside", "rev-parse", "HEAD"))
    with pytest.raises(WorkspaceError, match="has commits that"):
        await home(b)
    git(repo, "branch", "-D", "main")
    with pytest.raises(WorkspaceError, match="not there any more"):
        await home(b)
    assert branch(repo).endswith("/start")


async def test_the_branch_of_the_person_that_was_left_last_is_home(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, "One.", "Two.", "Three.")
    assert await b.ask("one") == "completed"
    git(repo, "switch", "-qc", "feature", "main")
    assert await b.ask("two") == "completed"
    assert branch(repo).startswith("worldline/") and b.actor.shared.status.now.home == "feature"
    assert (await home(b)).branch == "feature" == branch(repo)


@pytest.mark.parametrize("where", ["feature", "--detach feature"])
async def test_where_the_agent_goes_is_not_home(bench: Any, repo: Any, where: str) -> None:
    git(repo, "branch", "feature")
    git(repo, "checkout", "-q", "mine.txt")
    b = await begin(
        bench, repo, reply("s", f"git switch -q {where} && echo x > x"), "Done.", "Two.", "Three."
    )
    assert await b.ask("look at the other one") == "completed"
    assert branch(repo) == ("" if "detach" in where else "feature")
    assert await b.ask("go on") == "completed"
    assert branch(repo).startswith("worldline/") and b.actor.shared.status.now.home == "main"
    # Where the person goes, is.
    git(repo, "switch", "-q", "feature")
    git(repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    assert await b.ask("and now") == "completed"
    assert b.actor.shared.status.now.home == "feature"
    assert (await home(b)).branch == "feature" == branch(repo)


async def test_a_branch_in_the_way_of_the_name_is_no_end(bench: Any, repo: Any) -> None:
    git(repo, "branch", "worldline")
    b = await begin(bench, repo, "Done.")
    assert await b.ask("hello") == "completed"
    assert branch(repo) == "main" and "cannot be made" in b.diagnostics("head")[0].data["detail"]


async def test_a_lock_that_a_kill_left_is_taken_away(bench: Any, repo: Any) -> None:
    temp = repo / ".git" / "HEAD.worldline-0123"
    temp.write_text("ref: refs/heads/x\n")
    (repo / ".git" / "HEAD.lock").hardlink_to(temp)
    os.utime(temp, (1, 1))
    b = await begin(bench, repo, "Done.")
    assert await b.ask("hello") == "completed"
    assert branch(repo).endswith("/start") and not list((repo / ".git").glob("HEAD.*"))


async def test_it_is_known_after_the_session_was_closed(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, write("new.txt", "1\n"), "Done.")
    assert await b.ask("hello") == "completed"
    path = b.doc.path
    await b.actor.close()
    again = await bench(session=path)
    assert again.actor.shared.status.now.home == "main"
    assert (await home(again, "back")).branch == "main" and not (repo / "new.txt").exists()
    git(repo, "switch", "-qc", "by-hand")
    await again.actor.close()
    third = await bench(session=path)
    now = third.actor.shared.status.now
    assert (now.branch, now.home) == ("by-hand", "")


async def test_a_folder_inside_a_repository_and_one_without_git_have_no_head(bench: Any, repo: Any) -> None:
    (repo / "part").mkdir()
    (repo / "part" / "f").write_text("1\n")
    b = await begin(bench, repo / "part", "Done.")
    assert await b.ask("hello") == "completed"
    assert branch(repo) == "main" and git(repo, "branch", "--list", "worldline/*") == ""
    assert b.actor.shared.status.now.home == ""


async def test_in_isolation_home_was_never_left(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo, in_place=False)
    b.script("Done.")
    assert await b.ask("hello") == "completed"
    result = await home(b)
    assert "never touched" in result.note and result.cursor == b.doc.cursor and branch(repo) == "main"


async def test_going_on_moves_head_too(bench: Any, repo: Any) -> None:
    b = await begin(bench, repo, "One.", "Two.")
    assert await b.ask("one") == "completed"
    git(repo, "switch", "-q", "main")
    await b.actor.handle("go_on", GoOn(turns=1))
    await b.actor.runs.idle()
    assert branch(repo) == f"worldline/{b.actor.shared.slug}/start"


async def test_a_branch_whose_name_is_no_text_does_not_hinder_a_jump(bench: Any, repo: Any) -> None:
    """Where a fork is left that got no node, git is asked where its branch is checked out, and names all others."""
    git(repo, "checkout", "-q", "-b", os.fsdecode(b"caf\xe9"))
    b = await bench(workspace=repo)
    b.script(write("made.txt", "made\n"), "done")
    assert await b.ask("work") == "completed"
    last, first = b.doc.cursor, b.nodes("user")[0].uid
    for node in (first, last, first):
        await go(b, Jump(node=node))
    assert not (b.root / "made.txt").exists()


@pytest.mark.parametrize("files", ["keep", "back"])
async def test_a_branch_whose_name_is_no_text_is_come_back_to(bench: Any, repo: Any, files: str) -> None:
    name = os.fsdecode(b"caf\xe9")
    git(repo, "checkout", "-q", "-b", name)
    head = (repo / ".git" / "HEAD").read_bytes()
    b = await begin(bench, repo, write("made.txt", "made\n"), "done")
    assert await b.ask("work") == "completed"
    assert branch(repo).startswith("worldline/")
    await home(b, files)
    assert (repo / ".git" / "HEAD").read_bytes() == head
    assert (repo / "made.txt").exists() == (files == "keep")
