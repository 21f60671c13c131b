"""A new worktree that several processes copied: it is what one makes, whatever becomes of a helper."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import copier, copying, helpers, indexfile, isolate, isolate_make, worktrees
from worldline.workspace.copying import Copying, Piece, Portion
from worldline.workspace.helpers import Helper
from worldline.workspace.safefs import SafeTree

from .conftest import ENV, run_sh, snapshot
from .test_isolate import INNER, SUBMODULE
from .test_ready import everything, make

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


@dataclass
class Seen:
    """Who copied what, and all helpers there were."""

    here: list[str] = field(default_factory=list)
    """Names."""
    asked: set[str] = field(default_factory=set)
    """Paths, as those below."""
    elsewhere: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    started: list[Helper[Portion]] = field(default_factory=list)

    def are_gone(self) -> bool:
        return bool(self.started) and all(helper.process.returncode is not None for helper in self.started)


def _paths(piece: Piece) -> list[str]:
    return [piece.prefix + name for name in piece.names]


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """A repository of a few files is shared out as a large one would be, on any computer. This process waits before each
    file of its own until a helper has answered: one that has only begun to start had nothing to do otherwise."""
    seen = Seen()
    start, ask, file = Helper.start, Helper.ask, copier.Copier.file
    take, repeat = Copying._take, Copying._repeat

    def started(*words: Any, **options: Any) -> Helper[Portion]:
        helper: Helper[Portion] = start(*words, **options)
        seen.started.append(helper)
        return helper

    def asked(self: Helper[Portion], message: Any, portion: Portion) -> None:
        seen.asked.update(path for piece in portion for path in _paths(piece))
        ask(self, message, portion)

    def copied(self: copier.Copier, name: str, source: int, dest: int) -> copier.Result:
        seen.here.append(name)
        busy = [helper for helper in seen.started if helper.asked and helper.process.returncode is None]
        if busy:
            select.select([helper.output for helper in busy], [], [], copying._PATIENCE_S)
        return file(self, name, source, dest)

    def taken(self: Copying, piece: Piece, results: list[copier.Result]) -> None:
        seen.elsewhere += _paths(piece)
        take(self, piece, results)

    def repeated(self: Copying, piece: Piece) -> None:
        seen.again += [path for path in _paths(piece) if path in seen.asked]
        repeat(self, piece)

    monkeypatch.setattr(copying, "WORTH", 0)
    monkeypatch.setattr(copying, "_EACH", 1)
    monkeypatch.setattr(copying, "_PORTION", 3)
    monkeypatch.setattr(copying, "_PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(helpers, "processors", lambda: 3)
    monkeypatch.setattr(Helper, "start", started)
    monkeypatch.setattr(Helper, "ask", asked)
    monkeypatch.setattr(copier.Copier, "file", copied)
    monkeypatch.setattr(Copying, "_take", taken)
    monkeypatch.setattr(Copying, "_repeat", repeated)
    return seen


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


def _as_alone(work: Path, made: isolate.Isolated) -> None:
    """Whether it is as one process makes it, notes and lists in the same order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "WORTH", 1 << 40)
        alone = isolate.prepare(work, "alone")
    assert everything(made) == everything(alone)
    assert (made.notes, made.included, made.uncommitted) == (
        alone.notes,
        alone.included,
        alone.uncommitted,
    )


@pytest.fixture
def files(work: Path) -> Path:
    for number in range(120):
        folder = work / f"d{number // 30}" / f"e{number // 6 % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_text(f"{number}")
    (work / "d0" / "la\udce4in").write_text("no utf-8")
    run_sh("git init -q -b main . && git add -A && git commit -qm one", work)
    return work


def test_what_is_copied_together_is_what_one_copies(work: Path, seen: Seen) -> None:
    _torture(work)
    made = isolate.prepare(work, "shared")
    assert seen.elsewhere and seen.here and len(seen.started) == 2 and seen.are_gone()
    assert seen.again == ["large"], "too large for a helper, and nothing else"
    original = snapshot(work)
    copied = snapshot(made.path)
    assert copied == {path: original[path] for path in copied} and len(made.included) > 12
    _as_alone(work, made)


