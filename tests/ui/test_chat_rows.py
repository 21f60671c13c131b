"""Rows of the chat are used again for other messages, and huge messages cost what one screen of them costs."""

from __future__ import annotations

import base64
import random
import time
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from tests_support import measured
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.protocol.events import Delta
from worldline.protocol.model import Body
from worldline.ui.chat import words
from worldline.ui.chat.message_rows import ReplyRow, UserRow
from worldline.ui.chat.view import ChatView
from worldline.ui.markdown.prose import Prose
from worldline.ui.theme import theme
from worldline.viewmodel.chat import ChatModel

from .looking import parts_on_screen, row_on_screen

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXTS = (
    "short",
    "A list:\n\n- one\n- two\n\nand **more**.",
    "```python\n" + "x = 1\n" * 70 + "```\n\nafter",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\ntext",
    "",
    "long words " * 300,
)


def messages(count: int) -> tuple[list[NodeHeader], list[Body]]:
    """Rows of all kinds and shapes, in an order that is always the same."""
    rng = random.Random(3)
    headers, bodies = [], []
    for at in range(1, count + 1):
        kind = rng.choice((NodeKind.USER, NodeKind.ASSISTANT, NodeKind.ASSISTANT, NodeKind.TOOL))
        uid = f"{at:016x}"
        flags = NodeFlag.INCOMPLETE if kind is NodeKind.ASSISTANT and at % 5 == 0 else NodeFlag.NONE
        headers.append(
            NodeHeader(
                seq=at, uid=uid, parent=at - 1, kind=kind, created=at, preview=f"row {at}", flags=flags,
                outcome=Outcome.FAILED if at % 7 == 0 else Outcome.OK, tool="bash" if kind is NodeKind.TOOL else "",
                model="sonnet-5.5" if at % 3 == 0 else "",
            )
        )  # fmt: skip
        text = rng.choice(TEXTS) + f" {at}"
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if kind is NodeKind.USER and at % 3 == 0:
            content.append({"type": "image", "source": {"data": PNG, "media_type": "image/png"}})
        if kind is NodeKind.ASSISTANT and at % 4 == 0:
            content.insert(0, {"type": "thinking", "thinking": f"thought {at}"})
        if kind is NodeKind.TOOL:
            call = {
                "id": "t",
                "name": "bash",
                "input": {"command": f"do {at}"},
                "repairs": ["x"] if at % 2 else [],
            }
            bodies.append(
                Body(
                    uid=uid,
                    kind="tool",
                    call=call,
                    detail={"exit_code": at % 2, "output": text, "summary": ""},
                )
            )
        else:
            role = "user" if kind is NodeKind.USER else "assistant"
            bodies.append(Body(uid=uid, kind=kind.value, message={"role": role, "content": content}))
    return headers, bodies


def shown(view: ChatView) -> QImage:
    view.flush()
    QApplication.processEvents()
    view.verticalScrollBar().hide()
    return view.viewport().grab().toImage()


def empty(qtbot: Any, width: int = 640, height: int = 700) -> ChatView:
    view = ChatView(ChatModel())
    view.resize(width, height)
    qtbot.addWidget(view)
    view.show()
    return view


def filled(qtbot: Any) -> ChatView:
    view = empty(qtbot)
    view.setFocus()
    headers, bodies = messages(240)
    view.model.set_path(headers)
    view.model.set_bodies(bodies)
    view.flush()
    return view


def test_a_row_that_was_used_before_looks_like_one_that_is_new(qtbot: Any) -> None:
    used = filled(qtbot)
    rng = random.Random(5)
    for _ in range(60):
        used.show_key(used.model.rows[rng.randrange(len(used.model.rows))].key)
        QApplication.processEvents()
    for target in (20, 77, 131, 200):
        key = used.model.rows[target].key
        used.show_key(key)
        fresh = filled(qtbot)
        fresh.show_key(key)
        names = [w.accessibleName() for w in used.widgets() if not w.isHidden()]
        assert sorted(names) == sorted(w.accessibleName() for w in fresh.widgets() if not w.isHidden())
        assert shown(used) == shown(fresh), f"row {target}"
        fresh.hide()


def test_a_jump_fills_rows_that_are_there(qtbot: Any) -> None:
    view = filled(qtbot)
    rows = len(view.model.rows)
    for at in range(0, rows, 8):
        view.show_key(view.model.rows[at].key)
    QApplication.processEvents()
    before = len(view.viewport().findChildren(QWidget))
    for at in range(0, rows, 5):
        view.show_key(view.model.rows[at].key)
    assert len(view.viewport().findChildren(QWidget)) < before * 1.5


def test_a_change_of_the_theme_goes_through_what_is_seen_only(qtbot: Any) -> None:
    view = filled(qtbot)
    for at in range(0, len(view.model.rows), 8):
        view.show_key(view.model.rows[at].key)
    through: list[int] = []

    def count() -> None:
        through.append(sum(1 for prose in view.viewport().findChildren(Prose) if not prose.isVisible()))

    theme().about_to_change.connect(count)
    theme().set_name("dark")
    theme().about_to_change.disconnect(count)
    assert through and through[0] < 10
    ground = shown(view).pixelColor(4, 4)
    assert ground == QColor(theme().tokens.bg)


