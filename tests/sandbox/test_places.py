"""What is read of a repository and a workspace before each command is fast, and never old."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from worldline.policy.sandbox import below, bubblewrap, places, selftest
from worldline.policy.sandbox.confine import Confinement
from worldline.policy.sandbox.model import Label, Profile


def test_refs_and_pipes_are_seen_again_after_any_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(below, "SETTLED_NS", 0)
    heads = tmp_path / "refs" / "heads"
    (heads / "a").mkdir(parents=True)
    ref = heads / "a" / "b"
    work = tmp_path / "work"
    (work / "in").mkdir(parents=True)
    for value in ("1" * 40, "2" * 40, "3" * 40):
        ref.write_text(value + "\n")
        os.utime(ref, (1, 1))  # setting the time back hides nothing
        (work / "in" / value[0]).touch()
        os.utime(work / "in", (1, 1))
        for _ in range(2):
            assert places.refs_of(tmp_path) == {"refs/heads/a/b": value}
            assert places.pipes_below(work) == []
        time.sleep(0.02)  # the clock of the file system has ticked
    pipe = work / "in" / "pipe"
    os.mkfifo(pipe)
    os.utime(work / "in", (1, 1))
    assert places.pipes_below(work) == [pipe] == places.pipes_below(work)
    pipe.unlink()
    assert places.pipes_below(work) == []
    ref.unlink()
    ref.symlink_to("/etc/hostname")
    (heads / "x.lock").touch()
    assert places.refs_of(tmp_path) == {}


def test_what_changed_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "refs").mkdir()
    for value in ("1" * 40, "2" * 40, "3" * 40):
        (tmp_path / "refs" / "x").write_text(value)
        assert places.refs_of(tmp_path) == {"refs/x": value}


def test_thousands_of_refs_take_little_time_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(below, "SETTLED_NS", 0)
    (tmp_path / "refs").mkdir()
    for number in range(2000):
        (tmp_path / "refs" / f"r{number}").write_text("1" * 40)
    reads: list[Path] = []
    real = places.read_small
    monkeypatch.setattr(places, "read_small", lambda p, limit=0: (reads.append(p), real(p, limit))[1])
    assert len(places.refs_of(tmp_path)) == 2000
    reads.clear()
    assert len(places.refs_of(tmp_path)) == 2000
    assert [p.name for p in reads] == ["packed-refs"]


def test_a_start_that_fails_once_leaves_no_session_without_a_sandbox(
    best_label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    real, calls = selftest.Confinement, []

    def vanishing(argv: list[str], cwd: Path, profile: Profile, label: Label) -> Confinement:
        calls.append(label)
        if len(calls) < 3:  # covered, but gone by the time that the walls are built
            made = real(argv, cwd, profile, label)
            made.argv = [*made.argv[:1], "--ro-bind", str(tmp_path / "gone"), "/gone", *made.argv[1:]]
            return made
        return real(argv, cwd, profile, label)

    monkeypatch.setattr(selftest, "Confinement", vanishing)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "data"))
    assert selftest.run().label == "complete" and calls == ["complete"] * 3


def test_a_git_file_without_end_is_no_repository(tmp_path: Path) -> None:
    with (tmp_path / ".git").open("wb") as file:
        file.write(b"gitdir: x\n")
        file.truncate(1 << 40)
    assert places.git_places(tmp_path).git_dir is None
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    assert places.git_places(tmp_path).git_dir is None


def test_nothing_is_put_over_what_lies_in_a_covered_folder(tmp_path: Path) -> None:
    """bubblewrap would not start: the covered folder is empty and cannot be written to."""
    sessions, key, work = tmp_path / "sessions", tmp_path / "key", tmp_path / "work"
    (sessions / "deeper").mkdir(parents=True)
    work.mkdir()
    for file in (key, sessions / "one.worldline", sessions / "deeper" / "two.worldline"):
        file.touch()
    profile = Profile(work, tmp_path / "private", tmp_path / "control")
    profile.hidden = [sessions / "one.worldline", sessions, key, sessions / "deeper" / "two.worldline"]
    assert {p for p in bubblewrap.hidden_places(profile) if p.is_relative_to(tmp_path)} == {sessions, key}
    # Where the folder stays open, the file in it is covered by itself.
    profile.workspace = sessions / "deeper"
    assert sessions / "one.worldline" in bubblewrap.hidden_places(profile)
