"""A call as a card: what stands in its line however narrow it is, and who is spoken to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.protocol.model import Body
from worldline.ui.chat.row_base import LineLabel
from worldline.ui.chat.tool_card import ToolCard
from worldline.ui.chat.view import ChatView
from worldline.viewmodel.chat import ChatModel

ADVICE = (
    "This same call was made 3 times, with the same result. Doing it again will not change anything. Say in one sentence "
    "what you are trying to reach, look at what you have already got, and take another way."
)
PATH = "src/very/deep/folder/of/the/project/with/a/long/name/parser_of_prices.py"


@pytest.fixture
def kept() -> list[ChatView]:
    """Views live as long as their test."""
    return []


def card(
    kept: list[ChatView], qtbot: Any, name: str, arguments: dict[str, Any], result: Any, detail: dict[str, Any], *, width: int = 640,
    outcome: Outcome = Outcome.OK, flags: NodeFlag = NodeFlag.NONE,
) -> ToolCard:  # fmt: skip
    view = ChatView(ChatModel())
    kept.append(view)
    view.resize(width, 500)
    qtbot.addWidget(view)
    view.show()
    header = NodeHeader(
        seq=1, uid=f"{1:016x}", parent=0, kind=NodeKind.TOOL, created=1, preview=name, tool=name, outcome=outcome,
        finished=66, flags=flags,
    )  # fmt: skip
    block = {"type": "tool_result", "tool_use_id": "t", "content": result}
    view.model.set_path([header])
    call = {"id": "t", "name": name, "input": arguments}
    body = Body(
        uid=header.uid, kind="tool", call=call, detail=detail, message={"role": "user", "content": [block]}
    )
    view.model.set_bodies([body])
    view.flush()
    QApplication.processEvents()
    return view.findChildren(ToolCard)[0]


def seen(card: ToolCard) -> str:
    """All words of it, in lines."""
    labels = [one.text() for one in card.findChildren(QLabel) if one.isVisible()]
    return "\n".join([*labels, *(line.text for line in (card._code.lines() if card._code else []))])


def test_what_the_model_is_told_of_a_circle_is_not_said_to_the_person(
    kept: list[ChatView], qtbot: Any
) -> None:
    error = {
        "class": "user", "type": "repeated", "message": ADVICE, "next": "Restate the goal in one sentence.",
        "details": {"pattern": "identical_call", "count": 3, "last_error": "not_found"},
    }  # fmt: skip
    failed = card(
        kept, qtbot, "read", {"path": "a.py"}, json.dumps({"error": error}),
        {
            "error": {"type": "not_found", "message": "There is no file a.py.", "hint": "Look at the folder."},
            "repeated": {"pattern": "identical_call", "count": 3, "told": ADVICE},
        },
        outcome=Outcome.FAILED,
    )  # fmt: skip
    text = seen(failed)
    assert "There is no file a.py." in text, "what went wrong is not hidden by it"
    assert "The same call was made 3 times, with the same result. Worldline told the agent" in text
    assert "what you are trying" not in text
    failed._toggle.click()
    failed._toggle.click()
    text = seen(failed)
    assert "The agent was told: Look at the folder." in text and "what you are trying" not in text


def test_a_session_from_before_says_it_too(kept: list[ChatView], qtbot: Any) -> None:
    error = {
        "type": "repeated",
        "message": ADVICE,
        "details": {"pattern": "identical_failure", "count": 4},
    }
    old = card(
        kept, qtbot, "bash", {"command": "false"}, json.dumps({"error": error}), {"exit_code": 1}, outcome=Outcome.FAILED
    )  # fmt: skip
    assert "This failed 4 times in the same way. Worldline told the agent" in seen(old)
    assert "what you are trying" not in seen(old)


def test_advice_is_not_shown_as_what_a_file_holds(kept: list[ChatView], qtbot: Any) -> None:
    told = [{"type": "text", "text": "1\tone\n2\ttwo"}, {"type": "text", "text": ADVICE}]
    read = card(
        kept, qtbot, "read", {"path": "a.py"}, told,
        {"repeated": {"pattern": "identical_call", "count": 3, "told": ADVICE}},
    )  # fmt: skip
    assert "The same call was made 3 times" in seen(read), "also while it is folded"
    read._toggle.click()
    assert "2\ttwo" in seen(read) and "what you are trying" not in seen(read)


@pytest.mark.parametrize(
    ("name", "arguments", "begins", "ends"),
    [
        ("read", {"path": PATH}, "src/", "prices.py"),
        ("bash", {"command": "grep -rn 'def parse' src | sort | uniq -c | head -50; make everything"}, "grep -rn", "…"),
    ],
)  # fmt: skip
def test_what_a_call_is_about_is_cut_with_a_sign_and_whole_on_hover(
    kept: list[ChatView], qtbot: Any, name: str, arguments: dict[str, Any], begins: str, ends: str
) -> None:
    flags = NodeFlag.CODE_RUNS_LATER | NodeFlag.SECRET_MASKED | NodeFlag.IRREVERSIBLE
    narrow = card(kept, qtbot, name, arguments, "", {}, width=420, flags=flags)
    whole = str(next(iter(arguments.values())))
    lines = [one for one in narrow.findChildren(LineLabel) if one.isVisible()]
    subject, facts = next(one for one in lines if one.text() == whole), lines[-1]
    wide = card(kept, qtbot, name, arguments, "", {}, width=520)
    label = next(one for one in wide.findChildren(LineLabel) if one.text() == whole)
    assert label.shown.startswith(begins) and label.shown.endswith(ends) and "…" in label.shown
    for one in (subject, facts, label):
        assert one.fontMetrics().horizontalAdvance(one.shown) <= one.width(), "no letter is cut"
        assert one.geometry().right() < narrow._outcome.x() or one is label, "nothing lies over the outcome"
        assert one.width() >= 24 and "…" in one.shown
        QApplication.sendEvent(
            one, QHelpEvent(QEvent.Type.ToolTip, QPoint(2, 2), one.mapToGlobal(QPoint(2, 2)))
        )
        assert one.toolTip() == one.text()


def test_a_run_that_was_stopped_for_it_says_so_itself(kept: list[ChatView], qtbot: Any) -> None:
    fact = {"pattern": "identical_call", "count": 5, "told": "read was repeated 5 times.", "stopped": True}
    told = [{"type": "text", "text": "1\tone"}, {"type": "text", "text": fact["told"]}]
    last = card(kept, qtbot, "read", {"path": "a.py"}, told, {"repeated": fact})
    assert "The same call was made 5 times, with the same result." in seen(last)
    assert "Worldline told" not in seen(last)
