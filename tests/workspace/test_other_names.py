"""Files with several names, of which one came since the last capture: whatever is written by it is in the next state."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace.arrivals import CREATE, DELETE, MOVED_FROM, MOVED_TO, Arrivals
from worldline.workspace.engine import Workspace
from worldline.workspace.folders import is_staging
from worldline.workspace.watch import Watcher

from .conftest import run_sh, settled

Open = Callable[..., Workspace]
Sh = Callable[..., str]
MADE = "mkdir -p d/e old; echo one >a; echo one >d/e/a; echo '*.log' >.gitignore; echo x >beside; echo y >d/beside"
MORE = "echo more >>"


def _watched(open_workspace: Open) -> tuple[Workspace, str]:
    """After this only what is told is looked at."""
    workspace = open_workspace(watch=False)
    state = settled(workspace)
    workspace.watch()
    state = workspace.capture(state).state
    assert workspace._capturer._watcher is not None and workspace._capturer._watcher.works
    return workspace, state


@pytest.mark.parametrize("file", ["a", "d/e/a"])
@pytest.mark.parametrize(
    "deed",
    [
        f"ln FILE b; {MORE} b",
        f"ln FILE d/b; {MORE} d/b",
        f"ln -f FILE d/beside; {MORE} d/beside",
        f"mkdir new; ln FILE new/b; {MORE} new/b",
        f"ln FILE seen.log; {MORE} seen.log",
        f"mkdir new; ln FILE new/seen.log; {MORE} new/seen.log",
        f"ln FILE b; {MORE} b; mv b d/c",
        f"ln FILE b; {MORE} b; rm b",
        f"ln FILE b; {MORE} b; mv beside b",
        f"ln FILE b; mv b d/c; {MORE} d/c; rm d/c",
        f"ln FILE b; {MORE} b; mv b ../outside",
        f"mkdir new; ln FILE new/b; {MORE} new/b; rm -r new",
        f"ln FILE seen.log; {MORE} seen.log; rm seen.log",
    ],
)
def test_what_is_written_by_a_new_name_is_captured(
    sh: Sh, open_workspace: Open, work: Path, file: str, deed: str
) -> None:
    sh(MADE)
    workspace, state = _watched(open_workspace)
    sh(deed.replace("FILE", file))
    result = workspace.capture(state)
    assert file in result.paths
    assert workspace.read_file(result.state, file) == (work / file).read_bytes() == b"one\nmore\n"


@pytest.mark.parametrize("name", ["b", "seen.log", "d/b"])
def test_it_is_looked_at_from_then_on(sh: Sh, open_workspace: Open, work: Path, name: str) -> None:
    sh(MADE)
    workspace, state = _watched(open_workspace)
    sh(f"ln a {name}")
    state = workspace.capture(state).state
    for turn in range(3):
        sh(f"echo {turn} >>{name}")
        state = workspace.capture(state).state
        assert workspace.read_file(state, "a") == (work / "a").read_bytes()
    sh(f"rm {name}")
    workspace.capture(state)
    # One that has no other name any more is not asked for again.
    assert not any(node.linked for node in workspace._capturer.context.special.values())


def test_a_name_that_came_into_an_ignored_folder_is_found_by_the_next_walk(
    sh: Sh, open_workspace: Open, work: Path
) -> None:
    """Nobody is told of what happens in there."""
    sh(f"{MADE}; mkdir out; echo out/ >.gitignore")
    workspace, state = _watched(open_workspace)
    sh(f"ln a out/b; {MORE} out/b")
    workspace.unwatch()
    state = workspace.capture(state).state
    workspace.watch()
    state = workspace.capture(state).state
    assert workspace.read_file(state, "a") == (work / "a").read_bytes()
    sh(f"{MORE} out/b")
    state = workspace.capture(state).state
    assert workspace.read_file(state, "a") == (work / "a").read_bytes()


def test_files_without_other_names_are_not_asked_for(
    sh: Sh, open_workspace: Open, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh(f"{MADE}; for n in 1 2 3 4 5; do echo $n >d/f$n; done")
    workspace, state = _watched(open_workspace)
    sh("ln a b; echo more >>b")
    asked: list[str] = []
    real = os.stat

    def stat(path: object, *args: object, **options: object) -> os.stat_result:
        asked.append(str(path))
        return real(path, *args, **options)  # type: ignore[call-overload,no-any-return]

    with monkeypatch.context() as seen:
        seen.setattr(os, "stat", stat)
        assert workspace.capture(state).paths == ["a", "b"]
    assert "a" in asked and not any(name.startswith("f") for name in asked)


def test_a_name_that_came_and_went_leaves_everything_to_be_looked_at(work: Path) -> None:
    watcher = Watcher(work, is_staging)
    watcher.watch("")
    watcher.drain()
    (work / "kept").write_text("x")
    (work / "passing").write_text("x")
    (work / "passing").replace(work / "saved")  # as editors do it
    assert watcher.drain() == {"": {"kept", "passing", "saved"}}
    (work / "kept").unlink()
    assert watcher.drain() == {"": {"kept"}}
    (work / "passing").write_text("x")
    (work / "passing").unlink()
    assert watcher.stirred and watcher.drain() is None
    assert watcher.drain() == {}
    watcher.close()


def test_where_a_moving_name_went_is_asked_for_across_calls() -> None:
    arrivals = Arrivals()
    for name, mask, cookie in (("a", CREATE, 0), ("a", MOVED_FROM, 7), ("b", MOVED_TO, 7)):
        arrivals.take(1, name, mask, cookie)
    assert not arrivals.end()
    arrivals.take(1, "a", CREATE, 0)
    arrivals.take(1, "a", MOVED_FROM, 8)
    arrivals.take(1, "c", MOVED_TO, 9)
    assert arrivals.end() and not arrivals.end()
    arrivals.take(1, "a", DELETE, 0)  # it had been there
    assert not arrivals.end()


_PLACES = ["", "d/", "d/e/", "v/", "v/in/"]
_RULES = ["", "*.log\n", "v/\n", "v\n!v/in\n", "d/*\n", "*.log\nb\n", "v/in/\nb\n"]


def _step(rng: random.Random, work: Path) -> None:
    """One small change, or none: to the rules, or to files with several names."""
    path = work / rng.choice(_PLACES) / rng.choice(["a", "b", "c", "x.log"])
    # No rule ignores these folders: in one that is ignored, nobody is told of a new name.
    other = work / rng.choice(_PLACES[:2]) / rng.choice(["a", "b", "c", "x.log"])
    match rng.randrange(9):
        case 0:
            rules = work / rng.choice(["", "v/", "d/"]) / ".gitignore"
            rules.write_text(rng.choice(_RULES))
        case 1 | 2 if path.exists() and not other.exists():
            other.hardlink_to(path)
        case 3 if path.exists():
            with path.open("a") as file:
                file.write(f"{rng.random()}")
        case 4 if path.exists():
            path.unlink()
        case 5 if path.exists() and path != other:
            path.replace(other)
        case 6 if path.exists() and not other.exists():  # written by a name that is gone again
            other.hardlink_to(path)
            other.write_text(f"{rng.random()}")
            other.unlink() if rng.random() < 0.5 else other.rename(work.parent / "away")
        case 7:
            path.write_text(f"{rng.random()}")
        case 8 if rng.random() < 0.3:
            run_sh("git add -A", rng.choice([work, work / "v"]), check=False)
        case _:
            return


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_what_goes_by_the_last_capture_is_what_a_first_one_gives(
    tmp_path: Path, open_workspace: Open, seed: int, watch: bool
) -> None:
    rng = random.Random(seed)
    work = tmp_path / "work"
    for place in _PLACES:
        (work / place).mkdir(exist_ok=True)
    run_sh("git init -q; echo 1 >a; echo 2 >d/b; git add a; git init -q v; cd v; echo 3 >b; git add b", work)
    workspace = open_workspace(work, watch=watch)
    state = workspace.capture(None).state
    for turn in range(12):
        for _ in range(rng.randrange(1, 7)):
            _step(rng, work)
        state = workspace.capture(state).state
        whole = open_workspace(work, tmp_path / f"whole{turn}", watch=False)
        truth, seen = whole.state(whole.capture(None).state), workspace.state(state)
        roots = [[(root.path, root.index) for root in one.roots] for one in (seen, truth)]
        assert (seen.files, seen.perms_tree, seen.omitted, roots[0]) == (
            truth.files, truth.perms_tree, truth.omitted, roots[1],
        ), turn  # fmt: skip
