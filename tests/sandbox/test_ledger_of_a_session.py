"""A scripted session with real pushes, requests and writes outside: its ledger says exactly what happened, no more, no
less; jumps list it; what can be undone is undone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench, Open, bench, server
from engine.support import call, reply
from sandbox.conftest import git, lab_root
from sandbox.test_confined_commands import server as host_server
from sandbox.world import changes, picture
from tests_support import PATIENCE_S
from worldline.policy.sandbox.model import Label
from worldline.protocol import commands as c
from worldline.protocol.model import Approval

__all__ = ["bench", "server"]

Answer = Callable[[Approval], dict[str, Any] | None]


@pytest.fixture
def ground(best_label: Label) -> Iterator[Path]:
    """A repository with a bare remote beside it, and things that are none of the agent's business."""
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    with tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder:
        base = Path(folder)
        (base / "outside" / "folder").mkdir(parents=True)
        for name in ("file", "other", "folder/one", "folder/two"):
            (base / "outside" / name).write_text("before\n")
        (base / "outside" / "folder" / "link").symlink_to("one")
        git(base, "init", "-q", "--bare", "-b", "main", "remote.git")
        git(base, "init", "-q", "-b", "main", "project")
        git(base / "project", "config", "user.name", "Somebody")
        git(base / "project", "config", "user.email", "somebody@example.org")
        (base / "project" / "a.txt").write_text("one\n")
        git(base / "project", "add", ".")
        git(base / "project", "commit", "-qm", "one")
        git(base / "project", "remote", "add", "origin", str(base / "remote.git"))
        git(base / "project", "push", "-q", "origin", "main")
        yield base


@asynccontextmanager
async def person(bench: Bench, answer: Answer) -> AsyncIterator[list[Approval]]:
    """Answers what is asked; None lets it wait."""
    shown: list[Approval] = []
    seen: set[str] = set()

    async def work() -> None:
        while True:
            for approval in bench.actor.approvals.open():
                if approval.id not in seen:
                    seen.add(approval.id)
                    shown.append(approval)
                    said = answer(approval)
                    if said is not None:
                        bench.actor.approvals.answer(
                            c.AnswerApproval(**{"id": approval.id, "digest": approval.digest, **said})
                        )
            await asyncio.sleep(0.02)

    task = asyncio.ensure_future(work())
    try:
        yield shown
    finally:
        task.cancel()


async def effects(bench: Bench) -> c.Effects:
    return await bench.actor.handle("effects", c.EffectsAt())  # type: ignore[return-value]


ALLOW: dict[str, Any] = {"decision": "allow", "scope": "once"}


