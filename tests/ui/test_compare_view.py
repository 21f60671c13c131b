"""The facts of attempts in columns."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QLabel

from worldline.ui import gallery_data
from worldline.ui.compare.view import CompareView
from worldline.ui.theme import theme


def test_what_was_countered_is_no_warning(qtbot: Any) -> None:
    compared = gallery_data.compare()
    pushed = gallery_data.effects()[0].model_copy(
        update={"reversibility": "compensatable", "summary": "pushed origin/wip"}
    )
    attempt = next(one for one in compared.attempts if one.path)
    attempt.effects = [pushed.model_copy(update={"status": "countered"})]

    def said() -> QLabel:
        view = CompareView(compared, {})
        qtbot.addWidget(view)
        view.show()
        views.append(view)
        return next(one for one in view.findChildren(QLabel) if "pushed origin/wip" in one.text())

    views: list[CompareView] = []
    label = said()
    assert label.text() == "↶ pushed origin/wip · countered"
    assert label.palette().color(label.foregroundRole()) == theme().tokens.color("muted")
    attempt.effects.append(pushed.model_copy(update={"summary": "sent a mail", "kind": "network"}))
    label = said()
    assert label.text() == "↶ pushed origin/wip · countered\n⚠ sent a mail"
    assert label.palette().color(label.foregroundRole()) == theme().tokens.color("warn"), "something is left"
