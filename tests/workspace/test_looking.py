"""A walk that shares out the looking: what it finds is what a walk over everything finds, whatever becomes of a helper."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace import helpers, looker, looking
from worldline.workspace.engine import Workspace
from worldline.workspace.helpers import Helper
from worldline.workspace.model import Cancelled

from .conftest import run_sh, settled
from .steps import step

Open = Callable[..., Workspace]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace of a few files is shared out as a large one would be, on any computer."""
    monkeypatch.setattr(looking, "_WORTH", 1)
    monkeypatch.setattr(looking, "_EACH", 1)
    monkeypatch.setattr(looking, "_PORTION", 3)
    monkeypatch.setattr(helpers, "processors", lambda: 3)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    work = tmp_path / "files"
    for number in range(120):
        folder = work / f"d{number // 30}" / f"e{number // 6 % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_text(f"{number}")
    (work / "d0" / "la\udce4in").write_text("no utf-8")
    return work


def _open(work: Path, store: Path) -> Workspace:
    return Workspace(work, store, free_floor=0, watch=False)


def _truth(work: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    with monkeypatch.context() as alone:
        alone.setattr(looking, "_WORTH", 1 << 40)
        whole = _open(work, store)
        files = whole.state(whole.capture(None).state).files
        whole.close()
    return files


def _helpers(workspace: Workspace) -> list[subprocess.Popen[bytes]]:
    return [helper.process for helper in workspace._capturer._looker._helpers]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_together_is_what_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    work = tmp_path / "work"
    work.mkdir()
    run_sh("git init -q . && mkdir d && echo 1 > a && echo 2 > d/b && git add -A && git commit -qm one", work)
    shared = _open(work, tmp_path / "shared")
    state = shared.capture(None).state
    for turn in range(15):
        state = settled(shared, state)
        for _ in range(rng.randrange(1, 8)):
            step(rng, work)
        state = shared.capture(state).state
        whole = _open(work, tmp_path / f"whole{turn}")
        truth = whole.state(whole.capture(None).state)
        seen = shared.state(state)
        whole.close()
        assert (seen.files, seen.perms_tree, seen.omitted) == (
            truth.files,
            truth.perms_tree,
            truth.omitted,
        ), turn
    shared.close()


def test_the_work_is_shared_and_files_that_did_not_change_are_asked_for_once(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)
    answered: list[str] = []
    real = Helper.answers

    def answers(self: Helper[list[looking.Piece]]) -> Iterator[tuple[list[looking.Piece], Any]]:
        for portion, said in real(self):
            answered.extend(prefix for prefix, _ in portion)
            yield portion, said

    here: list[str] = []
    alone = looking.is_as_known

    def is_as_known(root: int, device: int, prefix: str, node: looking.Dir) -> bool:
        here.append(prefix)
        # As long as it takes a helper to start: without it this process had done all of it before.
        for helper in workspace._capturer._looker._helpers:
            if helper.asked:
                select.select([helper.output], [], [], 60)
        return alone(root, device, prefix, node)

    monkeypatch.setattr(Helper, "answers", answers)
    monkeypatch.setattr(looking, "is_as_known", is_as_known)
    assert not workspace.capture(state).changed
    assert answered and here and len(_helpers(workspace)) == 2
    folders = [
        "" if path == files else f"{path.relative_to(files)}/"
        for path in (files, *files.rglob("*"))
        if path.is_dir()
    ]
    assert sorted(answered + here) == sorted(folders)
    workspace.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_helper_that_is_lost_costs_nothing_but_time(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    monkeypatch.setattr(looking, "_PATIENCE_S", 0.05)
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)
    assert not workspace.capture(state).changed
    asked = Helper.ask

    def ask(self: Helper[list[looking.Piece]], message: Any, portion: list[looking.Piece]) -> None:
        os.kill(self.process.pid, how)
        asked(self, message, portion)

    monkeypatch.setattr(Helper, "ask", ask)
    for path in files.rglob("f*7"):
        path.write_text("other")
    result = workspace.capture(state)
    assert result.files == len(list(files.rglob("f*7")))
    assert workspace.state(result.state).files == _truth(files, tmp_path / "whole", monkeypatch)
    assert _helpers(workspace) == []
    assert not workspace.capture(result.state).changed
    workspace.close()


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.write(1, b'\\0\\0\\0\\5hello')",
        "import os; os.write(1, b'\\0\\0\\0\\1N' * 9); os.read(0, 1)",
        "import sys; sys.exit(1)",
        "this is no program",
    ],
)
def test_a_helper_that_talks_nonsense_is_not_believed(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)
    monkeypatch.setattr(helpers, "_RUN", program)
    (files / "d1" / "e1" / "f36").write_text("other")
    assert workspace.capture(state).paths == ["d1/e1/f36"]
    workspace.close()


def test_more_names_than_a_pipe_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_PORTION", 1000)
    work = tmp_path / "work"
    for folder in range(6):
        (work / f"d{folder}").mkdir(parents=True)
        for number in range(500):
            (work / f"d{folder}" / (f"{number:03}" + "n" * 240)).touch()
    workspace = _open(work, tmp_path / "store")
    state = settled(workspace)
    changed = work / "d3" / ("123" + "n" * 240)
    changed.write_text("x")
    assert workspace.capture(state).paths == [str(changed.relative_to(work))]
    workspace.close()


def test_a_walk_that_is_cancelled_leaves_no_answer_for_the_next(files: Path, tmp_path: Path) -> None:
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)

    def cancel(*_: object) -> None:
        raise Cancelled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "is_as_known", cancel)
        with pytest.raises(Cancelled):
            workspace.capture(state)
    (files / "d2" / "e2" / "f75").write_text("other")
    assert workspace.capture(state).paths == ["d2/e2/f75"]
    workspace.close()


def test_helpers_end_with_the_workspace_and_where_the_kernel_tells_what_changes(
    files: Path, tmp_path: Path
) -> None:
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)
    workspace.capture(state)
    first = _helpers(workspace)
    assert first
    workspace.watch()
    workspace.capture(state)
    assert _helpers(workspace) == [] and all(process.poll() is not None for process in first)
    workspace.unwatch()
    workspace.capture(state)
    second = _helpers(workspace)
    workspace.close()
    assert second and all(process.poll() is not None for process in second)


def test_a_helper_ends_when_nobody_is_left_to_ask(files: Path) -> None:
    helper: Helper[None] = Helper.start(looker, str(files))
    assert helper.process.stdin is not None
    helper.process.stdin.close()
    assert helper.process.wait(60) == 0
    helper.close()


def test_a_folder_swapped_for_a_link_to_itself_is_seen(files: Path, tmp_path: Path) -> None:
    workspace = _open(files, tmp_path / "store")
    state = settled(workspace)
    (files / "d1").rename(tmp_path / "elsewhere")
    (files / "d1").symlink_to(tmp_path / "elsewhere")
    result = workspace.capture(state)
    assert "d1" in result.paths
    entry = workspace.store.lookup(workspace.state(result.state).files, "d1")
    assert entry is not None and entry.mode == 0o120000
    workspace.close()
