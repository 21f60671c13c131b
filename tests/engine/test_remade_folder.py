"""The folder of a session is gone: it is made anew from the last step, and nothing that exists is touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import git, in_conflict, run_worldline
from worldline.core import paths
from worldline.core.errors import WorldlineError
from worldline.engine.opening import OpenRequest, open_session
from worldline.engine.session import SessionActor
from worldline.protocol.commands import Hello, HelloResult
from worldline.protocol.wire import PROTOCOL_VERSION
from worldline.rehearsal.events import Call, Reply
from worldline.session.document import SessionDocument


def files_in(folder: Path) -> dict[str, str]:
    found = (p for p in folder.rglob("*") if p.is_file() and ".git" not in p.relative_to(folder).parts)
    return {str(p.relative_to(folder)): p.read_text() for p in found}


async def closed(written: Callable[..., Any], **options: Any) -> tuple[Path, Path, dict[str, str], str]:
    """A closed session that wrote a file twice: its file, its folder, what was in there, what git said."""
    b = await written(**options)
    session, folder, before, status = b.doc.path, b.root, files_in(b.root), git(b.root, "status", "--short")
    await b.actor.close()
    return session, folder, before, status


async def test_a_worktree_is_a_worktree_again(
    written: Callable[..., Any], repo: Path, bench: Callable[..., Any]
) -> None:
    session, folder, before, status = await closed(written)
    head, branch = git(folder, "rev-parse", "HEAD"), git(folder, "branch", "--show-current")
    shutil.rmtree(folder)
    with pytest.raises(WorldlineError) as gone:
        open_session(OpenRequest(session=session))
    assert gone.value.kind == "workspace_gone" and f"worldline remake-folder {session}" in gone.value.hint
    done = run_worldline("remake-folder", session, "--json")
    assert done.code == 0, done.err
    assert done.json["folder"] == str(folder) and "made anew" in done.json["note"]
    assert files_in(folder) == before and before["one.txt"] == "2\n" and before["mine.txt"] == "my own work\n"
    assert git(folder, "status", "--short") == status
    assert (git(folder, "rev-parse", "HEAD"), git(folder, "branch", "--show-current")) == (head, branch)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "goes on")
    assert git(repo, "log", "-1", "--format=%s", branch) == "goes on"
    b = await bench(session=session)
    b.script(Reply(text="x", calls=[Call("write", {"path": "three.txt", "content": "3\n"})]), "Done.")
    assert await b.ask("go on") == "completed"
    assert (folder / "three.txt").read_text() == "3\n"


async def test_without_its_registration_and_branch_it_is_one_too(
    written: Callable[..., Any], repo: Path
) -> None:
    session, folder, before, status = await closed(written)
    head, branch = git(folder, "rev-parse", "HEAD"), git(folder, "branch", "--show-current")
    git(repo, "worktree", "unlock", str(folder))
    git(repo, "worktree", "remove", "--force", str(folder))
    git(repo, "branch", "-D", branch)
    done = run_worldline("remake-folder", session)
    assert done.code == 0, done.err
    assert files_in(folder) == before and git(folder, "status", "--short") == status
    assert (git(folder, "rev-parse", "HEAD"), git(folder, "branch", "--show-current")) == (head, branch)
    assert str(folder) in git(repo, "worktree", "list")


async def test_the_sparse_checkout_of_a_folder_without_registration_comes_back(
    written: Callable[..., Any], repo: Path
) -> None:
    (repo / "out").mkdir()
    (repo / "out" / "o").write_text("o\n")
    git(repo, "add", "out")
    git(repo, "commit", "-qm", "out")
    git(repo, "sparse-checkout", "set", "--cone", "in")
    session, folder, before, status = await closed(written)
    assert "out/o" not in before
    git(repo, "worktree", "unlock", str(folder))
    git(repo, "worktree", "remove", "--force", str(folder))
    done = run_worldline("remake-folder", session)
    assert done.code == 0, done.err
    assert files_in(folder) == before and git(folder, "status", "--short") == status
    assert git(folder, "sparse-checkout", "list") == "in"
    assert "S out/o" in git(folder, "ls-files", "-t")


async def test_a_rebase_in_progress_goes_on_in_a_folder_that_is_made_anew(
    written: Callable[..., Any], repo: Path
) -> None:
    git(repo, "stash", "-qu")
    in_conflict(repo, "rebase")
    session, folder, before, status = await closed(written)
    assert "UU a.txt" in status
    shutil.rmtree(folder)
    done = run_worldline("remake-folder", session)
    assert done.code == 0, done.err
    assert files_in(folder) == before and git(folder, "status", "--short") == status
    assert "rebase in progress" in git(folder, "status")


async def test_not_in_the_folder_of_another_session(
    written: Callable[..., Any], repo: Path, tmp_path: Path
) -> None:
    other, others, _, _ = await closed(written)
    session, folder, before, _ = await closed(written)
    shutil.rmtree(folder)
    for place in (others / "inside", others.parent / "." / others.name / "one.txt"):
        refused = run_worldline("remake-folder", session, "--to", place)
        assert refused.code == 2 and ("another session" in refused.err or "there already" in refused.err)
    aside = tmp_path / "aside"
    others.rename(aside)  # as if its disk were not there
    refused = run_worldline("remake-folder", session, "--to", others)
    assert refused.code == 2 and "another session" in refused.err and not others.exists()
    aside.rename(others)
    assert run_worldline("verify", other).code == 0
    moved = tmp_path / "moved"
    assert run_worldline("remake-folder", session, "--to", moved).code == 0
    assert files_in(moved) == before and git(moved, "branch", "--show-current").startswith("worldline/")
    # git may forget the place where it was.
    git(repo, "worktree", "prune", "--expire=now")
    listed = git(repo, "worktree", "list")
    assert str(moved) in listed and str(others) in listed and str(folder) not in listed


async def test_without_the_repository_the_files_come_back(written: Callable[..., Any], repo: Path) -> None:
    session, folder, before, _ = await closed(written)
    shutil.rmtree(folder)
    shutil.rmtree(repo)
    done = run_worldline("remake-folder", session)
    assert done.code == 0 and "no git" in done.out, done.err
    assert files_in(folder) == before and not (folder / ".git").exists()
    with SessionDocument.open(session, mode="read") as doc:
        place = doc.info()["workspace"]
    assert (place["mode"], place["is_git"], place["path"]) == ("in_place", False, str(folder))


async def test_the_persons_own_folder_comes_back_in_its_place(
    written: Callable[..., Any], bench: Any, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("a\n")
    b = await bench(workspace=plain)
    session = b.doc.path
    await b.actor.close()
    shutil.rmtree(plain)
    plain.mkdir()
    (plain / "other.txt").write_text("somebody else's\n")
    assert run_worldline("remake-folder", session).code == 2, "it is there"
    shutil.rmtree(plain)
    taken = tmp_path / "taken"
    taken.mkdir()
    refused = run_worldline("remake-folder", session, "--to", taken)
    assert refused.code == 2 and "there already" in refused.err and not list(taken.iterdir())
    done = run_worldline("remake-folder", session)
    assert done.code == 0 and files_in(plain) == {"a.txt": "a\n"}
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


async def test_another_place_where_the_old_one_cannot_be_written(bench: Any, tmp_path: Path) -> None:
    plain = tmp_path / "disk" / "plain"
    plain.mkdir(parents=True)
    (plain / "a.txt").write_text("a\n")
    b = await bench(workspace=plain)
    session, slug = b.doc.path, b.actor.shared.slug
    await b.actor.close()
    shutil.rmtree(tmp_path / "disk")
    opened = open_session(OpenRequest(session=session, remake=True))
    folder = Path(opened.info.work_path)
    assert opened.work is not None
    await opened.work.close()
    opened.close()
    assert folder == paths.worktrees_dir() / slug / "files" and files_in(folder) == {"a.txt": "a\n"}
    assert "cannot be written" in opened.said and not (tmp_path / "disk").exists()
    again = await bench(session=session)
    assert again.root == folder and again.actor.shared.info.root == str(folder)
    listed = json.loads(run_worldline("worktrees", "--json").out)["folders"]
    assert [one["session_file"] for one in listed if one["name"] == slug] == [str(session)]


async def test_the_window_gets_it_said(written: Callable[..., Any], bench: Any) -> None:
    session, folder, _, _ = await closed(written)
    shutil.rmtree(folder)
    opened = OpenRequest(session=session, remake=True)
    actor = SessionActor(opened, lambda *_: None)
    try:
        await actor.start()
        hello = await actor.handle("hello", Hello(protocol=PROTOCOL_VERSION))
        assert isinstance(hello, HelloResult) and not hello.recovered
        assert f"The folder {folder} was made anew" in hello.note
    finally:
        await actor.close()


async def test_nothing_is_made_from_a_store_that_is_not_ours(
    written: Callable[..., Any], tmp_path: Path
) -> None:
    session, folder, _, _ = await closed(written)
    shutil.rmtree(folder)
    with SessionDocument.open(session) as doc:
        place = doc.info()["workspace"]
        elsewhere = tmp_path / "store"
        shutil.copytree(place["store"], elsewhere)
        doc.set_meta(
            "workspace", json.dumps({**place, "store": str(elsewhere), "path": str(tmp_path / "autostart")})
        )
    done = run_worldline("remake-folder", session)
    assert done.code == 1 and "nothing that the folder could be made from" in done.err
    assert not (tmp_path / "autostart").exists()


async def test_a_pruned_step_is_said_and_leaves_nothing(written: Callable[..., Any]) -> None:
    session, folder, _, _ = await closed(written)
    shutil.rmtree(folder)
    with SessionDocument.open(session, mode="read") as doc:
        store = Path(doc.info()["workspace"]["store"])
    for pack in store.glob("objects/pack/*"):
        pack.unlink()
    for loose in store.glob("objects/[0-9a-f][0-9a-f]"):
        shutil.rmtree(loose)
    done = run_worldline("remake-folder", session)
    assert done.code == 1 and not folder.exists(), done.out
    assert [p.name for p in folder.parent.iterdir() if "anew" in p.name] == []
