"""What a command can plant in git folders of the workspace: it leads neither reads nor writes of ours elsewhere, and
makes us wait for nothing."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.core.errors import WorkspaceError
from worldline.workspace.bundle import objects_of, take_objects
from worldline.workspace.engine import Workspace
from worldline.workspace.ignore import RuleSet, StateRules
from worldline.workspace.objects import BLOB, TREE, object_id
from worldline.workspace.safefs import SafeTree

from .conftest import run_sh, snapshot

START = "git init -q -b main . && echo 1 > a && git add a && git commit -qm one"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    run_sh(START, folder)
    return folder


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A repository of the person beside the workspace."""
    folder = tmp_path / "other"
    folder.mkdir()
    run_sh(START, folder)
    return folder


PLANTED = {
    "a pointer": "mkdir sub && echo 'gitdir: ../../other/.git' > sub/.git",
    "a link": "mkdir sub && ln -s ../../other/.git sub/.git",
    "a shared folder": "git init -q sub && cd sub && git commit -q --allow-empty -m s && echo ../../../other/.git > .git/commondir",
    "refs that lead there": "git init -q sub && cd sub && git commit -q --allow-empty -m s && rm -r .git/refs && ln -s ../../../other/.git/refs .git/refs",
    "the repository around": "mkdir sub && echo 'gitdir: ../.git' > sub/.git",
}


@pytest.mark.parametrize("how", PLANTED)
def test_another_repository_stays_as_it_is(tmp_path: Path, work: Path, other: Path, how: str) -> None:
    run_sh(PLANTED[how], work)
    (work / "sub" / "x").write_text("1\n")
    ws = Workspace(work, tmp_path / "store")
    first = ws.capture(None).state
    run_sh("echo 2 > a && git commit -qam two && git switch -qc mine && echo 3 > b && git add b", other)
    (work / "sub" / "x").write_text("2\n")
    last = ws.capture(first).state
    before = snapshot(other, skip=())
    branch = run_sh("git symbolic-ref HEAD", work)

    report = ws.apply(ws.plan(first, last=last), new_branch="worldline/s/2")
    ws.close()

    assert report.done
    assert snapshot(other, skip=()) == before
    assert (work / "sub" / "x").read_text() == "1\n", "its files are put back all the same"
    assert run_sh("git symbolic-ref HEAD", work) != branch


def test_files_of_an_operation_are_not_written_through_a_link(tmp_path: Path, work: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "id").write_text("secret")
    planted = work / ".git" / "sequencer"
    planted.mkdir()
    (planted / "authorized").write_text("theirs")
    ws = Workspace(work, tmp_path / "store")
    first = ws.capture(None).state
    run_sh(f"rm -r .git/sequencer && ln -s '{keys}' .git/sequencer && echo 2 > a", work)
    last = ws.capture(first)

    assert b"secret" not in b"".join(ws.store.read(bytes(oid.raw)) for oid in ws.store.repo)
    report = ws.apply(ws.plan(first, last=last.state))

    assert not report.done and "sequencer" in report.note
    assert (work / "a").read_text() == "2\n", "nothing was changed"
    assert {p.name: p.read_text() for p in keys.iterdir()} == {"id": "secret"}
    (work / ".git" / "sequencer").unlink()
    assert ws.apply(ws.plan(first, last=last.state)).done
    ws.close()


