"""Small files are read again where they may have changed, and only there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace import reading
from worldline.workspace.engine import Workspace
from worldline.workspace.remembered import Remembered


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return self.path.read_bytes()


def _until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not done():
        assert time.monotonic() < until


def _is_kept(known: Remembered, reader: _Reader, *, links: bool = False) -> bool:
    before = reader.times
    known.read(str(reader.path), reader, links=links)
    return reader.times == before


def test_a_file_is_read_once_while_it_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "HEAD"
    path.write_bytes(b"one")
    known, reader = Remembered(), _Reader(path)
    assert known.read(str(path), reader, links=False) == b"one"
    _until(lambda: _is_kept(known, reader))
    assert known.read(str(path), reader, links=False) == b"one"
    path.write_bytes(b"two")
    assert known.read(str(path), reader, links=False) == b"two"


def test_what_was_just_changed_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "HEAD"
    known, reader = Remembered(), _Reader(path)
    for number in range(300):  # of the same size, and most of them with the same times
        path.write_bytes(b"%03d" % number)
        assert known.read(str(path), reader, links=False) == b"%03d" % number


def test_who_is_held_up_after_reading_does_not_take_a_new_file_for_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been written to again after it was read, at the same time as before."""
    path = tmp_path / "HEAD"
    path.write_bytes(b"one")
    now = path.stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: now)
    known = Remembered()

    def slow() -> bytes:
        nonlocal now
        data = path.read_bytes()
        now += 10**10
        return data

    known.read(str(path), slow, links=False)
    assert not _is_kept(known, _Reader(path))

    work = tmp_path / "work"
    work.mkdir()
    (work / "file").write_bytes(b"one")
    now = (work / "file").stat().st_ctime_ns
    read_file = reading.read_file

    def held_up(*words: Any) -> Any:
        nonlocal now
        got = read_file(*words)
        now += 10**10
        return got

    monkeypatch.setattr(reading, "read_file", held_up)
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    workspace.capture(None)
    sig = workspace._capturer.sig_of("file")
    assert sig is not None and sig[1] == -1
    workspace.close()


def test_another_file_in_its_place_is_read(tmp_path: Path) -> None:
    path, other = tmp_path / "HEAD", tmp_path / "other"
    path.write_bytes(b"one")
    other.write_bytes(b"two")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    known, reader = Remembered(), _Reader(path)
    _until(lambda: _is_kept(known, reader))
    path.unlink()
    path.symlink_to(other)
    assert known.read(str(path), reader, links=True) == b"two"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        known.read(str(path), reader, links=True)


def test_names_that_come_and_go_are_seen(tmp_path: Path) -> None:
    known, wanted = Remembered(), frozenset({"MERGE_HEAD", "sequencer"})
    folder = str(tmp_path)
    for _ in range(50):
        assert known.names(folder, wanted) == frozenset()
        (tmp_path / "MERGE_HEAD").touch()
        assert known.names(folder, wanted) == {"MERGE_HEAD"}
        (tmp_path / "MERGE_HEAD").unlink()
    assert known.names(folder, wanted) == frozenset()