async def test_exactly_what_happened_is_listed_and_told_and_undone(bench: Open, ground: Path) -> None:
    out, remote = ground / "outside", ground / "remote.git"
    with host_server() as (port, seen):
        one = await bench(workspace=ground / "project", attended=True)
        before = picture(
            out,
            remote,
            ground / "project" / ".git" / "refs" / "heads",
            ground / "project" / ".git" / "refs" / "tags",
        )
        one.script(
            reply(
                "a",
                call(
                    "bash", command="echo hi > new.txt && git add -A && git commit -qm two && git stash list"
                ),
            ),
            reply("b", call("bash", command="git push origin HEAD:refs/heads/wip")),
            reply("c", call("bash", command=f"echo x >> {out}/file || true")),
            reply("d", call("request_access", kind="write", target=f"{out}/file", why="to note it")),
            reply("e", call("bash", command=f"echo x >> {out}/file")),
            reply("f", call("request_access", kind="write", target=f"{out}/other", why="perhaps")),
            reply("g", call("bash", command="true")),
            reply("h", call("bash", command=f"curl -s --noproxy '' -d secret http://localhost:{port}/x")),
            reply("i", call("bash", command="sleep 77", background=True)),
            "done",
        )
        async with person(one, lambda _: ALLOW) as shown:
            assert await one.ask("do all of it") == "completed"
            after = picture(
                out,
                remote,
                ground / "project" / ".git" / "refs" / "heads",
                ground / "project" / ".git" / "refs" / "tags",
            )
            found = await effects(one)
            # Independent of what the ledger says: the files, the refs of the remote, what reached the server.
            heads = str(ground / "project" / ".git" / "refs" / "heads" / "worldline")
            moved = [p for p in changes(before, after) if not p.startswith((f"{remote}/objects", heads))]
            assert moved == [f"{out}/file", f"{remote}/refs/heads/wip"] and seen == ["secret"]
            assert [(e.kind, e.reversibility, e.evidence) for e in found.here] == [
                ("vcs_remote", "compensatable", "observed"),
                ("outside_write", "undoable", "observed"),
                ("net_send", "irreversible", "observed"),
            ]
            assert found.elsewhere == [] and [p.command for p in found.processes] == ["sleep 77"]
            push, write, _ = found.here
            assert push.detail["old"] == "" and push.detail["new"] == git(remote, "rev-parse", "wip").strip()
            # Each entry hangs on the node that did it.
            previews = {h.uid: h.preview for h in one.nodes("tool")}
            assert "git push" in previews[push.node] and "echo x >>" in previews[write.node]
            # Asked: the push, the path (twice), the host; and before the write which copy is made.
            assert [a.command.split(" ")[0] for a in shown[:1]] == ["git"] and "remote" in shown[0].effect
            assert "copied first" in shown[1].copy_first and len(shown) == 4
            # The refusal was named although the command ended well.
            results = json.dumps(one.sent(-1)["messages"])
            assert "sandbox_denied" in results and "request_access" in results

            await going_back(one, push.summary)
            # What can be undone is, through the same opening.
            done = await one.actor.handle("undo_effect", c.UndoEffect(id=push.id))
            assert done.status == "countered" and git(remote, "for-each-ref", "refs/heads/wip") == ""  # type: ignore[attr-defined]
            assert shown[-1].command.startswith("git push --force-with-lease=refs/heads/wip:")
            done = await one.actor.handle("undo_effect", c.UndoEffect(id=write.id))
            assert done.status == "undone" and (out / "file").read_text() == "before\n"  # type: ignore[attr-defined]
    left = await effects(one)
    assert [e.status for e in (*left.here, *left.elsewhere)] == ["countered", "undone", "open"]


async def going_back(one: Bench, pushed: str) -> None:
    """Before the first prompt: plan, result, list and the next request all name what stays done."""
    first = one.nodes("user")[0].uid
    plan = await one.actor.jumps.plan(c.JumpPlanFor(node=first))
    assert [e.kind for e in plan.effects_left] == ["vcs_remote", "outside_write", "net_send"]
    assert plan.needs_confirmation and [p.command for p in plan.processes] == ["sleep 77"]
    answer = await one.actor.jumps.jump(c.Jump(node=first, plan=plan.id, processes="stop"))
    assert answer.result is not None
    assert [e.kind for e in answer.result.effects_left] == ["vcs_remote", "outside_write", "net_send"]
    now = await effects(one)
    assert now.here == [] and len(now.elsewhere) == 3 and now.processes == []
    one.script("another way")
    assert await one.ask("again") == "completed"
    assert pushed in json.dumps(one.sent(-1)["messages"])


async def test_a_push_is_asked_about_in_mode_work_and_a_denial_keeps_the_remote(
    bench: Open, ground: Path
) -> None:
    one = await bench(workspace=ground / "project", attended=True)
    one.script(
        reply(
            "", call("bash", command="git commit -q --allow-empty -m x && git push origin HEAD:refs/heads/no")
        ),
        reply(
            "", call("bash", command="git commit -q --allow-empty -m x && git push origin HEAD:refs/heads/no")
        ),
        reply("", call("bash", command="npm publish")),
        "done",
    )
    async with person(one, lambda _: {"decision": "deny", "scope": "once", "reason": "not today"}) as shown:
        await one.ask("push")
    assert git(ground / "remote.git", "for-each-ref", "refs/heads/no") == ""
    # The same call again is answered by the breaker; a publication can never be allowed always.
    assert [a.command.split(" ")[0] for a in shown] == ["git", "npm"] and "always" not in shown[1].scopes
    assert "not today" in json.dumps(one.sent(-1)["messages"]) and (await effects(one)).here == []


