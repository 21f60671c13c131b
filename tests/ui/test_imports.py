"""What the window process loads: never the engine, and nothing heavy before it is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from worldline.core import paths
from worldline.ui import start

PROGRAM = """
import json, sys
from PySide6.QtCore import QTimer
from worldline.ui import start
import worldline.ui.windows
from PySide6.QtWidgets import QApplication
from worldline.client.process import EngineProcess
from worldline.ui import recents
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
app = QApplication([])
window = MainWindow(SessionState(EngineProcess([], command=["true"])), recents.settings())
painted = []
window.first_painted.connect(lambda: painted.append(sorted(sys.modules)))
window.show()
while not window.complete:
    app.processEvents()
print(json.dumps([painted[0], sorted(sys.modules)]))
"""
NEVER = ("anthropic", "networkx", "pygit2", "httpx2", "worldline.engine", "worldline.agent", "worldline.session",
         "worldline.workspace", "worldline.provider", "worldline.tools", "worldline.policy", "worldline.context",
         "worldline.rehearsal")  # fmt: skip
NOT_BEFORE_PAINT = ("pydantic", "asyncio", "numpy", "subprocess", "worldline.protocol", "worldline.ui.chat",
                    "worldline.ui.diff", "worldline.ui.dialogs", "worldline.ui.palette", "worldline.ui.shortcuts")  # fmt: skip


def test_the_window_never_loads_the_engine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    at_first_paint, later = (set(names) for names in json.loads(done.stdout.splitlines()[-1]))
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
