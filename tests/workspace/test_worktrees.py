"""What removing a worktree would lose, and removing it: nothing unnamed goes, nothing outside is touched, no crash harms."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import anew, isolate, leases, worktrees
from worldline.workspace.engine import Workspace
from worldline.workspace.kept import Kept

from .conftest import run_sh, snapshot
from .test_isolate import INNER, SUBMODULE
from .test_scenarios import BASE

Sh = Callable[..., str]


def make(work: Path, name: str = "5e55") -> Path:
    made = isolate.prepare(work, name)
    isolate.release(made.root)
    return made.root


def test_what_is_as_in_the_persons_folder_is_not_lost(work: Path, sh: Sh) -> None:
    sh(f"{BASE} && {INNER} && {SUBMODULE} && echo mine > a.txt && rm b.txt && echo new > new.txt && ln -s a.txt link "
       "&& echo KEY=1 > .env && echo .env >> .git/info/exclude")  # fmt: skip
    made = make(work)
    assert worktrees.would_lose(made) == []
    before = snapshot(work, skip=())
    worktrees.remove(made, [])
    assert not made.exists() and not made.with_name(made.name + ".info").exists()
    assert "5e55" not in sh("git worktree list")
    after = snapshot(work, skip=())
    assert {p for p in before if before[p] != after.get(p)} <= {".git/worktrees", ".git/index"} | {
        p for p in before if p.startswith(".git/worktrees/")
    }


def test_everything_that_would_be_gone_is_named(work: Path, sh: Sh) -> None:
    sh(f"{BASE} && {INNER} && {SUBMODULE} && printf '*.log\\nbuild/\\n' >> .git/info/exclude")
    made = make(work)
    run_sh(
        "echo x > a.txt && git rm -q b.txt && echo s1 > dir/d && git add dir/d && echo s2 > dir/d && chmod +x dir/sub/s "
        "&& echo u > $'new\\xff file' && echo l > x.log && mkdir build && echo o > build/o && mkdir shut && echo s > shut/s "
        "&& git update-index --assume-unchanged .gitmodules && echo '# x' >> .gitmodules "
        "&& cd nested/inner && echo c > c && git add c && git commit -qm inner && cd ../../sub && git commit -qam sub",
        made,
    )
    lost = worktrees.would_lose(made)
    assert lost == [
        "changed file a.txt", "that file b.txt is deleted", "changed file dir/d", "what is staged of file dir/d",
        "changed file dir/sub/s", "untracked file new\udcff file", "untracked file shut/s", "changed file .gitmodules",
        "repository nested/inner with its own commits and changes", "repository sub with its own commits and changes",
        "ignored folder build/", "ignored file x.log",
    ]  # fmt: skip
    worktrees.remove(made, lost)
    assert not made.exists()


def test_commits_that_no_branch_holds_and_an_operation_are_named(work: Path, sh: Sh) -> None:
    sh(f"{BASE} && git checkout -qb other && echo o > a.txt && git commit -qam other && git checkout -q main")
    made = make(work)
    run_sh("git checkout -q --detach && echo d > d && git add d && git commit -qm 'on no branch'", made)
    oid = run_sh("git rev-parse HEAD", made).strip()
    assert worktrees.would_lose(made) == [f"commit {oid[:10]} on no branch"]
    run_sh("git tag kept", made)
    assert worktrees.would_lose(made) == []
    run_sh("echo m > a.txt && git commit -qam m && git tag m && git merge -q other || true", made)
    assert worktrees.would_lose(made)[:2] == ["the merge that is in progress", "changed file a.txt"]


def test_what_nodes_keep_is_not_lost(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(BASE)
    made = make(work)
    run_sh("git checkout -q --detach && echo x > a.txt && git commit -qam 'no branch' && echo y > a.txt && echo u > u "
           "&& git add u && echo u2 > u && rm b.txt", made)  # fmt: skip
    workspace = Workspace(made, tmp_path / "store")
    state = workspace.capture(None).state
    workspace.close()
    kept = Kept(tmp_path / "store", [state])
    loss = worktrees.loss_of(worktrees.place_of(made), kept)
    assert (loss.lines, loss.kept) == ([], 2)
    (made / "u").write_text("since\n")
    assert worktrees.would_lose(made, kept) == ["new file u"]
    nothing = Kept(tmp_path / "nowhere", [state])
    assert len(worktrees.would_lose(made, nothing)) == 5 and not (tmp_path / "nowhere").exists()


def test_a_git_file_that_leads_elsewhere_is_not_asked(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(BASE)
    made = make(work)
    run_sh(
        "git clone -q . elsewhere && printf 'gitdir: %s\\n' $PWD/elsewhere/.git > .git && rm -rf a.txt", made
    )
    lost = worktrees.would_lose(made)
    assert "repository elsewhere with its own commits and changes" in lost
    run_sh(f"rm -rf elsewhere .git && ln -s {work}/.git .git && echo changed > a.txt", made)
    assert worktrees.would_lose(made) == ["file a.txt (git cannot say whether it is in a commit)"]
    worktrees.remove(made, worktrees.would_lose(made))
    assert sh("git status --porcelain") == "" and "5e55" not in sh("git worktree list")


def test_folders_that_no_repository_knows(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = make(work)
    sh("git worktree unlock $(basename $(ls -d .git/worktrees/*)) && mv .git ../gone.git")
    assert worktrees.would_lose(made) == []
    (made / "only.txt").write_text("here\n")
    lost = worktrees.would_lose(made)
    assert lost == ["file only.txt (git cannot say whether it is in a commit)"]
    worktrees.remove(made, lost)
    # A creation that was killed at its beginning: no record, no registration.
    half = paths.worktrees_dir() / "half-made"
    half.mkdir()
    (half / "f").write_text("x")
    assert [place.path for place in worktrees.found()] == [half]
    worktrees.remove(half, worktrees.would_lose(half))
    assert worktrees.found() == []


def test_a_registration_without_a_folder_goes_as_well(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = make(work)
    run_sh(f"rm -rf '{made}'", work)
    [place] = worktrees.found()
    assert not place.there and "5e55" in sh("git worktree list")
    with pytest.raises(WorkspaceError) as caught:
        worktrees.remove(made, ["changed file a"])
    assert caught.value.kind == "changed"
    worktrees.remove(made, [])
    assert worktrees.found() == [] and "5e55" not in sh("git worktree list")


BEGUN = """
import os, signal, sys
from pathlib import Path
from worldline.workspace import isolate
name = sys.argv[2]
def die(*_a, **_k): os.kill(os.getpid(), signal.SIGKILL)
plain = Path.write_bytes, Path.write_text
def bytes_of(self, data):
    if self.name == name: plain[0](self, data[:7]); die()
    return plain[0](self, data)
