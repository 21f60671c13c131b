"""Putting back what was outside the workspace loses nothing of what came there since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worldline.policy import copies
from worldline.policy.copies import Copies


def detail(saved: copies.SavedCopy) -> dict[str, object]:
    return {"path": str(saved.target), "copy": str(saved.copy or ""), "existed": saved.existed}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("existed", [True, False])
def test_what_cannot_be_saved_first_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    kept, target = Copies(tmp_path / "copies"), tmp_path / "out" / "data"
    target.parent.mkdir()
    if existed:
        target.mkdir()
        (target / "old").write_text("1")
    saved = kept.save(target)
    target.mkdir(exist_ok=True)
    (target / "large").write_bytes(b"x" * 100)
    monkeypatch.setattr(copies, "COPY_LIMIT", 50)
    before = everything(tmp_path / "out")

    with pytest.raises(OSError, match="cannot be saved first"):
        kept.restore(detail(saved))

    assert everything(tmp_path / "out") == before


def test_a_failure_leaves_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, target = Copies(tmp_path / "copies"), tmp_path / "out" / "data"
    target.mkdir(parents=True)
    (target / "f").write_text("1")
    saved = kept.save(target)
    (target / "f").write_text("2")
    rename = Path.rename

    def full(path: Path, to: Path) -> Path:
        if "restoring" in path.name:
            raise OSError("no room")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="no room"):
        kept.restore(detail(saved))

    assert everything(tmp_path / "out") == {"data/f": b"2"}
    monkeypatch.undo()
    kept.restore(detail(saved))
    assert everything(tmp_path / "out") == {"data/f": b"1"}


def test_a_file_becomes_a_folder_and_a_folder_a_file_again(tmp_path: Path) -> None:
    kept, target = Copies(tmp_path / "copies"), tmp_path / "x"
    target.write_text("1")
    saved = kept.save(target)
    target.unlink()
    target.mkdir()
    (target / "in").write_text("2")
    folder = kept.save(target)

    kept.restore(detail(saved))
    assert target.read_text() == "1"
    kept.restore(detail(folder))
    assert everything(target) == {"in": b"2"}
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
