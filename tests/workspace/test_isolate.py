"""A session's own worktree: everything of the person's goes along, nothing of theirs changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest

from tests_support import run_code
from worldline.core.errors import WorkspaceError
from worldline.workspace import isolate, leases

from .conftest import REPO, run_sh, snapshot
from .test_engine import SETUP

Sh = Callable[..., str]

INNER = (
    "mkdir -p nested/inner && cd nested/inner && git init -q -b main . && echo n > n && git add . && git commit -qm n "
    "&& echo more > n && git add n && echo worktree > n && cd ../.. && mkdir bare-init && git -C bare-init init -q && echo b > bare-init/b"
)
SUBMODULE = (
    "git init -q -b main ../lib && cd ../lib && echo lib > lib && git add . && git commit -qm lib && cd - "
    "&& git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm sub && echo edit > sub/lib"
)


def test_the_uncommitted_work_goes_along(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(f"{SETUP} && {INNER} && {SUBMODULE}")
    sh("mkdir -p build/keep && echo o > build/keep/o && echo p > build/p && printf 'build/\\n' >> .git/info/exclude "
       "&& printf 'build/keep/\\n' > .worktreeinclude")  # fmt: skip
    before = snapshot(work)
    git_before = {p: v for p, v in snapshot(work, skip=()).items() if p.startswith(".git/")}
    made = isolate.prepare(work, "abcd1234")
    copied = snapshot(made.path)
    expected = {path: value for path, value in before.items() if path not in ("x.log", "build/p")}
    assert copied == expected
    assert sorted(made.included) == [".env", "build/keep/o"]
    run = lambda command: run_sh(command, made.path)  # noqa: E731
    assert run("git ls-files -s") == sh("git ls-files -s")
    assert run("git status --porcelain -z") == sh("git status --porcelain -z")
    assert run("git -C nested/inner status --porcelain") == sh("git -C nested/inner status --porcelain")
    assert run("git -C sub status --porcelain") == sh("git -C sub status --porcelain")
    assert run("git -C sub rev-parse --show-toplevel").strip() == str(made.path / "sub")
    assert run("git symbolic-ref HEAD").strip() == "refs/heads/worldline/abcd1234/start"
    assert snapshot(work) == before
    git_after = {p: v for p, v in snapshot(work, skip=()).items() if p.startswith(".git/")}
    new = {p for p in git_after if git_after[p] != git_before.get(p)}
    # `git status` in the test itself refreshes the person's index.
    assert all(
        p.startswith(
            (".git/worktrees", ".git/refs/heads/worldline", ".git/logs/refs/heads/worldline", ".git/index")
        )
        or p in (".git/modules/sub/index",)
        for p in new
    ), new
    run("git commit -qam inside && git fsck")
    sh("git worktree prune && git gc -q --prune=now")
    assert (made.path / ".git").is_file() and run("git log -1 --format=%s").strip() == "inside"
    assert sh("git log -1 --format=%s").strip() == "sub"


def test_a_failure_leaves_nothing(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo a > a && git add . && git commit -qm i")

    def stop(*_: object) -> None:
        raise OSError(28, "No space left on device")

    sh("for n in $(seq 250); do echo $n > f$n; done")
    before = snapshot(work, skip=())
    with pytest.raises(WorkspaceError) as caught:
        isolate.prepare(work, "abcd1234", progress=stop)
    assert caught.value.kind == "cannot_isolate"
    after = snapshot(work, skip=())
    gone = {p for p in after if p not in before}
    assert all(
        p.startswith((".git/worktrees", ".git/refs/heads/worldline", ".git/logs/refs/heads/worldline"))
        for p in gone
    )
    assert not any(Path(work / p).is_file() for p in gone)
    assert isolate.prepare(work, "abcd1234").root.is_dir()


def test_leases(work: Path, sh: Sh) -> None:
    sh("git init -q -b main .")
    made = isolate.prepare(work, "abcd1234")
    assert made.base_commit == "" and leases.read(made.root) is not None
    run_sh("echo a > a && git add a && git commit -qm first", made.root)
    isolate.release(made.root)
    assert leases.read(made.root) is None


def test_no_repository(work: Path) -> None:
    with pytest.raises(WorkspaceError) as caught:
        isolate.prepare(work, "abcd1234")
    assert caught.value.kind == "no_repository"


def test_a_rebase_in_progress_goes_on_with_the_sessions_branch(work: Path, sh: Sh) -> None:
    sh(
        REPO
        + "echo 1 > a && git add . && git commit -qm i && git checkout -qb t && echo 2 > a && git commit -qam t"
    )
    sh("git checkout -q main && echo 3 > a && git commit -qam m && (git rebase t >/dev/null 2>&1 || true)")
    before = sh("git rev-parse main HEAD; git ls-files -s; git status --porcelain; cat a")
    isolated = isolate.prepare(work, "r1")
    there = f"cd {isolated.path} && "
    assert sh(there + "git status --porcelain; cat a") == sh("git status --porcelain; cat a")
    assert any("rebase" in note for note in isolated.notes)
    sh(there + "echo solved > a && git add a && GIT_EDITOR=true git rebase --continue")
    assert sh(there + "git branch --show-current").strip() == "worldline/r1/start"
    assert sh(there + "git log --format=%s").split() == ["m", "t", "i"]
    assert sh("git rev-parse main HEAD; git ls-files -s; git status --porcelain; cat a") == before
    sh("git rebase --abort")
    assert sh("git branch --show-current").strip() == "main"


def test_a_rebase_that_was_left_for_a_branch_without_a_commit(work: Path, sh: Sh) -> None:
    sh(
        REPO
        + "echo 1 > a && git add . && git commit -qm i && git checkout -qb t && echo 2 > a && git commit -qam t"
    )
    sh("git checkout -q main && echo 3 > a && git commit -qam m && (git rebase t >/dev/null 2>&1 || true)")
    sh("git add a && git checkout -q --orphan fresh")
    isolated = isolate.prepare(work, "r2")
    say = "git status --porcelain=v2; git ls-files -s; git symbolic-ref HEAD; cat a"
    assert run_sh(say, isolated.path) == sh(say).replace("refs/heads/fresh", "refs/heads/worldline/r2/start")


def test_special_files_are_named_and_never_opened(work: Path, sh: Sh) -> None:
    sh(
        "git init -q -b main . && echo a > a && ln -s a link && mkdir d && mkfifo d/pipe && git add -A && git commit -qm one"
    )
    os.utime(work / "a", ns=(10**18, 10**18))
    (work / "a").chmod(0o640)
    made = isolate.prepare(work, "special")
    assert made.notes == ["d/pipe is no regular file; it was not copied"]
    assert (made.path / "link").readlink() == Path("a") and not (made.path / "d" / "pipe").exists()
    status = (made.path / "a").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o640, 10**18)


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ("true", 0),
        ("touch a.txt", 0),
        ("echo more >> a.txt", 1),
        ("echo more >> a.txt && git add a.txt", 1),
        ("echo A > a.txt", 1),
        ("echo a > new && mv new a.txt && echo > b.txt", 1),
        ("git config core.autocrlf input && printf 'a\\r\\n' > a.txt", 1),
        ("echo '* text=auto' > .gitattributes && printf 'a\\r\\n' > a.txt", 2),
        (
            "mkdir d && cp a.txt d/a && git add d && git commit -qm two && echo '* text=auto' > d/.gitattributes && printf 'a\\r\\n' > d/a",
            2,
        ),
        ("rm a.txt && echo u > untracked && mkdir d && echo v > d/v && echo w > d/w", 4),
        ("chmod +x a.txt && git rm -q --cached b.txt", 2),
        ("git init -q inner && echo i > inner/i && echo k > .env && echo l > x.log", 0),
        ("echo '*.log' > .gitignore && echo k > .env && echo l > x.log", 2),
        ("echo n > n && git add -N n", 1),
        ("echo n > n && git add -N n && git write-tree", 1),
        ("echo n > n && git add n && git write-tree", 1),
        ("echo n > n && git add n && git commit -qm two && git reset -q --soft HEAD~1 && touch a.txt", 1),
        ("git rm -q --cached a.txt && git write-tree", 1),
        (
            "git update-index --split-index && git mv a.txt n.txt && echo n > other && git add other && chmod +x b.txt",
            4,
        ),
        (
            "mkdir in out && echo 1 > in/a && echo 1 > out/b && git add . && git commit -qm 2 && git sparse-checkout set --cone "
            "--sparse-index in && git rm -q in/a && echo c > b.txt",
            2,
        ),
        ("printf '*.txt text\n' > .gitattributes && git add . && printf 'a\r\n' > a.txt && touch b.txt", 2),
        ("git config core.autocrlf true && printf 'a\r\n' > a.txt && printf 'c\r\n' > b.txt", 2),
    ],
)
def test_how_much_of_it_is_uncommitted(work: Path, sh: Sh, change: str, number: int) -> None:
    sh("echo a > a.txt && echo b > b.txt && printf '*.log\\n.env\\n' > .gitignore && git init -q -b main . && git add . "
       "&& git commit -qm base")  # fmt: skip
    sh(change)
    listed = {line[3:] for line in sh("git status --porcelain --untracked-files=all --no-renames").splitlines()
              if not line.endswith("inner/")}  # fmt: skip
    assert isolate.prepare(work, "abcd1234").uncommitted == len(listed) == number


def test_what_git_noted_of_the_staging_area_is_its_tree_or_nothing(work: Path, sh: Sh) -> None:
    def noted() -> str:
        root, _ = isolate.root_of(work)
        root.refresh_index()
        return root.noted_tree.hex()

    sh("mkdir d e && echo a > a && echo b > d/b && echo e > e/e && git init -q -b main . && git add .")
    assert noted() == ""
    sh("git commit -qm one")
    assert noted() == sh("git rev-parse HEAD^{tree}").strip()
    sh("echo c > d/c && git add d/c")
    assert noted() == ""
    tree = sh("git write-tree").strip()
    assert noted() == tree
    sh("git read-tree HEAD && git update-index --index-version 4")
    assert noted() == sh("git rev-parse HEAD^{tree}").strip()
    sh("git update-index --split-index")
    assert noted() == ""


def test_all_of_a_repository_without_a_commit_is_uncommitted(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo a > a && echo b > b && git add a")
    assert isolate.prepare(work, "abcd1234").uncommitted == 2


def test_many_files_that_were_only_touched_are_not_uncommitted(
    work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is git asked about each of them."""
    sh("mkdir d && for i in $(seq 700); do echo $i > d/$i; done && echo '*.bat text' > .gitattributes "
       "&& git init -q -b main . && git add . && git commit -qm base")  # fmt: skip
    asked: list[str] = []

    def status_file(repo: pygit2.Repository, path: str) -> int:
        asked.append(path)
        return super(pygit2.Repository, repo).status_file(path)

    monkeypatch.setattr(pygit2.Repository, "status_file", status_file, raising=False)
    for number, touched in enumerate((700, 300)):
        sh("git update-index -q --refresh || true")
        for i in range(1, touched + 1):
            os.utime(work / "d" / str(i), (5 + number, 5 + number))
        for i in range(1, 31):
            (work / "d" / str(i)).write_text(f"changed {number}\n")
        assert isolate.prepare(work, f"touched{number}").uncommitted == 30
    assert not asked


