"""Random sequences of file operations: each state comes back byte for byte, found by bytes and by `git`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.workspace.engine import Workspace

from .conftest import run_sh, snapshot

NAMES = [
    "a",
    "b.txt",
    "dir",
    "dir/x",
    "dir/y",
    "dir/deep/z",
    "a..b",
    "sp ace",
    "ü",
    "new\nline",
    "lat\udce4in",
    "o.log",
    ".env",
]
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.binary(max_size=30)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("mkdir"), st.sampled_from(NAMES)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from([*NAMES, "/nowhere"])),
    st.tuples(st.just("chmod"), st.sampled_from(NAMES), st.sampled_from([0o644, 0o755, 0o600])),
    st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("git"), st.sampled_from(["add -A", "commit -qm x", "reset -q", "rm -q --cached a"])),
    st.tuples(st.just("capture")),
    st.tuples(st.just("jump"), st.integers(0, 20)),
    st.tuples(st.just("reopen")),
)


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _operate(work: Path, operation: tuple[object, ...]) -> None:
    kind, path = str(operation[0]), work / str(operation[1])
    if any(
        parent.is_symlink() or (parent.exists() and not parent.is_dir())
        for parent in path.parents
        if parent != work
    ):
        return
    if kind == "git":
        run_sh(f"git {operation[1]}", work, check=False)
    elif kind == "remove":
        _clear(path)
    elif kind == "chmod":
        if path.is_file() and not path.is_symlink():
            path.chmod(int(str(operation[2])))
    elif kind == "move":
        to = work / str(operation[2])
        if (
            path.exists()
            and not path.is_symlink()
            and to.parent.is_dir()
            and to != path
            and path not in to.parents
        ):
            _clear(to)
            path.rename(to)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        if kind == "write":
            path.write_bytes(bytes(operation[2]))  # type: ignore[call-overload]
        elif kind == "mkdir":
            path.mkdir()
        else:
            path.symlink_to(str(operation[2]))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(OPERATIONS, min_size=4, max_size=25))
def test_every_state_comes_back(operations: list[tuple[object, ...]]) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-random-"))
    try:
        _play(base, operations)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _play(base: Path, operations: list[tuple[object, ...]]) -> None:
    work = base / "work"
    work.mkdir()
    run_sh(
        "git init -q -b main . && echo '*.log' > .git/info/exclude && echo 0 > a && git add a && git commit -qm 0",
        work,
    )
    ws = Workspace(work, base / "store")
    known: list[tuple[str, dict[str, tuple[int, bytes]], str]] = []

    def view() -> dict[str, tuple[int, bytes]]:
        return {path: value for path, value in snapshot(work).items() if not path.endswith(".log")}

    def capture(last: str | None) -> str:
        state = ws.capture(last).state
        known.append((state, view(), run_sh("git ls-files -s -z; git rev-parse HEAD", work)))
        return state

    last = capture(None)
    try:
        for number, operation in enumerate(operations):
            if operation[0] == "capture":
                last = capture(last)
            elif operation[0] == "reopen":
                ws.close()
                ws = Workspace(work, base / "store")
            elif operation[0] == "jump":
                last = capture(last)
                target, files, index = known[int(str(operation[1])) % len(known)]
                logs = {p: v for p, v in snapshot(work).items() if p.endswith(".log")}
                report = ws.apply(
                    ws.plan(target, last=last, default_choice="restore"), new_branch=f"worldline/r/{number}"
                )
                assert report.done and not report.failed, report
                now = snapshot(work)
                held = {p: v for p, v in now.items() if p in files or not p.endswith(".log")}
                blocked = {p for log in logs for p in _above(log)}
                assert {p: v for p, v in held.items() if p not in blocked} == {
                    p: v for p, v in files.items() if p not in blocked
                }
                assert run_sh("git ls-files -s -z; git rev-parse HEAD", work) == index
                assert all(now.get(p) == v for p, v in logs.items() if v[0] & 0o170000 == 0o100000)
                last = target
            else:
                _operate(work, operation)
    finally:
        ws.close()


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
