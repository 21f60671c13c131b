"""Nodes of a session are read once, and never stale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from session import make
from worldline.agent.conversation import conversation_seqs
from worldline.context import memory as memory_module
from worldline.context.memory import ViewMemory
from worldline.context.model import ViewOptions
from worldline.context.source import path_nodes
from worldline.context.view import build_view
from worldline.core.kinds import Outcome
from worldline.session.document import SessionDocument

OPTIONS = ViewOptions(model="claude-sonnet-5-5")


@pytest.fixture
def doc(tmp_path: Path) -> Iterator[SessionDocument]:
    with SessionDocument.create(tmp_path / "s.worldline") as made:
        yield made


def talk(doc: SessionDocument, turns: int, parent: str) -> list[str]:
    uids = [parent]
    for turn in range(turns):
        uids.append(doc.append(make.user(uids[-1], f"request {turn} " * 20)).uid)
        uids.append(doc.append(make.assistant(uids[-1], f"reply {turn} " * 20)).uid)
    return uids


def test_a_node_is_read_once(doc: SessionDocument, monkeypatch: pytest.MonkeyPatch) -> None:
    uids = talk(doc, 6, doc.append(make.root()).uid)
    read: list[int] = []
    original = doc.bodies_at
    monkeypatch.setattr(doc, "bodies_at", lambda seqs: read.extend(seqs) or original(seqs))
    memory = ViewMemory(doc)
    path = memory.path(conversation_seqs(doc, uids[-1]))
    assert path == path_nodes(doc.path_bodies(uids[-1]))
    read.clear()
    fork = talk(doc, 1, uids[4])
    again = memory.path(conversation_seqs(doc, fork[-1]))
    assert all(one is other for one, other in zip(again[:5], path, strict=False))
    assert read == [doc.seq(uid) for uid in fork[1:]]


def test_a_node_that_had_no_end_is_read_again(doc: SessionDocument) -> None:
    uids = talk(doc, 2, doc.append(make.root()).uid)
    call = doc.append(make.tool(uids[-1]))
    memory = ViewMemory(doc)
    begun = memory.path(conversation_seqs(doc, call.uid))[-1]
    assert begun.outcome is Outcome.RUNNING and begun.end_message is None
    assert memory.path(conversation_seqs(doc, call.uid))[-1] is begun, (
        "as long as it is as it was, it is the same object"
    )
    doc.finish(call.uid, make.tool_end("all fine"))
    ended = memory.path(conversation_seqs(doc, call.uid))[-1]
    assert ended.outcome is Outcome.OK and ended == path_nodes(doc.path_bodies(call.uid))[-1]


def test_views_of_jumps_are_those_of_the_stored_nodes(doc: SessionDocument) -> None:
    left = talk(doc, 12, doc.append(make.root()).uid)
    right = talk(doc, 8, left[8])
    memory = ViewMemory(doc)
    for uid in (left[-1], right[-1], left[-3], right[4], left[-1]):
        view = memory.views.build(memory.path(conversation_seqs(doc, uid)), OPTIONS)
        assert view == build_view(path_nodes(doc.path_bodies(uid)), OPTIONS)
    assert memory.views.extended == 4


def test_only_the_path_is_kept_when_there_is_too_much(
    doc: SessionDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "_MOST_BYTES", 4_000)
    left = talk(doc, 8, doc.append(make.root()).uid)
    right = talk(doc, 8, left[6])
    memory = ViewMemory(doc)
    for uid in (left[-1], right[-1], left[-1]):
        seqs = conversation_seqs(doc, uid)
        view = memory.views.build(memory.path(seqs), OPTIONS)
        assert view == build_view(path_nodes(doc.path_bodies(uid)), OPTIONS)
        assert sorted(memory._nodes) == seqs
