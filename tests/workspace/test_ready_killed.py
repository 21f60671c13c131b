"""Copies that are kept ready: several processes at a time, and an end at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.workspace import isolate_ready, leases, worktrees
from worldline.workspace.isolate_make import Made

from .conftest import ENV, run_sh, snapshot
from .ready import make, same_both_ways, waiting
from .test_engine import SETUP

Sh = Callable[..., str]
RACE = """
import sys
from pathlib import Path
from worldline.workspace import isolate_ready
sys.stdin.readline()
ready = isolate_ready.claim(Path(sys.argv[1]))
print(ready.folder if ready else "")
sys.stdout.flush()
sys.stdin.readline()
"""


def child(*words: str, **options: Any) -> subprocess.Popen[str]:
    environment = {
        **ENV,
        "WORLDLINE_HOME": os.environ["WORLDLINE_HOME"],
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def test_two_never_take_the_same(work: Path, sh: Sh) -> None:
    sh(SETUP)
    make(work)
    several = [child("-c", RACE, str(work)) for _ in range(4)]
    for one in several:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.stdout.readline().strip() for one in several if one.stdout is not None]
    assert len([line for line in said if line]) == 1
    (taken,) = [Path(line) for line in said if line]
    isolate_ready.finish()
    assert taken.is_dir()  # its owner lives
    for one in several:
        one.communicate("\n", timeout=PATIENCE_S)
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_two_make_it_at_the_same_time(work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch) -> None:
    sh(SETUP)
    put = isolate_ready.put_ready
    nested: list[Made] = []

    def late(folder: Path, source: Path) -> bool:
        if not nested:
            nested.append(Made(None))
            nested[0] = make(source)
        return put(folder, source)

    monkeypatch.setattr(isolate_ready, "put_ready", late)
    assert make(work).path == nested[0].path
    assert os.listdir(paths.ready_dir()) == [isolate_ready.place_of(work).name]
    same_both_ways(work)


KILL = """
import os, signal, sys
from pathlib import Path
from worldline.workspace import copytree, durable, indexfile, isolate, isolate_make, isolate_ready, leases, safefs
work = Path(sys.argv[1])
count = step = 0
def counted(module, name):
    plain = getattr(module, name)
    def call(*args, **options):
        global count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        made = plain(*args, **options)
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return made
    setattr(module, name, call)
for module, name in (
    (os, "open"), (os, "mkdir"), (os, "unlink"), (os, "symlink"), (os, "rmdir"), (os, "rename"), (Path, "rename"), (Path, "replace"),
    (Path, "unlink"), (Path, "mkdir"), (Path, "write_text"), (Path, "write_bytes"), (safefs, "rename_new"),
    (isolate_ready.shutil, "rmtree"), (durable, "sync_filesystem"), (os, "fsync"), (isolate.indexfile, "encode"),
):
    counted(module, name)
for line in sys.stdin:
    what, at = line.split()
    one = os.fork()
    if not one:
        try:
            count, step = 0, int(at)
            if what == "make":
                isolate_make.make(work, least_files=0, settled_ns=0)
            else:
                isolate.prepare(work, "aaaaaaaa")
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]), flush=True)
"""
"""Everything is loaded once; each kill is that of a process of its own, forked from there."""


@pytest.fixture
def killed(work: Path) -> Iterator[Callable[[str, int], bool]]:
    """Makes or takes a copy up to this step. False: it came to its end before."""
    parent = child("-c", KILL, str(work))
    assert parent.stdin is not None and parent.stdout is not None

    def ask(what: str, step: int) -> bool:
        parent.stdin.write(f"{what} {step}\n")
        parent.stdin.flush()
        code = int(parent.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code != 0

    yield ask
    parent.communicate(timeout=PATIENCE_S)


KILLS = "git init -q -b main . && echo 1 > a && mkdir d && echo f > d/f && ln -s a l && echo '.env' > .gitignore && echo K > .env && git add . && git commit -qm i && echo 2 > a"  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", ["make", "update"])
def test_a_kill_while_it_is_made(work: Path, sh: Sh, killed: Callable[[str, int], bool], what: str) -> None:
    sh(KILLS)
    before = snapshot(work, skip=())
    step = 0
    while True:
        step += 2
        if what == "update":
            make(work)
            (work / "a").write_text(str(step))
            before["a"] = (before["a"][0], str(step).encode())
        if not killed("make", step):
            break
        assert snapshot(work, skip=()) == before
        isolate_ready.finish()
        left = os.listdir(paths.ready_dir())
        assert left in ([], [isolate_ready.place_of(work).name]), (step, left)
        if left and step % 5 == 0:
            same_both_ways(work)
            _clean(work)
        elif left:
            isolate_ready.remove(isolate_ready.place_of(work))
    assert step > 20


def _clean(work: Path) -> None:
    """Take both worktrees away again."""
    for place in worktrees.found():
        leases.release(place.path)
        worktrees.remove(place.path, worktrees.would_lose(place.path))
    run_sh("git for-each-ref --format='delete %(refname)' refs/heads/worldline | git update-ref --stdin; "
           "rm -rf .git/worktrees .git/refs/heads/worldline .git/logs/refs/heads/worldline", work)  # fmt: skip


@pytest.mark.slow
def test_a_kill_while_it_is_taken(work: Path, sh: Sh, killed: Callable[[str, int], bool]) -> None:
    sh(KILLS)
    _clean(work)
    files = snapshot(work)
    step = whole = 0
    while True:
        step += 1
        make(work)
        (work / "a").write_text(str(step))
        files["a"] = (files["a"][0], str(step).encode())
        refs = sh("git for-each-ref; git rev-parse HEAD")
        if not killed("take", step):
            break
        assert snapshot(work) == files
        isolate_ready.finish()
        worktrees.finish()
        assert [
            name for name in os.listdir(paths.ready_dir()) if name != isolate_ready.place_of(work).name
        ] == []
        places = worktrees.found()
        if places:  # the files were put in their place: it is whole
            whole += 1
            assert len(places) == 1 and places[0].there
            assert snapshot(places[0].path) == files
            assert run_sh("git status --porcelain -z", places[0].path) == sh("git status --porcelain -z")
        else:
            assert sh("git for-each-ref; git rev-parse HEAD") == refs
            assert sh("git worktree list").count("\n") == 1
            assert [*work.glob(".git/worktrees/*")] == []
            assert os.listdir(paths.worktrees_dir()) == []
        _clean(work)
        if waiting() and step % 5 == 0:  # what was not taken is as good as ever
            same_both_ways(work)
            _clean(work)
    assert step > 40 and whole > 0