@pytest.mark.parametrize("block", ["table", "list", "paragraph", "word"])
def test_a_huge_block_never_holds_the_window(qtbot: Any, block: str) -> None:
    line = {
        "table": "| cell one | cell **two** | `three` |\n", "list": "- an item of the list\n",
        "paragraph": "some words that go on and on ", "word": "x" * 40,
    }[block]  # fmt: skip
    view = empty(qtbot)
    view.model.set_path(messages(5)[0])
    start = "| a | b | c |\n|---|---|---|\n" if block == "table" else ""
    view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text=start + line * 200)])
    ticks = []
    for _ in range(80):
        begun = time.thread_time()
        view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text=line * 20)])
        view.flush()
        QApplication.processEvents()
        ticks.append(time.thread_time() - begun)
    # Without parts the last ticks take several times the first.
    early, late = sorted(ticks[5:25])[10], sorted(ticks[-20:])[10]
    measured("seconds of a late tick", late, 3 * early + 0.005)
    row = row_on_screen(view, "live:r:1")
    assert isinstance(row, ReplyRow)
    assert len(parts_on_screen(row._view)) < 60


def test_a_long_prompt_shows_its_beginning_and_all_of_it_on_demand(qtbot: Any) -> None:
    view = empty(qtbot)
    header = NodeHeader(
        seq=1, uid="a" * 16, parent=0, kind=NodeKind.USER, created=1, preview="x", outcome=Outcome.OK
    )
    view.model.set_path([header])
    text = "".join(f"line {n}\n" for n in range(2_000))
    view.model.set_bodies([Body(uid=header.uid, kind="user", message={"role": "user", "content": text})])
    view.flush()
    row = row_on_screen(view, header.uid)
    assert isinstance(row, UserRow)
    assert row._prose.text().endswith("…") and "line 1999" not in row._prose.text()
    assert not row._more.isHidden() and "19" in row._more.text()
    row._more.click()
    assert "line 1999" in row._prose.text() and row.height() > 10_000
    row._more.click()
    assert "line 1999" not in row._prose.text()
    # A text of megabytes is never laid out whole, and is copied whole all the same.
    huge = text * 100
    view.model.set_bodies([Body(uid=header.uid, kind="user", message={"role": "user", "content": huge})])
    view.flush()
    row._more.click()
    assert len(row._prose.text()) < 60_000
    copied: list[str] = []
    view.signals.edit_prompt.connect(lambda _uid, words: copied.append(words))
    row._edit()
    assert copied == [huge.rstrip("\n")] or copied == [huge]


def test_the_person_is_told_of_a_refusal_as_the_person() -> None:
    assert words.refusal("The person denied this command.") == "You denied it."
    assert (
        words.refusal("The person denied this call. The person says: not now")
        == "You denied it. You said: “not now”"
    )
    assert words.refusal("File not found: a.py") == "File not found: a.py"


def test_rows_take_other_colours_without_being_made_anew(qtbot: Any) -> None:
    view = empty(qtbot, 700, 900)
    headers, bodies = messages(60)
    view.model.set_path(headers)
    view.model.set_bodies(bodies)
    view.flush()

    def picture() -> QImage:
        QApplication.processEvents()
        return view.grab().toImage()

    theme().set_name("light")
    light, made = picture(), view.builds
    theme().set_name("dark")
    dark = picture()
    assert view.builds == made
    assert dark != light
    view.rebuild()
    assert view.builds > made and picture() == dark


def test_a_prompt_is_as_high_as_its_pictures(qtbot: Any) -> None:
    """They come with its body, when the row is seen already: it stayed as high as without, and cut them off."""
    view = empty(qtbot)
    header = NodeHeader(
        seq=1, uid="a" * 16, parent=0, kind=NodeKind.USER, created=1, preview="see", outcome=Outcome.OK
    )
    view.model.set_path([header])
    view.flush()
    row = row_on_screen(view, header.uid)
    assert row is not None
    before = row.height()
    picture = QImage(200, 120, QImage.Format.Format_RGB32)
    picture.fill(QColor("red"))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    data = base64.b64encode(bytes(buffer.data().data())).decode()
    content = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"data": data, "media_type": "image/png"}},
    ]
    view.model.set_bodies([Body(uid=header.uid, kind="user", message={"role": "user", "content": content})])
    view.flush()
    QApplication.processEvents()
    assert row.height() >= before + 120
    (label,) = [one for one in row.findChildren(QLabel) if one.accessibleName() == "Image"]
    assert label.height() == 120 and label.mapTo(row, label.rect().bottomLeft()).y() < row.height()


def test_the_ways_to_begin_never_lie_on_one_another(qtbot: Any) -> None:
    view = empty(qtbot, 400, 500)
    header = NodeHeader(seq=1, uid="a" * 16, parent=0, kind=NodeKind.ROOT, created=1, preview="")
    view.model.set_path([header])
    for height in (600, 150, 90, 600):
        view.resize(400, height)
        view.flush()
        QApplication.processEvents()
        ways = [one for one in view.empty.findChildren(QWidget) if one.isVisible()]
        edges = sorted((one.y(), one.y() + one.height()) for one in ways)
        assert all(upper[1] <= lower[0] for upper, lower in pairwise(edges)), (height, edges)
        assert len(ways) == 7 if height == 600 else 1 <= len(ways) < 7
