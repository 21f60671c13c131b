from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2
import pytest

from workspace.conftest import ENV, run_sh, snapshot
from worldline.core.errors import WorkspaceError
from worldline.workspace.bring_home import HomeReport, bring_home
from worldline.workspace.engine import Workspace
from worldline.workspace.model import DISK, NOT_CAPTURED
from worldline.workspace.take import take_file, with_hunks, without_hunks

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


def entries(report: HomeReport) -> dict[str, str]:
    return {e.path: e.action for e in report.entries}


def test_a_preview_changes_nothing(sides: Sides) -> None:
    state = sides.node("echo x >>f; echo n >new; rm del")
    before = sides.everything()
    for how in ("changes", "commit"):
        report = sides.bring(state, how, dry_run=True)
        assert entries(report) == {"f": "overwrite", "new": "create", "del": "delete"}
        assert not report.done and report.path == str(sides.mine)
    assert sides.everything() == before


def test_as_uncommitted_changes_beside_mine(sides: Sides) -> None:
    run_sh("echo mine >>keep; sed -i 's/^1$/one/' f; echo u >untracked", sides.mine)
    state = sides.node("sed -i 's/^20$/twenty/' f; echo n >new; chmod +x del; mkdir d; ln -s ../f d/l")
    report = sides.bring(state, "changes")
    assert report.done and not report.conflicts
    text = (sides.mine / "f").read_text()
    assert text.startswith("one\n") and text.endswith("twenty\n")
    assert (sides.mine / "keep").read_text() == "k\nmine\n" and (sides.mine / "untracked").exists()
    assert os.access(sides.mine / "del", os.X_OK) and os.readlink(sides.mine / "d/l") == "../f"
    assert run_sh("git log --oneline | wc -l", sides.mine).strip() == "1"
    assert sides.home.read_file(report.safety, "f").startswith(b"one\n2\n")
    assert sides.bring(state, "changes").entries == []


def test_conflicts_are_listed_and_nothing_is_done_until_each_is_decided(sides: Sides) -> None:
    run_sh("git rm -q del; sed -i 's/^5$/mine/' f; echo other >new", sides.mine)
    state = sides.node("sed -i 's/^5$/theirs/' f; echo x >>del; echo n >new; echo fine >>keep")
    before = sides.everything()
    report = sides.bring(state, "changes")
    assert report.conflicts == ["del", "f", "new"] and not report.done
    assert entries(report) == {"del": "conflict", "f": "conflict", "new": "conflict", "keep": "overwrite"}
    assert sides.everything() == before
    report = sides.bring(state, "changes", choices={"f": "ours", "del": "theirs", "new": "theirs"})
    assert report.done
    assert "mine" in (sides.mine / "f").read_text() and (sides.mine / "del").read_text() == "d\nx\n"
    assert (sides.mine / "keep").read_text() == "k\nfine\n" and (sides.mine / "new").read_text() == "n\n"


def test_as_one_commit(sides: Sides) -> None:
    run_sh(
        "git commit -q --allow-empty -m later; echo mine >>keep; echo s >staged; git add staged", sides.mine
    )
    state = sides.node("echo x >>f; echo n >new; git add -A; git commit -qm agent; rm del")
    report = sides.bring(state, "commit", message="What the agent did")
    assert report.done and report.branch == "main"
    assert run_sh("git log --format=%s", sides.mine).split("\n")[:3] == [
        "What the agent did",
        "later",
        "base",
    ]
    assert run_sh("git show --name-status --format= HEAD", sides.mine) == "D\tdel\nM\tf\nA\tnew\n"
    assert run_sh("git status --porcelain", sides.mine) == " M keep\nA  staged\n"
    assert run_sh("git fsck --no-dangling", sides.mine) == ""
    again = sides.bring(state, "commit")
    assert not again.done and "nothing to commit" in again.note.lower()


def test_a_commit_leaves_my_edits_of_the_same_file_uncommitted(sides: Sides) -> None:
    run_sh("sed -i 's/^1$/one/' f", sides.mine)
    state = sides.node("sed -i 's/^20$/twenty/' f")
    report = sides.bring(state, "commit")
    assert report.done
    assert run_sh("git show HEAD:f", sides.mine).startswith("1\n")
    assert (sides.mine / "f").read_text().startswith("one\n") and (sides.mine / "f").read_text().endswith(
        "twenty\n"
    )
    assert (
        run_sh("git diff --stat -- f | tail -1", sides.mine).strip()
        == "1 file changed, 1 insertion(+), 1 deletion(-)"
    )


