"""What a crash left in the log of a session is not written into a file that is damaged."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from session import make
from worldline.core.errors import SessionError
from worldline.session.connect import PAGE
from worldline.session.document import SessionDocument
from worldline.session.model import RunRecord
from worldline.session.recover import recover


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def crashed(folder: Path, *, in_a_run: bool) -> Path:
    """A session whose last steps are in its log alone."""
    path, left = folder / "s.worldline", folder / "left.worldline"
    with SessionDocument.create(path, title="T") as doc:
        last = doc.append(make.root()).uid
        for number in range(150):
            last = doc.append(make.user(last, f"early {number} " * 100)).uid
        doc._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if in_a_run:
            doc.begin_run(RunRecord("r", last, 1))
        for number in range(20):
            last = doc.append(make.user(last, f"late {number} " * 100)).uid
        shutil.copyfile(path, left)
        shutil.copyfile(log_of(path), log_of(left))
    return left


def destroy(path: Path, pages: range) -> None:
    data = bytearray(path.read_bytes())
    for page in pages:
        data[page * PAGE : (page + 1) * PAGE] = random.Random(page).randbytes(PAGE)
    path.write_bytes(data)


@pytest.mark.parametrize("pages", [range(3, 10), range(20, 23), range(40, 41)], ids=str)
def test_a_damaged_file_that_cannot_be_opened_for_writing_keeps_its_bytes_and_its_log(
    tmp_path: Path, pages: range
) -> None:
    path = crashed(tmp_path, in_a_run=True)
    destroy(path, pages)
    before = path.read_bytes(), log_of(path).read_bytes()
    for mode in ("write", "read", "write"):
        try:
            SessionDocument.open(path, mode).close()  # type: ignore[arg-type]
        except SessionError as problem:
            assert problem.kind == "damaged"
        else:
            assert mode == "read"
        assert (path.read_bytes(), log_of(path).read_bytes()) == before
    report = recover(path, tmp_path / "new.worldline")
    with SessionDocument.open(report.out, "read") as new:
        assert any("late 19" in header.preview for header in new.headers())


def test_so_does_one_that_is_found_damaged_beside_the_work(tmp_path: Path) -> None:
    path = crashed(tmp_path, in_a_run=False)
    destroy(path, range(40, 41))
    before = path.read_bytes(), log_of(path).read_bytes()
    doc = SessionDocument.open(path)
    doc.damage = ["It is damaged."]  # as the look at it says
    doc.close()
    assert (path.read_bytes(), log_of(path).read_bytes()) == before


def test_the_log_of_a_sound_one_is_taken_over(tmp_path: Path) -> None:
    path = crashed(tmp_path, in_a_run=True)
    with SessionDocument.open(path) as doc:
        assert len(doc.tree) == 171
    assert not log_of(path).exists()