async def test_a_forced_push_is_put_back_and_someone_elses_is_left_alone(bench: Open, ground: Path) -> None:
    remote = ground / "remote.git"
    old = git(remote, "rev-parse", "main").strip()
    one = await bench(workspace=ground / "project", attended=True)
    one.script(
        reply("", call("bash", command="git commit -q --amend -m other && git push -f origin HEAD:main")),
        "done",
    )
    async with person(one, lambda _: ALLOW):
        await one.ask("push")
        (entry,) = (await effects(one)).here
        assert entry.detail["old"] == old and entry.undo_label == f"Push {old[:9]} back"
        # Somebody else pushes meanwhile: theirs must not be lost.
        new = git(remote, "rev-parse", "main").strip()
        git(
            remote,
            "update-ref",
            "refs/heads/main",
            git(remote, "commit-tree", f"{new}^{{tree}}", "-m", "theirs").strip(),
        )
        with pytest.raises(Exception, match="could not be pushed back"):
            await one.actor.handle("undo_effect", c.UndoEffect(id=entry.id))
        git(remote, "update-ref", "refs/heads/main", new)
        await one.actor.handle("undo_effect", c.UndoEffect(id=entry.id))
    assert git(remote, "rev-parse", "main").strip() == old


async def test_copies_of_files_folders_deletions_and_links_are_restored(bench: Open, ground: Path) -> None:
    out = ground / "outside"
    before = picture(out)
    one = await bench(workspace=ground / "project", attended=True)
    change = (
        f"cd {out}/folder && rm one && echo y > two && ln -sf two link && mkdir new && echo z > new/three"
    )
    one.script(
        reply("", call("request_access", kind="write", target=f"{out}/folder", why="x")),
        reply("", call("bash", command=change)),
        reply("", call("request_access", kind="write", target=f"{out}/made", why="x")),
        reply("", call("bash", command=f"echo new > {out}/made")),
        reply("", call("write", path=f"{out}/other", content="by a tool\n")),
        "done",
    )
    async with person(one, lambda _: ALLOW) as shown:
        await one.ask("change things")
        assert [e.summary.split()[0] for e in (await effects(one)).here] == ["Changed", "Created", "Changed"]
        assert "folder" in shown[0].copy_first and "removes it" in shown[1].copy_first
        for entry in (await effects(one)).here:
            await one.actor.handle("undo_effect", c.UndoEffect(id=entry.id))
    strip = {p: (m, o, d[0] if isinstance(d, tuple) else d) for p, (m, o, d) in before.items()}
    assert {p: (m, o, d[0] if isinstance(d, tuple) else d) for p, (m, o, d) in picture(out).items()} == strip


async def test_a_stopped_command_and_a_background_one_enter_what_they_did(bench: Open, ground: Path) -> None:
    out = ground / "outside"
    one = await bench(workspace=ground / "project", attended=True)
    one.script(
        reply("", call("request_access", kind="write", target=f"{out}/file", why="x")),
        reply("", call("bash", command=f"echo bg >> {out}/file; sleep 0.5", background=True)),
        reply("", call("request_access", kind="write", target=f"{out}/other", why="x")),
        reply("", call("bash", command=f"echo half >> {out}/other; sleep 60")),
        "done",
    )
    async with person(one, lambda _: ALLOW):
        await one.actor.runs.prompt(c.Prompt(text="go"))
        async with asyncio.timeout(PATIENCE_S):
            while "half" not in (out / "other").read_text():
                await asyncio.sleep(0.05)
        await one.actor.runs.stop_and_settle()
        async with asyncio.timeout(PATIENCE_S):
            while len((await effects(one)).here) < 2:
                await asyncio.sleep(0.05)
    assert {e.summary for e in (await effects(one)).here} == {f"Changed {out}/file", f"Changed {out}/other"}


