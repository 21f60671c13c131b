"""Copies that are kept ready: what a session takes is byte for byte what it would have got without them."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import indexfile, isolate, isolate_make, isolate_ready, leases, worktrees
from worldline.workspace.isolate_make import Made
from worldline.workspace.isolate_manifest import BadManifest, decode, encode, head_of

from .conftest import ENV, run_sh, snapshot
from .test_engine import SETUP
from .test_isolate import INNER, SUBMODULE
from .test_random import NAMES, _operate

Sh = Callable[..., str]
HOUR_NS = 3_600_000_000_000
TICK_NS = 30_000_000
"""Longer than the clock of any file system here takes to go on."""


def settle() -> None:
    """Until what was written before can be told by its times from what is written after."""
    end = time.time_ns() + TICK_NS
    while time.time_ns() <= end:
        time.sleep(0.005)


def make(work: Path, **options: Any) -> Made:
    settle()
    return isolate_make.make(work, **{"least_files": 0, "settled_ns": TICK_NS // 2, **options})


def waiting() -> list[Path]:
    return [copy.path for copy in isolate_ready.found()]


def everything(made: isolate.Isolated) -> dict[str, Any]:
    """All that can be seen of a worktree, but for its name."""
    top = made.path
    files = snapshot(top)
    times = {p: (top / p).stat().st_mtime_ns for p, (mode, _) in files.items() if stat.S_ISREG(mode)}
    entry = Path(os.fsdecode((top / ".git").read_bytes()[8:].strip()))
    index = entry / "index"
    entries = indexfile.parse(index.read_bytes()) if index.is_file() else []
    session = made.branch.split("/")[1]
    known = {p: v for p, (mode, v) in snapshot(entry).items() if p != "index" and stat.S_ISREG(mode)}
    return {
        "files": files,
        "times": times,
        "top": stat.S_IMODE(top.stat().st_mode),
        "index": [(e.path, e.mode, e.oid, e.stage, e.flags, any(e.stat), e.size) for e in entries],
        "entry": {p: v.replace(session.encode(), b"SESSION") for p, v in known.items()},
        "lease": leases.read(made.root) is not None,
        "status": run_sh("git status --porcelain=v2 -z --ignored", top),
        "head": run_sh("git rev-parse -q --verify HEAD; git stash list", top, check=False),
        "facts": (
            made.base_commit,
            made.base_branch,
            sorted(made.included),
            sorted(made.notes),
            made.uncommitted,
        ),
    }


def same_both_ways(work: Path, **options: Any) -> dict[str, Any]:
    """Make a worktree of the copy that waits and one without; both must be the same, and the copy must have been used."""
    assert waiting()
    ready = isolate.prepare(work, "aaaaaaaa", **options)
    assert not waiting()
    plain = isolate.prepare(work, "bbbbbbbb", **options)
    seen = everything(ready)
    assert seen == everything(plain)
    assert ready.path.parent == plain.path.parent
    assert (ready.path.with_name(ready.path.name + ".info")).is_file()
    assert [row for row in os.listdir(paths.ready_dir()) if not row.startswith(".removing-")] == []
    return seen


def test_the_same_as_a_new_one(work: Path, sh: Sh) -> None:
    sh(SETUP)
    sh("mkdir -p build/keep closed && echo o > build/keep/o && printf 'build/\\n' >> .git/info/exclude && printf 'build/keep/\\n' > "
       ".worktreeinclude && echo c > closed/c && chmod 555 closed && mkdir empty && mkfifo pipe")  # fmt: skip
    made = make(work)
    assert made.path is not None and made.files > 10
    same_both_ways(work)


def test_everything_changed_meanwhile(work: Path, sh: Sh) -> None:
    sh(SETUP)
    sh(
        "mkdir -p gone/deep was && echo g > gone/deep/g && echo w > was/w && echo t > turned && chmod 500 gone && ln -s a to"
    )
    make(work)
    sh(
        "echo other > d/f && chmod 700 gone && rm -r gone was && echo file > was && rm turned && mkdir turned && echo n > turned/n "
        "&& chmod 644 run.sh && rm to && ln -s d/f to && echo K=2 > .env && echo .env.local >> .git/info/exclude "
        "&& echo L > .env.local && git add -A && git commit -qm later && git checkout -q --detach && echo more >> a "
        "&& git rm -q --cached crlf.txt && touch -d @1000000000 untracked"
    )
    same_both_ways(work)


def test_only_what_changed_is_written(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && for n in $(seq 40); do echo $n > f$n; done && git add . && git commit -qm i")
    made = make(work)
    assert made.path is not None

    def seen(folder: Path) -> dict[str, tuple[int, int]]:
        return {path.name: (path.stat().st_ino, path.stat().st_ctime_ns) for path in folder.glob("f*")}

    before = seen(made.path / "files")
    settle()
    sh("echo x > f7 && rm f8 && echo new > f41")
    after = seen(isolate.prepare(work, "aaaaaaaa").path)
    assert after.keys() == (before.keys() | {"f41"}) - {"f8"}
    assert {name for name in after if after[name] == before.get(name)} == before.keys() - {"f7", "f8"}


def test_what_it_replaces_is_removed_when_nobody_waits(work: Path, sh: Sh, monkeypatch: Any) -> None:
    sh("git init -q -b main . && for n in $(seq 40); do echo $n > f$n; done && git add . && git commit -qm i")
    first = make(work)
    sh("echo x > f7 && rm f8")
    make(work)
    assert first.path is not None and not isolate_ready.gone_of(first.path / "files").exists()
    settle()
    sh("echo y > f7 && echo y > f9 && rm f10")
    removed: list[str] = []
    remove = os.unlink
    monkeypatch.setattr(os, "unlink", lambda path, **at: (removed.append(str(path)), remove(path, **at))[1])
    made = isolate.prepare(work, "aaaaaaaa")
    assert not [name for name in removed if Path(name).name.startswith("f")]
    kept = list(paths.ready_dir().glob(".removing-*/gone/*"))
    assert sorted(path.read_text() for path in kept) == ["10\n", "9\n", "x\n"]
    assert (made.path / "f9").read_text() == "y\n" and not (made.path / "f10").exists()
    isolate_ready.finish()
    assert not list(paths.ready_dir().iterdir())


def test_bringing_it_up_to_date(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && for n in $(seq 40); do echo $n > f$n; done && git add . && git commit -qm i")
    first = make(work)
    sh("echo x > f7 && mkdir sub && echo s > sub/s && rm f8")
    again = make(work)
    assert (again.path, again.files, again.reused) == (first.path, 40, 38)
    same_both_ways(work)


def test_an_operation_in_progress_and_a_filter(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo '*.bin filter=no' > .gitattributes && git config filter.no.required true && git config "
       "filter.no.clean /nowhere/no && echo 1 > a && git add a .gitattributes && git commit -qm i && git checkout -qb t && echo 2 > a "
       "&& git commit -qam t && git checkout -q main && echo 3 > a && git commit -qam m && echo raw > x.bin")  # fmt: skip
    make(work)
    sh("git rebase t >/dev/null 2>&1 || true")
    seen = same_both_ways(work)
    assert any("rebase" in note for note in seen["facts"][3])


def test_other_ignored_files_are_wanted(work: Path, sh: Sh) -> None:
    sh(SETUP)
    make(work)
    assert same_both_ways(work, include_ignored=["*.log"])["facts"][2] == [".env", "x.log"]


def test_no_commit_yet(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo a > a")
    make(work)
    same_both_ways(work)


@pytest.mark.parametrize("setup", [INNER, SUBMODULE])
def test_repositories_inside_are_made_anew(work: Path, sh: Sh, setup: str) -> None:
    sh(SETUP)
    make(work)
    sh(setup)
    before = isolate.prepare(work, "aaaaaaaa")  # thrown away: such a copy is never made
    assert not waiting()
    assert everything(before) == everything(isolate.prepare(work, "bbbbbbbb"))
    made = make(work)
    assert made.path is None and "repositories" in made.why_not and not waiting()


def test_nothing_is_in_the_repository_before(work: Path, sh: Sh) -> None:
    sh(SETUP)
    before = snapshot(work, skip=())
    made = make(work)
    assert made.path is not None
    assert snapshot(work, skip=()) == before
    assert len(sh("git worktree list").splitlines()) == 1
    assert not (made.path / "files" / ".git").exists()
    with pytest.raises(WorkspaceError):  # no session can work in it
        isolate.prepare(made.path / "files", "aaaaaaaa")


OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.binary(max_size=3)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("mkdir"), st.sampled_from(NAMES)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from([*NAMES, "/nowhere"])),
    st.tuples(st.just("chmod"), st.sampled_from(NAMES), st.sampled_from([0o644, 0o755, 0o600, 0o444])),
    st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(
        st.just("git"),
        st.sampled_from(
            ["add -A", "commit -qm x", "reset -q", "rm -q --cached a", "checkout -q -B o", "stash -q"]
        ),
    ),
    st.tuples(st.just("make")),
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(OPERATIONS, min_size=3, max_size=20), st.lists(OPERATIONS, max_size=12))
def test_random_repositories(first: list[tuple[object, ...]], then: list[tuple[object, ...]]) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-ready-"))
    home = os.environ["WORLDLINE_HOME"]
    os.environ["WORLDLINE_HOME"] = str(base / "home")
    try:
        work = base / "work"
        work.mkdir()
        run_sh("git init -q -b main . && echo '*.log' > .git/info/exclude && echo .env >> .git/info/exclude && echo 0 > a "
               "&& git add a && git commit -qm 0", work)  # fmt: skip
        for operation in [*first, ("make",), *then]:
            if operation[0] == "make":
                assert make(work).path is not None
            else:
                _operate(work, operation)
        same_both_ways(work)
    finally:
        os.environ["WORLDLINE_HOME"] = home
        shutil.rmtree(base, ignore_errors=True)


# --- doubt -------------------------------------------------------------------------------------------------------


TAMPERING = {
    "same size": "printf '9\\n9\\n9\\n9\\n' > files/a",
    "same times": "cp -p files/a old && echo 9 >> files/a && touch -r old files/a && rm old",
    "mode": "chmod 700 files/d/f",
    "folder closed": "chmod 500 files/d",
    "second name": "ln files/a ../elsewhere",
    "file gone": "rm files/d/f",
    "folder gone": "rm -r files/deep",
    "file for a link": "rm files/link && echo l > files/link",
    "link for a file": "rm files/a && ln -s /etc/hostname files/a",
    # From here on it is thrown away.
    "foreign file": "echo f > files/foreign",
    "foreign file inside": "echo f > files/deep/er/foreign",
    "foreign folder": "mkdir files/foreign",
    "folder that the original has by now": "mkdir files/later",
    "git folder": "git init -q files",
    "folder for a file": "rm files/a && mkdir files/a",
    "link for a folder": "mv files/d files/dd && ln -s dd files/d",
    "link for all": "mv files elsewhere && ln -s elsewhere files",
    "no files": "rm -r files",
    "no manifest": "rm manifest",
    "cut manifest": "truncate -s -1 manifest",
    "empty manifest": ": > manifest",
    "turned bit": "printf X | dd of=manifest bs=1 seek=400 conv=notrunc status=none",
    "other version": "printf 'worldline ready copy 0' | dd of=manifest conv=notrunc status=none",
    "manifest is a pipe": "rm manifest && mkfifo manifest",
}


@pytest.mark.parametrize("kind", TAMPERING)
def test_what_was_touched_is_not_trusted(work: Path, sh: Sh, kind: str) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    settle()
    run_sh(TAMPERING[kind], place)
    (work / "later").mkdir()
    ready = isolate.prepare(work, "aaaaaaaa")
    assert os.path.lexists(place) is False
    assert everything(ready) == everything(isolate.prepare(work, "bbbbbbbb"))
    for path in ready.path.rglob("*"):
        assert path.is_symlink() or path.is_dir() or path.stat().st_nlink == 1
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_the_manifest_of_another_folder(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    shutil.copytree(work, tmp_path / "other", symlinks=True)
    place.rename(isolate_ready.place_of(tmp_path / "other"))
    ready = isolate.prepare(tmp_path / "other", "aaaaaaaa")
    assert everything(ready) == everything(isolate.prepare(tmp_path / "other", "bbbbbbbb"))
    assert not waiting()


def test_an_original_that_changed_a_moment_ago_is_copied_again(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo a > a && git add . && git commit -qm i")
    made = make(work, settled_ns=HOUR_NS)
    assert made.path is not None
    assert make(work, settled_ns=HOUR_NS).reused == 0
    assert make(work).reused == 0  # what was not trusted does not become so by waiting
    assert make(work).reused == 1


def test_a_copy_of_another_folder_of_the_same_name(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    make(work)
    work.rename(tmp_path / "moved")
    work.mkdir()
    sh("git init -q -b main . && echo new > a && git add . && git commit -qm other")
    same_both_ways(work)


def test_a_manifest_is_read_whole_or_not_at_all(work: Path, sh: Sh) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    data = (place / "manifest").read_bytes()
    whole = decode(data)
    assert encode(decode(encode(whole))) and decode(encode(whole)) == whole
    assert (
        head_of(data)["source"] == str(work) and "new\nline" in whole.files and "lat\udce4in" in whole.files
    )
    for cut in range(0, len(data), 37):
        with pytest.raises(BadManifest):
            decode(data[:cut])
    for at in range(0, len(data), 61):
        with pytest.raises(BadManifest):
            decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


# --- room --------------------------------------------------------------------------------------------------------


def test_small_and_large_ones_are_not_kept(work: Path, sh: Sh) -> None:
    sh(SETUP)
    few = make(work, least_files=isolate_make.LEAST_FILES)
    assert few.path is None and "fewer than 1,000" in few.why_not
    large = make(work, max_bytes=4096)
    assert large.path is None and "allowed" in large.why_not
    assert os.listdir(paths.ready_dir()) == []
    make(work)
    assert make(work, max_bytes=4096).path is None  # the one that is there goes as well
    assert os.listdir(paths.ready_dir()) == []


def test_the_oldest_make_room(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    works = [work, tmp_path / "two", tmp_path / "three"]
    for other in works[1:]:
        shutil.copytree(work, other, symlinks=True)
    size = make(works[0]).bytes
    settle()
    make(works[1], max_bytes=2 * size)
    assert waiting() == [isolate_ready.place_of(one) for one in works[:2]]
    make(works[2], max_bytes=2 * size)
    assert waiting() == [isolate_ready.place_of(one) for one in works[1:]]


def test_it_goes_with_its_repository(work: Path, sh: Sh) -> None:
    sh(SETUP)
    make(work)
    isolate_ready.finish()
    assert len(waiting()) == 1
    shutil.rmtree(work / ".git")
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_one_that_nobody_takes_goes(work: Path, sh: Sh) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    old = time.time() - (isolate_ready.UNUSED_DAYS + 1) * 86_400
    os.utime(place / "manifest", (old, old))
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_removing_one(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    made = make(work)
    assert made.path is not None
    for wrong in (
        work,
        paths.ready_dir(),
        made.path / "files",
        paths.ready_dir() / "none",
        paths.ready_dir() / "..",
    ):
        with pytest.raises(WorkspaceError) as caught:
            isolate_ready.remove(wrong)
        assert caught.value.kind == "refused"
    assert isolate_ready.remove(made.path) == made.bytes > 0
    assert os.listdir(paths.ready_dir()) == []
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "p").write_text("p")
    made.path.symlink_to(tmp_path / "precious")
    isolate_ready.finish()
    assert not os.path.lexists(made.path) and (tmp_path / "precious" / "p").read_text() == "p"


def test_on_another_disk(work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == work.stat().st_dev:
        pytest.skip("there is no second disk here")
    sh(SETUP)
    with tempfile.TemporaryDirectory(prefix="worldline-ready-", dir=shm) as home:
        monkeypatch.setenv("WORLDLINE_HOME", home)
        make(work)
        same_both_ways(work)


def test_worktrees_on_another_disk_than_the_copies(work: Path, sh: Sh, tmp_path: Path) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == work.stat().st_dev:
        pytest.skip("there is no second disk here")
    sh(SETUP)
    with tempfile.TemporaryDirectory(prefix="worldline-ready-", dir=shm) as elsewhere:
        paths.data_home()
        (paths.data_home() / "worktrees").symlink_to(elsewhere)
        make(work)
        assert isolate.prepare(work, "aaaaaaaa").path.is_dir() and waiting()  # made anew, the copy stays


# --- several at a time, and ends at any time ---------------------------------------------------------------------


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
