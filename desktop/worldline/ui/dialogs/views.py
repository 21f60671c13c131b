"""What `--screenshot --view NAME` can show over a window: real data where the session has some, else the sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QListView, QWidget

from worldline.protocol.commands import Effects
from worldline.ui.dialogs import opening
from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.dialogs.desk import Desk
    from worldline.ui.main_window import MainWindow

SAMPLES = {
    "approval-change": "approval-write", "compare-three": "compare", "storage": "storage",
    "question": "question", "recovery": "recovery", "branch-summary": "branch-summary",
    "sessions": "sessions", "settings-rules": "settings-rules", "settings-grants": "settings-grants", "about": "about",
    "folders": "folders",
}  # fmt: skip
"""View → the sample of the gallery that is shown: what a session that has just been made has nothing of."""


def views(window: MainWindow, state: SessionState, desk: Desk) -> dict[str, Callable[[], object]]:
    """Name → what opens it."""
    return {
        "compare": lambda: _compare(window, state),
        "approval": lambda: _approval(window, state, desk),
        "jump-plan": lambda: _plan(window, state, desk),
        "effects": lambda: _effects(window, state),
        "diagnostics": lambda: opening.diagnostics(window, state),
        "bring-home": lambda: opening.bring_home(window, state, state.cursor),
        "first-start": lambda: opening.first_start(window, state),
        "new-session": lambda: opening.new_session(window, state),
        "settings": lambda: opening.settings(window, state),
        "as-model-sees": lambda: opening.model_view(window, state, state.looked_at()),
        "status": lambda: window.status.explain("context"),
        **{name: partial(_sample, window, sample) for name, sample in SAMPLES.items()},
    }


def _compare(window: MainWindow, state: SessionState) -> None:
    tree = state.tree
    for row in range(len(tree)):
        if tree.children[row] > 1:
            leaves = [tree.uid(tree.leaf_of(child)) for child in tree.children_of(row)]
            opening.compare(window, state, leaves[:4])
            return
    _sample(window, "compare")


def _approval(window: MainWindow, state: SessionState, desk: Desk) -> None:
    if state.approvals:
        desk.show_waiting()
    else:
        _sample(window, "approval")


def _plan(window: MainWindow, state: SessionState, desk: Desk) -> None:
    prompts = [row for row in range(len(state.tree)) if state.is_prompt(row)]
    if not prompts:
        _sample(window, "jump-plan")
        return
    uid = state.tree.uid(prompts[0])

    def planned(plan: dict[str, Any]) -> None:
        # A plan that asks nothing is never shown to anybody.
        if plan.get("needs_confirmation"):
            desk.show_plan(plan, {"node": uid})
        else:
            _sample(window, "jump-plan")

    state.request("jump_plan", {"node": uid}, planned, lambda _e: _sample(window, "jump-plan"))


def _effects(window: MainWindow, state: SessionState) -> None:
    def known(result: dict[str, Any]) -> None:
        effects = Effects.model_validate(result)
        if effects.here or effects.elsewhere or effects.processes:
            opening.effects(window, state)
        else:
            _sample(window, "effects")

    state.request("effects", {"node": state.looked_at()}, known)


def _sample(window: QWidget, name: str) -> None:
    from worldline.ui.gallery import GALLERY

    dialog = GALLERY[name]()
    dialog.setParent(window, dialog.windowFlags())
    dialog.show()
    for part in dialog.findChildren(QListView):
        # They were laid out before they had the style of the window.
        part.doItemsLayout()
