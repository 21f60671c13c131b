"""A session whose engine answers when, and in which order, a test wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal

from worldline.ui.session_state import SessionState
from worldline.viewmodel.headers import header_of

from . import sample

Asked = tuple[str, dict[str, Any], Callable[[Any], None], Callable[[dict[str, Any]], None]]


class Engine(QObject):
    """Stands where the process does, and answers when and in which order the test wants."""

    batch, hello, refused, state_changed = Signal(list), Signal(dict), Signal(dict), Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.state = "running"
        self.asked: list[Asked] = []

    def request(
        self,
        method: str,
        params: dict[str, Any],
        on_result: Callable[[Any], None],
        on_error: Callable[[Any], None],
    ) -> int:
        self.asked.append((method, dict(params or {}), on_result, on_error))
        return len(self.asked)

    def take(self, method: str) -> list[Asked]:
        """The open questions of a kind; they are not given again."""
        found = [one for one in self.asked if one[0] == method]
        self.asked = [one for one in self.asked if one[0] != method]
        return found


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def state(engine: Engine, qtbot: Any) -> SessionState:
    session = SessionState(engine)  # type: ignore[arg-type]
    session.tree.extend(header_of(raw) for raw in sample.session())
    session.cursor = sample.uid(27)
    session.info = {"path": "/tmp/a.worldline", "work_path": "/tmp"}
    session.is_loaded = True
    return session
