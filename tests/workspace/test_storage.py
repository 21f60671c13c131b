"""Room: growth by what changed, pruning that keeps what is kept, leftovers of kills, worktrees that go only by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import isolate, worktrees
from worldline.workspace.bundle import objects_of, take_objects
from worldline.workspace.engine import Workspace

from .conftest import REPO, run_sh, snapshot
from .test_scenarios import BASE

Open = Callable[..., Workspace]
Sh = Callable[..., str]


def size_of(ws: Workspace) -> int:
    return sum(file.stat().st_size for file in ws.store.path.rglob("*") if file.is_file())


def test_growth_is_what_changed(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(
        f"{BASE} && for n in $(seq 300); do head -c 2000 /dev/urandom > f$n; done && git add . && git commit -qm many"
    )
    ws = open_workspace()
    state = ws.capture(None).state
    states, size = len(ws.stored_states()), size_of(ws)
    for number in range(50):
        (work / "f1").write_text(f"line {number}\n")
        state = ws.capture(state).state
    assert len(ws.stored_states()) == states + 50
    assert size_of(ws) - size < 50 * 40_000


def test_pruning_keeps_what_is_kept(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(BASE)
    ws = open_workspace()
    states = [ws.capture(None).state]
    views = [snapshot(work)]
    for number in range(6):
        (work / f"n{number}").write_text(f"{number}\n" * 1000)
        states.append(ws.capture(states[-1]).state)
        views.append(snapshot(work))
    keep = {states[1], states[4], states[6]}
    expected = ws.prunable(keep)
    size = size_of(ws)
    report = ws.prune(keep)
    # The estimate is of objects; packing the rest anew saves some more.
    assert 0 < expected <= size and abs(report.freed - expected) < 0.5 * size
    assert ws.prunable(keep) == 0
    assert (report.states_removed, report.states_kept) == (4, 3)
    assert ws.missing(keep) == {} and set(ws.missing(set(states))) == set(states) - keep
    last = ws.capture(states[6]).state
    assert last == states[6]
    for number in (1, 4):
        done = ws.apply(ws.plan(states[number], last=last))
        assert done.done and snapshot(work) == views[number]
        last = ws.capture(states[number]).state
    with pytest.raises(WorkspaceError):
        ws.prune({states[0]})
    run_sh("git fsck", ws.store.path)


def test_temp_files_of_killed_captures_go(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(BASE)
    first = Workspace(work, tmp_path / "store")
    first.capture(None)
    pack = first.store.path / "objects/pack"
    first.close()
    for number in range(20):
        (pack / f"tmp_wl_{number}").write_bytes(b"x" * 1000)
    (pack / f"pack-{'0' * 40}.pack").write_bytes(b"x")
    again = Workspace(work, tmp_path / "store")
    again.capture(None)
    again.close()
    assert not list(pack.glob("tmp_*")) and not list(pack.glob(f"pack-{'0' * 40}*"))


@pytest.mark.parametrize("gone", [".pack", ".idx"])
def test_what_pruning_that_was_killed_left_of_a_pack_is_not_taken_for_objects(
    work: Path, tmp_path: Path, gone: str
) -> None:
    """Content that was pruned comes back into the workspace, and into the store with the next capture."""
    for number in range(100):
        (work / f"n{number}").write_text(f"{number}\n" * 100)
    first = Workspace(work, tmp_path / "store")
    many = first.capture(None).state
    for number in range(100):
        (work / f"n{number}").write_text("other")
    last = first.capture(many).state
    pack = first.store.path / "objects/pack"
    (old,) = pack.glob("pack-*.pack")
    kept = {name: old.with_suffix(name).read_bytes() for name in (".pack", ".idx") if name != gone}
    first.prune({last})
    first.close()
    for name, data in kept.items():  # the kill came when the other one was gone
        old.with_suffix(name).write_bytes(data)
    for number in range(100):
        (work / f"n{number}").write_text(f"{number}\n" * 100)
    again = Workspace(work, tmp_path / "store")
    state = again.capture(last).state
    assert again.missing({state, last}) == {}
    assert again.read_file(state, "n7") == b"7\n" * 100
    assert not [*pack.glob(f"{old.stem}.*")]
    again.close()


def test_a_worktree_goes_only_with_what_it_loses_named(work: Path, sh: Sh) -> None:
    sh(BASE)
    made = isolate.prepare(work, "5e55")
    run_sh(
        "echo x > a.txt && echo u > u && git add u && git commit -qm 'only here' && echo later > later",
        made.root,
    )
    with pytest.raises(WorkspaceError) as caught:
        worktrees.remove(made.root, worktrees.would_lose(made.root))
    assert caught.value.kind == "leased"
    isolate.release(made.root)
    lost = worktrees.would_lose(made.root)
    # Its branch stays in the repository, and the commit with it.
    assert lost == ["changed file a.txt", "untracked file later"]
    with pytest.raises(WorkspaceError) as caught:
        worktrees.remove(made.root, lost[1:])
    assert caught.value.kind == "changed" and made.root.is_dir()
    worktrees.remove(made.root, lost)
    assert not made.root.exists()
    assert sh("git log -1 --format=%s worldline/5e55/start").strip() == "only here"
    assert "5e55" not in sh("git worktree list") and sh("git status --porcelain") == ""
    with pytest.raises(WorkspaceError):
        worktrees.remove(work, [])


def test_copies_are_synced_before_what_they_save_goes(
    work: Path, sh: Sh, open_workspace: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh(REPO + "echo 1 > a && git add . && git commit -qm i")
    ws = open_workspace()
    first = ws.capture(None).state
    (work / "a").write_text("precious\n")
    synced: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    seen: list[bool] = []
    plan = ws.plan(first, last=first, default_choice="restore")
    oid = ws.store.lookup(ws.state(plan.safety).files, "a").oid.hex()  # type: ignore[union-attr]
    report = ws.apply(
        plan, on_done=lambda _: seen.append(any(p.endswith(f"{oid[:2]}/{oid[2:]}") for p in synced))
    )
    assert report.done and seen == [True]


def test_a_store_that_an_older_version_made_of_a_bundle_is_still_one(
    tmp_path: Path, work: Path, sh: Sh
) -> None:
    """It has the configuration that git gives to any repository."""
    sh(f"{REPO} echo 1 > a && git add a && git commit -qm one")
    ws = Workspace(work, tmp_path / "store")
    state = ws.capture(None).state
    ws.close()
    store = tmp_path / "came"
    take_objects(store, objects_of(tmp_path / "store", [state]), [state])
    (store / "config").write_text("[core]\n\tbare = true\n\trepositoryformatversion = 0\n\tfilemode = true\n")
    (work / "a").write_text("2\n")

    for _ in range(2):
        mine = Workspace(work, store)
        assert mine.missing({state}) == {}
        last = mine.capture(None).state  # from now on it holds more than what came
        assert mine.apply(mine.plan(state, last=last, default_choice="restore")).done
        mine.close()
    assert (work / "a").read_text() == "1\n"


@pytest.mark.parametrize(
    "left", ["mkdir -p objects/info objects/pack refs/heads", "mkdir refs && touch config"]
)
def test_a_store_that_was_being_made_when_the_program_was_killed(
    tmp_path: Path, work: Path, sh: Sh, left: str
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    sh(left, store)
    (work / "a").write_text("1\n")

    ws = Workspace(work, store)
    state = ws.capture(None).state
    ws.close()

    again = Workspace(work, store)
    assert again.read_file(state, "a") == b"1\n"
    again.close()
    assert [path.name for path in tmp_path.glob(".store*")] == []
