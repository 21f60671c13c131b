"""Going to a node: files, branch, cursor and view go together; nothing of the person's is lost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.support import call, reply
from tests_support import git
from worldline.core.errors import WorldlineError
from worldline.engine.external_changes import note_external_change
from worldline.protocol.commands import BringHome, CompareFor, DiffFor, Jump, JumpPlanFor, Prompt, TakeFile


async def two_writes(b: Any) -> None:
    b.script(
        reply("One.", call("write", path="one.txt", content="1\n")),
        reply("Two.", call("write", path="two.txt", content="2\n")),
        "Done.",
    )
    assert await b.ask("make both") == "completed"


@pytest.mark.parametrize("in_place", [True, False])
async def test_a_jump_puts_the_files_back_on_a_branch_of_its_own(
    bench: Any, repo: Any, in_place: bool
) -> None:
    before = git(repo, "branch", "--show-current")
    b = await bench(workspace=repo, in_place=in_place)
    await two_writes(b)
    first, second = b.nodes("tool")
    answer = await b.actor.jumps.jump(Jump(node=first.uid))
    assert answer.result is not None
    assert answer.result.verified == answer.result.of == 1
    assert b.doc.cursor == first.uid
    assert (b.root / "one.txt").exists() and not (b.root / "two.txt").exists()
    assert (b.root / "mine.txt").read_text() == "my own work\n"
    assert git(b.root, "branch", "--show-current") == answer.result.branch
    assert answer.result.branch == f"worldline/{b.actor.shared.slug}/2"
    assert git(repo, "rev-parse", "main") == git(repo, "rev-parse", answer.result.branch)
    if not in_place:
        assert git(repo, "branch", "--show-current") == before
        assert not (repo / "one.txt").exists()
    # Undoing a jump is a jump.
    back = await b.actor.jumps.jump(Jump(node=second.uid))
    assert back.result is not None
    assert (b.root / "two.txt").read_text() == "2\n"
    # The fork that was left got nothing of its own: its branch is gone.
    assert "worldline/" + b.actor.shared.slug + "/2" not in git(repo, "branch", "--list")


async def test_nothing_is_begun_in_a_folder_that_is_gone(bench: Any, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "mine.txt").write_text("my own work\n")
    b = await bench(workspace=folder)
    await b.ask("hello")
    count = len(b.nodes("user"))
    folder.rename(tmp_path / "elsewhere")
    b.script(reply("One.", call("write", path="one.txt", content="1\n")), "Done.")
    with pytest.raises(WorldlineError, match="is not there"):
        await b.actor.handle("prompt", Prompt(text="go on"))
    assert not folder.exists() and len(b.nodes("user")) == count
    (tmp_path / "elsewhere").rename(folder)
    assert await b.ask("go on") == "completed"
    assert (folder / "one.txt").read_text() == "1\n" and (folder / "mine.txt").exists()


async def test_a_note_to_the_model_is_not_what_the_person_wrote(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script(reply("All d", stop="max_tokens"), "one.")
    assert await b.ask("go on") == "completed"
    _, note = b.nodes("user")
    (cut, _) = b.nodes("assistant")
    answer = await b.actor.jumps.jump(Jump(node=note.uid))
    assert answer.result is not None and answer.result.composer_text == ""
    assert b.doc.cursor == cut.uid


async def test_a_prompt_goes_back_into_the_composer(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    (prompt,) = b.nodes("user")
    answer = await b.actor.jumps.jump(Jump(node=prompt.uid))
    assert answer.result is not None
    assert answer.result.composer_text == "make both"
    assert b.doc.cursor == b.nodes("root")[0].uid
    assert not (b.root / "one.txt").exists()
    b.script("Other.")
    await b.ask("another way")
    text = json.dumps(b.sent()["messages"])
    assert "taken back to an earlier point" in text and "make both" not in text
    assert [h.parent for h in b.nodes("user")] == [1, 1]


async def test_what_the_person_changed_stays_and_is_saved(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    first = b.nodes("tool")[0]
    (b.root / "two.txt").write_text("mine now\n")
    (b.root / "note.txt").write_text("by hand\n")
    plan = await b.actor.jumps.plan(JumpPlanFor(node=first.uid))
    assert plan.needs_confirmation
    answer = await b.actor.jumps.jump(Jump(node=first.uid))
    assert answer.result is None and answer.plan is not None
    assert b.doc.cursor != first.uid
    answer = await b.actor.jumps.jump(Jump(node=first.uid, plan=answer.plan.id))
    assert answer.result is not None
    assert (b.root / "two.txt").read_text() == "mine now\n"
    assert (b.root / "note.txt").read_text() == "by hand\n"
    (safety,) = b.nodes("jump")
    assert answer.result.safety_node == safety.uid
    assert safety.files == 2


async def test_a_plan_that_no_longer_fits_is_shown_again(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    first = b.nodes("tool")[0]
    (b.root / "two.txt").write_text("mine\n")
    plan = await b.actor.jumps.plan(JumpPlanFor(node=first.uid))
    (b.root / "two.txt").write_text("mine, later\n")
    answer = await b.actor.jumps.jump(Jump(node=first.uid, plan=plan.id))
    assert answer.result is None and answer.plan is not None
    assert (b.root / "two.txt").read_text() == "mine, later\n"


async def test_a_plan_that_still_fits_is_not_asked_about_twice(bench: Any, repo: Any) -> None:
    """What the person did becomes a node of its own at some time: that may be between looking at a plan and agreeing."""
    b = await bench(workspace=repo)
    await two_writes(b)
    first = b.nodes("tool")[0]
    (b.root / "later.txt").write_text("mine\n")
    plan = await b.actor.jumps.plan(JumpPlanFor(node=first.uid))
    assert plan.needs_confirmation
    assert await note_external_change(b.actor.shared)
    answer = await b.actor.jumps.jump(Jump(node=first.uid, plan=plan.id))
    assert answer.result is not None
    assert (b.root / "later.txt").read_text() == "mine\n"


async def test_jump_while_it_runs(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script(
        reply("One.", call("write", path="one.txt", content="1\n")),
        reply("", call("bash", command="sleep 60")),
        "x",
    )
    await b.actor.runs.prompt(Prompt(text="go"))
    while len(b.nodes("tool")) < 2:
        await asyncio.sleep(0.02)
    answer = await b.actor.jumps.jump(Jump(node="root"))
    assert answer.result is not None
    assert b.reason() == "aborted"
    assert b.nodes("tool")[1].outcome.value == "aborted"
    assert not (b.root / "one.txt").exists()
    assert b.actor.shared.status.now.state == "ready"


async def test_the_same_place_is_no_jump(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    before = len(b.doc.records("jump"))
    answer = await b.actor.jumps.jump(Jump(node="cursor"))
    assert answer.result is not None and answer.result.of == 0
    assert len(b.doc.records("jump")) == before


async def test_task_state_and_cursor_come_back_with_the_node(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script(
        reply("", call("read", path="a.txt")),
        reply("", call("plan", steps=[{"text": "later", "status": "active"}])),
        "Done.",
    )
    await b.ask("go")
    read = b.nodes("tool")[0]
    await b.actor.jumps.jump(Jump(node=read.uid))
    state = b.doc.task_state(b.doc.cursor)
    assert "a.txt" in state["files"] and not state["plan"]
    path = b.doc.path
    await b.actor.close()
    again = await bench(session=path)
    assert again.doc.cursor == read.uid
    assert again.actor.shared.branch.endswith("/2")


async def test_back_after_failures_with_a_lesson(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    b.script(*[reply(f"Try {i}.", call("read", path="nowhere.txt")) for i in range(12)])
    assert await b.ask("find it") == "repeated_failures"
    answer = await b.actor.backtrack()
    assert answer.result is not None and answer.result.composer_text == "find it"
    b.script("Another way.")
    await b.ask("find it")
    text = json.dumps(b.sent()["messages"])
    assert "repeated failures" in text and "Try another way" in text


async def test_compare_and_diffs(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    leaf = b.doc.cursor
    await b.actor.jumps.jump(Jump(node=b.nodes("user")[0].uid))
    b.script(reply("", call("write", path="three.txt", content="3\n")), "Done.")
    await b.ask("make both, but otherwise")
    compared = await b.actor.edits.compare(CompareFor(nodes=[leaf, "cursor"]))
    assert compared.ancestor == b.nodes("root")[0].uid
    assert [[f.path for f in a.files] for a in compared.attempts] == [["one.txt", "two.txt"], ["three.txt"]]
    assert [a.stop_reason for a in compared.attempts] == ["completed", "completed"]
    inner = b.nodes("assistant")[0].uid
    halfway = (await b.actor.edits.compare(CompareFor(nodes=[inner, "cursor"]))).attempts
    assert [(a.stop_reason, a.outcome) for a in halfway] == [("", ""), ("completed", "ok")], "its run went on"
    changes = await b.actor.files.changes(DiffFor(a="base", b="disk"))
    assert [f.path for f in changes.files] == ["three.txt"]
    diff = await b.actor.files.file_diff(DiffFor(a="base", b="cursor", path="three.txt"))
    assert [r.text for r in diff.rows if r.kind == "+"] == ["3"]


async def test_take_a_file_and_bring_it_home(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    leaf = b.doc.cursor
    await b.actor.jumps.jump(Jump(node="root"))
    assert not (b.root / "two.txt").exists()
    taken = await b.actor.handle("take_file", TakeFile(node=leaf, path="two.txt"))
    assert taken.result is not None
    assert (b.root / "two.txt").read_text() == "2\n"
    assert b.nodes("jump")[-1].files == 1
    assert b.nodes("jump")[-1].preview == "took two.txt from make both: 1 file changed"
    shown = await b.actor.handle("bring_home", BringHome(node="cursor", how="changes"))
    assert [e.path for e in shown.entries] == ["two.txt"] and not shown.done
    assert not (repo / "two.txt").exists()
    done = await b.actor.handle("bring_home", BringHome(node="cursor", how="changes", dry_run=False))
    assert done.done
    assert (repo / "two.txt").read_text() == "2\n"
    assert (repo / "mine.txt").read_text() == "my own work\n"


async def test_what_the_person_changed_stays_however_much_it_is(bench: Any, repo: Any) -> None:
    """A node lists 1,000 changed paths at most; the others are the person's all the same."""
    b = await bench(workspace=repo)
    await two_writes(b)
    (b.root / "mine").mkdir()
    for number in range(1_100):
        (b.root / "mine" / f"{number}").write_text(f"{number}\n")
    b.script("Seen.")
    await b.ask("look")

    answer = await b.actor.jumps.jump(Jump(node="root"))

    assert answer.plan is not None, "it is shown before"
    done = await b.actor.jumps.jump(Jump(node="root", plan=answer.plan.id))
    assert done.result is not None
    assert len(list((b.root / "mine").iterdir())) == 1_100


