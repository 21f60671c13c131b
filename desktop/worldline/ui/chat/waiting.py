"""What the chat reads from the session for its composer: what waits, and what was asked before."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from worldline.ui.session_state import SessionState

HISTORY = 200
LOOKED_THROUGH = 20_000
"""Rows from the end in which prompts are looked for: a million rows must not stop the window."""


def waiting_texts(state: SessionState) -> list[str]:
    """A short line for everything that waits for the person."""
    words = QCoreApplication.translate("ChatPane", "approve “{}”")
    texts = [words.format(one.get("command") or one.get("title", "")) for one in state.approvals.values()]
    texts += [str(one.get("text", "")) for one in state.questions.values()]
    return [" ".join(text.split())[:80] for text in texts]


def recent_prompts(state: SessionState) -> list[str]:
    """The last prompts of the session, the newest at the end."""
    tree, prompts = state.tree, []
    for at in range(len(tree) - 1, max(-1, len(tree) - LOOKED_THROUGH), -1):
        if state.is_prompt(at):
            prompts.append(tree.preview(at))
            if len(prompts) == HISTORY:
                break
    return prompts[::-1]
