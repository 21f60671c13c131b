"""What sessions take on disk, and pruning."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from worldline.core.errors import WorldlineError
from worldline.engine.external_changes import note_external_change
from worldline.protocol.commands import Jump, Nothing, Prune, SetLabel, SetSettings
from worldline.session.verify import verify


async def test_sizes_and_pruning(written: Any, repo: Path) -> None:
    b = await written(in_place=True)
    (repo / "one.txt").write_text("by hand\n")
    loose = await b.actor.shared.work.capture(None, "nobody refers to this")
    seen = await b.actor.handle("storage", Nothing())
    (row,) = [row for row in seen.sessions if row.here]
    assert row.states_bytes > 0 and row.session_bytes > 0
    assert seen.total_bytes >= row.states_bytes + row.session_bytes
    assert seen.unused_states == 1 and seen.states > 1
    dry = await b.actor.handle("prune", Prune())
    assert (dry.states_removed, dry.nodes) == (1, [])
    assert dry.freed_bytes > 0
    assert loose.state in await b.actor.shared.work.call(lambda w: w.stored_states())
    done = await b.actor.handle("prune", Prune(dry_run=False))
    assert (done.states_removed, done.nodes) == (1, [])
    states = {header.state for header in b.doc.headers() if header.state}
    assert not await b.actor.shared.work.call(lambda w: w.missing(states))
    first, _ = b.nodes("tool")
    shown = await b.actor.handle("jump", Jump(node=first.uid))
    assert shown.plan is not None and shown.plan.needs_confirmation
    answer = await b.actor.handle("jump", Jump(node=first.uid, plan=shown.plan.id))
    assert answer.result is not None and answer.result.verified == answer.result.of


async def test_old_side_branches_are_named_before_they_lose_their_files(written: Any) -> None:
    b = await written(in_place=True)
    first, second = b.nodes("tool")
    await b.actor.handle("jump", Jump(node=first.uid))
    assert (await b.actor.handle("prune", Prune(older_than_days=30))).nodes == []
    with pytest.raises(WorldlineError):
        await b.actor.handle("prune", Prune(older_than_days=0))
    b.actor.storage.now = lambda: first.created + 40 * 86_400_000
    shown = await b.actor.handle("prune", Prune(older_than_days=30))
    assert second.uid in shown.nodes and first.uid not in shown.nodes and "cannot be put back" in shown.note


async def test_what_is_pruned_is_named_once_and_the_reminder_counts_it(written: Any) -> None:
    b = await written(in_place=True)
    first, second = b.nodes("tool")
    await b.actor.handle("jump", Jump(node=first.uid))
    b.actor.storage.now = lambda: first.created + 40 * 86_400_000
    assert (await b.actor.handle("retention", Nothing())).model_dump() == {"days": 0, "nodes": 0}
    await b.actor.handle("set_settings", SetSettings(values={"retention_days": 30}))
    shown = await b.actor.handle("prune", Prune(older_than_days=30))
    reminder = await b.actor.handle("retention", Nothing())
    assert (reminder.days, reminder.nodes) == (30, len(shown.nodes)) and shown.nodes
    done = await b.actor.handle("prune", Prune(older_than_days=30, dry_run=False, lose_id=shown.lose_id))
    assert done.nodes == shown.nodes and done.states_removed == shown.states_removed
    # The preview promised about what it gave back.
    assert abs(done.freed_bytes - shown.freed_bytes) <= max(2048, shown.freed_bytes)
    assert (await b.actor.handle("retention", Nothing())).nodes == 0
    assert (await b.actor.handle("prune", Prune(older_than_days=30))).nodes == []
    with pytest.raises(WorldlineError, match="removed to give room back"):
        await b.actor.handle("jump", Jump(node=second.uid))
    # Where we are is whole.
    kept = {header.state for header in b.doc.headers() if header.uid not in done.nodes and header.state}
    assert not await b.actor.shared.work.call(lambda w: w.missing(kept))
    report = verify(b.doc.path, lambda state: state in kept)
    assert report.sound, report.faults


async def left_long_ago(written: Any) -> tuple[Any, Any, Any]:
    """A session that went back to its first step forty days ago: with it the second step, and the node below that."""
    b = await written(in_place=True)
    first, second = b.nodes("tool")
    below = next(h for h in b.doc.headers() if h.parent == second.seq)
    await b.actor.handle("jump", Jump(node=first.uid))
    b.actor.storage.now = lambda: first.created + 40 * 86_400_000
    return b, second, below


async def test_a_marked_node_keeps_the_files_that_it_has_from_a_node_before(written: Any) -> None:
    b, second, below = await left_long_ago(written)
    assert not below.state, "its files are those of the step before"
    await b.actor.handle("set_label", SetLabel(node=below.uid, what="bookmark", text="keep"))

    shown = await b.actor.handle("prune", Prune(older_than_days=30))
    done = await b.actor.handle("prune", Prune(older_than_days=30, dry_run=False, lose_id=shown.lose_id))

    assert below.uid not in done.nodes
    assert not await b.actor.shared.work.call(lambda w: w.missing({second.state}))


async def test_only_what_was_seen_is_lost(written: Any) -> None:
    b, _, below = await left_long_ago(written)
    stored = await b.actor.shared.work.call(lambda w: w.stored_states())
    shown = await b.actor.handle("prune", Prune(older_than_days=30))
    assert shown.nodes and shown.lose_id
    with pytest.raises(WorldlineError, match="Nothing was removed"):
        await b.actor.handle("prune", Prune(older_than_days=30, dry_run=False))
    # Between the question and the answer one of them was marked to be kept.
    await b.actor.handle("set_label", SetLabel(node=below.uid, what="bookmark", text="keep"))
    with pytest.raises(WorldlineError, match="Nothing was removed"):
        await b.actor.handle("prune", Prune(older_than_days=30, dry_run=False, lose_id=shown.lose_id))
    assert await b.actor.shared.work.call(lambda w: w.stored_states()) == stored
    again = await b.actor.handle("prune", Prune(older_than_days=30))
    assert set(again.nodes) < set(shown.nodes) and below.uid not in again.nodes
    done = await b.actor.handle("prune", Prune(older_than_days=30, dry_run=False, lose_id=again.lose_id))
    assert done.nodes == again.nodes


async def test_every_node_that_loses_its_files_is_named(written: Any) -> None:
    b, second, below = await left_long_ago(written)

    shown = await b.actor.handle("prune", Prune(older_than_days=30))

    assert {second.uid, below.uid} <= set(shown.nodes)


async def test_what_starts_while_pruning_waits_keeps_its_states(written: Any) -> None:
    """A message that is on its way makes a node of what the person changed."""
    b = await written(in_place=True)
    async with b.actor.shared.turnstile:
        pruning = asyncio.ensure_future(b.actor.handle("prune", Prune(dry_run=False)))
        await asyncio.sleep(0)
        (b.root / "by-hand.txt").write_text("x\n")
        await note_external_change(b.actor.shared)
    await pruning

    states = {header.state for header in b.doc.headers() if header.state}
    assert not await b.actor.shared.work.call(lambda w: w.missing(states))
