"""Goals 7 to 9: snapshots, restores, worktrees against git on the same files in the same run.

python tests/benchmarks/bench_workspace.py [FILES ...]      default: 1000 20000

Where thousands of files were deleted in the last minutes, ext4 passes over each of their inodes whenever it makes a file: new
worktrees, ours and git's, take several times as long then, and their ratio says little. Wait five minutes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "desktop"), str(Path(__file__).resolve().parent)]

import floor

ENV = {
    **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@e", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@e",
    # A commit of so many files has git pack them for a long time, in the background of what is measured.
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "0",
}  # fmt: skip


def git(work: Path, *words: str, **env: str) -> None:
    subprocess.run(["git", *words], cwd=work, env={**ENV, **env}, check=True, capture_output=True)


def timed(
    call: Callable[[], object], before: Callable[[int], object] | None = None, rounds: int = 5
) -> float:
    """Median milliseconds; `before` prepares each round and is not timed."""
    times = []
    for number in range(rounds):
        if before is not None:
            before(number)
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def make(work: Path, files: int) -> list[Path]:
    work.mkdir(parents=True)
    made = []
    for number in range(files):
        path = work / f"m{number // 120:04}" / f"p{number // 12 % 10}" / f"f{number}.py"
        if number % 12 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" + "".join(f"value_{i} = {i * number}\n" for i in range(40)))
        made.append(path)
    git(work, "init", "-q", "-b", "main", ".")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "start")
    return made


def row(name: str, ours: float, theirs: float, goal: float | None) -> None:
    ratio = ours / theirs if theirs else float("nan")
    verdict = "" if goal is None else ("ok" if ratio <= goal else "MISSED") + f" (goal {goal})"
    print(f"  {name:44} {ours:9.1f} ms {theirs:9.1f} ms  {ratio:7.3f}  {verdict}", flush=True)


def ready(work: Path, theirs: float, numbers: Iterator[int], change: Callable[[int], None]) -> None:
    """What a new session waits for where a copy was kept ready. Making that copy is not in it: that happens in a process of
    its own while nothing else goes on, and its time is told beside."""
    from worldline.workspace import isolate, isolate_make

    made: list[float] = []
    time.sleep(isolate_make.SETTLED_NS / 1e9 + 0.1)

    def make(_: int) -> None:
        start = time.perf_counter()
        assert isolate_make.make(work).path is not None
        made.append((time.perf_counter() - start) * 1000)

    def changed(number: int) -> None:
        make(number)
        change(number)

    for name, before in (("new worktree, copy ready", make), ("... and 100 files changed since", changed)):
        ours = timed(lambda: isolate.prepare(work, f"bench{next(numbers)}"), before, rounds=3)
        row(f"{name} / git worktree add", ours, theirs, 0.6)
    print(f"  {'(making that copy, in the background)':44} {statistics.median(made):9.1f} ms", flush=True)


def measure(files: int, base: Path) -> dict[str, float]:
    os.environ["WORLDLINE_HOME"] = str(base / "home")
    from worldline.workspace import isolate
    from worldline.workspace.engine import Workspace

    work = base / "work"
    paths = make(work, files)
    time.sleep(0.1)
    print(f"{files} files: {'':32} ours         git       ratio", flush=True)
    ws = Workspace(work, base / "store")
    start = time.perf_counter()
    state = ws.capture(None).state
    first = (time.perf_counter() - start) * 1000
    start = time.perf_counter()
    git(work, "add", "-A", GIT_INDEX_FILE=str(base / "fresh-index"))
    row("first snapshot / git add -A, nothing to store", first, (time.perf_counter() - start) * 1000, None)
    # The same work on both sides: our store is empty, so must be where git puts its objects.
    (base / "fresh-index").unlink()
    (base / "fresh-objects").mkdir()
    fresh = {"GIT_INDEX_FILE": str(base / "fresh-index"), "GIT_OBJECT_DIRECTORY": str(base / "fresh-objects")}
    start = time.perf_counter()
    git(work, "add", "-A", **fresh)
    row("first snapshot / git add -A, all to store", first, (time.perf_counter() - start) * 1000, None)
    status = timed(lambda: git(work, "status", "--porcelain"))
    cold = timed(lambda: ws.capture(state), before=lambda _: ws.unwatch())
    row("no change, no watcher / git status", cold, status, 1.2)
    ws.watch()
    ws.capture(state)
    warm = timed(lambda: ws.capture(state))
    row("no change, watched / git status", warm, status, None)

    def edit(count: int) -> Callable[[int], None]:
        def run(number: int) -> None:
            for path in paths[:: max(1, files // count)][:count]:
                path.write_text(f"{path.read_text()}# {number}.{time.time_ns()}\n")

        return run

    one = timed(lambda: ws.capture(state), before=edit(1))
    add = timed(lambda: git(work, "add", "-A", GIT_INDEX_FILE=str(base / "fresh-index")), before=edit(1))
    row("1 file, watched / git add -A", one, add, None)
    many = min(1000, files)
    ours = timed(lambda: ws.capture(state), before=edit(many), rounds=3)
    theirs = timed(
        lambda: git(work, "add", "-A", GIT_INDEX_FILE=str(base / "fresh-index")), before=edit(many), rounds=3
    )
    row(f"{many} files, watched / git add -A", ours, theirs, 0.7)
    git(work, "checkout", "-q", "-f", "main")
    base_state = ws.capture(state).state
    for count, goal, commit in ((1, 0.1, False), (10, 0.1, False), (many, 0.8, False), (10, None, True)):
        edit(count)(0)
        if commit:  # the staging area and HEAD go along
            git(work, "commit", "-qam", f"change {count}")
        changed = ws.capture(base_state).state
        pair = [changed, base_state]

        def jump(pair: list[str] = pair) -> None:
            plan = ws.plan(pair[1], last=pair[0])
            report = ws.apply(plan)
            assert report.done, report.note
            pair.reverse()

        ours = timed(jump, rounds=6)
        unwatched = None
        if count == 10 and not commit:
            unwatched = timed(jump, before=lambda _: ws.unwatch(), rounds=6)
            ws.watch()
            ws.capture(changed)
        if not commit:
            git(work, "commit", "-qam", f"change {count}")
        git(work, "branch", "-f", "other", "HEAD~1")
        git(work, "checkout", "-q", "-f", "main")
        turn = iter(["other", "main"] * 10)
        theirs = timed(lambda turn=turn: git(work, "checkout", "-q", next(turn)), rounds=6)
        row(
            f"go to a node, {count} files{', committed' if commit else ''} / git checkout", ours, theirs, goal
        )
        if not commit and count <= 10 and sys.platform == "linux":
            least = floor.restore_floor(base, count)
            row(f"... {count} files / its system calls alone", ours, least["all"], None)
            print("      " + ", ".join(f"{name} {least[name]:.2f}" for name in floor.STEPS), flush=True)
        if unwatched is not None:
            row(f"go to a node, {count} files, no watcher / git checkout", unwatched, theirs, 1.3)
        git(work, "checkout", "-q", "-f", "main")
        git(work, "reset", "-q", "--hard", "HEAD~1")
        base_state = ws.capture(base_state).state
    numbers = iter(range(100))
    ours = timed(lambda: isolate.prepare(work, f"bench{next(numbers)}"), rounds=3)
    theirs = timed(
        lambda: git(work, "worktree", "add", "-q", "--detach", str(base / f"wt{next(numbers)}")), rounds=3
    )
    row("new worktree / git worktree add", ours, theirs, 0.6)
    ready(work, theirs, numbers, edit(100))
    ws.close()
    return {"warm": warm, "one": one}


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [1000, 20000]
    results = {}
    for files in counts:
        base = Path(tempfile.mkdtemp(prefix="bench-ws-", dir=os.environ.get("BENCH_DIR")))
        try:
            results[files] = measure(files, base)
        finally:
            shutil.rmtree(base, ignore_errors=True)
    if len(results) > 1:
        low, high = results[counts[0]], results[counts[-1]]
        growth = high["one"] / low["one"]
        verdict = ("ok" if growth <= 1.5 else "MISSED") + " (goal 1.5)" if counts[0] >= 10_000 else ""
        print(f"growth {counts[0]} -> {counts[-1]}: one file, watched {growth:.2f}x  {verdict}", flush=True)


if __name__ == "__main__":
    main()