def test_staged_changes_of_the_same_file_are_not_carried_away(sides: Sides) -> None:
    run_sh("sed -i 's/^1$/one/' f; git add f", sides.mine)
    state = sides.node("sed -i 's/^20$/twenty/' f")
    before = sides.everything()
    report = sides.bring(state, "commit")
    assert report.conflicts == ["f"] and not report.done
    assert sides.everything() == before


def test_as_a_branch(sides: Sides) -> None:
    run_sh("echo mine >>keep", sides.mine)
    state = sides.node("echo one >>f; git commit -qam agent; echo two >>f; echo n >new")
    before = sides.everything()
    report = sides.bring(state, "branch", branch="from-agent")
    assert report.done and report.safety == ""
    after = sides.everything()
    assert after["files"] == before["files"] and after["index"] == before["index"]
    assert run_sh(
        "git show from-agent:f | tail -2; git show from-agent:new; git log --format=%s from-agent", sides.mine
    ) == ("one\ntwo\nn\nWork of an agent session\nagent\nbase\n")
    for name, kind in (
        ("from-agent", "branch_exists"),
        ("a..b", "bad_branch"),
        ("", "bad_branch"),
        ("-x", "bad_branch"),
    ):
        with pytest.raises(WorkspaceError) as caught:
            sides.bring(state, "branch", branch=name)
        assert caught.value.kind == kind
    run_sh("git merge -q --no-edit from-agent", sides.mine)


def test_my_branch_has_moved_and_both_folders_are_dirty(sides: Sides) -> None:
    """The common commit is the node's, not where the branch is now."""
    run_sh("sed -i 's/^10$/ten/' f; git commit -qam moved; echo w >>keep", sides.mine)
    state = sides.node("sed -i 's/^20$/twenty/' f; echo agent >agent.txt")
    report = sides.bring(state, "changes")
    assert report.done and report.base == run_sh("git rev-parse HEAD~1", sides.mine).strip()
    assert (sides.mine / "f").read_text().splitlines()[9::10] == ["ten", "twenty"]
    assert run_sh("git diff --name-only", sides.mine) == "f\nkeep\n"


def test_edits_that_were_carried_over_are_not_brought_back(tmp_path: Path, sides: Sides) -> None:
    for side in (sides.mine, sides.theirs):
        run_sh("echo dirty >>keep; sed -i 's/^2$/two/' f", side)
    sides.begin()
    state = sides.node("sed -i 's/^20$/twenty/' f")
    assert entries(sides.bring(state, "changes", dry_run=True)) == {"f": "overwrite"}
    report = sides.bring(state, "commit")
    assert report.done
    assert (
        run_sh("git show --stat --format= HEAD | tail -1", sides.mine).strip()
        == "1 file changed, 1 insertion(+), 1 deletion(-)"
    )
    assert run_sh("git diff --name-only", sides.mine) == "f\nkeep\n"


def test_line_ends_that_git_converts(sides: Sides) -> None:
    for side in (sides.mine, sides.theirs):
        run_sh("git config core.autocrlf true; rm -f f keep del; git checkout -q -f -- .", side)
    sides.begin()
    assert (sides.theirs / "f").read_bytes().startswith(b"1\r\n")
    state = sides.node("printf 'x\\r\\n' >>f")
    assert entries(sides.bring(state, "changes", dry_run=True)) == {"f": "overwrite"}
    report = sides.bring(state, "commit")
    assert report.done
    assert (
        run_sh("git show --stat --format= HEAD | tail -1", sides.mine).strip()
        == "1 file changed, 1 insertion(+)"
    )
    assert run_sh("git status --porcelain", sides.mine) == ""
    assert (sides.mine / "f").read_bytes().endswith(b"20\r\nx\r\n")


