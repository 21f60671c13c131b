"""Kill captures and restores at every step, and see that nothing is lost.

A child process is killed (SIGKILL) at its n-th system event; afterwards the workspace is opened again as at a start of
the program. The files, links, modes, staging area and HEAD must be those of before or those of the target, whole.

A part of the kills is a loss of power too: what the child wrote and did not sync loses its content, while the names stay
as they were at that step. (A file system writes changes of names down in their order, so that a loss of power leaves
the names of some step before it, none that a sync has confirmed undone: the kills at all the steps are these cases.)
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "desktop"))

from worldline.workspace import blanks, durable
from worldline.workspace.durable import write_durably
from worldline.workspace.engine import Workspace
from worldline.workspace.model import RestoreReport
from worldline.workspace.objects import make_folders

ENV = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
_SETUP = (
    "git init -q -b main . && git config user.name t && git config user.email t@e && mkdir -p a/b c empty && "
    "for n in $(seq 12); do echo v1-$n > a/b/f$n; done && echo s > c/s && ln -s a link && echo '*.log' > .gitignore && "
    "echo x > x.log && echo K=1 > .env && echo .env >> .git/info/exclude && printf '#!/bin/sh\\n' > run && chmod +x run && "
    "git add -A && git commit -qm one && echo staged > c/s && git add c/s && echo dirty > c/s && mkdir n && "
    "(cd n && git init -q && echo n > n && git add n && echo nn > n) && "
    "git init -q -b main ../lib && (cd ../lib && git config user.name t && git config user.email t@e && echo l > l && "
    "git add l && git commit -qm lib) && git -c protocol.file.allow=always submodule -q add ../lib sub && "
    "echo edited >> sub/l && git checkout -qb worldline/s/0"
)
_AGENT = (
    "rm -r a/b/f1 a/b/f2 link empty && for n in 3 4 5; do echo v2 > a/b/f$n; done && mkdir link d && echo l > link/l && "
    "echo d > d/d && chmod -x run && echo K=2 > .env && rm -rf n sub && git add -A c a run && git commit -qm agent"
)

_LOOKS = ("os.scandir", "os.listdir")
"""To be killed at a look at names is to be killed after what was done before it."""
_QUIET_AGENT = _AGENT.replace(" && rm -rf n sub", "")
"""Leaves the repositories inside alone: they are not made anew, which would sync everything."""


def _sh(command: str, cwd: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=ENV, capture_output=True, check=True, text=True
    )
    return done.stdout


def _files(work: Path) -> dict[str, tuple[int, bytes]]:
    found: dict[str, tuple[int, bytes]] = {}
    for place, folders, names in os.walk(work):
        folders[:] = [name for name in folders if name != ".git"]
        names = [name for name in names if name != ".git"]
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat().st_mode
            content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
            found[str(path.relative_to(work))] = (mode, content)
    return found


def _view(work: Path) -> tuple[Any, ...]:
    return (
        _files(work), _sh("git ls-files -s", work), _inner(work), _sh("git rev-parse HEAD", work),
        _sh("git for-each-ref refs/heads/main", work),
    )  # fmt: skip


def _inner(work: Path) -> str:
    """Staging area, HEAD and soundness of the nested repository and the submodule; "gone" without one."""
    return " ".join(
        _sh(f"git -C {name} ls-files -s && git -C {name} symbolic-ref HEAD && git -C {name} fsck 2>&1", work)
        if (work / name / ".git").exists()
        else "gone"
        for name in ("n", "sub")
    )


@dataclass
class Tally:
    kills: int = 0
    undone: int = 0
    finished: int = 0
    untouched: int = 0
    """Killed before anything was changed, or after everything was done."""
    emptied: int = 0
    """Files whose content was taken by a loss of power."""
    lost: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kills": self.kills, "undone": self.undone, "finished": self.finished, "untouched": self.untouched,
            "emptied": self.emptied, "failures": self.lost,
        }  # fmt: skip


class _Stage:
    """A workspace with two states, copied fresh for each kill."""

    def __init__(self, base: Path, agent: str = _AGENT) -> None:
        self.base = base
        work = base / "template" / "work"
        work.mkdir(parents=True)
        _sh(_SETUP, work)
        ws = Workspace(work, base / "template" / "store", watch=False)
        self.first = ws.capture(None).state
        self.target_view = _view(work)
        _sh(agent, work)
        self.second = ws.capture(self.first).state
        self.now_view = _view(work)
        # The branch of the person never moves.
        self.target_view = (*self.target_view[:-1], self.now_view[-1])
        ws.close()
        # As in a store that is older than a second: else most kills would be where these are made.
        make_folders(base / "template" / "store" / "objects")

    def fresh(self, number: int) -> Path:
        place = self.base / f"k{number}"
        shutil.copytree(self.base / "template", place, symlinks=True)
        return place


def _note_syncs(log: Path) -> None:
    """From here on every sync that has returned is written down, with the inodes and contents of what is safe by it."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    syncfs = durable._syncfs

    def noting(sync: Callable[[Any], None]) -> Callable[[Any], None]:
        def noted(fd: Any) -> None:
            sync(fd)
            status = os.fstat(fd)
            if stat.S_ISREG(status.st_mode):
                again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
                data = os.pread(again, status.st_size, 0)
                os.close(again)
                os.write(out, f"{status.st_ino} {_digest(data)}\n".encode())

        return noted

    def all_noted(fd: int) -> int:
        assert syncfs is not None
        result = syncfs(fd)
        rows = [f"{at.st_ino} {_digest(path.read_bytes())}\n" for path, at in _regular(log.parent).items()]
        os.write(out, "".join(rows).encode())
        return result

    os.fsync, blanks._sync = noting(os.fsync), noting(blanks._sync)
    durable._syncfs = all_noted


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _regular(place: Path) -> dict[Path, os.stat_result]:
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            status = Path(folder, name).lstat()
            if stat.S_ISREG(status.st_mode):
                found[Path(folder, name)] = status
    return found


