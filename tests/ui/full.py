"""A session on the engine of `full_engine`, for tests of the chat, the changes and the dialogs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from worldline.client.process import EngineProcess
from worldline.ui.session_state import SessionState

from . import sample

ENGINE = Path(__file__).with_name("full_engine.py")


def open_state(tmp_path: Path, qtbot: Any, **more: Any) -> SessionState:
    """A loaded session. The caller stops `state.client` with `stop_and_wait` at the end."""
    file = tmp_path / "full.json"
    file.write_text(json.dumps(sample.script(**more)), "utf-8")
    state = SessionState(EngineProcess([], command=[sys.executable, str(ENGINE), str(file)]))
    with qtbot.waitSignal(state.loaded, timeout=15_000):
        state.client.start()
    return state


def say(state: SessionState, *events: tuple[str, dict[str, Any]]) -> None:
    """Let the engine send these notifications."""
    state.request("set_title", {"title": json.dumps(events)})
