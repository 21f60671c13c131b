"""The storage dialog joined to a session: its engine measures, says what would be lost, and removes."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from worldline.protocol.commands import Pruned, Storage
from worldline.ui.dialogs.base import while_open
from worldline.ui.dialogs.storage import StorageDialog
from worldline.ui.session_state import SessionState
from worldline.viewmodel import tree_text
from worldline.viewmodel.storage import LostGroup, lost_groups
from worldline.viewmodel.words import refusal


def open_storage(state: SessionState, parent: QWidget, days: int = 0) -> StorageDialog:
    """The dialog on the session of a window; with `days` it opens on what is older."""
    dialog = StorageDialog(parent, read_only=state.read_only, session=str(state.info.get("title", "")))

    def refused(error: dict[str, Any]) -> None:
        dialog.show_problem(refusal(error))

    def plan(days: int | None) -> None:
        def stale(error: dict[str, Any]) -> None:
            if dialog.days() == days:
                refused(error)

        def answered(result: dict[str, Any]) -> None:
            if dialog.days() == days:
                pruned = Pruned.model_validate(result)
                groups = lost_groups(state.tree, pruned.nodes)
                dialog.show_plan(pruned, [(_title(state, group), group) for group in groups])

        params = {"older_than_days": days, "dry_run": True}
        state.request("prune", params, while_open(dialog, answered), while_open(dialog, stale))

    def prune(days: int | None, lose_id: str) -> None:
        def not_removed(error: dict[str, Any]) -> None:
            if error.get("kind") == "changed":
                dialog.ask_plan(refusal(error))
            else:
                refused(error)

        def answered(result: dict[str, Any]) -> None:
            dialog.show_result(Pruned.model_validate(result))
            measure()

        params = {"older_than_days": days, "dry_run": False, "lose_id": lose_id}
        state.request("prune", params, while_open(dialog, answered), while_open(dialog, not_removed))

    def measure() -> None:
        def unmeasured(error: dict[str, Any]) -> None:
            dialog.total.set(refusal(error), "bad")

        shown = while_open(dialog, lambda r: dialog.show_storage(Storage.model_validate(r)))
        state.request("storage", {}, shown, while_open(dialog, unmeasured))

    dialog.plan_wanted.connect(plan)
    dialog.prune_wanted.connect(prune)
    _join_retention(state, dialog)
    if days:
        dialog.begin_with(days)
    measure()
    dialog.ask_plan()
    dialog.open()
    return dialog


def _join_retention(state: SessionState, dialog: StorageDialog) -> None:
    """After how many days the person is reminded; what could not be saved is shown as it was."""
    kept = [0]

    def known(result: dict[str, Any]) -> None:
        kept[0] = int(result["days"])
        dialog.show_retention(kept[0])

    def keep(days: int) -> None:
        def saved(_result: object) -> None:
            kept[0] = days

        def not_saved(error: dict[str, Any]) -> None:
            dialog.show_retention(kept[0])
            dialog.what.set(refusal(error), "bad")

        values = {"values": {"retention_days": days}}
        state.request("set_settings", values, while_open(dialog, saved), while_open(dialog, not_saved))

    dialog.retention_wanted.connect(keep)
    state.request("retention", {}, while_open(dialog, known))


def _title(state: SessionState, group: LostGroup) -> str:
    return tree_text.title(state.tree, group.prompt)[:80] if group.prompt >= 0 else ""
