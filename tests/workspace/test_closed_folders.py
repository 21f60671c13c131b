"""Folders that are closed to the agent: restored into, and closed again, also after a kill. Without the rights of root."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace.apply import Restorer
from worldline.workspace.engine import Workspace
from worldline.workspace.removal import remove_tree
from worldline.workspace.take import take_file

from .conftest import go, run_sh, snapshot

_OVERRIDE = 1 << 1 | 1 << 2 | 1 << 3
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: what lets root walk through permissions."""


def _capabilities(change: Callable[[int], int]) -> None:
    """Change which capabilities of this thread are in effect."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    data[0] = change(data[0]) & data[1]
    assert libc.capset(header, data) == 0


@pytest.fixture
def not_root() -> Iterator[Path]:
    """A folder to work in as somebody who is stopped by permissions."""
    base = Path(tempfile.mkdtemp(prefix="worldline-person-"))
    _capabilities(lambda now: now & ~_OVERRIDE)
    try:
        yield base
    finally:
        _capabilities(lambda now: now | _OVERRIDE)
        remove_tree(base)


def tree_of_closed_folders(work: Path) -> None:
    for name in ("cache/mod/deep", "cache/empty", "other"):
        (work / name).mkdir(parents=True)
    for name in ("cache/mod/deep/f", "cache/mod/g", "other/h"):
        (work / name).write_text("1\n")
    for name in ("cache/mod/deep", "cache/mod", "cache/empty", "cache"):
        (work / name).chmod(0o555)


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
def test_read_only_folders_are_restored_into_and_stay_read_only(not_root: Path) -> None:
    work = not_root / "work"
    work.mkdir()
    ws = Workspace(work, not_root / "store")
    empty = ws.capture(None).state
    tree_of_closed_folders(work)
    first, closed = ws.capture(empty).state, snapshot(work)
    for name in ("cache/mod/deep", "cache/mod", "cache"):
        (work / name).chmod(0o755)
    (work / "cache/mod/deep/f").write_text("2\n")
    (work / "cache/mod/deep/f").rename(work / "cache/mod/deep/renamed")
    (work / "cache/mod/g").unlink()
    (work / "cache/mod/g").mkdir()
    (work / "cache/mod/g").chmod(0o500)
    (work / "cache/empty").rmdir()
    (work / "cache/empty").write_text("a file now\n")
    for name in ("cache/mod/deep", "cache"):
        (work / name).chmod(0o555)
    (work / "cache/mod").chmod(0o700)
    second, changed = ws.capture(first).state, snapshot(work)
    last = second
    for target, seen in (
        (first, closed),
        (second, changed),
        (empty, {}),
        (first, closed),
        (empty, {}),
        (second, changed),
    ):
        go(ws, target, last)
        last = target
        assert snapshot(work) == seen
    ws.close()


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
def test_a_jump_into_read_only_folders_that_is_killed_is_undone(
    not_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped by the failure that each step can have, like a kill: everything is as before, permissions too."""
    work = not_root / "work"
    work.mkdir()
    ws = Workspace(work, not_root / "store", watch=False)
    empty = ws.capture(None).state
    tree_of_closed_folders(work)
    first, closed = ws.capture(empty).state, snapshot(work)
    for name in ("_swap", "_move_roots", "_permissions", "_verify", "_note_committed"):
        real = getattr(Restorer, name)

        def broken(self: Restorer, *a: object, real: Callable[..., None] = real, **k: object) -> None:
            if real.__name__ != "_note_committed":
                real(self, *a, **k)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Restorer, name, broken)
            patch.setattr(Restorer, "_roll_back", lambda *_: None)
            with pytest.raises(KeyboardInterrupt):
                ws.apply(ws.plan(empty, last=first, default_choice="restore"), new_branch=None)
        ws.close()
        ws = Workspace(work, not_root / "store", watch=False)
        report = ws.recover()
        assert report is not None and not report.finished, name
        assert snapshot(work) == closed, name
    ws.close()


_CLOSED = {
    "folder": ("d", 0o000, {"d/e/y", "d/x"}),
    "folder inside": ("d/e", 0o000, {"d/e/y"}),
    "file": ("d/x", 0o000, {"d/x"}),
    "file that can be written": ("d/x", 0o200, {"d/x"}),
}


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
@pytest.mark.parametrize("case", _CLOSED)
@pytest.mark.parametrize("nested", [False, True])
def test_what_cannot_be_read_stays_and_the_rest_goes_on(not_root: Path, case: str, nested: bool) -> None:
    place, mode, stay = _CLOSED[case]
    work = not_root / "work"
    (work / "d" / "e").mkdir(parents=True)
    for name in ("f", "d/x", "d/e/y"):
        (work / name).write_text("1\n")
    run_sh(f"git init -q {'d/e' if nested else '.'}", work)
    ws = Workspace(work, not_root / "store")
    first = ws.capture(None).state
    (work / "f").write_text("2\n")
    (work / "d" / "x").write_text("3\n")
    (work / place).chmod(mode)
    ws.close()
    ws = Workspace(work, not_root / "store")
    second = ws.capture(first)
    assert place in {row.path for row in second.omitted}
    plan = ws.plan(first, last=second.state, default_choice="restore")
    assert stay <= {item.path for item in plan.items if item.action in ("keep_foreign", "not_captured")}
    report = ws.apply(plan)
    assert report.done and not report.failed
    assert (work / "f").read_text() == "1\n"
    assert (work / place).stat().st_mode & 0o777 == mode
    ws.close()
    (work / place).chmod(0o755)
    assert (work / "d" / "x").read_text() == ("3\n" if "d/x" in stay else "1\n")


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
@pytest.mark.parametrize("part", ["", "/HEAD", "/index"])
@pytest.mark.parametrize("place", ["", "sub/"])
def test_files_of_a_repository_that_cannot_be_read_come_back(not_root: Path, part: str, place: str) -> None:
    work = not_root / "work"
    work.mkdir()
    run_sh(
        "git init -q && git init -q sub && echo 1 >sub/s && echo 1 >f && git -C sub add s && git add f", work
    )
    ws = Workspace(work, not_root / "store")
    first = ws.capture(None).state
    for name in ("f", "sub/s"):
        (work / name).write_text("2\n")
    (work / f"{place}.git{part}").chmod(0)
    second = ws.capture(first)
    assert not second.error
    assert [row.path for row in second.omitted] == [f"{place}.git"]
    report = ws.apply(ws.plan(first, last=second.state, default_choice="restore"))
    assert report.done and "only files are put back" in report.note
    assert (work / "f").read_text() == (work / "sub" / "s").read_text() == "1\n"
    ws.close()


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
@pytest.mark.parametrize("path", ["x", "d/y"])
def test_what_cannot_be_read_is_not_replaced_by_a_file_that_is_taken(not_root: Path, path: str) -> None:
    work = not_root / "work"
    (work / "d").mkdir(parents=True)
    for name in ("x", "d/y"):
        (work / name).write_text("the node's\n")
    ws = Workspace(work, not_root / "store")
    node = ws.capture(None).state
    (work / ".gitignore").write_text("x\nd\n")
    (work / "x").write_text("mine\n")
    for name in ("x", "d"):
        (work / name).chmod(0)
    with pytest.raises(WorkspaceError) as refused:
        take_file(ws, node, path, last=ws.capture(node).state)
    assert refused.value.kind == "conflict" and "cannot be read" in refused.value.message
    (work / "x").chmod(0o644)
    assert (work / "x").read_text() == "mine\n"
    (work / "d").chmod(0o755)
    ws.close()
