from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from worldline.core.process_id import identity, lives
from worldline.session import lock
from worldline.workspace import leases


def test_a_process_is_the_same_as_long_as_it_runs() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mark = identity(child.pid)
    assert mark and mark == identity(child.pid) != identity(os.getpid())
    child.communicate(b"\n")
    assert identity(child.pid) == ""


def test_a_clock_that_is_set_takes_no_lease_and_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree, session = tmp_path / "w", tmp_path / "s.worldline"
    worktree.mkdir()
    leases.take(worktree, "one")
    held = lock.WriterLock.take(session)
    made = psutil.boot_time()
    # What the clock says of the beginning of the machine, and so of every process, after it was put forward.
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: made + 3600)
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")

    assert leases.read(worktree) is not None
    assert lock.writer_lives(session)
    held.release()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"pid": null}', '{"pid": "x"}', '{"pid": 1, "started": 3.0}']
)
def test_a_broken_lease_is_nobodys(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.lease").write_text(text)
    assert leases.read(tmp_path / "w") is None


def test_what_an_older_version_wrote_down_is_still_understood() -> None:
    """It wrote the time of the start."""
    started = psutil.Process().create_time()
    assert lives(os.getpid(), started) and lives(os.getpid(), str(started))
    assert not lives(os.getpid(), started - 60)
    assert lives(os.getpid(), identity(os.getpid()))
    assert not lives(os.getpid(), "") and not lives(0, "") and not lives(os.getpid(), None)
    assert not lives(2**22 + 1, started)


def test_a_session_that_an_older_version_has_open_keeps_its_worktree(tmp_path: Path) -> None:
    lease = {"pid": os.getpid(), "started": psutil.Process().create_time(), "session": "theirs"}
    (tmp_path / "tree.lease").write_text(json.dumps(lease), "utf-8")
    assert leases.read(tmp_path / "tree") == lease