def test_each_file_is_copied_once(files: Path, seen: Seen) -> None:
    made = isolate.prepare(files, "shared")
    names = [path.name for path in files.rglob("*") if path.is_file() and ".git" not in path.parts]
    elsewhere = [path.rpartition("/")[2] for path in seen.elsewhere]
    assert sorted(seen.here + elsewhere) == sorted(names) and not seen.again
    assert run_sh("git status --porcelain", made.path) == "" and made.uncommitted == 0
    _as_alone(files, made)


def test_a_folder_of_many_files_is_shared_out(work: Path, seen: Seen) -> None:
    for number in range(60):
        (work / f"f{number}").touch()
    run_sh("git init -q -b main . && git add -A && git commit -qm one", work)
    made = isolate.prepare(work, "shared")
    assert seen.elsewhere and seen.here
    _as_alone(work, made)


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
    _as_alone(files, made)


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
    _as_alone(files, made)


def test_where_no_helper_can_be_started_all_is_copied_here(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(files / "no-python"))
    made = isolate.prepare(files, "shared")
    assert not seen.started and not seen.elsewhere
    _as_alone(files, made)


def test_no_helper_is_started_for_a_few_files_or_where_nobody_waits(
    files: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as few:
        few.setattr(copying, "WORTH", 200)
        isolate.prepare(files, "few")
    assert make(files).files == 121
    isolate.prepare(files, "ready")
    assert isolate_make.LEAST_FILES and not seen.started


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


@dataclass
class Open:
    source: Path
    dest: Path
    copying: Copying
    took: dict[str, copier.Result]
    fds: list[int]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Open]:
    """Two folders, with `d/e/f` in one of them, and a helper."""
    source, dest = tmp_path / "source", tmp_path / "dest"
    for top in (source, dest, tmp_path / "out"):
        (top / "d" / "e").mkdir(parents=True)
    (source / "d" / "e" / "f").write_text("wanted")
    (tmp_path / "out" / "d" / "e" / "f").write_text("secret")
    took: dict[str, copier.Result] = {}
    trees = SafeTree(source), SafeTree(dest)

    def take(piece: Piece, results: list[copier.Result]) -> None:
        took.update(zip(piece.names, results, strict=True))

    job = Copying(*trees, 0o755, take)
    job.start(1)
    fds = [os.open(top / "d" / "e", os.O_RDONLY) for top in (source, dest)]
    yield Open(source, dest, job, took, fds)
    job.close()
    for tree in trees:
        tree.close()
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize("side", ["source", "dest"])
@pytest.mark.parametrize("folder", ["d", "d/e"])
def test_no_step_is_taken_through_a_link(
    two: Open, tmp_path: Path, seen: Seen, side: str, folder: str
) -> None:
    out = tmp_path / "out" / folder
    shutil.rmtree(getattr(two, side) / folder)
    (getattr(two, side) / folder).symlink_to(out)
    two.copying.add(0, "d/e/", ["f", "g", "h"], *two.fds)
    with pytest.raises(OSError):
        two.copying.finish()
    assert seen.again[0] == "d/e/f"
    assert (tmp_path / "out" / "d" / "e" / "f").read_text() == "secret" and not two.took
    assert [path.name for path in (tmp_path / "out" / "d" / "e").iterdir()] == ["f"]
    assert not (two.dest / "d").is_dir() or side == "dest" or not any((two.dest / "d" / "e").iterdir())


