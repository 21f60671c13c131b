"""A process that may have few files open jumps all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace.safefs import SafeTree

pytest.importorskip("resource")

_GO = """
import resource, sys
limit = int(sys.argv[5])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
from pathlib import Path
from worldline.workspace.engine import Workspace
ws = Workspace(Path(sys.argv[1]), Path(sys.argv[2]), free_floor=0)
assert ws.capture(sys.argv[4]).state == sys.argv[4]
report = ws.apply(ws.plan(sys.argv[3], last=sys.argv[4]), on_done=lambda _: None)
assert report.done and not report.failed, report.note
ws.close()
"""


def _fill(work: Path, text: str) -> None:
    for number in range(120):
        folder = work / f"d{number % 60}" / f"e{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "f").write_text(f"{text} {number}")


@pytest.mark.parametrize("limit", [128, 64, 40])
def test_many_folders_with_few_open_files(
    work: Path, tmp_path: Path, open_workspace: Any, limit: int
) -> None:
    ws = open_workspace(free_floor=0)
    _fill(work, "one")
    first = ws.capture(None).state
    _fill(work, "two")
    second = ws.capture(first).state
    ws.close()
    done = subprocess.run(
        [sys.executable, "-c", _GO, str(work), str(tmp_path / "store"), first, second, str(limit)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.read_text()[:3] for path in work.rglob("f")} == {"one"}


def test_a_folder_that_was_asked_for_just_now_stays_open(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever renames from one to another holds both."""
    monkeypatch.setattr("worldline.workspace.safefs._MAX_OPEN", 8)
    (work / "from").mkdir()
    for number in range(30):
        (work / "a" / str(number)).mkdir(parents=True)
    tree = SafeTree(work)
    try:
        for number in range(30):
            first, second = tree.folder("from"), tree.folder(f"a/{number}")
            assert os.path.samestat(os.fstat(first), (work / "from").stat())
            assert os.path.samestat(os.fstat(second), (work / "a" / str(number)).stat())
    finally:
        tree.close()
