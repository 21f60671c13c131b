"""Bringing home: what comes over, as what, and what stays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from workspace.conftest import ENV, Sides, run_sh, snapshot
from worldline.core.errors import WorkspaceError
from worldline.workspace.bring_home import bring_home
from worldline.workspace.engine import Workspace
from worldline.workspace.home_report import HomeReport, How
from worldline.workspace.model import NOT_CAPTURED


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


def test_nothing_to_commit_because_mine_is_kept_is_not_said_to_be_there(sides: Sides) -> None:
    run_sh("sed -i 's/^1$/one/' f; git commit -qam mine", sides.mine)
    state = sides.node("sed -i 's/^1$/eins/' f")
    report = sides.bring(state, "commit")
    assert report.conflicts == ["f"] and report.note.startswith("1 file was changed on both sides")
    report = sides.bring(state, "commit", choices={"f": "ours"})
    assert not report.done and "kept as it is on your side" in report.note
    assert sides.bring(state, "commit", choices={"f": "theirs"}).done


def test_what_is_kept_as_mine_on_disk_is_not_in_the_commit_as_the_nodes(sides: Sides) -> None:
    run_sh("echo out >.git/info/exclude; echo mine >out; sed -i 's/^1$/one/' f", sides.mine)
    state = sides.node("sed -i 's/^1$/eins/' f; echo n >new; echo n >out; git add -f out")
    report = sides.bring(state, "commit", choices={"f": "ours", "out": "ours"})
    assert report.done and entries(report) == {"f": "keep_mine", "new": "create", "out": "keep_mine"}
    assert run_sh("git show --format= --name-only HEAD; git status --short; cat out", sides.mine) == (
        "new\n M f\nmine\n"
    )


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


def test_the_worktree_is_left_alone_by_git(sides: Sides) -> None:
    state = sides.node("echo x >>f")
    sides.bring(state, "commit")
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=sides.theirs, env=ENV, capture_output=True, check=True
    )
    assert status.stdout == b" M f\n"


@pytest.mark.parametrize(
    "staging",
    ["git update-index --split-index", "git update-index --index-version 4", "git sparse-checkout set --cone --sparse-index in",
     "git sparse-checkout set --no-cone '/*' '!/out'", "git update-index --assume-unchanged keep"],
)  # fmt: skip
def test_a_commit_whatever_the_staging_area_is_like(sides: Sides, staging: str) -> None:
    run_sh("mkdir -p in out/deep && echo 1 > in/a && echo 1 > out/deep/b && echo 1 > out/c && git add . && git commit -qm d",
           sides.mine)  # fmt: skip
    run_sh("git merge -q main", sides.theirs)
    sides.begin()
    state = sides.node(
        "echo 2 >> f && echo 2 > out/deep/b && echo n > out/new && chmod +x del && git rm -q out/c"
    )
    run_sh(staging, sides.mine)
    is_sparse = not (sides.mine / "out").exists()
    hidden = run_sh("git ls-files -v | grep ^[a-zS] | grep -v out/c", sides.mine, check=False)
    report = sides.bring(state, "commit")
    assert report.done, (report.note, report.entries)
    assert run_sh("git status --porcelain; git diff HEAD~ --name-status", sides.mine).split() == [
        "M", "del", "M", "f", "D", "out/c", "M", "out/deep/b", "A", "out/new",
    ]  # fmt: skip
    assert run_sh("git ls-files -v | grep ^[a-zS] | grep -v out/new", sides.mine, check=False) == hidden
    assert (sides.mine / "out" / "deep").exists() is not is_sparse
    if is_sparse:
        reasons = {e.path: e.reason for e in report.entries}
        assert reasons["out/deep/b"] == "left out by your sparse checkout; it is only in the commit"
    run_sh(
        "git fsck --strict && git reset -q --hard && git sparse-checkout disable; git status --porcelain",
        sides.mine,
    )
    assert (sides.mine / "out" / "deep" / "b").read_text() == "2\n"


def test_changes_of_what_a_sparse_checkout_leaves_out(sides: Sides) -> None:
    run_sh(
        "mkdir in out && echo 1 > in/a && echo 1 > out/b && echo 1 > out/c && git add . && git commit -qm d",
        sides.mine,
    )
    run_sh("git merge -q main", sides.theirs)
    sides.begin()
    state = sides.node("echo 2 > out/b && rm out/c")
    run_sh("git sparse-checkout set --cone in", sides.mine)
    report = sides.bring(state, "changes")
    assert report.done and not report.conflicts
    assert [(e.path, e.action, e.reason) for e in report.entries] == [
        ("out/b", "create", "left out by your sparse checkout; it is put on disk"),
        ("out/c", "not_captured", "left out by your sparse checkout: bring it as a commit"),
    ]
    assert run_sh("git status --porcelain", sides.mine) == " M out/b\n"


def test_a_file_that_git_was_only_told_of_is_not_staged(sides: Sides) -> None:
    state = sides.node("echo n > n && git add n")
    run_sh("echo mine > n && git add -N n", sides.mine)
    report = sides.bring(state, "commit")
    assert (
        report.conflicts == ["n"]
        and report.entries[0].reason == "changed by you and at the node in the same place"
    )
    run_sh("echo n > n", sides.mine)
    report = sides.bring(state, "commit")
    assert report.done, report.note
    assert run_sh("git status --porcelain; git show HEAD:n", sides.mine) == "n\n"


def test_a_staging_area_that_nobody_can_read_is_said_and_left(sides: Sides) -> None:
    state = sides.node("echo n > n")
    index = sides.mine / ".git" / "index"
    index.write_bytes(b"DIRC damaged")
    with pytest.raises(WorkspaceError) as caught:
        sides.bring(state, "commit")
    assert caught.value.kind == "bad_index" and index.read_bytes() == b"DIRC damaged"
    assert not (sides.mine / "n").exists()
    assert sides.bring(state, "changes").done and (sides.mine / "n").read_text() == "n\n"


@pytest.mark.parametrize("how", ["changes", "commit"])
def test_what_no_state_holds_is_not_in_the_way_unsaid(sides: Sides, how: How) -> None:
    run_sh(
        "printf 'out\\nsame\\nlink\\n' > .git/info/exclude; echo mine > out; echo n > same; ln -s f link",
        sides.mine,
    )
    state = sides.node("echo x >> f; echo n > out; echo n > same; ln -s keep link; git add -f out same link")
    before = sides.everything()
    assert "link" in before["files"]
    report = sides.bring(state, how)
    assert not report.done and report.conflicts == ["link", "out"] and sides.everything() == before
    why = "a file that is not captured is in its place in your folder; keep it, or move it away first"
    assert {e.path: e.reason for e in report.entries} == {
        "f": "", "link": why, "out": why, "same": "it is there already",
    }  # fmt: skip
    assert not sides.bring(state, how, choices={"out": "theirs", "link": "ours"}).done
    assert sides.everything() == before
    report = sides.bring(state, how, choices={"out": "ours", "link": "ours"})
    assert report.done, report.note
    after = snapshot(sides.mine)
    assert {p for p in after if after[p] != before["files"].get(p)} == {"f"} and after["out"][1] == b"mine\n"


def test_folders_and_files_in_each_others_place(sides: Sides) -> None:
    state = sides.node("rm f && mkdir f && echo in > f/in && echo n > d")
    before = sides.everything()
    assert sides.bring(state, "changes").done
    assert snapshot(sides.mine)["f/in"][1] == b"in\n"
    run_sh("rm -r f d && git checkout -q . && mkdir d && echo mine > d/m", sides.mine)
    before = sides.everything()
    report = sides.bring(state, "changes")
    assert (
        report.conflicts == ["d"]
        and "a folder of that name" in {e.path: e.reason for e in report.entries}["d"]
    )
    assert sides.everything() == before
    run_sh("rm -r d && rm f && echo other > f", sides.mine)
    before = sides.everything()
    report = sides.bring(state, "changes")
    assert set(report.conflicts) == {"f", "f/in"} and sides.everything() == before
    back = sides.node("rm -r f && echo again > f")
    assert back != state


def test_a_new_file_is_not_open_to_more_people_than_at_the_node(sides: Sides) -> None:
    state = sides.node("echo s > secret && chmod 600 secret")
    assert sides.bring(state, "changes").done
    assert (sides.mine / "secret").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_captured_any_more_is_named(sides: Sides) -> None:
    state = sides.node("git rm -q --cached keep && echo keep > .gitignore && rm f && mkfifo f")
    report = sides.bring(state, "changes")
    assert report.done
    assert {e.path: (e.action, e.reason) for e in report.entries} == {
        ".gitignore": ("create", ""), "f": ("not_captured", "not captured: it is a named pipe"),
        "keep": ("not_captured", "it is ignored at the node, so nobody knows whether it was deleted"),
    }  # fmt: skip
    assert (sides.mine / "f").is_file() and (sides.mine / "keep").is_file()


@pytest.mark.parametrize("how", ["branch", "changes", "commit"])
def test_what_was_committed_and_taken_back_since_is_not_brought(sides: Sides, how: How) -> None:
    """It is at the node as it was when the session began; the commit that both sides have has something else."""
    state = sides.node(
        "echo c >>f; echo n >new; rm del; git add -A; git commit -qm c; git checkout -q HEAD~1 f del; rm new"
    )
    if how != "branch":
        run_sh("git merge -q --ff-only worldline/s/start", sides.mine)
    report = sides.bring(state, how, message="work", branch="b")
    assert report.done, (report.note, report.entries)
    seen = {
        "branch": "git ls-tree -r --name-only b; git show b:f",
        "commit": "git ls-tree -r --name-only HEAD; cat f",
    }
    was = "del\nf\nkeep\n" + "".join(f"{n}\n" for n in range(1, 21))
    assert run_sh(seen.get(how, "ls; cat f"), sides.mine) == was


def test_commits_that_a_branch_has_left_are_not_brought_back(sides: Sides) -> None:
    """The session began at one of them."""
    run_sh("echo left >>keep; git commit -qam left", sides.mine)
    run_sh("git merge -q --ff-only main", sides.theirs)
    start = sides.source.capture(None).state
    run_sh("echo more >>f", sides.theirs)
    state = sides.source.capture(start).state
    run_sh("git reset -q --hard HEAD~1", sides.mine)
    report = bring_home(sides.source, sides.home, state, how="changes", start=start, dry_run=False)
    assert report.done and [entry.path for entry in report.entries] == ["f"]
    assert (sides.mine / "keep").read_text() == "k\n"
