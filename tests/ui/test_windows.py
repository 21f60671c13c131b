"""Several windows: what is dropped on one, a session that is opened again while it closes, settings that are damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QAccessible, QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QWidget

from worldline.client.process import EngineProcess
from worldline.core.paths import place_of
from worldline.ui import preferences
from worldline.ui.dialogs.desk import desk_of
from worldline.ui.dialogs.first_start import FirstStartDialog
from worldline.ui.dialogs.new_session import NewSessionDialog
from worldline.ui.dropping import DropFrame
from worldline.ui.main_window import MainWindow
from worldline.ui.theme import theme
from worldline.ui.windows import MANY, Windows

from . import full, sample

ACTIONS = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
Fake = Callable[..., EngineProcess]

ROOT = Path(__file__).resolve().parents[2]


class Recorded(Windows):
    """Opens made-up engines, and says which real ones it would have started."""

    def __init__(self, settings: QSettings, fake: Fake) -> None:
        super().__init__(settings)
        self.fake = fake
        self.started: list[list[str]] = []

    def open_engine(self, arguments: list[str], *, opened_with: str, read: Path | None = None) -> MainWindow:
        self.started.append(arguments)
        client = self.fake(session={"path": arguments[-1]})
        return self.open_client(client, opened_with=opened_with)


@pytest.fixture
def windows(settings: QSettings, fake: Fake, qtbot: Any) -> Iterator[Recorded]:
    opened = Recorded(settings, fake)
    yield opened
    for window in list(opened.sessions):
        window.close()
        window.state.client.stop_and_wait(8)
    if opened.start_view is not None:
        opened.start_view.close()
    QApplication.processEvents()


def session_file(place: Path) -> Path:
    place.write_bytes(b"")
    return place


def let_go(widget: QWidget, *urls: QUrl) -> QDropEvent | None:
    """Drag over the widget and let go, as a file manager that would rather move. None: not welcome."""
    data = QMimeData()
    data.setUrls(list(urls))
    left, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(9, 9), ACTIONS, data, left, keys)
    enter.setDropAction(Qt.DropAction.MoveAction)
    enter.ignore()
    QApplication.sendEvent(widget, enter)
    if not enter.isAccepted():
        return None
    drop = QDropEvent(QPointF(9, 9), ACTIONS, data, left, keys)
    drop.setDropAction(Qt.DropAction.MoveAction)
    QApplication.sendEvent(widget, drop)
    return drop


def files(*places: Path) -> list[QUrl]:
    return [QUrl.fromLocalFile(str(place)) for place in places]


# Dropping -----------------------------------------------------------------------------------------------------------


def test_a_drop_opens_what_fits_and_names_what_does_not(
    windows: Recorded, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[list[str]] = []
    monkeypatch.setattr(windows, "import_files", lambda paths, above=None: imported.append(paths))
    folder = tmp_path / "shop"
    folder.mkdir()
    session, text = session_file(tmp_path / "a.worldline"), tmp_path / "a.txt"
    text.write_text("no session")
    foreign = [tmp_path / "one.jsonl", tmp_path / "two.zip"]
    for one in foreign:
        one.write_text("")
    window = windows.open_engine(["--session", "/tmp/first.worldline"], opened_with="")
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=15_000)
    windows.started.clear()
    drop = let_go(window, *files(folder, session, text, *foreign, folder))
    assert drop is not None
    # Whoever hears that it was moved deletes it.
    assert drop.dropAction() == Qt.DropAction.CopyAction and drop.isAccepted()
    qtbot.waitUntil(lambda: len(windows.started) == 2, timeout=5000)
    assert windows.started == [["--workspace", str(folder)], ["--session", str(session)]]
    assert imported == [[str(one) for one in foreign]]
    assert "a.txt is neither a folder nor a session" in window.notices.items["dropped"].text.text()
    assert windows.start_view is None


def test_what_is_no_file_of_this_computer_is_not_welcome(windows: Recorded, qtbot: Any) -> None:
    view = windows.show_start()
    assert let_go(view, QUrl("https://example.org/a.worldline")) is None
    dialog = NewSessionDialog()
    qtbot.addWidget(dialog)
    assert let_go(dialog, QUrl("https://example.org/shop")) is None
    assert dialog.folder.text() == ""


def test_where_something_can_be_let_go_is_seen_while_it_is_dragged(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    view, dialog = windows.show_start(), NewSessionDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    for over, words in ((view, "Let go to open"), (dialog, "Let go to work in this folder")):

        def drag(*urls: QUrl, over: QWidget = over) -> None:
            data = QMimeData()
            data.setUrls(list(urls))
            left, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            QApplication.sendEvent(over, QDragEnterEvent(QPoint(9, 9), ACTIONS, data, left, keys))

        def frame(over: QWidget = over) -> DropFrame | None:
            return next((one for one in over.findChildren(DropFrame) if one.isVisible()), None)

        drag(QUrl("https://example.org/shop"))
        assert frame() is None
        drag(*files(tmp_path))
        shown = frame()
        assert shown is not None and shown.words == words and shown.size() == over.size()
        # What is below it goes on to get the drag.
        assert over.childAt(shown.rect().center()) is not shown
        QApplication.sendEvent(over, QDragLeaveEvent())
        assert frame() is None
    assert let_go(dialog, *files(tmp_path)) is not None
    assert not any(one.isVisible() for one in dialog.findChildren(DropFrame))


def test_many_windows_are_not_opened_without_a_question(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    places = [tmp_path / f"{n}" for n in range(MANY + 1)]
    for place in places:
        place.mkdir()
    view = windows.show_start()
    assert let_go(view, *files(*places)) is not None
    qtbot.waitUntil(lambda: bool(view.findChildren(QMessageBox)), timeout=5000)
    assert windows.started == []
    view.findChildren(QMessageBox)[0].close()


def test_an_import_in_the_start_view_survives_a_session_that_is_opened(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    view = windows.show_start()
    importing = QDialog(view)
    importing.open()
    window = windows.open_engine(["--session", str(tmp_path / "a.worldline")], opened_with="")
    qtbot.waitUntil(lambda: window.state.is_loaded, timeout=15_000)
    assert importing.isVisible() and windows.start_view is view
    importing.reject()
    qtbot.waitUntil(lambda: windows.start_view is None, timeout=5000)


# Opening again ------------------------------------------------------------------------------------------------------


def test_a_session_that_closes_is_opened_again_when_its_engine_has_ended(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    place = session_file(tmp_path / "a.worldline")
    first = windows.open(str(place))
    assert first is not None
    qtbot.waitUntil(lambda: first.state.is_loaded, timeout=15_000)
    other = windows.open_engine(["--session", "/tmp/other.worldline"], opened_with="")
    qtbot.waitUntil(lambda: other.state.is_loaded, timeout=15_000)
    first.close()
    assert windows.open(str(place)) is None and not first.isVisible()
    qtbot.waitUntil(lambda: len(windows.sessions) == 2 and first not in windows.sessions, timeout=15_000)
    again = next(one for one in windows.sessions if one is not other)
    qtbot.waitUntil(lambda: again.state.is_loaded and again.isVisible(), timeout=15_000)
    assert windows.started.count(["--session", str(place)]) == 2
    assert windows.open(str(place)) is again


def test_a_session_takes_the_place_of_another_with_what_was_being_written(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    place = session_file(tmp_path / "b.worldline")
    first = windows.open_engine(["--session", "/tmp/first.worldline"], opened_with="")
    qtbot.waitUntil(lambda: first.complete and first.state.is_loaded)
    first.panes["chat"].composer.edit.set_text("half a thought")  # type: ignore[attr-defined]
    client = first.state.client
    first.replace_by(str(place))
    # Both may work in the same folder: the one before has to let go of it first.
    assert len(windows.started) == 1 and client.state == "stopping"
    qtbot.waitUntil(lambda: bool(windows.sessions) and windows.sessions[0] is not first)
    assert windows.started[1:] == [["--session", str(place)]] and client.state == "stopped"
    new = windows.sessions[0]
    qtbot.waitUntil(lambda: new.complete and new.state.is_loaded)
    qtbot.waitUntil(lambda: new.panes["chat"].composer.text() == "half a thought")  # type: ignore[attr-defined]
    assert len(windows.sessions) == 1


# Settings and names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text_size", ["--3", "²", "9999", "large", "@Variant(x)"])
def test_damaged_settings_change_nothing_but_the_looks(
    tmp_path: Path, fake: Fake, qtbot: Any, text_size: str
) -> None:
    file = tmp_path / "damaged.ini"
    file.write_text(
        f"[General]\ntext_size={text_size}\nreduced_motion=perhaps\ntheme=plaid\nrecent=@Variant(?)\nlanguage=@Size(1 1)\n"
        "[window]\nsize=large\n[places]\n|home|me|code|shop\\wide=1, a, -3\n",
        "utf-8",
    )
    store = QSettings(str(file), QSettings.Format.IniFormat)
    try:
        preferences.apply_looks(store)
        assert -2 <= theme().larger <= 8
    finally:
        theme().larger = 0
        theme().set_reduced_motion(None)
    windows = Recorded(store, fake)
    window = windows.open_engine(["--session", "/tmp/a.worldline"], opened_with="")
    qtbot.waitUntil(lambda: window.state.is_loaded and window.complete, timeout=15_000)
    assert all(size >= 0 for size in window.places.splitter.sizes())
    window.close()
    window.state.client.stop_and_wait(8)


def test_the_home_of_nobody_is_a_name_like_any_other(windows: Recorded, qtbot: Any) -> None:
    assert place_of("~nobody-of-this-name/x").name == "x"
    assert place_of("~") == Path.home()
    assert windows.open("~nobody-of-this-name/x") is None
    assert windows.start_view is not None and "is not there" in windows.start_view.message.text()
    dialog = NewSessionDialog()
    qtbot.addWidget(dialog)
    dialog.folder.setText("~nobody-of-this-name")
    assert not dialog._go.isEnabled()
    dialog.folder.setText("~")
    assert dialog.values()["folder"] == str(Path.home())


def test_a_folder_on_the_way_does_not_choose_how_one_works(qtbot: Any, tmp_path: Path) -> None:
    repository = tmp_path / "code" / "shop"
    repository.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    dialog = NewSessionDialog()
    qtbot.addWidget(dialog)
    for place in (tmp_path, tmp_path / "code"):
        dialog.folder.setText(str(place))
        assert dialog.values()["mode"] == "in_place" and not dialog.isolated.isEnabled()
    dialog.folder.setText(str(repository))
    assert dialog.values()["mode"] == "isolated"
    dialog.in_place.click()
    for place in (tmp_path, repository):
        dialog.folder.setText(str(place))
    assert dialog.values()["mode"] == "in_place"


# One session in two places ------------------------------------------------------------------------------------------


def test_a_window_that_closes_while_it_opens_for_writing_leaves_no_engine(
    windows: Recorded, qtbot: Any
) -> None:
    window = windows.open_engine(["--session", "/tmp/a.worldline"], opened_with="")
    qtbot.waitUntil(lambda: window.state.is_loaded, timeout=15_000)
    client = window.state.client
    states: list[str] = []
    client.state_changed.connect(states.append)
    window.state.open_again()
    assert client.state == "stopping"
    with qtbot.waitSignal(window.closed, timeout=15_000):
        window.close()
    assert client._link is None and client.state == "stopped" and "starting" not in states


def test_a_session_is_opened_for_writing_in_place(windows: Recorded, qtbot: Any) -> None:
    window = windows.open_engine(["--session", "/tmp/a.worldline"], opened_with="")
    qtbot.waitUntil(lambda: window.state.is_loaded, timeout=15_000)
    before = window.state.client.pid
    with qtbot.waitSignal(window.state.hello, timeout=15_000):
        window.state.open_again()
    assert window.isVisible() and window.state.client.pid not in (0, before)


def test_the_title_says_that_the_agent_works_as_long_as_it_does(windows: Recorded, qtbot: Any) -> None:
    window = windows.open_engine(["--session", "/tmp/a.worldline"], opened_with="")
    qtbot.waitUntil(lambda: window.state.is_loaded, timeout=15_000)
    state = window.state
    run = {"uid": "r", "prompt": "", "started": 1}
    state._on_run_started({"run": run})
    assert window.windowTitle().startswith("●")
    # The state of the engine is told before the end of the run.
    state._on_status({"status": {"state": "ready"}})
    state._on_run_ended({"run": {**run, "ended": 2, "stop_reason": "completed"}})
    assert not window.windowTitle().startswith("●")


def test_a_window_that_closes_while_its_engine_starts_ends_it(
    windows: Recorded, fake: Fake, qtbot: Any
) -> None:
    """The answer to the greeting comes after it was told to end: that end was taken for a death, and it began anew."""
    client = fake(slow_hello_s=0.5)
    window = windows.open_client(client, opened_with="")
    qtbot.waitUntil(lambda: client.state == "starting" and client.pid != 0, timeout=15_000)
    greeted: list[object] = []
    client.hello.connect(greeted.append)
    with qtbot.waitSignal(window.closed, timeout=15_000):
        window.close()
    assert client.state == "stopped" and client._link is None and greeted == []
    qtbot.wait(150)
    assert client._link is None


def test_nothing_stays_of_a_window_that_has_gone(windows: Recorded, qtbot: Any) -> None:
    """Every window that is opened freezes the objects that there are, those of the windows before it among them. In a
    process of its own: what hundreds of tests before left in this one is not what a window leaves."""
    if not os.environ.get("WORLDLINE_ALONE"):
        name = f"{__file__}::test_nothing_stays_of_a_window_that_has_gone"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", name]
        env = {
            k: v for k, v in os.environ.items() if k != "WORLDLINE_FAILURES" and not k.startswith("PYTEST_")
        }
        done = subprocess.run(
            command, env={**env, "WORLDLINE_ALONE": "1"}, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-4000:]
        return
    # With a screen reader, which asks for every part of a window: nothing of what it got may hold the window, and Qt deletes
    # what it was given when the window goes, which ended the program where it had been given twice.
    QAccessible.setActive(True)
    kept = windows.open_engine(["--session", "/tmp/kept.worldline"], opened_with="")
    gone: list[weakref.ref[Any]] = []
    for number in range(2):
        window = windows.open_engine(["--session", f"/tmp/{number}.worldline"], opened_with="")
        qtbot.waitUntil(lambda window=window: window.complete and window.state.is_loaded, timeout=30_000)
        for name in ("settings", "effects", "diagnostics", "palette"):
            window.actions_list[name].trigger()
        faces = [QAccessible.queryAccessibleInterface(window)]
        roles = []
        while faces:
            face = faces.pop()
            if face is not None and face.isValid() and not face.state().invisible:
                roles.append(face.role())
                faces += [face.child(index) for index in range(face.childCount())]
        assert QAccessible.Role.TreeItem in roles
        del faces, face
        gone += [weakref.ref(window), weakref.ref(window.state.tree)]
        with qtbot.waitSignal(window.closed, timeout=15_000):
            window.close()
        del window
    # Another language makes a window anew: the one before it goes as well.
    gone.append(weakref.ref(kept.state.tree))
    del kept
    windows._renew()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: all(one() is None for one in gone), timeout=30_000)
    renewed = windows.sessions[0]
    qtbot.waitUntil(lambda: renewed.state.is_loaded, timeout=30_000)


@pytest.mark.parametrize("later", [False, True])
def test_the_first_start_is_asked_once_also_when_the_language_is_changed_in_it(
    windows: Recorded, tmp_path: Path, qtbot: Any, later: bool
) -> None:
    script = tmp_path / "first.json"
    script.write_text(json.dumps(sample.script(headers=sample.session()[:1], cursor=sample.uid(1))), "utf-8")
    client = EngineProcess([], command=[sys.executable, str(full.ENGINE), str(script)])
    window = windows.open_client(client, opened_with="")

    def asked() -> list[FirstStartDialog]:
        shown = [one for one in QApplication.topLevelWidgets() if isinstance(one, FirstStartDialog)]
        return [one for one in shown if one.isVisible()]

    qtbot.waitUntil(lambda: len(asked()) == 1, timeout=30_000)
    if later:
        asked()[0].reject()
    del window
    windows._renew()
    renewed = windows.sessions[0]
    qtbot.waitUntil(lambda: renewed.complete and renewed.state.is_loaded, timeout=30_000)
    qtbot.wait(400)
    assert len(asked()) == (0 if later else 1)
    for one in asked():
        one.reject()
    renewed.close()
    client.stop_and_wait(8)


def test_a_window_made_anew_tells_of_a_crash_that_comes_after_and_not_again_of_the_one_before(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    script = tmp_path / "crash.json"
    told = {"recovered": "The program ended in the middle of 1 step (run make)."}
    script.write_text(json.dumps(sample.script(**told)), "utf-8")
    client = EngineProcess([], command=[sys.executable, str(full.ENGINE), str(script)])
    window = windows.open_client(client, opened_with="s.worldline")
    state = window.state
    qtbot.waitUntil(lambda: desk_of(state).recovery is not None, timeout=30_000)
    first = desk_of(state).recovery
    assert first is not None
    first.accept()
    windows._renew()
    renewed = windows.sessions[0]
    qtbot.waitUntil(lambda: renewed.complete and renewed.state.is_loaded, timeout=30_000)
    assert desk_of(renewed.state).recovery is None

    client.state_changed.emit("restarting")
    client.greet_again()
    qtbot.waitUntil(lambda: desk_of(renewed.state).recovery is not None, timeout=30_000)
    renewed.close()
    client.stop_and_wait(8)


# The end of the desktop ---------------------------------------------------------------------------------------------


def busy(windows: Recorded, path: str, qtbot: Any) -> MainWindow:
    window = windows.open_engine(["--session", path], opened_with="")
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded)
    full.answered(window.state, qtbot)
    window.state.run = {"uid": "r1", "prompt": ""}
    return window


def close_from_outside(window: MainWindow) -> None:
    """As the frame of the window does, and a desktop that ends."""
    QApplication.sendEvent(window.windowHandle(), QCloseEvent())


def question(window: MainWindow) -> QMessageBox | None:
    return next((one for one in window.findChildren(QMessageBox) if one.isVisible()), None)


def test_the_end_of_the_desktop_asks_nothing_and_ends_agents_in_order(
    windows: Recorded, tmp_path: Path, qtbot: Any
) -> None:
    one, two = (busy(windows, str(tmp_path / f"{n}.worldline"), qtbot) for n in "ab")
    windows.heed_logout()
    windows.heed_logout()
    logout = windows._logout
    assert logout is not None
    close_from_outside(one)
    assert question(one) is not None and not one.closing, "the person is asked"
    logout.expect()
    clients = [one.state.client, two.state.client]
    close_from_outside(two)
    assert two.closing and question(two) is None
    close_from_outside(one)
    assert one.closing and question(one) is None, "a question that stands there keeps nothing open"
    qtbot.waitUntil(lambda: windows.sessions == [])
    assert [client.state for client in clients] == ["stopped", "stopped"]


@pytest.mark.parametrize("called_off_by", ["a key", "time"])
def test_an_end_of_the_desktop_that_was_called_off_is_forgotten(
    windows: Recorded, tmp_path: Path, qtbot: Any, called_off_by: str
) -> None:
    window = busy(windows, str(tmp_path / "a.worldline"), qtbot)
    windows.heed_logout()
    logout = windows._logout
    assert logout is not None
    logout.expect()
    assert windows.logging_out
    if called_off_by == "a key":
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_F9)
    else:
        logout._limit.timeout.emit()
    assert not windows.logging_out
    close_from_outside(window)
    assert not window.closing
    box = question(window)
    assert box is not None
    box.reject()


def test_the_desktop_is_listened_to_once_a_window_was_seen() -> None:
    """In the program itself: the announcement of the session manager reaches us."""
    script = """
import sys
from PySide6.QtCore import SIGNAL, QTimer
from PySide6.QtWidgets import QApplication
from worldline.ui import start, windows
def look(self):
    heed(self)
    app = QApplication.instance()
    print(app.receivers(SIGNAL("commitDataRequest(QSessionManager&)")), flush=True)
    QTimer.singleShot(0, app.quit)
heed, windows.Windows.heed_logout = windows.Windows.heed_logout, look
sys.exit(start.run([]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["1"], done.stderr
