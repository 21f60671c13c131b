"""Any sequence of operations, crashes and reopenings keeps the session what it must be."""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crash.session_model import Model, perform, snapshot
from worldline.session.document import SessionDocument
from worldline.session.reader import SessionReader
from worldline.session.verify import verify

STEPS = st.lists(
    st.one_of(st.integers(0, 2**32), st.sampled_from(["reopen", "crash", "torn"])), min_size=1, max_size=40
)


def crash(doc: SessionDocument, path: Path, into: Path) -> Path:
    """The files as a killed process leaves them: file and log, nothing closed."""
    into.mkdir()
    for part in ("", "-wal"):
        shutil.copyfile(f"{path}{part}", into / f"{path.name}{part}")
    doc.close()
    return into / path.name


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_any_sequence_keeps_what_happened(steps: list[int | str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s.worldline"
        doc, model = SessionDocument.create(path), Model()
        reader = SessionReader(path)
        for at, step in enumerate(steps):
            if isinstance(step, int):
                op = model.random_op(random.Random(step))
                perform(doc, op)
                model.apply(op)
                reader.poll()
                assert reader.tree.columns.parent == doc.tree.columns.parent
                assert reader.tree.columns.outcome == doc.tree.columns.outcome
                assert reader.cursor == doc.cursor == model.cursor
                continue
            reader.close()
            if step == "reopen":
                doc.close()
            elif step == "crash":
                path = crash(doc, path, Path(name) / str(at))
            else:
                # The way out of a process that is ended in the middle.
                with contextlib.suppress(InterruptedError), doc.transaction():
                    scratch = model.copy()
                    for seed in range(4):
                        op = scratch.random_op(random.Random(seed))
                        if op["op"] != "index":
                            perform(doc, op)
                            scratch.apply(op)
                    raise InterruptedError
                assert snapshot(doc) == model.snapshot()
                doc.close()
            doc = SessionDocument.open(path)
            model.after_crash()
            reader = SessionReader(path)
        assert snapshot(doc) == model.snapshot()
        for seq in range(1, len(doc.tree) + 1):
            walk = doc.tree.path(seq)
            assert walk == sorted(walk) and walk[-1] == seq and doc.tree.parent(walk[0]) == 0
        assert verify(path).sound
        reader.close()
        doc.close()
