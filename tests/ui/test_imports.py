"""What the window process loads: never the engine, and nothing heavy before it is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from tests_support import PATIENCE_S
from worldline.core import paths
from worldline.ui import start

PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QPoint, QRect
from worldline.ui import start
import worldline.ui.windows
from PySide6.QtWidgets import QApplication
from worldline.client.process import EngineProcess
from worldline.ui import first_paint, i18n, preferences
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
app = QApplication([])
i18n.install(app, sys.argv[1]); theme().larger = int(sys.argv[2]); theme().follow_system()
first_paint.hold()
window = MainWindow(SessionState(EngineProcess([], command=["true"])), preferences.settings())
def places():
    app.processEvents()
    found = [window.title_bar, window.title_label, window.tree.view, window.places.splitter]
    return [QRect(one.mapTo(window, QPoint()), one.size()).getRect() for one in found]
seen, painted = [], MainWindow._after_first_paint
def first(window):
    modules = sorted(sys.modules)
    seen.extend([modules, places(), window.furnished])
    painted(window)
MainWindow._after_first_paint = first
window.show()
while not window.complete:
    app.processEvents()
print(json.dumps([*seen, sorted(sys.modules), places(), window.furnished]))
"""
NEVER = ("anthropic", "networkx", "pygit2", "httpx2", "worldline.engine", "worldline.agent", "worldline.session",
         "worldline.workspace", "worldline.provider", "worldline.tools", "worldline.policy", "worldline.context",
         "worldline.rehearsal")  # fmt: skip
NOT_BEFORE_PAINT = ("pydantic", "asyncio", "numpy", "subprocess", "worldline.protocol", "worldline.ui.chat",
                    "worldline.ui.diff", "worldline.ui.dialogs", "worldline.ui.palette", "worldline.ui.shortcuts",
                    "worldline.ui.icons", "worldline.ui.status_bar", "worldline.ui.window_actions", "worldline.ui.tree.hover", "platformdirs",
                    "worldline.ui.tree.access", "worldline.viewmodel.engine_catalogue", "secrets")  # fmt: skip


@pytest.mark.parametrize(("language", "larger"), [("en", 0), ("zh_CN", 4), ("en", 8), ("en", -2)])
def test_what_comes_after_the_first_paint_moves_nothing(tmp_path: Path, language: str, larger: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, language, str(larger)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _modules, before, bare, _later, after, furnished = json.loads(done.stdout.splitlines()[-1])
    assert (bare, furnished) == (False, True)
    assert after == before


def test_the_window_never_loads_the_engine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "en", "0"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    at_first_paint, later = set(found[0]), set(found[3])
    assert [name for name in NEVER if name in later] == []
    assert [name for name in NOT_BEFORE_PAINT if name in at_first_paint] == []


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the folder is worked out by hand on Linux alone"
)
@pytest.mark.parametrize("data", [None, "", " ", "/some/where", " /some/where ", "~/else", "rel"])
def test_the_data_folder_is_the_one_of_the_platform(
    monkeypatch: pytest.MonkeyPatch, data: str | None
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if data is not None:
        monkeypatch.setenv("XDG_DATA_HOME", data)
    expected = platformdirs.user_data_dir("worldline", appauthor=False)
    assert paths._platform_home().expanduser() == Path(expected).expanduser()


@pytest.mark.parametrize("argv", [[], ["demo"], ["/a b/c"], ["x.worldline"]])
def test_a_start_without_options_is_the_same_as_the_parser_says(argv: list[str]) -> None:
    assert vars(start._parsed(argv)) == vars(start.parser().parse_args(argv))


def test_the_thread_that_warms_up_makes_no_class_of_qt_and_leaves_only_our_widgets() -> None:
    """Two threads that make Qt's classes at once end the process; and what is left for the window's thread is small."""
    program = """
import importlib, json, sys
from worldline.ui import main_window, panes, status_bar, window_actions, window_notices
before = set(sys.modules)
for name in panes.LIBRARIES:
    importlib.import_module(name)
libraries = set(sys.modules) - before
parts = {}
for name in panes.MODULES:
    known = set(sys.modules)
    importlib.import_module(name)
    parts[name] = sorted(set(sys.modules) - known)
known = set(sys.modules)
for target in (*panes.PANES.values(), *panes.ATTACHMENTS):
    importlib.import_module(target.partition(":")[0])
print(json.dumps([sorted(libraries), parts, sorted(set(sys.modules) - known)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    libraries, parts, rest = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in libraries if name.startswith(("PySide6", "worldline.ui"))] == []
    heavy = [name for part in parts.values() for name in part
             if not name.startswith(("PySide6", "worldline.ui", "worldline.viewmodel", "worldline.core"))]  # fmt: skip
    assert len(heavy) <= 6, heavy
    assert all(len(part) <= 14 for part in parts.values()), "a step brings too much with it"
    assert [name for name in rest if not name.startswith("worldline.ui.tree")] == []
