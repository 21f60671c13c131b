"""What the window is told without a log: settings that do not count, what stays after a jump, answers on the record."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.engine.bundle import is_bundle, read_bundle
from worldline.engine.following import follow
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol.commands import (
    AnswerApproval,
    Export,
    HeadersSince,
    Hello,
    Jump,
    Nothing,
    SetSettings,
)
from worldline.protocol.wire import PROTOCOL_VERSION
from worldline.provider import loader
from worldline.rehearsal.events import Call, Reply


def bash(command: str) -> Reply:
    return Reply(text="", calls=[Call("bash", {"command": command})])


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def test_settings_that_do_not_count_are_in_the_hello(bench: Any) -> None:
    wrong = {"limits": [], "permissions": {"allow": ["bash(((", "Bash(ls)"]}, "hooks": {"before_lunch": []}}
    paths.config_file().write_text(json.dumps(wrong))
    b = await bench()
    said = (await b.actor.handle("hello", Hello(protocol=PROTOCOL_VERSION))).problems
    assert any("`limits`" in s for s in said) and any("bash(((" in s for s in said)
    assert any("before_lunch" in s for s in said)
    assert len(said) == len(set(said))
    values = {"permissions": {"allow": ["Bash(ls)"]}, "limits": {}, "hooks": None}
    after = await b.actor.handle("set_settings", SetSettings(values=values))
    assert after.problems == []


async def test_a_message_is_saved_and_waits_while_the_client_is_loaded(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, real = threading.Event(), loader._import_sdk
    monkeypatch.setattr(loader, "_import_sdk", lambda: real() if there.wait(PATIENCE_S) else None)
    b = await bench()
    b.script("Yes.")
    asking = asyncio.ensure_future(b.ask("go"))
    said = "being loaded"
    await until(lambda: any(said in m.status.sentence for name, m in b.events if name == "status"))
    assert b.nodes()[-1].kind.value == "user" and not b.server.message_requests
    there.set()
    assert await asking == "completed"


async def test_a_session_is_exported_as_a_bundle(bench: Any, repo: Any, tmp_path: Path) -> None:
    b = await bench(workspace=repo)
    b.script(bash("echo made > made.txt"), "Done.")
    await b.ask("go")
    out = tmp_path / "out.zip"
    result = await b.actor.handle("export", Export(format="bundle", out=str(out)))
    assert result.path == str(out) and result.bytes == out.stat().st_size and is_bundle(out)
    again = await b.actor.handle("export", Export(format="bundle", out=""))
    assert again.path != str(out)
    with pytest.raises(BadInput):
        await b.actor.handle("export", Export(format="bundle", out=str(out)))
    assert read_bundle(out, tmp_path / "elsewhere")["nodes"] == len(b.nodes())


async def test_a_branch_that_cannot_be_removed_does_not_undo_a_jump(
    bench: Any, repo: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    b = await bench(workspace=repo)
    b.script(bash("echo 1 > one.txt"), "Done.")
    await b.ask("go")
    (tool,) = b.nodes("tool")
    root = b.doc.resolve("root")
    await b.actor.handle("jump", Jump(node=root))
    # git is found by what puts the files back, and gone when the empty branch is to be removed.
    from worldline.engine import branches

    def no_git(*_: Any) -> bool:
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        return real(*_)

    real = branches.delete_branch
    path = os.environ["PATH"]
    monkeypatch.setattr(branches, "delete_branch", no_git)
    result = (await b.actor.handle("jump", Jump(node=tool.uid))).result
    monkeypatch.setenv("PATH", path)
    assert result.cursor == tool.uid == b.doc.cursor
    assert "stays" in result.note


async def test_another_time_limit_holds_for_what_waits_already(bench: Any) -> None:
    b = await bench(mode="ask", attended=True)
    b.script(bash("touch x"), "Done.")
    asking = asyncio.ensure_future(b.ask("go"))
    await until(b.actor.approvals.open)
    await b.actor.handle("set_settings", SetSettings(values={"approval_timeout_s": 0.1}))
    await asyncio.wait_for(asking, PATIENCE_S)
    assert "approval_timeout" in json.dumps(b.sent())


async def test_an_answer_that_cannot_be_recorded_releases_nothing(bench: Any) -> None:
    b = await bench(mode="ask", attended=True)
    b.script(bash("touch x"), "Done.")
    asking = asyncio.ensure_future(b.ask("go"))
    await until(b.actor.approvals.open)
    (approval,) = b.actor.approvals.open()
    answer = AnswerApproval(id=approval.id, digest=approval.digest, decision="allow")
    b.doc._db.execute("PRAGMA query_only = 1")
    with pytest.raises(WorldlineError):
        await b.actor.handle("answer_approval", answer)
    b.doc._db.execute("PRAGMA query_only = 0")
    assert b.actor.approvals.open() == [approval] and not (b.root / "x").exists()
    await b.actor.handle("answer_approval", answer)
    assert await asyncio.wait_for(asking, PATIENCE_S) == "completed"
    assert (b.root / "x").exists()


async def test_long_answers_let_others_have_their_turn(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from worldline.engine import queries

    monkeypatch.setattr(queries, "_SLICE", 2)
    monkeypatch.setattr(queries, "_SLICE_S", 0.0)
    b = await bench()
    b.script(*[bash(f"echo {n}") for n in range(3)], "Done.")
    await b.ask("go")
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    answer = await b.actor.handle("headers", HeadersSince(since=0, limit=100_000))
    assert [h.uid for h in answer.headers] == [h.uid for h in b.nodes()]
    assert turns >= len(answer.headers) // 2
    some = await b.actor.handle("headers", HeadersSince(since=1, limit=3))
    assert [h.uid for h in some.headers] == [h.uid for h in b.nodes()[1:4]]
    before = turns
    (branch,) = (await b.actor.handle("branches", Nothing())).branches
    assert turns > before and branch.title == "go"
    counting.cancel()


async def test_a_follower_is_told_when_the_writer_has_gone(tmp_path: Path) -> None:
    path, script = tmp_path / "s.worldline", tmp_path / "write.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom worldline.session.document import SessionDocument\n"
        "from worldline.session.model import NodeDraft\nfrom worldline.core.kinds import NodeKind\n"
        "doc = SessionDocument.create(Path(sys.argv[1]), title='t', workspace={}, app_version='0')\n"
        "doc.append(NodeDraft(kind=NodeKind.ROOT, parent=None))\nprint('open', flush=True)\nsys.stdin.read()\n"
    )
    writer = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(path), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert writer.stdout is not None
    assert (await writer.stdout.readline()).strip() == b"open"
    heard: list[tuple[str, Any]] = []
    actor = SessionActor(OpenRequest(session=path), lambda *event: heard.append(event), ActorOptions())
    try:
        assert actor.shared.info.read_only
        following = asyncio.ensure_future(follow(actor.shared))
        await asyncio.sleep(0)
        writer.kill()
        await writer.wait()
        await until(lambda: any(name == "writer_changed" for name, _ in heard))
        assert [m.lives for name, m in heard if name == "writer_changed"] == [False]
        following.cancel()
    finally:
        await actor.close()
