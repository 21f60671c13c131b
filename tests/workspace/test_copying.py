"""A new worktree that several processes copied: it is what one makes, whatever becomes of a helper."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace import copier, copying, helpers, isolate, isolate_make
from worldline.workspace.copying import Portion
from worldline.workspace.helpers import Helper

from .conftest import run_sh, snapshot
from .ready import make
from .shared_copy import Seen, as_alone, few_files, shared_out
from .test_isolate import INNER, SUBMODULE

Sh = Callable[..., str]
NAMES = [
    "a",
    "b c",
    "line\nbreak",
    "-rf",
    "\udce4\udcff",
    "ü" * 100,
    "x.log",
    ".gitignore",
    ".env",
    "n" * 250,
]


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return shared_out(monkeypatch)


@pytest.fixture
def files(work: Path) -> Path:
    return few_files(work)


def _torture(work: Path) -> None:
    """Whatever a folder may hold, some of it uncommitted, some of it ignored."""
    rng = random.Random(7)
    run_sh("git init -q -b main .", work)
    folders = [work]
    for number in range(25):
        folder = rng.choice(folders) / f"{rng.choice(NAMES)}.{number}"
        folder.mkdir()
        folders.append(folder)
    for number in range(200):
        path = rng.choice(folders) / (rng.choice(NAMES) if number % 3 else f"f{number}")
        if path.exists() or path.is_symlink():
            continue
        match number % 20:
            case 0:
                path.symlink_to(rng.choice(["a", "/nowhere", ".", "../.."]))
            case 1:
                path.touch()
            case _ if path.name == ".gitignore":
                path.write_text("*.log\n.env\n")
            case _:
                path.write_bytes(rng.randbytes(rng.choice([1, 100, 65535, 65536, 70000])))
                path.chmod(rng.choice([0o644, 0o755, 0o600, 0o444, 0o400, 0o666, 0o4755, 0o1644]))
        if not path.is_symlink():
            os.utime(path, ns=(5 * 10**17 + number, rng.randrange(10**18)))
    run_sh("git add -A && git commit -qm one && git mv f3 moved 2>/dev/null || true", work)
    run_sh(f"{INNER}; {SUBMODULE}", work)
    (work / "large").write_bytes(rng.randbytes(copier.LARGE + 1))
    for number in range(12):
        (work / "kept" / f"in{number}").mkdir(parents=True)
        for name in ("ignored.log", ".env", "not"):
            (work / "kept" / f"in{number}" / name).write_text("wanted all the same")
    (work / ".worktreeinclude").write_text("kept/\n")
    for path in folders[3:6]:
        os.mkfifo(path / "pipe")
    (folders[7] / "new").write_text("untracked")
    (folders[8] / "empty").mkdir()
    for path, mode in zip(folders[10:14], (0o555, 0o500, 0o700, 0o1777), strict=True):
        path.chmod(mode)


def test_what_is_copied_together_is_what_one_copies(work: Path, seen: Seen) -> None:
    _torture(work)
    made = isolate.prepare(work, "shared")
    assert seen.elsewhere and seen.here and len(seen.started) == 2 and seen.are_gone()
    assert seen.again == ["large"], "too large for a helper, and nothing else"
    original = snapshot(work)
    copied = snapshot(made.path)
    assert copied == {path: original[path] for path in copied} and len(made.included) > 12
    as_alone(work, made)


def test_each_file_is_copied_once(files: Path, seen: Seen) -> None:
    made = isolate.prepare(files, "shared")
    names = [path.name for path in files.rglob("*") if path.is_file() and ".git" not in path.parts]
    elsewhere = [path.rpartition("/")[2] for path in seen.elsewhere]
    assert sorted(seen.here + elsewhere) == sorted(names) and not seen.again
    assert run_sh("git status --porcelain", made.path) == "" and made.uncommitted == 0
    as_alone(files, made)


def test_a_folder_of_many_files_is_shared_out(work: Path, seen: Seen) -> None:
    for number in range(60):
        (work / f"f{number}").touch()
    run_sh("git init -q -b main . && git add -A && git commit -qm one", work)
    made = isolate.prepare(work, "shared")
    assert seen.elsewhere and seen.here
    as_alone(work, made)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("turn", [0, 3])
def test_a_helper_that_is_lost_costs_nothing_but_time(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch, how: signal.Signals, turn: int
) -> None:
    monkeypatch.setattr(copying, "_PATIENCE_S", 0.01)
    asked, turns = Helper.ask, iter(range(1000))

    def ask(self: Helper[Portion], message: Any, portion: Portion) -> None:
        if next(turns) >= turn:
            os.kill(self.process.pid, how)
        asked(self, message, portion)

    monkeypatch.setattr(Helper, "ask", ask)
    made = isolate.prepare(files, "shared")
    assert seen.again and seen.are_gone()
    as_alone(files, made)


_ASKED = "import marshal, os, sys; asked = marshal.loads(os.read(0, 1 << 20)[4:]); "
_SAY = "said = marshal.dumps({}, 2); os.write(1, len(said).to_bytes(4, 'big') + said); os.read(0, 1)"
_HALF_DONE = (
    _ASKED + "[os.write(os.open(folder + name, os.O_CREAT | os.O_WRONLY, 0o777, dir_fd=int(sys.argv[4])), b'half')"
    " for folder, names in asked for name in names]; "
)  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.write(1, b'\\0\\0\\0\\5hello'); os.read(0, 1)",
        "import os; os.write(1, b'\\0\\0\\0\\1N' * 9); os.read(0, 1)",
        "import sys; sys.exit(1)",
        "this is no program",
        _ASKED + _SAY.format("[]"),
        _ASKED + _SAY.format("[[] for _ in asked]"),
        _ASKED + _SAY.format("[[(1, 2)] * len(names) for _, names in asked]"),
        _ASKED + _SAY.format("[[(0.5,) * 12] * len(names) for _, names in asked]"),
        _ASKED + _SAY.format("[None] * len(asked)"),
        _HALF_DONE + _SAY.format("[None] * len(asked)"),
        _HALF_DONE + "sys.exit(1)",
    ],
)
def test_a_helper_that_fails_or_talks_nonsense_is_not_believed(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(helpers, "_RUN", program)
    made = isolate.prepare(files, "shared")
    # Some are found out before they are asked anything.
    assert (seen.again or "asked" not in program) and not seen.elsewhere and seen.are_gone()
    as_alone(files, made)


def test_where_no_helper_can_be_started_all_is_copied_here(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(files / "no-python"))
    made = isolate.prepare(files, "shared")
    assert not seen.started and not seen.elsewhere
    as_alone(files, made)


def test_no_helper_is_started_for_a_few_files_or_where_nobody_waits(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as few:
        few.setattr(copying, "WORTH", 200)
        isolate.prepare(files, "few")
    assert make(files).files == 121
    isolate.prepare(files, "ready")
    assert isolate_make.LEAST_FILES and not seen.started