def test_what_stays_in_the_session(sides: Sides) -> None:
    run_sh("printf 'out/\\n.env\\n' >.gitignore; git add .gitignore; git commit -qm ignore", sides.theirs)
    sides.begin()
    state = sides.node(
        "echo S=1 >.env; mkdir -p n && cd n && git init -q && echo 1 >a && git add a && git commit -qm n"
    )
    found = entries(sides.bring(state, "changes", dry_run=True))
    assert found == {".env": "not_captured", "n": "not_captured"}


@pytest.mark.parametrize(
    ("command", "kind"),
    [("git checkout -q --detach", "detached"), ("git merge -q --no-commit --no-ff other 2>&1", "repo_busy")],
)
def test_refused_before_anything_is_touched(sides: Sides, command: str, kind: str) -> None:
    run_sh(
        "git checkout -q -b other; echo o >o; git add o; git commit -qm o; git checkout -q main", sides.mine
    )
    run_sh(command, sides.mine)
    state = sides.node("echo x >>f")
    before = sides.everything()
    with pytest.raises(WorkspaceError) as caught:
        sides.bring(state, "commit")
    assert caught.value.kind == kind
    assert sides.everything() == before
    with pytest.raises(WorkspaceError):
        sides.bring(NOT_CAPTURED, "changes")


def test_a_failure_leaves_both_sides_as_before(sides: Sides) -> None:
    state = sides.node("echo x >>f; echo n >new")
    before, theirs = sides.everything(), snapshot(sides.theirs)
    lock = sides.mine / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    report = sides.bring(state, "commit")
    assert not report.done and report.commit == "" and report.note
    lock.unlink()
    assert sides.everything() == before and snapshot(sides.theirs) == theirs
    index_lock = sides.mine / ".git" / "index.lock"
    index_lock.touch()
    assert not sides.bring(state, "commit").done
    index_lock.unlink()
    assert sides.everything() == before
    assert sides.bring(state, "commit").done


def test_folders_without_git(tmp_path: Path) -> None:
    mine = tmp_path / "plain"
    mine.mkdir()
    (mine / "a").write_text("1\n")
    with_store = Workspace(mine, tmp_path / "p", free_floor=0)
    start = with_store.capture(None).state
    (mine / "a").write_text("2\n")
    later = with_store.capture(start).state
    (mine / "a").write_text("1\n")
    report = bring_home(with_store, with_store, later, how="changes", start=start, dry_run=False)
    assert report.done and (mine / "a").read_text() == "2\n"
    with pytest.raises(WorkspaceError, match="not a git repository"):
        bring_home(with_store, with_store, later, how="commit", start=start)
    with_store.close()


# -- taking single files


def test_take_a_file_keeps_a_copy_of_what_is_there(sides: Sides) -> None:
    state = sides.node("echo theirs >>f; chmod +x f")
    run_sh("echo mine >>f", sides.theirs)
    taken = take_file(sides.source, state, "f", last=state)
    assert taken.report.done and taken.safety_changed
    assert (sides.theirs / "f").read_text().endswith("theirs\n") and os.access(sides.theirs / "f", os.X_OK)
    assert sides.source.read_file(taken.safety, "f").endswith(b"mine\n")
    assert take_file(sides.source, sides.start, "f", last=state).report.done
    assert not os.access(sides.theirs / "f", os.X_OK)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "nowhere")
    assert caught.value.kind == "missing_file"


def test_take_some_changes(sides: Sides) -> None:
    state = sides.node("sed -i 's/^2$/two/;s/^10$/ten/;s/^19$/nineteen/' f")
    run_sh("git checkout -q f; sed -i 's/^6$/six/' f", sides.theirs)
    shown = sides.source.file_diff(sides.start, state, "f", context=1)
    assert sum(r.kind == "@" for r in shown.rows) == 3
    taken = take_file(sides.source, state, "f", hunks=[0, 2], against=sides.start, context=1)
    assert taken.report.done
    lines = (sides.theirs / "f").read_text().splitlines()
    assert (lines[1], lines[5], lines[9], lines[18]) == ("two", "six", "10", "nineteen")
    against_disk = sides.source.file_diff(DISK, state, "f", context=0)
    numbers = [n for n, r in enumerate(r for r in against_disk.rows if r.kind == "@") if r.new == 10]
    assert take_file(sides.source, state, "f", hunks=numbers, context=0).report.done
    assert (sides.theirs / "f").read_text().splitlines()[9] == "ten"
    before = (sides.theirs / "f").read_bytes()
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "f", hunks=[7])
    assert caught.value.kind == "bad_hunk"
    run_sh("sed -i 's/^two$/zwei/' f", sides.theirs)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "f", hunks=[0], against=sides.start, context=1)
    assert caught.value.kind == "conflict"
    assert (sides.theirs / "f").read_bytes() == before.replace(b"two", b"zwei")


