"""A new worktree that several processes copied and that came to nothing: it is told as of one process, and nothing stays."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import isolate, worktrees

from .conftest import ENV, run_sh
from .shared_copy import Seen, few_files, shared_out

Sh = Callable[..., str]


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return shared_out(monkeypatch)


@pytest.fixture
def files(work: Path) -> Path:
    return few_files(work)


def test_what_stops_it_ends_the_helpers_before_anything_is_removed(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[bool] = []
    remove = isolate.remove_tree

    def removing(path: Path) -> None:
        removed.append(seen.are_gone())
        remove(path)

    def stop(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(isolate, "remove_tree", removing)
    with pytest.raises(WorkspaceError, match="No space left on device") as caught:
        isolate.prepare(files, "stopped", progress=stop)
    assert caught.value.kind == "cannot_isolate" and removed == [True]
    assert list(paths.worktrees_dir().iterdir()) == []
    assert isolate.prepare(files, "stopped").root.is_dir()


_LIMITED = """
import resource, sys
from pathlib import Path
from worldline.core.errors import WorkspaceError
from worldline.workspace import copying, helpers, isolate
copying.WORTH = copying._EACH = copying._PORTION = 1 if sys.argv[2] == "shared" else 1 << 40
helpers.processors = lambda: 3
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    isolate.prepare(Path(sys.argv[1]), "full")
except WorkspaceError as error:
    print(error.kind, error.message, error.hint)
"""


def test_a_file_that_cannot_be_written_is_told_of_as_without_helpers(files: Path) -> None:
    """Whoever of them finds it."""
    for folder in files.glob("d*/e*"):
        (folder / "big").write_bytes(bytes(200_000))
    told = [
        subprocess.run(
            [sys.executable, "-c", _LIMITED, str(files), how],
            env={**os.environ, **ENV},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        ).stdout
        for how in ("shared", "alone")
    ]
    assert told[0] == told[1] != ""
    assert "File too large" in told[0] and list(paths.worktrees_dir().iterdir()) == []


def test_a_full_disk_is_told_of_and_nothing_stays(files: Path, tmp_path: Path, seen: Seen) -> None:
    home = paths.worktrees_dir()
    for path in sorted(files.glob("d*/e*/f*")):
        path.write_bytes(bytes(20_000))
    if run_sh(f"mount -t tmpfs -o size=1m tmpfs {home} && echo ok", tmp_path, check=False) != "ok\n":
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(WorkspaceError, match="No space left on device"):
            isolate.prepare(files, "full")
        assert list(home.iterdir()) == [] and seen.elsewhere and seen.are_gone()
    finally:
        run_sh(f"umount {home}", tmp_path)


_KILLED = """
import os, select, signal, sys
from pathlib import Path
from worldline.workspace import copying, helpers, isolate
copying.WORTH, copying._EACH = 0, 1
copying._PORTION = 3
helpers.processors = lambda: 2
asked = helpers.Helper.ask
def ask(self, message, portion):
    # The first is done; before the second one it is stopped, and this process is no more.
    if self.got or self.done:
        os.kill(self.process.pid, signal.SIGSTOP)
        asked(self, message, portion)
        print(self.process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    asked(self, message, portion)
    self.done = True
    select.select([self.output], [], [])
helpers.Helper.done = False
helpers.Helper.ask = ask
isolate.prepare(Path(sys.argv[1]), "killed")
"""


def test_of_a_kill_stays_what_one_process_would_leave_and_no_helper_works_on(files: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(files)],
        env={**os.environ, **ENV},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid = int(done.stdout)
    (left,) = worktrees.found()
    before = sorted(left.path.rglob("*"))
    assert left.info["session"] == "killed"
    helper = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGCONT)
        assert select.select([helper], [], [], PATIENCE_S)[0], "it ends"
    finally:
        os.close(helper)
    assert sorted(left.path.rglob("*")) == before and any(path.is_file() for path in before)
    worktrees.remove(left.path, worktrees.loss_of(left).lines)
    assert worktrees.found() == []
