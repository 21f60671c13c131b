"""A new worktree of files that become another thing while they are copied, by whoever of several processes."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.workspace import copier, indexfile, isolate
from worldline.workspace.copying import Copying, Piece
from worldline.workspace.safefs import SafeTree

from .conftest import run_sh, snapshot
from .ready import make
from .shared_copy import Seen, shared_out

Sh = Callable[..., str]


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return shared_out(monkeypatch)


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


def test_what_is_another_thing_by_now_is_told_of(
    two: Open, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper finds what this process would find, and waits on no pipe."""
    os.mkfifo(two.source / "d" / "e" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(two.source / "d" / "e")  # the name of a socket may not be long
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