async def test_permissions_that_the_person_gave_stay(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    (b.root / "mine").mkdir(mode=0o755)
    (b.root / "mine" / "notes").write_text("n\n")
    b.script("Seen.")
    await b.ask("look")
    here = b.doc.cursor
    b.script("Again.", "And again.")
    await b.ask("think")
    (b.root / "mine" / "notes").chmod(0o600)
    tracked = next(p for p in sorted(b.root.iterdir()) if p.is_file() and not p.name.startswith("."))
    tracked.chmod(0o755)
    await b.ask("look again")

    answer = await b.actor.jumps.jump(Jump(node=here))
    if answer.plan is not None:
        answer = await b.actor.jumps.jump(Jump(node=here, plan=answer.plan.id))

    assert answer.result is not None
    assert (b.root / "mine" / "notes").stat().st_mode & 0o777 == 0o600
    assert tracked.stat().st_mode & 0o777 == 0o755


async def test_a_name_that_is_no_text_is_shown_and_can_be_chosen(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    await two_writes(b)
    for name in (b"my\xfe", b"my\xff"):
        (b.root / os.fsdecode(name)).write_bytes(name)

    shown = (await b.actor.jumps.jump(Jump(node="root"))).plan

    assert shown is not None
    rows = {e.path: e.choice for e in shown.entries if e.path.startswith("my")}
    assert rows == {"my\\xfe": "keep", "my\\xff": "keep"}
    choices = {"my\\xfe": "restore"}
    again = (await b.actor.jumps.jump(Jump(node="root", choices=choices))).plan
    assert again is not None
    done = await b.actor.jumps.jump(Jump(node="root", choices=choices, plan=again.id))
    assert done.result is not None
    assert [p for p in os.listdir(os.fsencode(b.root)) if p.startswith(b"my")] == [b"my\xff"]


async def test_back_to_before_the_first_commit(bench: Any, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    (folder / "a").write_text("1\n")
    subprocess.run(["git", "add", "a"], cwd=folder, check=True)
    b = await bench(workspace=folder)
    b.script("Hello.")
    await b.ask("hi")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, "commit", "-qm", "first"], cwd=b.root, check=True)
    b.script("Seen.")
    await b.ask("look")

    answer = await b.actor.jumps.jump(Jump(node="root"))
    if answer.plan is not None:
        answer = await b.actor.jumps.jump(Jump(node="root", plan=answer.plan.id))

    assert answer.result is not None and "stay as they are" not in answer.result.note
    status = subprocess.run(
        ["git", "status", "--porcelain=v1", "-b"], cwd=b.root, capture_output=True, text=True, check=True
    ).stdout
    assert status.startswith("## No commits yet on worldline/") and "A  a" in status


async def test_what_was_stashed_and_tagged_in_a_repository_inside_is_in_a_node_before_it_goes(
    bench: Any, repo: Any
) -> None:
    """No file tells of it, and git's folder there goes with the files."""
    b = await bench(workspace=repo)
    b.script(
        reply("", call("bash", command="git init -q v; cd v; echo a >f; git add f; git commit -qm a")),
        "Done.",
    )
    await b.ask("make one")
    inner = b.root / "v"
    (inner / "f").write_text("precious\n")
    git(inner, "stash", "-q")
    git(inner, "tag", "kept")
    answer = await b.actor.jumps.jump(Jump(node="root"))
    assert answer.result is not None and not inner.exists()
    kept = b.doc.header(answer.result.safety_node)
    assert kept.preview == "before the jump: a repository in the workspace changed"
    await b.actor.jumps.jump(Jump(node=kept.uid))
    assert git(inner, "tag") == "kept"
    assert git(inner, "show", "stash@{0}:f") == "precious"
    # Nothing is new in it now.
    again = await b.actor.jumps.jump(Jump(node="root"))
    assert again.result is not None and again.result.safety_node == ""
