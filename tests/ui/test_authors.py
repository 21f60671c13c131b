"""Who wrote which line: the changes pane on a real engine, with edits of the agent and of the person in turn."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from worldline.client.process import EngineProcess
from worldline.context.checker import check
from worldline.core.kinds import NodeKind
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.ui.syntax.lines import line_painter
from worldline.ui.theme import theme

pytestmark = pytest.mark.slow

START = "".join(f"line {n}\n" for n in range(1, 31))


@dataclass
class Desk:
    """A window on an engine process whose model says what the test wants."""

    window: MainWindow
    server: RehearsalServer
    folder: Path
    qtbot: Any

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
        at = pane.against.findData(against)
        if at < 0:
            pane.compare_with(against, "the other")
        else:
            pane.against.setCurrentIndex(at)
            pane._on_against(at)
        self.qtbot.waitUntil(lambda: path in pane.files._items, timeout=20_000)
        pane.show_path(path)
        self.qtbot.waitUntil(
            lambda: pane.panel.view.model.diff is pane._diffs.get(pane._key(path)), timeout=20_000
        )

    def authors(self) -> list[tuple[str, str, str]]:
        """Sign, text and author of the changed lines that the widget shows."""
        rows = self.pane.panel.view.model.rows
        return [(row.kind, row.text, row.author) for row in rows if row.kind in "+-"]


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
        server = RehearsalServer(Scenario(), checker=check)
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
        made.append(Desk(window, server, Path(window.state.info["work_path"]), qtbot))
        return made[-1]

    yield make
    for one in made:
        one.window.close()
        one.state.client.stop_and_wait(8)
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
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_agent_person_agent_each_hunk_has_its_author_in_the_widget(desk: Callable[..., Desk]) -> None:
    one = desk()
    file = one.folder / "a.txt"
    first = one.agent(read("a.txt"), edit("a.txt", "line 3\n", "agent 3\n"))[-1]
    replace(file, "line 15\n", "person 15\n")
    replace(file, "line 20\n", "")
    second = one.agent(read("a.txt"), edit("a.txt", "line 28\n", "agent 28\nagent 28b\n"))[-1]
    one.look("a.txt", "base")
    assert one.authors() == [
        ("-", "line 3", first), ("+", "agent 3", first),
        ("-", "line 15", "user"), ("+", "person 15", "user"), ("-", "line 20", "user"),
        ("-", "line 28", second), ("+", "agent 28", second), ("+", "agent 28b", second),
    ]  # fmt: skip
    # What is painted says so too: a stripe in front of the line, and words on hover.
    view = one.pane.panel.view
    picture = view.viewport().grab().toImage()
    ratio = picture.devicePixelRatio()
    stripes = {}
    for at, row in enumerate(view.model.rows):
        if row.kind in "+-":
            y = round((at * line_painter().height + 8 + line_painter().height // 4) * ratio)
            if y < picture.height():
                stripes[row.text] = picture.pixelColor(round(1 * ratio), y).name()
    tokens = theme().tokens
    assert stripes["agent 3"] == tokens.color("accent").name()
    assert stripes["person 15"] == stripes["line 20"] == tokens.color("warn").name()
    assert "by you" in view.author_words("user", "+")
    assert "edit" in view.author_words(first, "+")
    # The list of files names the last one who wrote.
    change = one.pane.files.change()
    assert change is not None and change.author == second
    # From a line to the step that wrote it.
    view.author_clicked.emit(first)
    assert one.state.selection == first
    # Edits that are in no node yet are the person's.
    one.state.select("")
    replace(file, "line 30\n", "person 30\n")
    one.look("a.txt", "disk")
    assert one.authors() == [("-", "line 30", "user"), ("+", "person 30", "user")]


def test_renames_are_followed_and_a_jump_back_shows_only_its_own_branch(desk: Callable[..., Desk]) -> None:
    one = desk()
    first = one.agent(read("a.txt"), edit("a.txt", "line 3\n", "agent 3\n"))[-1]
    (one.folder / "a.txt").rename(one.folder / "b.txt")
    replace(one.folder / "b.txt", "line 10\n", "person 10\n")
    moved, last = one.agent(
        Call("bash", {"command": "mv b.txt c.txt"}), edit("c.txt", "line 20\n", "agent 20\n")
    )
    one.look("c.txt", "base")
    assert one.pane.panel.view.model.diff.change.old_path == "a.txt"
    expected = [
        ("-", "line 3", first), ("+", "agent 3", first), ("-", "line 10", "user"), ("+", "person 10", "user"),
        ("-", "line 20", last), ("+", "agent 20", last),
    ]  # fmt: skip
    assert one.authors() == expected
    tip = one.state.cursor
    # Back to the first edit, and on from there another way.
    one.jump(first)
    assert (one.folder / "a.txt").exists() and not (one.folder / "c.txt").exists()
    other = one.agent(read("a.txt"), edit("a.txt", "line 25\n", "other 25\n"))[-1]
    one.look("a.txt", "base")
    assert one.authors() == [
        ("-", "line 3", first), ("+", "agent 3", first), ("-", "line 25", other), ("+", "other 25", other),
    ]  # fmt: skip
    # Attempt against attempt: what the other attempt changed was undone by nobody here.
    one.look("a.txt", tip)
    assert [(kind, text, who) for kind, text, who in one.authors() if text.endswith("25")] == [
        ("-", "line 25", other), ("+", "other 25", other),
    ]  # fmt: skip
    assert [(kind, text, who) for kind, text, who in one.authors() if "person" in text] == [
        ("-", "person 10", "")
    ]
    # And the old branch still tells its own story.
    one.look("c.txt", "base", node=tip)
    assert one.authors() == expected
    assert moved != last