def test_what_is_another_thing_by_now_is_told_of(two: Open, seen: Seen) -> None:
    """A helper finds what this process would find, and waits on no pipe."""
    os.mkfifo(two.source / "d" / "e" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(two.source / "d" / "e")
        listening.bind("socket")
        two.copying.add(0, "d/e/", ["f", "pipe", "gone"], *two.fds)
        two.copying.finish()
    assert two.took["pipe"] == "is no regular file" and two.took["gone"] == copier.GONE
    assert isinstance(two.took["f"], tuple) and seen.elsewhere == ["d/e/f", "d/e/pipe", "d/e/gone"]
    assert (two.dest / "d" / "e" / "f").read_text() == "wanted"


def _edit(fd: int) -> None:
    """As somebody does who has the file open: as long as it was."""
    with open(f"/proc/self/fd/{fd}", "r+b") as file:
        file.write(b"edited")


@pytest.mark.parametrize("how", ["anew", "kept ready"])
def test_git_looks_into_a_file_that_was_edited_while_it_was_copied(
    work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It would take it for what was committed, and overwrite the edit unasked."""
    sh("git init -q . && echo 'before it' > a && touch -d @1700000000 a && git add . && git commit -qm a")
    plain = copier.Copier._content

    def edited(old: int, new: int, size: int) -> None:
        if size == 10:
            _edit(old)
        plain(copier.Copier(0o777), old, new, size)

    with monkeypatch.context() as patched:
        patched.setattr(copier.Copier, "_content", staticmethod(edited))
        if how == "kept ready":
            make(work)
        else:
            place = isolate.prepare(work, "edited").root
    if how == "kept ready":
        place = isolate.prepare(work, "edited").root
    assert (place / "a").read_bytes() == (work / "a").read_bytes() == b"edited it\n"
    assert run_sh("git status --porcelain a", place).strip() == "M a"


@pytest.mark.parametrize("when", ["listed", "open"])
def test_a_folder_that_goes_away_meanwhile_does_not_stop_it(
    work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A build removes its own, however large: that is as good as if it had been gone before."""
    sh("git init -q . && mkdir -p a going/in && for n in 1 2 3; do echo $n > a/$n; done && git add . && git commit -qm a "
       "&& for n in $(seq 200); do echo $n > going/$n; echo $n > going/in/$n; done")  # fmt: skip
    add, folder = Copying.add, isolate.copytree.Copy._folder

    def opened(self: Copying, number: int, prefix: str, names: list[str], source: int, dest: int) -> None:
        if prefix == "going/":
            shutil.rmtree(work / "going")
        add(self, number, prefix, names, source, dest)

    def listed(self: Any, node: Any, prefix: str, *more: Any) -> None:
        if not prefix:
            shutil.rmtree(work / "going")
        folder(self, node, prefix, *more)

    if when == "open":
        monkeypatch.setattr(Copying, "add", opened)
    else:
        monkeypatch.setattr(isolate.copytree.Copy, "_folder", listed)
    made = isolate.prepare(work, "going")
    assert snapshot(made.root).keys() - {"going"} == snapshot(work).keys()
    assert run_sh("git status --porcelain", made.root) == "" == sh("git status --porcelain")
    assert made.uncommitted == 0


def test_a_staging_area_written_meanwhile_vouches_for_nothing(
    work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file edited at the time at which git wrote down its stat data is read by git, for the staging area is no newer."""
    sh(
        "git init -q . && echo 'before it' > a && git add . && git commit -qm a && echo 'edited it' > a && touch -d @1700000000 a"
    )
    index = work / ".git/index"
    at = (work / "a").stat()
    [entry] = indexfile.parse(index.read_bytes())
    noted, size = indexfile.stat_of(at)
    index.write_bytes(indexfile.encode([entry._replace(stat=noted, size=size)]))
    os.utime(index, ns=(at.st_mtime_ns, at.st_mtime_ns))
    plain = isolate.copytree.Copy.run

    def run(self: isolate.copytree.Copy) -> None:
        plain(self)
        os.utime(index)

    monkeypatch.setattr(isolate.copytree.Copy, "run", run)
    place = isolate.prepare(work, "meanwhile").root
    assert (place / "a").read_bytes() == b"edited it\n"
    assert run_sh("git status --porcelain", place).strip() == "M a"


def test_a_link_in_the_place_of_a_file_is_not_followed(two: Open, tmp_path: Path) -> None:
    (two.source / "d" / "e" / "f").unlink()
    (two.source / "d" / "e" / "f").symlink_to(tmp_path / "out" / "d" / "e" / "f")
    two.copying.add(0, "d/e/", ["f", "g", "h"], *two.fds)
    with pytest.raises(OSError, match="symbolic links"):
        two.copying.finish()
    assert not (two.dest / "d" / "e" / "f").exists()


def test_a_helper_ends_when_nobody_is_left_to_ask(two: Open) -> None:
    (helper, *_) = two.copying._helpers
    assert helper.process.stdin is not None
    helper.process.stdin.close()
    assert helper.process.wait(PATIENCE_S) == 0
