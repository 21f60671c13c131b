"""What the buttons at the end of a run do."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from worldline.ui.session_state import SessionState

TURNS = 10
BILLING = "https://console.anthropic.com/settings/billing"
_PAGES = {"login": "key", "settings": "", "bigger_model": "model", "billing": "key"}


def act_on_offer(state: SessionState, window: QWidget, offer: str) -> None:
    """Do what the button says. Refusals are shown by the window, as with every command."""
    if offer == "go_on":
        state.request("go_on", {"turns": TURNS})
    elif offer == "retry":
        # Without a number: as many turns as the settings allow.
        state.request("go_on", {"turns": 0})
    elif offer == "backtrack":
        state.backtrack()
    elif offer == "compact":
        state.request("compact", {"instructions": ""})
    elif offer == "drop_results":
        state.request("compact", {"instructions": "", "how": "drop_results"})
    elif offer == "billing" and QDesktopServices.openUrl(QUrl(BILLING)):
        return
    else:
        from worldline.ui.dialogs.settings import open_settings

        open_settings(state, window, _PAGES.get(offer, ""))
