"""What the files of a node lack is listed on it, once on each path."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from engine.support import call, reply
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.protocol.commands import Jump


def told(b: Any, uid: str, what: str) -> list[str]:
    body = b.doc.body(uid)
    return [row["path"] for row in {**body.detail, **body.end_detail}.get(what, [])]


def lacking(b: Any) -> list[tuple[str, list[str]]]:
    """Kind of the node and the paths it names, of every node that says it lacks something."""
    flagged = [header for header in b.doc.headers() if header.flags & NodeFlag.PARTLY_CAPTURED]
    return [(header.kind.value, told(b, header.uid, "not_captured")) for header in flagged]


async def test_the_first_step_of_a_run_says_what_it_made_that_is_not_captured(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    b.script(
        reply("", call("bash", command="mkfifo a")), reply("", call("bash", command="mkfifo b")), "Done."
    )
    await b.ask("go")
    assert lacking(b) == [("tool", ["a"]), ("tool", ["a", "b"])]
    b.script(reply("", call("bash", command="echo x > c")), "Done.")
    await b.ask("go on")
    assert len(lacking(b)) == 2, "what was said on the path is not said again"
    root = b.doc.resolve("root")
    await b.actor.jumps.jump(Jump(node=root))
    b.script(reply("", call("bash", command="mkfifo d")), "Done.")
    await b.ask("another way")
    assert lacking(b)[2:] == [("tool", ["a", "b", "d"])]
    await b.actor.jumps.jump(Jump(node=root))
    b.script(reply("", call("bash", command="echo y > e")), "Done.")
    await b.ask("a third way")
    assert len(lacking(b)) == 3, "what stays from another branch is not this step's doing"


async def test_more_than_a_node_has_room_for_is_said_once_as_well(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    b.script(
        reply("", call("bash", command="for i in $(seq 201); do mkfifo p$i; done")),
        reply("", call("bash", command="echo x > c")),
        "Done.",
    )
    await b.ask("go")
    b.script(reply("", call("bash", command="echo y > d")), "Done.")
    await b.ask("go on")
    assert [(kind, len(paths)) for kind, paths in lacking(b)] == [("tool", 200)]


async def test_a_change_from_outside_says_what_of_it_is_not_captured(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    os.mkfifo(b.root / "pipe")
    (b.root / "new.txt").write_text("mine\n")
    await b.ask("go")
    assert lacking(b) == [(NodeKind.EXTERNAL_CHANGE.value, ["pipe"])]


async def test_what_is_worth_knowing_of_what_was_captured_is_on_the_node(bench: Any, repo: Path) -> None:
    subprocess.run(["git", "init", "-q", repo / "inner"], check=True)
    (repo / "inner" / "f").write_text("x\n")
    b = await bench(workspace=repo, in_place=True)
    assert told(b, b.doc.resolve("root"), "remarks") == ["inner"]
    b.script(reply("", call("bash", command="echo 1 > one; echo 1 > ONE")), "Done.")
    await b.ask("go")
    assert [sorted(told(b, step.uid, "remarks")) for step in b.nodes("tool")] == [["ONE", "one"]]
    b.script(reply("", call("bash", command="echo 2 > two")), "Done.")
    await b.ask("go on")
    assert told(b, b.nodes("tool")[-1].uid, "remarks") == [], "it is not what this step did"