def _lose_power(place: Path, template: Path, before: dict[Path, os.stat_result], rng: random.Random) -> int:
    """Take the content of files that were not synced. Returns of how many."""
    log = place / "syncs"
    synced = {tuple(row.split()) for row in log.read_text().splitlines()} if log.exists() else set()
    known = {status.st_ino: path for path, status in before.items()}
    lost = 0
    for path, status in _regular(place).items():
        if path == log:
            continue
        old = known.get(status.st_ino)
        data = path.read_bytes()
        was = (template / old.relative_to(place)).read_bytes() if old is not None else b""
        if data == was or (str(status.st_ino), _digest(data)) in synced or rng.random() < 0.25:
            continue
        mode = stat.S_IMODE(status.st_mode)
        path.chmod(0o600)
        path.write_bytes(was if old is not None else rng.choice([b"", bytes(len(data))]))
        path.chmod(mode)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        lost += 1
    earlier = (
        *place.glob("store/restore/journal"),
        *place.glob("store/settling/*/journal"),
        place / "store/boot",
    )
    for journal in earlier:
        journal.write_text(journal.read_text().replace(durable.boot_id(), "an-earlier-boot"))
    return lost


def _child(action: Callable[[], None], kill_at: int, log: Path | None = None) -> tuple[int, int]:
    """Run `action` in a fork that dies at its `kill_at`-th event (0 = never). Returns (exit status, events)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        count = 0
        if log is not None:
            _note_syncs(log)
        armed = True

        def hook(event: str, _: tuple[Any, ...]) -> None:
            nonlocal count
            if not armed or not event.startswith(("os.", "open", "shutil.", "fcntl.")):
                return
            if event in _LOOKS:
                return
            count += 1
            if count == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        code = 1
        try:
            action()
            code = 0
        finally:
            armed = False
            os.write(writer, str(count).encode())
            os._exit(code)
    os.close(writer)
    _, status = os.waitpid(pid, 0)
    events = int(os.read(reader, 32) or b"0")
    os.close(reader)
    return status, events


def _restore(place: Path, stage: _Stage) -> None:
    """A jump as the engine makes it: the cursor moves inside, when the files are verified."""
    _jump(place, stage, new_branch="worldline/s/1")


def _return(place: Path, stage: _Stage) -> None:
    """A jump that ends on the person's own branch."""
    _jump(place, stage, home="main")