async def test_what_others_move_in_the_repository_is_no_effect_of_a_command_that_goes_on(
    bench: Open, ground: Path
) -> None:
    """A server may run for hours, while the person commits and the app itself pushes something back."""
    one = await bench(workspace=ground / "project", attended=True)
    one.script(
        reply(
            "", call("bash", command="git commit --allow-empty -qm x; git push origin HEAD:refs/heads/wip")
        ),
        reply("", call("bash", command="sleep 77", background=True)),
        "done",
    )
    async with person(one, lambda _: ALLOW):
        assert await one.ask("push, then serve") == "completed"
        (push,) = (await effects(one)).here
        git(ground / "project", "commit", "-q", "--allow-empty", "-m", "by the person")
        git(ground / "project", "tag", "mine")
        await one.actor.handle("undo_effect", c.UndoEffect(id=push.id))
        assert git(ground / "project", "for-each-ref", "refs/remotes/origin/wip") == ""
        await one.actor.processes.stop_all()
        await one.actor.approvals.sandbox.settle()
    assert [(e.kind, e.status) for e in (await effects(one)).here] == [("vcs_remote", "countered")]


async def test_a_move_is_told_once_whatever_else_goes_on(bench: Open, ground: Path) -> None:
    one = await bench(workspace=ground / "project", attended=True)
    one.script(
        reply("", call("bash", command="sleep 77", background=True)),
        reply("", call("bash", command="git update-ref refs/remotes/origin/topic HEAD")),
        "done",
    )
    async with person(one, lambda _: ALLOW):
        assert await one.ask("serve, then fetch") == "completed"
        await one.actor.processes.stop_all()
        await one.actor.approvals.sandbox.settle()
    (entry,) = (await effects(one)).here
    previews = {h.uid: h.preview for h in one.nodes("tool")}
    assert entry.summary == "origin/topic was created" and "update-ref" in previews[entry.node]


async def test_a_second_name_outside_is_told(bench: Open, ground: Path) -> None:
    (ground / "work").mkdir()
    (ground / "work" / "linked").hardlink_to(ground / "outside" / "file")
    (ground / "work" / "twin").write_text("x\n")
    (ground / "work" / "twin2").hardlink_to(ground / "work" / "twin")
    one = await bench(workspace=ground / "work", in_place=True)
    one.script(reply("", call("bash", command="echo y >> linked; echo y >> twin")), "done")
    await one.ask("write")
    (entry,) = (await effects(one)).here
    assert entry.summary == "linked has another name outside: it changed there as well"
    assert (ground / "outside" / "file").read_text() == "before\ny\n"


@pytest.mark.parametrize("tried", [True, False], ids=["the sandbox was tried before", "it was not"])
async def test_a_repository_that_leads_elsewhere_is_refused(bench: Open, ground: Path, tried: bool) -> None:
    one = await bench(workspace=ground / "project")
    desk = one.actor.approvals.sandbox
    await desk.ready()
    desk._proven = tried
    subprocess.run(["git", "init", "-q", str(ground / "trap")], check=True)
    (one.root / ".git").write_text(f"gitdir: {ground}/trap/.git\n")
    one.script(reply("", call("bash", command="git status")), "done")
    await one.ask("look")
    assert "repository_changed" in json.dumps(one.sent(-1)["messages"])
    assert desk.problem == ""


async def test_nobody_answers_the_network_dialog(
    bench: Open, ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worldline.agent.hosts.HOLD_S", 0.5)
    with host_server() as (port, seen):
        one = await bench(workspace=ground / "project", attended=True)
        lines = " & ".join(f"curl -s --noproxy '' http://localhost:{port}/{i}" for i in range(4))
        one.script(reply("", call("bash", command=f"{lines} & wait; true")), "done")
        async with person(one, lambda _: None) as shown:
            assert await one.ask("fetch") == "completed"
        assert len(shown) == 1 and seen == []  # one dialog for all connections to the host
    said = json.dumps(one.sent(-1)["messages"])
    assert "approval_timeout" in said and one.actor.approvals.open() == []


async def test_secrets_of_a_call_are_masked_where_it_is_stored(bench: Open, ground: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    one = await bench(workspace=ground / "project")
    one.script(reply("", call("bash", command=f"echo {token} > /dev/null")), "done")
    await one.ask("go")
    (node,) = one.nodes("tool")
    stored = json.dumps(one.doc.body(node.uid).detail) + node.preview
    assert token not in stored and "[masked: GitHub token]" in stored
