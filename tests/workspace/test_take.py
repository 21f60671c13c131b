"""Files and hunks that are taken from another attempt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
import pytest

from workspace.conftest import Sides, run_sh
from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.model import DISK
from worldline.workspace.take import take_file, with_hunks, without_hunks


def test_take_a_file_keeps_a_copy_of_what_is_there(sides: Sides) -> None:
    state = sides.node("echo theirs >>f; chmod +x f")
    run_sh("echo mine >>f", sides.theirs)
    taken = take_file(sides.source, state, "f", last=state)
    assert taken.report.done and taken.safety_changed
    assert (sides.theirs / "f").read_text().endswith("theirs\n") and os.access(sides.theirs / "f", os.X_OK)
    assert sides.source.read_file(taken.safety, "f").endswith(b"mine\n")
    assert take_file(sides.source, sides.start, "f", last=state).report.done
    assert not os.access(sides.theirs / "f", os.X_OK)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "nowhere")
    assert caught.value.kind == "missing_file"


def test_take_some_changes(sides: Sides) -> None:
    state = sides.node("sed -i 's/^2$/two/;s/^10$/ten/;s/^19$/nineteen/' f")
    run_sh("git checkout -q f; sed -i 's/^6$/six/' f", sides.theirs)
    shown = sides.source.file_diff(sides.start, state, "f", context=1)
    assert sum(r.kind == "@" for r in shown.rows) == 3
    taken = take_file(sides.source, state, "f", hunks=[0, 2], against=sides.start, context=1)
    assert taken.report.done
    lines = (sides.theirs / "f").read_text().splitlines()
    assert (lines[1], lines[5], lines[9], lines[18]) == ("two", "six", "10", "nineteen")
    against_disk = sides.source.file_diff(DISK, state, "f", context=0)
    numbers = [n for n, r in enumerate(r for r in against_disk.rows if r.kind == "@") if r.new == 10]
    assert take_file(sides.source, state, "f", hunks=numbers, context=0).report.done
    assert (sides.theirs / "f").read_text().splitlines()[9] == "ten"
    before = (sides.theirs / "f").read_bytes()
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "f", hunks=[7])
    assert caught.value.kind == "bad_hunk"
    run_sh("sed -i 's/^two$/zwei/' f", sides.theirs)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, state, "f", hunks=[0], against=sides.start, context=1)
    assert caught.value.kind == "conflict"
    assert (sides.theirs / "f").read_bytes() == before.replace(b"two", b"zwei")


def test_hunks_against_git(tmp_path: Path) -> None:
    """All hunks give the new content, none the old; with lone carriage returns and no newline at the end."""
    import random

    rng = random.Random(5)
    for _ in range(60):
        old = [rng.choice(["a", "b", "c\rd", "", "e\r"]) for _ in range(rng.randrange(30))]
        new = [x for x in old if rng.random() > 0.2] + ["z"] * rng.randrange(2)
        a, b = ("\n".join(lines).encode() + b"\n" * rng.randrange(2) for lines in (old, new))
        count = 0
        while True:
            try:
                with_hunks(a, b, [count], 0)
            except WorkspaceError:
                break
            count += 1
        assert with_hunks(a, b, range(count), 0) == b
        assert with_hunks(a, b, [], 0) == a


def test_changes_are_taken_back_by_the_hunks_that_were_shown() -> None:
    import random

    rng = random.Random(11)
    for _ in range(80):
        old = [rng.choice(["{", "}", "", "a", "b"]) for _ in range(rng.randrange(40))]
        new = [line for line in old if rng.random() > 0.15]
        for _ in range(rng.randrange(6)):
            new.insert(rng.randrange(len(new) + 1), rng.choice(["{", "}", "", "c"]))
        before = "\n".join(old).encode()
        after = "\n".join(new).encode()
        for context in (0, 1, 3):
            count = len(list(pygit2.Patch.create_from(before, after, context_lines=context).hunks))
            everything = range(count)
            assert without_hunks(before, after, everything, context) == before
            assert without_hunks(before, after, [], context) == after
            for some in ({0}, set(range(0, count, 2))):
                some &= set(everything)
                rest = set(everything) - some
                # Taking some back leaves what taking the others gives.
                assert without_hunks(before, after, some, context) == with_hunks(before, after, rest, context)


def test_a_file_that_is_not_there_is_taken_away_only_when_asked(sides: Sides) -> None:
    state = sides.node("echo n >made; git mv f g")
    assert take_file(sides.source, sides.start, "made", last=state, remove="made").report.done
    assert not (sides.theirs / "made").exists()
    taken = take_file(sides.source, sides.start, "f", last=state, remove="g")
    assert taken.report.done and (sides.theirs / "f").exists() and not (sides.theirs / "g").exists()
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, sides.start, "made", last=state)
    assert caught.value.kind == "missing_file"
    # Hunks of text in another encoding are not those of its bytes.
    run_sh("printf 'a\\n' | iconv -t utf-16 >wide", sides.theirs)
    wide = sides.source.capture(None).state
    run_sh("printf 'b\\n' | iconv -t utf-16 >wide", sides.theirs)
    with pytest.raises(WorkspaceError) as caught:
        take_file(sides.source, wide, "wide", hunks=[0])
    assert caught.value.kind == "bad_hunk" and "UTF-8" in str(caught.value)


@pytest.mark.parametrize(("then", "wanted"), [(0o600, 0o600), (0o755, 0o644), (0o700, 0o600)])
def test_whether_a_file_can_be_run_is_taken_along(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], work: Path, then: int, wanted: int
) -> None:
    workspace, first, last = two_states("echo 1 > a", f"echo 2 > a && chmod {then:o} a")
    taken = take_file(workspace, first, "a", last=last)
    assert taken.report.done and (work / "a").read_text() == "1\n"
    assert (work / "a").stat().st_mode & 0o777 == wanted


def test_a_file_that_is_gone_has_the_permissions_that_it_had(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], work: Path
) -> None:
    workspace, first, last = two_states("echo 1 > a && chmod 600 a", "rm a")
    assert take_file(workspace, first, "a", last=last).report.done
    assert (work / "a").stat().st_mode & 0o777 == 0o600


def test_nothing_is_put_in_the_place_of_what_no_state_holds(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], work: Path
) -> None:
    workspace, first, last = two_states(
        "git init -q && echo 1 > a && echo 1 > b", "rm a b && echo a > .gitignore && echo other > a"
    )
    with pytest.raises(WorkspaceError) as caught:
        take_file(workspace, first, "a", last=last)
    assert caught.value.kind == "conflict" and "not captured" in caught.value.message
    assert (work / "a").read_text() == "other\n"
    (work / "a").write_text("1\n")
    assert take_file(workspace, first, "a", last=last).report.done and (work / "a").read_text() == "1\n"


ODD = [".GIT/x", "git~1", ".git /y", ".gitmodules ", "a\\b", "c:d"]
"""Names that git means something by on other systems; here they are files like others."""


def test_names_that_mean_something_elsewhere_are_in_nobodys_way(work: Path, open_workspace: Any) -> None:
    for name in [*ODD, "a.txt", "only/one"]:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes(b"1\0")
    ws = open_workspace()
    first = ws.capture(None).state
    for name in [*ODD, "a.txt"]:
        (work / name).write_bytes(b"2\0")
    (work / "only/one").unlink()
    second = ws.capture(first).state
    for name in ["a.txt", *ODD, "only/one"]:
        assert take_file(ws, first, name, last=second).report.done
        assert (work / name).read_bytes() == b"1\0"
    assert ws.capture(second).state != second and not ws.changes(first, DISK)
    patch = ws.patch(second, first)
    assert all(f"b/{name}" in patch for name in ("git~1", "a.txt")) and "GIT binary patch" in patch