def text_of(self, text, *more):
    if self.name == name: plain[1](self, text[:7], *more); die()
    return plain[1](self, text, *more)
Path.write_bytes, Path.write_text = bytes_of, text_of
isolate.prepare(Path(sys.argv[1]), "5e55")
"""


@pytest.mark.parametrize("name", ["locked", "commondir", "gitdir", "HEAD", ".git"])
def test_a_registration_that_was_only_begun_goes_as_well(work: Path, sh: Sh, name: str) -> None:
    """Git neither lists nor prunes one that does not say what it is for and is locked."""
    sh(BASE)
    done = subprocess.run(
        [sys.executable, "-c", BEGUN, str(work), name], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    [place] = worktrees.found()
    assert [entry.name for entry in work.glob(".git/worktrees/*")] == [place.path.name]
    worktrees.remove(place.path, worktrees.would_lose(place.path))
    assert not (work / ".git/worktrees").exists()
    assert os.listdir(paths.worktrees_dir()) == []


@pytest.mark.parametrize("back", [None, "", "/", "/somewhere/else/.git"])
def test_making_a_folder_anew_goes_on_with_an_entry_that_it_had_begun(
    work: Path, sh: Sh, tmp_path: Path, back: str | None
) -> None:
    sh(BASE)
    workspace = Workspace(work, tmp_path / "store", free_floor=0, watch=False)
    state = workspace.capture(None).state
    workspace.close()
    folder = tmp_path / "anew"
    begun = work / ".git/worktrees/anew"
    begun.mkdir(parents=True)
    (begun / "locked").write_text("used by Worldline session 5e55\n")
    if back is not None:
        (begun / "gitdir").write_text(back)
    made = anew.make(folder, tmp_path / "store", state, anew.Origin(work, "5e55"), "5e55")
    assert made.linked and run_sh("git status --porcelain", folder) == sh("git status --porcelain")
    others = [] if back != "/somewhere/else/.git" else ["anew"]  # that one is for another folder
    assert sorted(os.listdir(begun.parent)) == sorted({*others, "anew-1" if others else "anew"})


def test_an_entry_that_leads_elsewhere_is_somebody_elses(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(BASE)
    made = make(work)
    entry = work / ".git/worktrees" / made.name
    (entry / "gitdir").write_text(f"{tmp_path}/moved/.git\n")
    worktrees.remove(made, worktrees.would_lose(made))
    assert (entry / "HEAD").is_file()


def test_what_the_folder_itself_says_of_its_entry_is_not_taken_on_trust(
    work: Path, sh: Sh, tmp_path: Path
) -> None:
    sh(BASE)
    made = make(work)
    precious = tmp_path / "worktrees" / made.name
    precious.mkdir(parents=True)
    (precious / "precious").write_text("p")
    (made / ".git").write_text(f"gitdir: {precious}\n")
    made.with_name(made.name + ".info").unlink()
    worktrees.remove(made, worktrees.would_lose(made))
    assert not made.exists() and (precious / "precious").is_file()


def test_other_worktrees_of_the_person_stay(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(f"{BASE} && git worktree add -q ../theirs && git worktree add -q ../gone && rm -rf ../gone")
    made = make(work)
    worktrees.remove(made, [])
    listed = sh("git worktree list")
    assert "theirs" in listed and "gone" in listed and "5e55" not in listed


def test_nothing_outside_is_touched(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(BASE)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("p")
    (outside / "shut").mkdir(mode=0o500)
    made = make(work)
    (made / "out").symlink_to(outside)
    (made / "dir" / "shut").symlink_to(outside / "shut")
    (paths.worktrees_dir() / "link").symlink_to(outside)
    (paths.worktrees_dir() / ".removing-link2").symlink_to(outside)
    (paths.worktrees_dir() / ".removing-link3").mkdir()
    (paths.worktrees_dir() / ".removing-link3" / "out").symlink_to(outside)
    before = snapshot(outside)
    for path in (
        paths.worktrees_dir() / "link",
        outside,
        work,
        made / "dir",
        paths.worktrees_dir(),
        made / "..",
        Path("/"),
    ):
        with pytest.raises(WorkspaceError) as caught:
            worktrees.remove(path, [])
        assert caught.value.kind == "refused", path
    worktrees.remove(made, worktrees.would_lose(made))
    assert not made.exists() and snapshot(outside) == before
    assert [place.is_link for place in worktrees.found()] == [True]


def test_folders_without_permission_go_too(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = make(work)
    run_sh("mkdir -p ro/in && echo f > ro/in/f && chmod 500 ro/in ro", made)
    worktrees.remove(made, ["untracked file ro/in/f"])
    assert not made.exists() and worktrees.found() == []


def test_one_in_use_stays(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = make(work)
    ask = f"from worldline.workspace import leases; from pathlib import Path; leases.take(Path({str(made)!r}), 'x'); print('taken', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", ask], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "taken\n"
        with pytest.raises(WorkspaceError) as caught:
            worktrees.remove(made, [])
        assert caught.value.kind == "leased" and made.is_dir()
        other.communicate("\n", timeout=PATIENCE_S)
    worktrees.remove(made, [])
    assert not made.exists()


def test_a_change_at_the_last_moment_stops_it(work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch) -> None:
    sh(BASE)
    made = make(work)
    real = worktrees.loss_of

    def late(place: worktrees.Place, kept: Kept | None = None) -> object:
        seen = real(place, kept)
        (made / "late").write_text("written after the look")
        return seen

    monkeypatch.setattr(worktrees, "loss_of", late)
    with pytest.raises(WorkspaceError) as caught:
        worktrees.remove(made, [])
    assert caught.value.kind == "changed"
    assert (made / "late").read_text() == "written after the look"
    assert leases.read(made) is None and "5e55" in sh("git worktree list")


STEPS = ("rename 1", "rename 2", "unregister", "delete", "info")
KILL = """
import os, signal, sys
from pathlib import Path
from worldline.workspace import worktrees
step, path = sys.argv[1], Path(sys.argv[2])
count = 0
def die(*_a, **_k): os.kill(os.getpid(), signal.SIGKILL)
rename, remove_tree = Path.rename, worktrees.remove_tree
def counted(self, target):
    global count
    made = rename(self, target)
    count += 1
    if step == f"rename {count}": die()
    return made
