"""Comparing and counting large changes: in another process, cancellable, and without stopping the engine."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core.errors import WorkspaceError, WorldlineError
from worldline.engine.comparing import DiffProcess
from worldline.protocol.commands import CompareFor, DiffFor, Patch
from worldline.protocol.wire import Nothing
from worldline.rehearsal.events import Call, Reply

MANY = 2_300


def bash(command: str) -> Reply:
    return Reply(text="x", calls=[Call("bash", {"command": command})])


WRITE = f"mkdir many; for n in $(seq {MANY}); do printf 'a\\nb\\n' > many/f$n; done"
EDIT = "cd many; for n in $(seq 300); do printf 'a\\nc\\nd\\n' > f$n; done; rm f2000"


async def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def large(bench: Any, *more: Reply) -> Any:
    b = await bench()
    b.script(bash(WRITE), bash(EDIT), *more, "Done.")
    assert await b.ask("go") == "completed"
    return b


async def test_badges_of_any_size_get_their_numbers_and_keep_them(bench: Any) -> None:
    b = await large(bench)
    first, second = b.nodes("tool")[:2]
    assert (first.files, first.added, second.files, second.added) == (MANY, 0, 301, 0)
    await until(lambda: len(b.actor.lines.known()) == 2)
    assert b.actor.lines.known() == {first.uid: (2 * MANY, 0), second.uid: (600, 302)}
    told: dict[str, Any] = {}
    for name, event in b.events:
        if name == "lines_counted":
            told |= event.nodes
    assert told == b.actor.lines.known()
    path = b.doc.path
    await b.actor.close()
    again = await bench(session=path)
    assert (await again.actor.handle("node_lines", Nothing())).nodes == told


async def test_nodes_that_an_earlier_start_left_uncounted_are_counted(bench: Any) -> None:
    b = await large(bench)
    path = b.doc.path
    b.actor.shared.status.after_files = lambda _: None
    b.script(bash("cd many; for n in $(seq 1000 1250); do printf 'z\\n' > f$n; done"), "Done.")
    assert await b.ask("more") == "completed"
    third = b.nodes("tool")[2].uid
    await b.actor.close()
    again = await bench(session=path)
    again.actor.greeted()
    await until(lambda: again.actor.lines.known().get(third) == (251, 502))


async def test_the_panel_gets_every_file_at_once_and_its_lines_when_asked(bench: Any) -> None:
    b = await large(bench)
    first, second = b.nodes("tool")[:2]
    ask = DiffFor(a="parent", b=first.uid)
    await b.actor.lines.close()
    for cache in (b.actor.shared.work.store_path / "lines").glob("*"):
        cache.unlink()
    changes = await b.actor.handle("changes", ask)
    assert len(changes.files) == MANY and not changes.counted and changes.added == 0
    assert changes.files[0].new_size == 4
    lines = await b.actor.handle("line_counts", ask)
    assert len(lines.files) == MANY and lines.files["many/f7"] == (2, 0)
    # Kept for this pair of trees.
    changes = await b.actor.handle("changes", ask)
    assert changes.counted and changes.added == 2 * MANY
    smaller = await b.actor.handle("changes", DiffFor(a="parent", b=second.uid))
    assert smaller.counted and (smaller.added, smaller.removed) == (600, 302)
    diff = await b.actor.handle("file_diff", DiffFor(a="parent", b=second.uid, path="many/f3"))
    assert [r.kind for r in diff.rows] == ["@", " ", "-", "+", "+"] and diff.rows[-1].author == second.uid
    disk = await b.actor.handle("changes", DiffFor(a="base", b="disk"))
    assert len(disk.files) == MANY - 1 and {f.author for f in disk.files} == {first.uid, second.uid}
    patch = await b.actor.handle("patch", Patch(a=first.uid, b=second.uid))
    assert patch.text.count("diff --git") == 301
    both = await b.actor.handle("compare", CompareFor(nodes=[first.uid, second.uid]))
    assert [a.added for a in both.attempts] == [0, 600]


async def test_another_question_gives_up_the_count_before(bench: Any) -> None:
    b = await large(bench)
    first, second = b.nodes("tool")[:2]
    await b.actor.lines.close()
    for cache in (b.actor.shared.work.store_path / "lines").glob("*"):
        cache.unlink()
    # It counts in a process of its own, which must not be done before the other question is there.
    process: DiffProcess = b.actor.files.process()
    await b.actor.handle("changes", DiffFor(a="parent", b=first.uid))
    assert process._process is not None
    os.kill(process._process.pid, signal.SIGSTOP)
    early = asyncio.ensure_future(b.actor.handle("line_counts", DiffFor(a="parent", b=first.uid)))
    await until(lambda: b.actor.files._counting is not None)
    late = await b.actor.handle("line_counts", DiffFor(a="parent", b=second.uid))
    with pytest.raises(WorldlineError, match="Another comparison"):
        await early
    assert sum(plus for plus, _ in late.files.values()) == 600


async def test_a_process_that_dies_is_said_and_the_next_question_is_answered(bench: Any) -> None:
    b = await large(bench)
    ask = DiffFor(a="parent", b=b.nodes("tool")[0].uid)
    process: DiffProcess = b.actor.files.process()
    await b.actor.handle("changes", ask)
    assert process._process is not None
    process._process.kill()
    await process._process.wait()
    assert len((await b.actor.handle("changes", ask)).files) == MANY
    os.kill(process._process.pid, signal.SIGSTOP)  # else it may have answered before it is killed
    asking = asyncio.ensure_future(b.actor.handle("changes", ask))
    await until(lambda: process._turn.locked())
    process._process.kill()
    with pytest.raises(WorkspaceError, match="could not be compared"):
        await asking
    with pytest.raises(WorkspaceError) as refused:
        await process.call("changes", {"a": "0" * 40, "b": "1" * 40, "steps": []})
    assert refused.value.kind == "missing_state"


async def test_a_large_file_is_compared_in_the_process_for_it(bench: Any) -> None:
    """libgit2 holds the interpreter lock while it compares: on a thread of the engine the loop would stand still."""
    lines = "seq 1 60000 | awk '{print $1 * %d}' > large"
    b = await bench()
    b.script(bash(lines % 3), bash(lines % 7), "Done.")
    assert await b.ask("go") == "completed"
    second = b.nodes("tool")[1]
    await until(lambda: second.uid in b.actor.lines.known())
    await b.actor.handle("changes", DiffFor(a="parent", b=second.uid))
    process: DiffProcess = b.actor.files.process()
    assert process._process is not None
    os.kill(process._process.pid, signal.SIGSTOP)
    ask = DiffFor(a="parent", b=second.uid, path="large", max_rows=4_000)
    asking = asyncio.ensure_future(b.actor.handle("file_diff", ask))
    await until(process._turn.locked)
    # Nobody else does the work, and the loop has time for others.
    assert second.uid in (await b.actor.handle("node_lines", Nothing())).nodes and not asking.done()
    os.kill(process._process.pid, signal.SIGCONT)
    diff = await asking
    assert len(diff.rows) == 4_000 and diff.truncated
    # In pages it is the same; what waits meanwhile is nothing that a collection of garbage looks through.
    page = await b.actor.handle("file_diff", ask.model_copy(update={"page": 2_500}))
    kept = b.actor.files._paged
    assert kept is not None and len(kept[1].rows) == 4_000
    gc.collect()
    assert not any(map(gc.is_tracked, kept[1].rows))
    rest = await b.actor.handle("file_diff", ask.model_copy(update={"page": 2_500, "first_row": 2_500}))
    assert [*page.rows, *rest.rows] == diff.rows and page.more and not rest.more


async def test_a_huge_difference_is_handed_over_in_pages(bench: Any) -> None:
    b = await bench()
    b.script(bash("seq 1 7000 > f"), bash("seq 3000 9000 > f"), "Done.")
    assert await b.ask("go") == "completed"
    ask = DiffFor(a="parent", b=b.nodes("tool")[1].uid, path="f")
    whole = await b.actor.handle("file_diff", ask)
    rows: list[Any] = []
    more = True
    while more:
        page = await b.actor.handle(
            "file_diff", ask.model_copy(update={"page": 2_000, "first_row": len(rows)})
        )
        assert len(page.rows) == 2_000 or not page.more
        rows += page.rows
        more = page.more
    assert rows == whole.rows and len(rows) > 4_000 and not whole.more
    # Pages are of one comparison, also when something else is asked meanwhile.
    first = ask.model_copy(update={"page": 2_000})
    assert (await b.actor.handle("file_diff", first)).more
    await b.actor.handle("file_diff", first.model_copy(update={"context": 0}))
    with pytest.raises(WorldlineError, match="not there any more"):
        await b.actor.handle("file_diff", first.model_copy(update={"first_row": 2_000}))
