"""Kills and faults of the disk. The full campaign is `python3 packaging/dev.py crash-campaign`; this is its short form."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crash import session_campaign
from session import make
from worldline.core.errors import SessionError
from worldline.core.headers import NodeHeader
from worldline.core.kinds import Outcome
from worldline.session import lock
from worldline.session.document import SessionDocument
from worldline.session.verify import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and mounts")


def test_thirty_kills_lose_nothing() -> None:
    report = session_campaign.run(30, seed=11)
    assert report["failures"] == []
    assert report["kills"] == 30 and sum(report["damages"].values()) > 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("mounting needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def refused(job: Callable[[], object]) -> SessionError:
    with pytest.raises(SessionError) as problem:
        job()
    assert problem.value.kind == "not_saved" and problem.value.hint
    return problem.value


def fill_until_refused(doc: SessionDocument, parent: str) -> tuple[list[NodeHeader], SessionError]:
    saved: list[NodeHeader] = []
    while True:
        try:
            text = os.urandom(20_000).hex()
            saved.append(doc.append(make.user(saved[-1].uid if saved else parent, text)))
        except SessionError as problem:
            return saved, problem


def test_a_full_disk_is_told_and_the_next_write_works_when_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(700_000))
    path = small_disk / "s.worldline"
    doc = SessionDocument.create(path)
    root = doc.append(make.root())
    call = doc.append(make.tool(root.uid))
    saved, problem = fill_until_refused(doc, call.uid)
    assert problem.kind == "not_saved" and "full" in problem.message
    for _ in range(3):  # again and again: nothing half-done piles up
        refused(lambda: doc.append(make.user(root.uid, os.urandom(450_000).hex())))
    assert len(doc.tree) == 2 + len(saved) and doc.cursor == saved[-1].uid
    assert doc.headers() == [root, call, *saved]
    ballast.unlink()
    ended = doc.finish(call.uid, make.tool_end())
    after = doc.append(make.user(call.uid, "there is room again"))
    doc.close()
    assert verify(path).sound
    with SessionDocument.open(path) as again:
        assert again.headers() == [root, ended, *saved, after]
        assert again.cursor == after.uid


def test_a_full_disk_while_opening_and_creating(small_disk: Path) -> None:
    path = small_disk / "s.worldline"
    with SessionDocument.create(path) as doc:
        root = doc.append(make.root())
        doc.append(make.tool(root.uid))
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    refused(lambda: SessionDocument.create(small_disk / "other.worldline"))
    assert not (small_disk / "other.worldline").exists()
    assert sorted(p.name for p in small_disk.iterdir()) == ["ballast", "s.worldline"]
    with SessionDocument.open(path, "read") as doc:
        assert doc.tree.outcome(2) is Outcome.INTERRUPTED
    ballast.unlink()
    with SessionDocument.open(path) as doc:
        assert len(doc.interrupted_on_open) == 1


def test_a_disk_that_turns_read_only(small_disk: Path) -> None:
    path = small_disk / "s.worldline"
    doc = SessionDocument.create(path)
    root = doc.append(make.root())
    doc.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused(lambda: SessionDocument.open(path))
    with SessionDocument.open(path, "read") as reader:
        assert reader.headers() == [root]
    assert verify(path).sound
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with SessionDocument.open(path) as again:
        again.append(make.user(root.uid))


def test_a_limit_on_file_size_is_told() -> None:
    """The same for those who are not root: a process that may not write files beyond a size."""
    code = """
import resource, signal, sys
from pathlib import Path
from session import make
from worldline.core.errors import SessionError
from worldline.session.document import SessionDocument
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
doc = SessionDocument.create(Path(sys.argv[1]))
root = doc.append(make.root())
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
count, problem = 0, None
try:
    while count < 100:
        doc.append(make.user(root.uid, str(count) * 20_000)); count += 1
except SessionError as error:
    problem = error
assert problem is not None and problem.kind == "not_saved", problem
assert len(doc.tree) == count + 1
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
doc.append(make.user(root.uid, "again"))
doc.close()
with SessionDocument.open(Path(sys.argv[1])) as doc:
    assert len(doc.tree) == count + 2
"""
    assert resource.RLIMIT_FSIZE is not None
    run_child(code)


def run_child(code: str, *args: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code, f"{folder}/s.worldline", *args],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr


def test_a_deleted_folder_is_noticed_and_a_copy_saves_everything(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    doc = SessionDocument.create(folder / "s.worldline")
    root = doc.append(make.root())
    asked = doc.append(make.user(root.uid, "do not lose me"))
    shutil.rmtree(folder)
    for _ in range(2):
        assert "gone" in refused(lambda: doc.append(make.user(asked.uid))).message
    assert len(doc.tree) == 2 and doc.body(asked.uid).message is not None
    doc.save_copy(tmp_path / "copy.worldline")
    doc.close()
    with SessionDocument.open(tmp_path / "copy.worldline") as copy:
        assert copy.headers() == [root, asked]
        copy.append(make.user(asked.uid))


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.worldline"
    doc = SessionDocument.create(path)
    root = doc.append(make.root())
    doc.append(make.user(root.uid))
    other = tmp_path / "other.worldline"
    SessionDocument.create(other).close()
    os.replace(other, path)
    assert "another file" in refused(lambda: doc.append(make.user(root.uid))).message
    doc.close()


def test_a_clock_that_goes_back_changes_no_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SessionDocument.create(path) as doc:
        root = doc.append(make.root())
        real = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: real - 3600 * 10**9)
        call = doc.append(make.tool(root.uid))
        monkeypatch.setattr(time, "time_ns", lambda: real - 7200 * 10**9)
        doc.finish(call.uid, make.tool_end())
        last = doc.append(make.user(call.uid))
    with SessionDocument.open(path) as again:
        assert [h.uid for h in again.headers()] == [root.uid, call.uid, last.uid]
        assert again.cursor == last.uid and again.header(call.uid).duration_ms == 0
        report = verify(path)
        assert report.sound and "clock" in {note.kind for note in report.notes}


def test_the_lock_of_a_dead_process_is_taken_over(path: Path) -> None:
    SessionDocument.create(path).close()
    code = """
import sys
from pathlib import Path
from worldline.session.document import SessionDocument
doc = SessionDocument.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None and child.stdout.readline() == b"open\n"
        with pytest.raises(SessionError) as locked:
            SessionDocument.open(path)
        assert locked.value.kind == "locked" and str(child.pid) in str(locked.value)
        assert lock.writer_lives(path)
        child.send_signal(signal.SIGKILL)
    assert lock.lock_path(path).exists() and not lock.writer_lives(path)
    SessionDocument.open(path).close()
    assert not lock.lock_path(path).exists()


@pytest.mark.parametrize(
    "left", [b"", b"{broken", json.dumps({"pid": 999_999_99, "started": 1.0, "host": "elsewhere"}).encode()]
)
def test_a_lock_file_that_was_left_behind_is_not_in_the_way(path: Path, left: bytes) -> None:
    SessionDocument.create(path).close()
    lock.lock_path(path).write_bytes(left)
    with SessionDocument.open(path) as doc:
        holder = lock.read_holder(path)
        assert not doc.read_only and holder is not None and holder.pid == os.getpid()
    assert not lock.lock_path(path).exists()


def test_a_pid_that_was_given_out_again_is_not_the_writer(path: Path) -> None:
    SessionDocument.create(path).close()
    import socket

    stale = {"pid": os.getppid(), "started": 1.0, "host": socket.gethostname()}
    lock.lock_path(path).write_text(json.dumps(stale))
    assert not lock.writer_lives(path)
    SessionDocument.open(path).close()
