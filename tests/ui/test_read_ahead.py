"""Rows that are read ahead are the rows the engine would send, however the file looks."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worldline.client.process import EngineProcess
from worldline.core import header_reader
from worldline.core.row_reader import NotPlain, read_details, read_shape, read_uids
from worldline.ui.read_ahead import ReadAhead
from worldline.ui.session_state import SessionState
from worldline.viewmodel.tree_layout import TreeLayout
from worldline.viewmodel.tree_model import TreeModel

ARRAYS = ("parent", "kind", "outcome", "flags", "created", "took", "added", "removed", "files", "children", "single",
          "follows", "live", "marked")  # fmt: skip

MAKE = """
import random, sys
from pathlib import Path
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd
rng = random.Random(int(sys.argv[2]))
doc = SessionDocument.create(Path(sys.argv[1]), title="t")
uids = [doc.append(NodeDraft(NodeKind.ROOT, None)).uid]
kinds = [NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL, NodeKind.COMPACTION, NodeKind.IMPORTED_EVENT]
with doc.transaction():
    for n in range(int(sys.argv[3])):
        kind = rng.choice(kinds)
        parent = uids[-1] if rng.random() > 0.1 else rng.choice(uids)
        flags = NodeFlag(rng.choice([0, 0, 0, 1, 2, 1024, 16384]))
        node = doc.append(NodeDraft(kind, parent, {"role": "user", "content": "x"}, preview=f"näme {n} 中文 " * (n % 3),
                                    tool=rng.choice(["bash", "edit", ""]), model="m", run="r1", flags=flags))
        uids.append(node.uid)
        if kind is NodeKind.TOOL and rng.random() < 0.9:
            doc.finish(node.uid, NodeEnd(rng.choice([Outcome.OK, Outcome.FAILED]), added=n, removed=1, files=n % 2,
                                         flags=NodeFlag(rng.choice([0, 4, 8192])), preview=rng.choice(["", "done"])))
doc.set_cursor(uids[len(uids) // 2], "test")
doc.close()
"""


def make(path: Path, seed: int, nodes: int) -> None:
    subprocess.run([sys.executable, "-c", MAKE, str(path), str(seed), str(nodes)], check=True)


def models(path: Path) -> tuple[TreeModel, TreeModel]:
    """The model by rows, and the model by columns."""
    connection = header_reader.connect_readonly(path)
    slow, fast = TreeModel(), TreeModel()
    slow.extend(header_reader.read_headers(connection))
    shape = read_shape(connection)
    fast.take_shape(shape, lambda: read_uids(connection, len(shape)))
    cursor = fast.uid(shape.cursor - 1)
    assert fast.row(cursor) == shape.cursor - 1
    assert not any(fast.uids.packed), "the cursor's id is known without the others"
    middle = len(fast) // 2
    fast.take_details(read_details(connection, middle, min(middle + 20, len(fast) - 1)))
    for first in range(0, len(fast), 50):
        fast.take_details(read_details(connection, first, min(first + 50, len(fast)) - 1))
    fast.uids.fill()
    connection.close()
    return slow, fast


@pytest.mark.parametrize("seed", [1, 2])
def test_columns_are_the_same_as_rows(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "s ü?.worldline"
    make(path, seed, 300)
    slow, fast = models(path)
    assert len(slow) == 301
    for name in ARRAYS:
        assert getattr(fast, name) == getattr(slow, name), name
    for row in range(len(slow)):
        for word in ("uid", "preview", "tool", "model", "branch", "run"):
            assert getattr(fast, word)(row) == getattr(slow, word)(row), (row, word)
    layouts = []
    for model in (slow, fast):
        layout = TreeLayout(model)
        layout.follow()
        layouts.append(layout)
    one = TreeLayout(growing := TreeModel())
    connection = header_reader.connect_readonly(path)
    for header in header_reader.read_headers(connection):
        growing.append(header)
        one.follow()
    connection.close()
    for layout in layouts:
        for name in ("lane", "segment", "seg_first", "seg_last", "seg_parent", "forks", "bad"):
            assert getattr(layout, name) == getattr(one, name), name


def test_rows_with_gaps_are_left_to_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "gap.worldline"
    make(path, 3, 20)
    raw = sqlite3.connect(path)
    raw.executescript(
        "PRAGMA writable_schema = 1; DROP TRIGGER nodes_delete; DELETE FROM nodes WHERE seq = 7;"
    )
    with pytest.raises(NotPlain):
        read_shape(raw)
    raw.close()
    assert len(ReadAhead(path).result()[0]) == 0


def test_ids_of_other_agents_stand_among_ours(tmp_path: Path) -> None:
    path = tmp_path / "odd.worldline"
    make(path, 5, 20)
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER nodes_update")
    # The lengths make up for one another, and some look like hex.
    for seq, uid in ((3, "abc"), (4, "a" * 29), (9, "toolu_01.x"), (10, "ABCDEFABCDEFABCD"), (12, "0,1")):
        raw.execute("UPDATE nodes SET uid = ? WHERE seq = ?", (uid, seq))
    expected = [uid for (uid,) in raw.execute("SELECT uid FROM nodes ORDER BY seq")]
    with pytest.raises(NotPlain):
        read_uids(raw, len(expected))
    raw.execute("UPDATE nodes SET uid = 'plain' WHERE seq = 12")
    raw.commit()
    expected[11] = "plain"
    model = TreeModel()
    shape = read_shape(raw)
    model.take_shape(shape, lambda: read_uids(raw, len(shape)))
    assert [model.uid(row) for row in range(len(model))] == expected
    assert [model.row(uid) for uid in expected] == list(range(len(model)))
    raw.close()


def test_ids_that_cannot_be_read_come_from_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "lost.worldline"
    make(path, 6, 20)
    connection = header_reader.connect_readonly(path)
    model = TreeModel()
    model.take_shape(read_shape(connection), lambda: None)
    headers = header_reader.read_headers(connection)
    connection.close()
    assert model.uid(3) == "" and model.uids.lost
    for header in headers:
        model.update(header)
    assert [model.uid(row) for row in range(len(model))] == [header.uid for header in headers]
    assert model.row(headers[7].uid) == 7


def test_noise_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "noise.worldline"
    path.write_bytes(random.Random(1).randbytes(5000))
    assert len(ReadAhead(path).result()[0]) == 0


def test_words_come_after_the_shape(tmp_path: Path, qtbot: Any) -> None:
    path = tmp_path / "long.worldline"
    make(path, 4, 2000)
    state = SessionState(EngineProcess([], command=["true"]))
    state.read_ahead(path)
    tree = state.tree
    assert len(tree) == 2001
    assert state.cursor == tree.uid(1000)
    assert tree.preview(3) == ""
    with qtbot.waitSignal(state.details_changed, timeout=10_000):
        state.read_details()
    assert state._details is not None
    state._details.join()
    assert tree.created[3] > 0
    assert [row for row in tree.rows_with_text("näme 4 ") if row < 1000] == [5]
