"""A window on an engine process whose model says what the test wants, over real HTTP, on a real repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S
from worldline.client.process import EngineProcess
from worldline.context.checker import check
from worldline.core.kinds import NodeKind
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer
from worldline.ui.compare.dialog import CompareDialog
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState

START = "".join(f"line {n}\n" for n in range(1, 31))


@dataclass
class Desk:
    """A window on an engine process whose model says what the test wants."""

    window: MainWindow
    server: RehearsalServer
    folder: Path
    qtbot: Any
    on_request: list[Callable[[], None]]
    """What happens when the next requests come to the model, before they are answered: the first, the second, …"""

    @property
    def state(self) -> SessionState:
        return self.window.state

    @property
    def pane(self) -> ChangesPane:
        pane = self.window.panes["changes"]
        assert isinstance(pane, ChangesPane)
        return pane

    def agent(self, *calls: Call) -> list[str]:
        """The agent makes these calls; the uids of their nodes."""
        done = len(self.server.message_requests)
        replies = [Reply(text=f"Step {at}.", calls=[call]) for at, call in enumerate(calls)]
        self.server.scenario.queue = [Reply(text="(before)")] * done + [*replies, Reply(text="Done.")]
        nodes = len(self.state.tree)
        with self.qtbot.waitSignal(self.state.run_ended, timeout=60_000) as ended:
            self.state.request("prompt", {"text": f"go on after {nodes}", "mode": "work"})
        assert ended.args[0]["stop_reason"] == "completed", ended.args[0]
        self.qtbot.waitUntil(lambda: not self.state.busy, timeout=20_000)
        tree = self.state.tree
        return [
            tree.uid(row) for row in range(nodes, len(tree)) if tree.kind_of(row) is NodeKind.TOOL
        ]  # fmt: skip

    def jump(self, node: str) -> None:
        """Go there; what the person changed goes with it, as was chosen in the plan."""
        answers: list[dict[str, Any]] = []
        self.state.request("jump", {"node": node, "default_choice": "restore"}, answers.append)
        self.qtbot.waitUntil(lambda: bool(answers), timeout=30_000)
        if plan := answers[0].get("plan"):
            wanted = {"node": node, "plan": plan["id"], "default_choice": "restore"}
            self.state.request("jump", wanted, answers.append)
            self.qtbot.waitUntil(lambda: len(answers) == 2, timeout=30_000)
        assert answers[-1]["result"]["cursor"] == node

    def look(self, path: str, against: str, node: str = "") -> None:
        """Look at a file in the pane, and wait until its lines are there."""
        if node != self.state.selection:
            self.state.select(node)
        pane = self.pane
        self.qtbot.waitUntil(lambda: pane.compared.node == self.state.looked_at(), timeout=20_000)
        pane.against.setCurrentIndex(pane.against.findData(against))
        pane.against.activated.emit(pane.against.currentIndex())
        self.qtbot.waitUntil(lambda: path in pane.files._items, timeout=20_000)
        pane.files.setCurrentItem(pane.files._items[path])

        def shown() -> bool:
            diff = pane._diffs.get(pane._key(path))
            return diff is not None and pane.panel._change is diff.change

        self.qtbot.waitUntil(shown, timeout=20_000)

    def authors(self) -> list[tuple[str, str, str]]:
        """Sign, text and author of the changed lines that the pane shows."""
        return _authors(self.pane.panel)

    def authors_compared(self, a: str, b: str, path: str) -> list[tuple[str, str, str]]:
        """The same of the Compare view of two attempts."""
        self.state.compare_asked.emit([a, b])
        self.qtbot.waitUntil(lambda: self.window.findChild(CompareDialog) is not None, timeout=20_000)
        dialog = self.window.findChild(CompareDialog)
        assert isinstance(dialog, CompareDialog)
        files = dialog.view.files
        (item,) = files.findItems(Path(path).name, Qt.MatchFlag.MatchExactly)
        files.setCurrentItem(item)
        panel = dialog.view.panel
        self.qtbot.waitUntil(lambda: panel._change is not None and panel._change.path == path, timeout=20_000)
        dialog.reject()
        return _authors(panel)


def _authors(panel: FileDiffPanel) -> list[tuple[str, str, str]]:
    return [(row.kind, row.text, row.author) for row in panel.view.model.rows if row.kind in "+-"]


@pytest.fixture
def desk(tmp_path: Path, settings: QSettings, qtbot: Any) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []
    servers: list[RehearsalServer] = []

    def make(**files: str) -> Desk:
        folder = tmp_path / "project"
        folder.mkdir()
        for name, text in {"a_txt": START, **files}.items():
            (folder / name.replace("_", ".")).write_text(text)
        for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
            subprocess.run(["git", *command], cwd=folder, check=True)
        waiting: list[Callable[[], None]] = []

        def look(body: dict[str, Any]) -> list[str]:
            if waiting:
                waiting.pop(0)()
            return check(body)

        server = RehearsalServer(Scenario(), checker=look)
        server.__enter__()
        servers.append(server)
        client = EngineProcess(
            ["--workspace", str(folder), "--session", str(tmp_path / "s.worldline"), "--base-url", server.base_url]
        )  # fmt: skip
        window = MainWindow(SessionState(client), settings)
        window.resize(1280, 800)
        window.show()
        client.start()
        qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=30_000)
        made.append(Desk(window, server, Path(window.state.info["work_path"]), qtbot, waiting))
        return made[-1]

    yield make
    for one in made:
        one.window.close()
        one.state.client.stop_and_wait(PATIENCE_S)
        one.window.deleteLater()
    QApplication.processEvents()
    for server in servers:
        server.__exit__(None, None, None)
        assert server.defects == []


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old": old, "new": new})


def read(path: str) -> Call:
    return Call("read", {"path": path})


def replace(path: Path, old: str, new: str) -> None:
    """An edit of the person."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