def test_the_log_of_head_is_not_written_through_a_link(tmp_path: Path, work: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("mine\n")
    ws = Workspace(work, tmp_path / "store")
    first = ws.capture(None).state
    run_sh(f"echo 2 > a && git commit -qam two && ln -sf '{profile}' .git/logs/HEAD", work)
    last = ws.capture(first).state

    assert ws.apply(ws.plan(first, last=last), new_branch="worldline/s/2").done
    ws.close()

    assert profile.read_text() == "mine\n"


PIPES = (
    "mkdir sub; mkfifo sub/.git",
    *(
        f"git init -q sub; rm -f sub/.git/{name}; mkdir -p sub/.git/info; mkfifo sub/.git/{name}"
        for name in ("HEAD", "index", "config", "info/exclude", "packed-refs", "MERGE_HEAD", "commondir", "refs/heads/main")
    ),
    "git init -q sub; ln -s /dev/zero sub/.git/index",
    "rm -f .git/info/exclude; mkfifo .git/info/exclude",
    "mkfifo .git/MERGE_HEAD",
)  # fmt: skip


def _capture(work: Path, store: Path) -> None:
    ws = Workspace(work, store)
    result = ws.capture(None)
    os._exit(0 if not result.error else 1)


@pytest.mark.parametrize("planted", PIPES)
def test_no_pipe_is_waited_for(tmp_path: Path, work: Path, planted: str) -> None:
    run_sh(planted, work)
    # In a process of its own: one that waits holds its thread for ever.
    capture = multiprocessing.get_context("fork").Process(target=_capture, args=(work, tmp_path / "store"))
    capture.start()
    capture.join(PATIENCE_S)
    hangs = capture.is_alive()
    if hangs:
        capture.kill()
        capture.join()

    assert not hangs
    assert capture.exitcode == 0


def test_stars_in_a_row_end() -> None:
    rules = RuleSet(b"*a" * 20 + b"*z\n" + b"**/a/" * 12 + b"**/z\n")

    assert rules.match("a" * 250, "a" * 250, False) is None
    assert rules.match("a/" * 120 + "f", "f", False) is None


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("*a*b\n", "xaxb", True),
        ("*ab*c/d\n", "xabab-c/d", True),
        ("x*/**/y*z\n", "xx/a/b/yyz", True),
        ("**/a/**/b\n", "b/a/a/b", True),
        ("**/a/**/b\n", "b/a/a/c", False),
        ("***/b\n", "a/b", True),
        ("a**/b\n", "axx/y/b", True),
        ("a*/b\n", "a/x/b", False),
    ],
)
def test_stars_mean_what_they_mean_to_git(tmp_path: Path, text: str, path: str, ignored: bool) -> None:
    run_sh("git init -q .", tmp_path)
    (tmp_path / ".gitignore").write_text(text)
    said = run_sh(f"git check-ignore --no-index {path}", tmp_path, check=False)

    assert bool(said.strip()) == ignored
    assert StateRules((RuleSet(text.encode()),), lambda _: None).ignored(path) == ignored


def test_a_held_lock_is_told_as_one(tmp_path: Path, work: Path) -> None:
    from worldline.workspace.gitlock import locked_replace

    (work / ".git" / "HEAD.lock").touch()
    with pytest.raises(WorkspaceError, match=r"HEAD\.lock"):
        locked_replace(work / ".git" / "HEAD", b"ref: refs/heads/x\n", "t", wait=0)


@pytest.mark.parametrize("name", [b"..", b".", b"", b"../x", b"/tmp/x", b".git", b".Git"])
def test_a_bundle_that_leads_out_of_its_folder_is_refused(tmp_path: Path, name: bytes) -> None:
    blob = (object_id(BLOB, b"x").hex(), "blob", b"x")
    tree = b"100644 " + name + b"\0" + bytes.fromhex(blob[0])

    with pytest.raises(WorkspaceError) as caught:
        take_objects(tmp_path / "store", [blob, (object_id(TREE, tree).hex(), "tree", tree)], [])

    assert caught.value.kind == "hostile"


@pytest.mark.parametrize("path", ["..", "a/../../x", "./x", "a//x"])
def test_no_name_leads_upwards(tmp_path: Path, path: str) -> None:
    (tmp_path / "inside" / "a").mkdir(parents=True)
    tree = SafeTree(tmp_path / "inside")
    try:
        with pytest.raises(OSError, match="cannot be the name"), tree.at(path):
            pass
        with pytest.raises(OSError, match="cannot be the name"):
            tree.make_folder(path, 0o755)
    finally:
        tree.close()