def test_hunks_against_git(tmp_path: Path) -> None:
    """All hunks give the new content, none the old; with lone carriage returns and no newline at the end."""
    import random

    rng = random.Random(5)
    for _ in range(60):
        old = [rng.choice(["a", "b", "c\rd", "", "e\r"]) for _ in range(rng.randrange(30))]
        new = [x for x in old if rng.random() > 0.2] + ["z"] * rng.randrange(2)
        a, b = ("\n".join(lines).encode() + b"\n" * rng.randrange(2) for lines in (old, new))
        count = 0
        while True:
            try:
                with_hunks(a, b, [count], 0)
            except WorkspaceError:
                break
            count += 1
        assert with_hunks(a, b, range(count), 0) == b
        assert with_hunks(a, b, [], 0) == a


def test_the_worktree_is_left_alone_by_git(sides: Sides) -> None:
    state = sides.node("echo x >>f")
    sides.bring(state, "commit")
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=sides.theirs, env=ENV, capture_output=True, check=True
    )
    assert status.stdout == b" M f\n"


@pytest.mark.parametrize("how", ["changes", "commit"])
def test_a_file_edited_while_it_is_brought(sides: Sides, how: str) -> None:
    state = sides.node("echo x >>f; echo n >new")
    before = sides.everything()

    def edit(what: str, done: int, total: int) -> None:
        if what == "restore":
            (sides.mine / "f").write_text("edited meanwhile\n")

    report = sides.bring(state, how, progress=edit)
    assert not report.done and "changed while this ran" in report.note
    after = sides.everything()
    assert after["files"].pop("f")[1] == b"edited meanwhile\n"
    before["files"].pop("f")
    assert (
        after["files"] == before["files"]
        and after["refs"] == before["refs"]
        and after["index"] == before["index"]
    )


def test_changes_are_taken_back_by_the_hunks_that_were_shown() -> None:
    import random

    rng = random.Random(11)
    for _ in range(80):
        old = [rng.choice(["{", "}", "", "a", "b"]) for _ in range(rng.randrange(40))]
        new = [line for line in old if rng.random() > 0.15]
        for _ in range(rng.randrange(6)):
            new.insert(rng.randrange(len(new) + 1), rng.choice(["{", "}", "", "c"]))
        before = "\n".join(old).encode()
        after = "\n".join(new).encode()
        for context in (0, 1, 3):
            count = len(list(pygit2.Patch.create_from(before, after, context_lines=context).hunks))
            everything = range(count)
            assert without_hunks(before, after, everything, context) == before
            assert without_hunks(before, after, [], context) == after
            for some in ({0}, set(range(0, count, 2))):
                some &= set(everything)
                rest = set(everything) - some
                # Taking some back leaves what taking the others gives.
                assert without_hunks(before, after, some, context) == with_hunks(before, after, rest, context)


def test_a_file_that_is_not_there_is_taken_away_only_when_asked(sides: Sides) -> None:
    state = sides.node("echo n >made; git mv f g")
    assert take_file(sides.source, sides.start, "made", last=state, remove="made").report.done
    assert not (sides.theirs / "made").exists()
    taken = take_file(sides.source, sides.start, "f", last=state, remove="g")
    assert taken.report.done and (sides.theirs / "f").exists() and not (sides.theirs / "g").exists()
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, sides.start, "made", last=state)
    assert caught.value.kind == "missing_file"
    # Hunks of text in another encoding are not those of its bytes.
    run_sh("printf 'a\\n' | iconv -t utf-16 >wide", sides.theirs)
    wide = sides.source.capture(None).state
    run_sh("printf 'b\\n' | iconv -t utf-16 >wide", sides.theirs)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, wide, "wide", hunks=[0])
    assert caught.value.kind == "bad_hunk" and "UTF-8" in str(caught.value)