def _jump(place: Path, stage: _Stage, *, new_branch: str | None = None, home: str = "") -> None:
    ws = Workspace(place / "work", place / "store", watch=False)
    plan = ws.plan(stage.first, last=stage.second)
    ws._settler.blanks.refill()

    def move_cursor(_: RestoreReport) -> None:
        write_durably(place / "cursor", stage.first.encode())

    report = ws.apply(plan, new_branch=new_branch, home=home, on_done=move_cursor)
    if not report.done:
        raise AssertionError(report.note)
    ws.close()


def _alone(place: Path, stage: _Stage) -> None:
    """Jumps to and fro that nobody takes note of, as one who uses the engine by itself makes them: what was replaced is
    the next staging folder, as a whole, and no cursor says how far they came."""
    ws = Workspace(place / "work", place / "store", watch=False)
    here, there = stage.second, stage.first
    for _ in range(3):
        plan = ws.plan(there, last=here)
        ws._settler.blanks.refill()
        report = ws.apply(plan)
        if not report.done:
            raise AssertionError(report.note)
        here, there = there, here
    ws.close()


def _judge_alone(place: Path, stage: _Stage, tally: Tally, what: str) -> None:
    work = place / "work"
    ws = Workspace(work, place / "store", watch=False)
    try:
        report = ws.recover()
        files = _files(work)
        if files not in (stage.now_view[0], stage.target_view[0]):
            tally.lost.append(f"{what}: {_difference((files, *stage.now_view[1:]), stage)}")
            return
        if report is None:
            tally.untouched += 1
        elif report.finished:
            tally.finished += 1
        else:
            tally.undone += 1
        leftovers = [p for p in work.rglob("*.lock") if ".git" in p.parts] + list(work.glob(".worldline-*"))
        if leftovers:
            tally.lost.append(f"{what}: left behind {leftovers}")
        _sh("git fsck && git status", work)
        last = ws.capture(stage.second).state
        done = ws.apply(ws.plan(stage.first, last=last))
        if not done.done or _files(work) != stage.target_view[0]:
            tally.lost.append(f"{what}: the next jump failed {done.note} {done.failed}")
    finally:
        ws.close()


def _capture(place: Path, stage: _Stage) -> None:
    (place / "work" / "c" / "new").write_bytes(os.urandom(5000))
    for number in range(40):
        (place / "work" / f"many{number}").write_text(f"many {number}")
    ws = Workspace(place / "work", place / "store", watch=False)
    if ws.capture(stage.second).state == "!":
        raise AssertionError("not captured")
    ws.close()


def _judge(place: Path, stage: _Stage, tally: Tally, what: str) -> None:
    """Open it again as the program does at its start, and look."""
    work = place / "work"
    ws = Workspace(work, place / "store", watch=False)
    try:
        cursor = (place / "cursor").read_text() if (place / "cursor").exists() else stage.second
        report = ws.recover(cursor)
        view = _view(work)
        if (view == stage.target_view) != (cursor == stage.first):
            tally.lost.append(f"{what}: files and cursor have parted; {_difference(view, stage)}")
            return
        if view == stage.now_view and report is not None:
            tally.undone += 1
        elif report is not None and report.finished and view == stage.target_view:
            tally.finished += 1
        elif report is None and view in (stage.now_view, stage.target_view):
            tally.untouched += 1
        else:
            tally.lost.append(f"{what}: {_difference(view, stage)}")
            return
        leftovers = [p for p in work.rglob("*.lock") if ".git" in p.parts] + list(work.glob(".worldline-*"))
        leftovers += list((place / "store" / "objects" / "pack").glob("tmp_*"))
        if leftovers:
            tally.lost.append(f"{what}: left behind {leftovers}")
        _sh("git fsck && git status", work)
        last = ws.capture(stage.second).state
        plan = ws.plan(stage.first, last=last)
        done = ws.apply(plan, new_branch="worldline/s/2")
        if (
            not done.done
            or _view(work) != stage.target_view
            or (work / "n" / ".git" / "worldline-restore").exists()
        ):
            tally.lost.append(
                f"{what}: the next jump failed {done.note} {done.failed} {_difference(_view(work), stage)}"
            )
    finally:
        ws.close()


