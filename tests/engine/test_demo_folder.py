"""The demo's folder: there as long as somebody can come back to it, and no longer."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from worldline.engine.demo_folder import OLD_S, PREFIX, DemoFolder, sweep
from worldline_engine import Engine


@pytest.fixture
def temp(own_temp: Path) -> Path:
    return own_temp


def demos(temp: Path) -> list[Path]:
    return sorted(temp.glob(f"{PREFIX}*"))


def let_go(folder: DemoFolder) -> Path:
    """As the end of its process does."""
    os.close(folder._lock)
    return folder.path


def test_it_goes_when_the_last_engine_of_it_takes_it_away(temp: Path) -> None:
    first = DemoFolder.create()
    first.session.touch()
    closed = first.path / "closed"
    closed.mkdir()
    (closed / "file").touch()
    closed.chmod(0o500)
    second = DemoFolder.around(first.session)
    assert second is not None and second.path == first.path
    first.remove()
    assert demos(temp) == [second.path], "the other engine still has it"
    second.remove()
    assert demos(temp) == []


def test_a_session_elsewhere_is_in_no_demo(temp: Path) -> None:
    assert DemoFolder.around(temp / "mine.worldline") is None


def test_a_folder_of_the_person_is_no_demo_because_of_a_file_in_it(temp: Path) -> None:
    made = let_go(DemoFolder.create())
    for place in (temp / "projects", temp / f"{PREFIX}work"):
        place.mkdir()
        (place / "in-use").touch()
        assert DemoFolder.around(place / "mine.worldline") is None
    link = temp / f"{PREFIX}link"
    link.symlink_to(made)
    assert DemoFolder.around(link / "demo.worldline") is None
    assert DemoFolder.around(temp / "projects" / "demo.worldline") is None


def test_only_old_folders_that_nobody_has_are_swept(temp: Path) -> None:
    later = time.time() + OLD_S + 60
    alive = DemoFolder.create()
    left = let_go(DemoFolder.create())
    assert sweep() == [], "it is not a day old: its window may be about to start the next engine"
    foreign = temp / f"{PREFIX}foreign"
    foreign.mkdir()
    (temp / f"{PREFIX}link").symlink_to(left, target_is_directory=True)
    written = DemoFolder.create()
    written.session.touch()
    os.utime(written.session, (later, later))
    let_go(written)
    assert sweep(later) == [left]
    assert demos(temp) == sorted([alive.path, foreign, temp / f"{PREFIX}link", written.path])
    alive.remove()


@pytest.mark.slow
def test_a_killed_engine_leaves_it_to_the_next_and_that_one_takes_it_away(temp: Path, own_home: Path) -> None:
    one = Engine("--demo")
    session = Path(one.ask("hello", protocol=1)["result"]["session"]["path"])
    assert demos(temp) == [session.parent]
    one.until("node_stored")
    one.kill()
    assert session.is_file()
    two = Engine("--session", session, "--demo")
    hello = two.ask("hello", protocol=1)["result"]
    assert hello["session"]["path"] == str(session) and hello["session"]["scripted_model"] is True
    assert two.ask("headers")["result"]["headers"], "what the first engine stored is there"
    two.ask("shutdown")
    assert two.end() == 0
    assert demos(temp) == []
    assert not any((own_home / "worldline").rglob("prices*")), "nothing was left in the person's own data"


@pytest.mark.slow
def test_when_the_client_dies_it_stays_for_a_day(temp: Path) -> None:
    one = Engine("--demo")
    one.ask("hello", protocol=1)
    assert one.end() == 0
    (left,) = demos(temp)
    assert sweep() == [] and sweep(time.time() + OLD_S + 60) == [left]
