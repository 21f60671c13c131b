"""Starting from the command line: what is wrong is said, and a picture is taken or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, QSize
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from worldline.client.process import EngineProcess
from worldline.core import paths
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.ui import recents
from worldline.ui import start as start_module
from worldline.ui.windows import Windows


def start(*arguments: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worldline", *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--size", "big", "demo"], 2, "--size must look like"),
        (["--scale", "9", "demo"], 2, "--scale must be"),
        (["--theme", "pink"], 2, "invalid choice"),
        (["--version"], 0, ""),
    ],
)
def test_wrong_usage_is_explained(arguments: list[str], code: int, words: str) -> None:
    done = start(*arguments)
    assert done.returncode == code
    assert words in done.stderr


def test_a_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    done = start("no/such/place", "--screenshot", str(tmp_path / "a.png"))
    assert done.returncode == 1
    assert "cannot be opened" in done.stderr
    assert not (tmp_path / "a.png").exists()


def test_the_start_view_as_a_picture(tmp_path: Path) -> None:
    file = tmp_path / "start.png"
    done = start("--screenshot", str(file), "--view", "start", "--size", "900x600", "--lang", "zh_CN")
    assert done.returncode == 0, done.stderr
    assert (QImage(str(file)).width(), QImage(str(file)).height()) == (900, 600)


def test_a_picture_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = start("--screenshot", str(tmp_path / "no" / "folder.png"), "--view", "start")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.slow
def test_the_demo_as_a_picture(tmp_path: Path, own_temp: Path) -> None:
    file = tmp_path / "demo.png"
    done = start("demo", "--screenshot", str(file), "--theme", "dark", "--scale", "1.5")
    assert done.returncode == 0, done.stderr
    assert QImage(str(file)).width() == 1920
    assert list(own_temp.glob("worldline-demo-*")) == [], "the demo goes with its window"


def test_a_path_that_is_no_session_is_explained_in_the_start_view(
    settings: QSettings, tmp_path: Path, qtbot: Any
) -> None:
    windows = Windows(settings)
    (tmp_path / "a.txt").write_text("no session")
    assert windows.open(str(tmp_path / "a.txt")) is None
    view = windows.start_view
    assert view is not None and "neither a folder nor a session" in view.message.text()
    assert windows.open(str(tmp_path / "gone")) is None
    assert "is not there" in view.message.text()
    assert view.empty.isVisible() and not view.list.isVisible()
    view.close()


def test_no_window_begins_larger_than_the_screen(settings: QSettings, qtbot: Any) -> None:
    windows = Windows(settings)
    windows.room = QSize(1000, 700)
    window = windows.open_client(EngineProcess(["--demo"]), opened_with="")
    assert (window.width(), window.height()) == (1000, 700)
    windows.close_all()


def test_a_mistyped_command_opens_no_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert start_module.run(["verfy"]) == 2
    assert "verfy is neither a command nor a folder" in capsys.readouterr().err
    (tmp_path / "verfy").mkdir()
    opened: list[str] = []

    def open_window(options: Any, size: object) -> int:
        opened.append(options.path)
        return 0

    monkeypatch.setattr(start_module, "_run", open_window)
    assert start_module.run(["verfy"]) == start_module.run(["./gone"]) == start_module.run(["demo"]) == 0
    assert opened == ["verfy", "./gone", "demo"]


def made(place: Path, title: str, root: str) -> None:
    workspace = {"mode": "in_place", "root": root, "path": root}
    SessionDocument.create(place, title=title, workspace=workspace, app_version="0").close()


def test_a_damaged_session_stays_in_the_list_and_is_said_to_be(settings: QSettings, own_home: Path) -> None:
    path = paths.sessions_dir() / "torn.worldline"
    made(path, "torn one", "/code/torn")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    (paths.sessions_dir() / "other.worldline").write_bytes(b"")
    view = Windows(settings).show_start()
    (found,) = recents.recent_sessions(settings)
    assert (found.title, found.damaged) == ("torn", True)
    texts = [label.text() for label in view.list.itemWidget(view.list.item(0)).findChildren(QLabel)]
    assert any("damaged" in text for text in texts)
    view.close()


def test_sessions_are_listed_newest_first(settings: QSettings, own_home: Path, qtbot: Any) -> None:
    for name in ("one", "two"):
        made(paths.sessions_dir() / f"{name}.worldline", name, f"/code/{name}")
    view = Windows(settings).show_start()
    assert {(one.title, one.root) for one in recents.recent_sessions(settings)} == {
        ("one", "/code/one"),
        ("two", "/code/two"),
    }
    assert view.list.count() == 2
    view.close()


def test_a_search_goes_on_when_the_list_is_made_anew(settings: QSettings, own_home: Path, qtbot: Any) -> None:
    for number in range(6):
        made(paths.sessions_dir() / f"{number}.worldline", f"number {number}", "/code/x")
    view = Windows(settings).show_start()
    view.search.setText("number 3")

    def seen() -> list[int]:
        return [at for at in range(view.list.count()) if not view.list.item(at).isHidden()]

    assert len(seen()) == 1
    view.refresh()
    assert view.list.count() == 6 and len(seen()) == 1
    view.search.setText("number 7")
    assert seen() == [] and view.nothing.isVisible() and not view.list.isVisible()
    view.search.setText("number 3")
    assert len(seen()) == 1 and view.list.isVisible() and not view.nothing.isVisible()
    (paths.sessions_dir() / "3.worldline").unlink()
    view.refresh()
    # So few are not searched, and none of them is hidden by words that nobody sees.
    assert not view.search.isVisible() and len(seen()) == 5
    view.close()


def test_a_folder_leads_to_its_session_whatever_others_were_used_since(
    settings: QSettings, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recents, "KEPT", 2)
    for number in range(4):
        place = paths.sessions_dir() / f"{number}.worldline"
        made(place, str(number), f"/code/{number}")
        os.utime(place, (1000 + number, 1000 + number))
    assert [one.title for one in recents.recent_sessions(settings)] == ["3", "2"]
    assert recents.last_session_of(settings, Path("/code/0")) == paths.sessions_dir() / "0.worldline"
    assert recents.last_session_of(settings, Path("/code/9")) is None


def test_sessions_that_are_called_the_same_are_told_apart_by_their_first_words(
    settings: QSettings, own_home: Path
) -> None:
    for name in ("one", "two"):
        made(paths.sessions_dir() / f"{name}.worldline", "repo", "/code/repo")
    with SessionDocument.open(paths.sessions_dir() / "one.worldline") as session:
        root = session.append(NodeDraft(kind=NodeKind.ROOT, parent=None))
        session.append(NodeDraft(kind=NodeKind.USER, parent=root.uid, preview="Make it fast"))
    found = recents.recent_sessions(settings)
    assert sorted(recents.told_apart(found)) == ["repo · Make it fast", "repo · two.worldline"]
    assert recents.told_apart(found[:1]) == ["repo"]


@pytest.mark.slow
def test_several_pictures_of_one_demo(tmp_path: Path, own_temp: Path) -> None:
    done = start("demo", "--view", "main,storage", "--screenshot", str(tmp_path / "one.png"))
    assert done.returncode == 2 and "{view}" in done.stderr
    name = str(tmp_path / "{view}-{theme}.png")
    done = start(
        "demo", "--screenshot", name, "--view", "main,storage,start", "--theme", "light,contrast-dark"
    )
    assert done.returncode == 0, done.stderr
    made = {path.stem: QImage(str(path)) for path in tmp_path.glob("*.png")}
    assert sorted(made) == [
        f"{v}-{t}" for v in ("main", "start", "storage") for t in ("contrast-dark", "light")
    ]
    assert made["main-contrast-dark"].pixelColor(700, 4).lightness() < 20
    assert made["main-light"].pixelColor(700, 4).lightness() > 235