def half(folder):
    (folder / "a.txt").unlink()
    die()
Path.rename = counted
if step == "unregister": worktrees._unregister = die
if step == "delete": worktrees.remove_tree = half
if step == "info":
    def gone(folder):
        remove_tree(folder); die()
    worktrees.remove_tree = gone
worktrees.remove(path, ["untracked file new"])
"""


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_is_undone_or_finished(work: Path, sh: Sh, step: str) -> None:
    sh(BASE)
    made = make(work)
    (made / "new").write_text("n")
    before = snapshot(made, skip=())
    done = subprocess.run(
        [sys.executable, "-c", KILL, step, str(made)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    worktrees.finish()
    if step == "rename 1":  # not decided yet
        assert snapshot(made, skip=()) == before
        assert worktrees.would_lose(made) == ["untracked file new"]
        worktrees.remove(made, ["untracked file new"])
    assert worktrees.found() == [] and not made.exists()
    assert "5e55" not in sh("git worktree list") and sh("git worktree prune && git fsck") == ""
    assert os.listdir(paths.worktrees_dir()) == []


def test_a_list_does_not_meddle_with_a_removal(work: Path, sh: Sh) -> None:
    passing = paths.worktrees_dir() / ".removing-x"
    passing.mkdir()
    with worktrees._alone():
        worktrees.finish()
        assert passing.is_dir()
    worktrees.finish()
    assert not passing.exists()


def test_size_is_bounded_in_time(work: Path, sh: Sh) -> None:
    sh(BASE)
    place = worktrees.place_of(make(work))
    size, whole = worktrees.size_of(place, 60)
    assert whole and size >= 8
    assert worktrees.size_of(place, -1) == (0, False)


def test_commits_that_only_the_reflog_leads_to_are_named(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(f"{BASE} && git config gc.reflogExpireUnreachable 20.days")
    made = make(work)
    run_sh(
        "git commit -q --allow-empty -m 'on the branch' && git reset -q --hard HEAD~ && git checkout -q --detach",
        made,
    )
    assert worktrees.would_lose(made) == []  # the reflog of the branch stays
    run_sh("git commit -q --allow-empty -m first && git commit -q --allow-empty -m second", made)
    oids = run_sh("git log --format=%h --abbrev=10 -2", made).split()
    run_sh("git switch -q -", made)
    lines = [
        f"commit {oids[0]} second (only the reflog leads to it)",
        f"commit {oids[1]} first (only the reflog leads to it)",
    ]
    assert worktrees.would_lose(made) == lines
    workspace = Workspace(made, tmp_path / "store")
    run_sh(f"git checkout -q {oids[1]}", made)
    state = workspace.capture(None).state
    workspace.close()
    run_sh("git switch -q -", made)
    kept = Kept(tmp_path / "store", [state])
    assert worktrees.would_lose(made, kept) == lines[:1]
    log = Path(run_sh("git rev-parse --path-format=absolute --git-path logs/HEAD", made).strip())
    whole = log.read_text()
    now = str(int(time.time()))[:6]
    log.write_text("".join(f"{row.replace(f'> {now}', '> 1000')}\n" for row in whole.splitlines()))
    assert worktrees.would_lose(made) == []  # git would drop them
    sh("git config gc.reflogExpireUnreachable never")
    assert worktrees.would_lose(made) == lines
    log.write_text(whole)
    run_sh("git branch kept HEAD@{1} || git branch kept @{-1}", made)
    assert not any(oids[1] in line for line in worktrees.would_lose(made))
    worktrees.remove(made, worktrees.would_lose(made))
    assert not made.exists()


def test_many_commits_in_the_reflog_are_named_up_to_a_limit(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = make(work)
    run_sh("git checkout -q --detach && tree=$(git rev-parse HEAD^{tree}) && at=$(git rev-parse HEAD) && "
           "for i in $(seq 60); do at=$(git commit-tree -p $at -m n$i $tree); done && git reset -q $at && git switch -q -", made)  # fmt: skip
    lost = worktrees.would_lose(made)
    assert len(lost) == 51 and lost[-1] == "more commits that only the reflog leads to"


def test_what_git_was_only_told_of_is_a_new_file_and_not_staged(work: Path, sh: Sh) -> None:
    sh(f"{BASE} && {INNER}")
    made = make(work)
    run_sh("echo n > n && git add -N n && echo s > s && git add s && echo u > u", made)
    assert worktrees.would_lose(made) == ["new file n", "new file s", "untracked file u"]
    run_sh("rm n s u && git reset -q && cd nested/inner && cp n m && git add -N m && cp m ../../m2", made)
    (work / "nested" / "inner" / "m").write_bytes((made / "nested" / "inner" / "m").read_bytes())
    (work / "m2").write_bytes((made / "m2").read_bytes())
    assert worktrees.would_lose(made) == []
