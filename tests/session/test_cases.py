"""Failures that other agents had with their stores, by what the document must do in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from session import make
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, RunRecord
from worldline.session.reader import SessionReader


def test_two_sessions_on_one_folder_keep_apart(tmp_path: Path) -> None:
    """One overwrote the checkpoints of the other."""
    docs = {
        name: SessionDocument.create(tmp_path / f"{name}.worldline", workspace={"root": "/same"})
        for name in "AB"
    }
    last = {name: doc.append(make.root()).uid for name, doc in docs.items()}
    for name in ("A", "B", "A", "B"):
        last[name] = docs[name].append(make.assistant(last[name], state=f"state of {name}")).uid
    for name, doc in docs.items():
        assert len(doc.tree) == 3
        assert doc.state(last[name]) == f"state of {name}"
        doc.close()


@pytest.mark.parametrize("reason", list(StopReason))
def test_no_stop_reason_keeps_a_session_dead(path: Path, reason: StopReason) -> None:
    """A marker on disk made every later start go to sleep."""
    with SessionDocument.create(path) as doc:
        root = doc.append(make.root())
        asked = doc.append(make.user(root.uid))
        doc.begin_run(RunRecord("r1", asked.uid, 1))
        doc.end_run("r1", reason, "why", "said")
    with SessionDocument.open(path) as again:
        assert again.runs()[0].stop_reason is reason and again.runs()[0].api_said == "said"
        new = again.append(make.user(asked.uid))
        again.begin_run(RunRecord("r2", new.uid, 1))
        again.end_run("r2", StopReason.COMPLETED)
        assert [run.stop_reason for run in again.runs()] == [reason, StopReason.COMPLETED]


def test_an_interrupted_compaction_changes_nothing(doc: SessionDocument) -> None:
    """A summary that was cut off replaced the history."""
    parent = doc.append(make.root()).uid
    with doc.transaction():
        for _ in range(640):
            parent = doc.append(make.user(parent)).uid
    before = doc.headers()
    with pytest.raises(KeyboardInterrupt), doc.transaction():
        doc.append(NodeDraft(NodeKind.COMPACTION, parent, detail={"summary": "half a sen"}))
        raise KeyboardInterrupt
    assert doc.headers() == before and doc.cursor == parent
    assert [body.kind for body in doc.path_bodies(parent)].count(NodeKind.USER) == 640


def test_words_of_a_command_are_not_our_failure(doc: SessionDocument) -> None:
    """ "No space left on device", printed by a command, was taken for a failure of the store."""
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid))
    ended = doc.finish(call.uid, make.tool_end("write failed: No space left on device", Outcome.FAILED))
    assert ended.outcome is Outcome.FAILED
    assert doc.append(make.user(call.uid)).seq == 3


def test_odd_text_is_kept(doc: SessionDocument, path: Path) -> None:
    texts = ["\u2028\u2029\x85", "a\x00b", "\ufeffbom", "\r\n", "😀", "\x1b[31mred\x1b[0m", "字" * 5000, ""]
    root = doc.append(make.root())
    uids = [doc.append(make.user(root.uid, text)).uid for text in texts]
    lone = doc.append(make.user(root.uid, "half \ud83d of a pair"))
    doc.close()
    with SessionDocument.open(path) as again:
        found = [again.body(uid).message["content"][0]["text"] for uid in uids]  # type: ignore[index]
        assert found == texts
        assert all("\n" not in header.preview for header in again.headers())
        message = again.body(lone.uid).message
        assert message is not None and message["content"][0]["text"] == "half ? of a pair"


def test_a_follower_sees_that_its_writer_is_gone(doc: SessionDocument, path: Path) -> None:
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid))
    reader = SessionReader(path)
    assert reader.header(call.uid).outcome is Outcome.RUNNING
    doc.close()
    assert [header.outcome for header in reader.poll()] == [Outcome.INTERRUPTED]
    with SessionDocument.open(path) as again:
        more = again.append(make.user(call.uid))
        assert [header.uid for header in reader.poll()] == [more.uid]
        assert reader.header(call.uid).outcome is Outcome.INTERRUPTED
    reader.close()


def test_large_bodies(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    text = "line of output\n" * 2_000_000
    call = doc.append(make.tool(root.uid))
    doc.finish(call.uid, make.tool_end(text))
    message = doc.body(call.uid).end_message
    assert message is not None and message["content"][0]["content"] == text
    assert doc.path.with_name(doc.path.name + "-wal").stat().st_size < 2_000_000