@pytest.mark.parametrize("number", [1, 100])
def test_a_file_that_goes_while_it_is_counted_does_not_stop_it(
    work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """libgit2 gives up where a file that it has just seen is gone; a build makes such all the time."""
    sh(f"{REPO}echo '* text' > .gitattributes && for n in $(seq {number}); do echo $n > n$n; done && git add . && "
       "git commit -qm n && for n in n*; do echo more >> $n; done")  # fmt: skip

    def gone(*_: object) -> object:
        raise pygit2.GitError("could not find 'n1' to open: No such file or directory")

    monkeypatch.setattr(pygit2.Repository, "status_file", gone)
    monkeypatch.setattr(pygit2.Index, "diff_to_workdir", gone)
    assert isolate.prepare(work, "counted").uncommitted == number


def test_a_pipe_in_the_place_of_rules_does_not_hold_the_start_up(work: Path, sh: Sh) -> None:
    sh("echo a > a.txt && git init -q -b main . && git add . && git commit -qm base && git config core.autocrlf input "
       "&& echo b > a.txt && mkfifo .gitattributes")  # fmt: skip
    code = (
        "import sys; from pathlib import Path; from worldline.workspace import isolate; "
        "print(isolate.prepare(Path(sys.argv[1]), 'piped').uncommitted)"
    )
    assert run_code(code, work) == "1\n"


@pytest.mark.parametrize("command", ["git merge -q --squash t", "git cherry-pick -n t", "git revert -n HEAD"])
def test_the_message_of_a_commit_that_is_prepared_goes_along(work: Path, sh: Sh, command: str) -> None:
    """git begins the next commit with it, though no operation is in progress."""
    sh(REPO + "echo 1 > a && git add . && git commit -qm i && git checkout -qb t && echo t > b && git add . "
       "&& git commit -qm 'on t' && git checkout -q main && echo 2 > c && git add . && git commit -qm 'on main'")  # fmt: skip
    sh(command)
    isolated = isolate.prepare(work, "m1")
    say = "GIT_EDITOR=cat git commit -q --dry-run -v; cat $(git rev-parse --git-path MERGE_MSG) $(git rev-parse --git-path SQUASH_MSG)"
    told = run_sh(say, work, check=False)
    assert told and run_sh(say, isolated.path, check=False).replace("worldline/m1/start", "main") == told
