"""A file that is damaged in the middle: found beside the work, told, and not written to any more."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S, damage_page_of
from worldline.core.errors import SessionError
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.engine.workthread import WorkThread
from worldline.protocol.commands import Prompt
from worldline.session.model import NodeDraft
from worldline.workspace.model import NOT_CAPTURED, CaptureResult


async def closed_session(bench: Callable[..., Any]) -> Path:
    b = await bench()
    doc = b.doc
    for number in range(200):
        text = {"role": "user", "content": [{"type": "text", "text": f"needle-{number} " + "text " * 100}]}
        doc.append(NodeDraft(NodeKind.USER, doc.cursor, text, preview="p"))
    doc._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await b.actor.close()
    path: Path = doc.path
    damage_page_of(path, b"needle-100 ")
    return path


async def test_the_window_is_told_and_nothing_is_begun(bench: Callable[..., Any]) -> None:
    path = await closed_session(bench)
    b = await bench(session=path, attended=True)
    assert not b.actor.shared.info.read_only, "opening does not wait for the look"
    b.actor.greeted()

    async def told() -> None:
        while "writing_ended" not in b.names():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(told(), PATIENCE_S)
    why = next(message.why for name, message in b.events if name == "writing_ended")
    assert "is damaged" in why and f"worldline recover {path}" in why
    assert b.actor.shared.info.read_only and b.actor.shared.info.read_only_why == why
    with pytest.raises(SessionError) as refused:
        await b.actor.runs.prompt(Prompt(text="go on"))
    assert refused.value.kind == "damaged" and "worldline verify" in refused.value.hint


async def test_a_run_that_goes_on_ends_in_order(bench: Callable[..., Any]) -> None:
    path = await closed_session(bench)
    b = await bench(session=path, attended=True)
    gate = b.actor.runs
    gate.pause(True)
    started = await gate.prompt(Prompt(text="go on"))
    await b.actor.soundness.look()
    await asyncio.wait_for(gate.idle(), PATIENCE_S)
    assert b.reason(started.run) == "store_error"


async def test_a_sound_file_is_left_alone(bench: Callable[..., Any]) -> None:
    b = await bench()
    await b.actor.soundness.look()
    assert not b.actor.shared.info.read_only and b.doc.damage == []


async def test_a_damaged_file_keeps_its_bytes(bench: Callable[..., Any]) -> None:
    path = await closed_session(bench)
    before = path.read_bytes()
    b = await bench(session=path, attended=True)
    b.actor.greeted()

    async def told() -> None:
        while "writing_ended" not in b.names():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(told(), PATIENCE_S)
    await b.actor.close()
    assert path.read_bytes() == before
    assert not path.with_name(path.name + "-wal").exists()


async def test_a_damaged_file_of_a_crash_is_looked_at_before_the_crash_is_noted(
    bench: Callable[..., Any],
) -> None:
    path = await closed_session(bench)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO runs(uid, prompt, started, settings, after_node) VALUES('r', '', 1, '{}', 1)"
        )
        connection.commit()
    before = path.read_bytes()
    b = await bench(session=path, attended=True)
    assert b.actor.shared.info.damaged and b.actor.shared.info.read_only
    await b.actor.close()
    assert path.read_bytes() == before
    assert not path.with_name(path.name + "-wal").exists()


async def test_a_session_whose_first_files_could_not_be_captured_says_so(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> CaptureResult:
        return CaptureResult(state=NOT_CAPTURED, changed=False, error="No space left on device")

    monkeypatch.setattr(WorkThread, "capture", full)
    b = await bench()
    root = b.doc.header(b.doc.resolve("root"))
    assert root.flags & NodeFlag.NOT_CAPTURED
    assert b.doc.body(root.uid).detail["not_captured_why"] == "No space left on device"
