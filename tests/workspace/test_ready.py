"""Copies that are kept ready: what a session takes is byte for byte what it would have got without them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import isolate, isolate_ready

from .conftest import run_sh, snapshot
from .ready import everything, make, same_both_ways, settle, waiting
from .test_engine import SETUP
from .test_isolate import INNER, SUBMODULE
from .test_random import NAMES, _operate

Sh = Callable[..., str]


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