def _judge_capture(place: Path, stage: _Stage, tally: Tally, what: str) -> None:
    work = place / "work"
    files = _files(work)
    ws = Workspace(work, place / "store", watch=False)
    try:
        ws.recover()
        result = ws.capture(stage.second)
        plan = ws.plan(stage.first, last=result.state)
        report = ws.apply(plan, new_branch="worldline/s/1")
        back = ws.apply(ws.plan(result.state, last=stage.first))
        if not (report.done and back.done) or _files(work) != files:
            tally.lost.append(f"{what}: {result.error} {report.note} {back.note}")
        elif list((place / "store" / "objects" / "pack").glob("tmp_*")):
            tally.lost.append(f"{what}: temp files stay")
        else:
            tally.untouched += 1
    finally:
        ws.close()


def _difference(view: tuple[Any, ...], stage: _Stage) -> str:
    words = []
    for name, wanted in (("before", stage.now_view), ("target", stage.target_view)):
        paths = [p for p in view[0].keys() | wanted[0].keys() if view[0].get(p) != wanted[0].get(p)]
        rest = [
            part
            for part, a, b in zip(("index", "inner", "head", "main"), view[1:], wanted[1:], strict=True)
            if a != b
        ]
        words.append(f"differs from {name} in {sorted(paths)[:6]} {rest}")
    return "; ".join(words)


def run(kills: int, seed: int) -> dict[str, Any]:
    """`kills` kills, spread over all steps of a restore (a half, a third of them with a loss of power), a return to the own
    branch, restores to and fro (half of them with a loss of power) and a capture. `failures` must be empty."""
    rng = random.Random(seed)
    tally = Tally()
    base = Path(tempfile.mkdtemp(prefix="worldline-crash-"))
    try:
        usual = _Stage(base / "usual")
        captures = homes = alone = kills // 6
        powers = kills // 6
        restores = kills - captures - homes - powers - alone
        quiet = _Stage(base / "quiet", _QUIET_AGENT)
        for action, judge, count, power, stage in (
            (_restore, _judge, restores, False, usual),
            (_restore, _judge, powers // 2, True, usual),
            (_restore, _judge, powers - powers // 2, True, quiet),
            (_return, _judge, homes, False, usual),
            (_alone, _judge_alone, alone - alone // 2, False, quiet),
            (_alone, _judge_alone, alone // 2, True, quiet),
            (_capture, _judge_capture, captures, False, usual),
        ):
            probe = stage.fresh(-1)
            log = probe / "syncs" if power else None
            status, events = _child(lambda: action(probe, stage), 0, log)  # noqa: B023 - called at once
            shutil.rmtree(probe)
            if status != 0 or events < 10:
                raise AssertionError(f"{action.__name__} does not run by itself: {status} {events}")
            steps = [1 + (events - 1) * n // max(1, count - 1) for n in range(count)]
            steps = [min(events, max(1, step + rng.randrange(-1, 2))) for step in steps]
            for number, step in enumerate(steps):
                place = stage.fresh(number)
                before = _regular(place) if power else {}
                with contextlib.ExitStack() as held:
                    for path in before:  # no new file gets the number of one that was there
                        held.callback(os.close, os.open(path, os.O_RDONLY | os.O_NOFOLLOW))
                    _child(lambda: action(place, stage), step, place / "syncs" if power else None)  # noqa: B023
                    tally.kills += 1
                    if power:
                        tally.emptied += _lose_power(place, stage.base / "template", before, rng)
                how = "lost its power" if power else "killed"
                judge(place, stage, tally, f"{action.__name__} {how} at {step} of {events}")
                shutil.rmtree(place)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tally.as_dict()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = run(options.kills, options.seed)
    print(result)
    raise SystemExit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
