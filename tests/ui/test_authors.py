"""Who wrote which line: the changes pane on a real engine, with edits of the agent and of the person in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from worldline.core.background import UNSURE
from worldline.core.kinds import NodeKind
from worldline.rehearsal.events import Call
from worldline.ui.syntax.lines import line_painter
from worldline.ui.theme import theme

from .desk import Desk, edit, read, replace

pytestmark = pytest.mark.slow


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
    assert view.author_words("user", "+") == "Written by you"
    assert view.author_words(UNSURE, "+") == "Written by you, or by a command that ran in the background"
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
    between = one.authors_compared(tip, one.state.cursor, "a.txt")
    assert [(kind, text, who) for kind, text, who in between if text.endswith("25")] == [
        ("-", "line 25", other), ("+", "other 25", other),
    ]  # fmt: skip
    assert [(kind, text, who) for kind, text, who in between if "person" in text] == [("-", "person 10", "")]
    # And the old branch still tells its own story.
    one.look("c.txt", "base", node=tip)
    assert one.authors() == expected
    assert moved != last


def test_what_the_person_changes_while_a_run_goes_on_is_theirs_and_stays_through_a_jump(
    desk: Callable[..., Desk],
) -> None:
    one = desk(mine_txt="mine\n")
    file = one.folder / "a.txt"
    start = one.state.cursor

    def person() -> None:
        # The model is being asked for its next step: nothing of the agent writes now.
        replace(file, "line 15\n", "person 15\n")
        (one.folder / "mine.txt").write_text("changed by me\n")

    one.on_request += [lambda: None, lambda: None, person]
    _, first, _, last = one.agent(
        read("a.txt"), edit("a.txt", "line 3\n", "agent 3\n"),
        read("a.txt"), edit("a.txt", "line 28\n", "agent 28\n"),
    )  # fmt: skip
    assert file.read_text().count("person") == 1 and one.on_request == []
    one.look("a.txt", "base")
    assert one.authors() == [
        ("-", "line 3", first), ("+", "agent 3", first), ("-", "line 15", "user"), ("+", "person 15", "user"),
        ("-", "line 28", last), ("+", "agent 28", last),
    ]  # fmt: skip
    # The step counts what it did itself.
    row = one.state.tree.row(last)
    assert (one.state.tree.added[row], one.state.tree.removed[row], one.state.tree.files[row]) == (1, 1, 1)
    # What the person did was found before the next request, and is a node of its own.
    tree = one.state.tree
    external = next(tree.uid(r) for r in range(len(tree)) if tree.kind_of(r) is NodeKind.EXTERNAL_CHANGE)
    one.look("mine.txt", "parent", node=external)
    assert {author for *_, author in one.authors()} == {"user"}
    # It goes back only when that is chosen: the plan names it as the person's.
    one.state.select("")
    answers: list[dict[str, object]] = []
    one.state.request("jump", {"node": start}, answers.append)
    one.qtbot.waitUntil(lambda: bool(answers), timeout=30_000)
    plan = answers[0]["plan"]
    assert isinstance(plan, dict)
    stays = [
        entry["path"] for entry in plan["entries"] if entry["action"].startswith("keep") or entry["choice"]
    ]
    assert "mine.txt" in stays
    one.state.request("jump", {"node": start, "plan": plan["id"]}, answers.append)
    one.qtbot.waitUntil(lambda: len(answers) == 2, timeout=30_000)
    assert (one.folder / "mine.txt").read_text() == "changed by me\n"