def test_of_a_state_of_somebody_else_only_files_are_put_back(tmp_path: Path, work: Path) -> None:
    """It could name hooks, and other repositories."""
    run_sh("git init -q sub && cd sub && git commit -q --allow-empty -m s && echo 1 > f", work)
    ws = Workspace(work, tmp_path / "store")
    state = ws.capture(None).state
    ws.close()
    store = tmp_path / "came"
    assert take_objects(store, objects_of(tmp_path / "store", [state]), [state])
    here = tmp_path / "here"
    here.mkdir()
    run_sh(START + " && echo 2 > a && git commit -qam two", here)
    head = run_sh("git rev-parse HEAD; git status --porcelain", here)
    mine = Workspace(here, store)
    last = mine.capture(None).state

    report = mine.apply(mine.plan(state, last=last, default_choice="restore"), new_branch="worldline/s/2")
    mine.close()

    assert report.done and "bundle" in report.note
    assert (here / "sub" / "f").read_text() == "1\n"
    assert not (here / "sub" / ".git").exists()
    assert run_sh("git rev-parse HEAD", here) == head.splitlines(keepends=True)[0]


def test_a_head_that_is_a_link_is_not_taken_for_no_commit(tmp_path: Path, work: Path) -> None:
    """Very old versions of git made it so. Nothing of git is touched, and the files can be put back."""
    run_sh("rm .git/HEAD && ln -s refs/heads/main .git/HEAD && git status", work)
    ws = Workspace(work, tmp_path / "store")
    first = ws.capture(None)
    assert any("HEAD is a link" in gap.reason for gap in first.omitted)
    run_sh("echo 2 > a && git commit -qam two", work)
    last = ws.capture(first.state).state
    report = ws.apply(ws.plan(first.state, last=last, default_choice="restore"), new_branch="worldline/s/2")
    ws.close()
    assert report.done and (work / "a").read_text() == "1\n"
    assert run_sh("git symbolic-ref HEAD && git log --format=%s -1", work) == "refs/heads/main\ntwo\n"


def test_a_repository_of_the_person_is_no_store(tmp_path: Path, work: Path, other: Path) -> None:
    """A session file that came from elsewhere may name it; its objects would be pruned."""
    before = snapshot(other, skip=())
    with pytest.raises(WorkspaceError) as caught:
        Workspace(work, other / ".git")
    assert caught.value.kind == "refused" and snapshot(other, skip=()) == before


def test_what_git_keeps_to_itself_is_not_carried_away(tmp_path: Path, work: Path) -> None:
    """The configuration of a nested repository may hold a password."""
    run_sh(
        "git init -q sub && cd sub && echo 1 > f && git add f && git commit -qm s && "
        "git remote add origin https://me:hunter2@example.org/x && echo gone > ../old && cd .. && git add old && "
        "git commit -qm old && git rm -qf old",
        work,
    )
    ws = Workspace(work, tmp_path / "store")
    first = ws.capture(None).state
    (work / "a").write_text("changed\n")
    last = ws.capture(first).state
    ws.close()
    carried = list(objects_of(tmp_path / "store", [first, last]))

    assert b"hunter2" not in b"".join(data for _, _, data in carried)
    store = tmp_path / "came"
    take_objects(store, carried, [first, last])
    here = tmp_path / "here"
    here.mkdir()
    mine = Workspace(here, store)
    assert mine.missing({first, last}) == {}
    assert mine.apply(mine.plan(first, last=mine.capture(None).state)).done
    assert (here / "sub" / "f").read_text() == "1\n"
    mine.prune({first})
    assert mine.missing({first}) == {} and (here / "a").read_text() == "1\n"
    mine.close()


def test_submodules_of_a_part_of_a_repository_belong_to_it(tmp_path: Path, work: Path, other: Path) -> None:
    run_sh(
        "mkdir d && git -c protocol.file.allow=always submodule add -q ../other d/m && "
        "git -c protocol.file.allow=always submodule add -q ../other beside && "
        "mkdir d/fake && cp beside/.git d/fake/.git && sed -i 's#\\.\\./#../../#' d/fake/.git",
        work,
    )
    ws = Workspace(work / "d", tmp_path / "store")
    result = ws.capture(None)
    roots = {root.path: root.trouble for root in ws.state(result.state).roots}
    ws.close()

    assert roots["m"] == ""
    assert "elsewhere" in roots["fake"]