@pytest.mark.parametrize("how", ["commit", "branch"])
@pytest.mark.parametrize("where", ["mine", "theirs"])
def test_what_a_filter_hides_is_not_committed_in_clear(sides: Sides, how: Any, where: str) -> None:
    """git-crypt and the like: its program is not run, so the commit would hold the secret."""
    if where == "mine":
        run_sh("echo '*.key filter=crypt' > .git/info/attributes", sides.mine)
    state = sides.node("echo '*.key filter=crypt' > .gitattributes; echo secret > new.key; echo more >> f")

    report = sides.bring(state, how, branch="from-session", message="work")

    assert report.done
    kept = {e.path: e for e in report.entries}
    assert "crypt" in kept["new.key"].reason
    assert kept["new.key"].action == ("create" if how == "commit" else "not_captured")
    assert "new.key" not in run_sh(f"git ls-tree -r --name-only {report.commit}", sides.mine)
    assert "more" in run_sh(f"git show {report.commit}:f", sides.mine)


def test_bringing_that_was_killed_is_taken_back_before_the_next(sides: Sides) -> None:
    state = sides.node("echo more >> f; echo new > new; rm del")
    before = sides.everything()
    child = os.fork()
    if child == 0:
        import worldline.workspace.apply as applying

        applying.Restorer._verify = lambda self: os.kill(os.getpid(), 9)  # type: ignore[method-assign]
        home = Workspace(sides.mine, sides.home.store.path)
        bring_home(sides.source, home, state, how="changes", start=sides.start, dry_run=False)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 9
    assert (sides.mine / "new").exists(), "it was half done"

    preview = sides.bring(state, "changes", dry_run=True)

    assert not preview.done and {e.path for e in preview.entries} == {"del", "f", "new"}
    assert sides.everything() == before
    assert sides.bring(state, "changes").done


def test_what_is_staged_meanwhile_stays(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch moves at the last moment, and somebody stages something in between."""
    from worldline.workspace.home_git import CommitPlan

    state = sides.node("echo more >> f")

    def beaten(plan: CommitPlan, commit: str) -> None:
        run_sh("echo mine > mine && git add mine", sides.mine)
        raise WorkspaceError("The branch was moved meanwhile.", kind="moved")

    monkeypatch.setattr(CommitPlan, "_move", beaten)
    report = sides.bring(state, "commit", message="work")

    assert not report.done
    assert "mine" in run_sh("git diff --cached --name-only", sides.mine)


@pytest.mark.parametrize(
    "where",
    ["home_note.begin", "gitmove.locked_replace", "home_git.CommitPlan._move", "journal.Journal.mark"],
)
@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_was_killed_is_made_or_not(sides: Sides, where: str, after: bool) -> None:
    """Files, staging area and branch go together."""
    state = sides.node("echo more >> f; echo new > new; rm del")
    before = sides.everything()
    child = os.fork()
    if child == 0:
        _die_in(where, after)
        home = Workspace(sides.mine, sides.home.store.path)
        bring_home(sides.source, home, state, how="commit", start=sides.start, message="work", dry_run=False)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 9

    sides.home.recover()

    now = sides.everything()
    if now["refs"] == before["refs"]:
        assert now == before
    else:
        assert "work" in run_sh("git log -1 --format=%s", sides.mine)
        assert now["status"].strip() == "" and (sides.mine / "new").exists()
    assert sides.bring(state, "commit", message="work").done or now["refs"] != before["refs"]


def _die_in(where: str, after: bool) -> None:
    import importlib

    module, _, names = where.partition(".")
    owner: Any = importlib.import_module(f"worldline.workspace.{module}")
    *path, name = names.split(".")
    for part in path:
        owner = getattr(owner, part)
    real = getattr(owner, name)

    def die(*args: Any, **more: Any) -> Any:
        if name == "mark" and "committed" not in args:
            return real(*args, **more)
        if after:
            real(*args, **more)
        return os.kill(os.getpid(), 9)

    setattr(owner, name, die)
    if name == "locked_replace":
        from worldline.workspace import home_git

        home_git.locked_replace = die
