"""Where runs ended in the tree, and why, when it was not by doing what they were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.words import translate

QUIET = frozenset({"", "completed", "aborted", "unknown"})
"""Ends that need no words: the marks of the nodes say them."""


def last_row(model: TreeModel, run: Mapping[str, Any]) -> int:
    """The row at which a run ended: the newest below its prompt that belongs to it; -1 when its prompt is not here."""
    row = model.row(str(run.get("prompt", "")))
    uid = str(run.get("uid", ""))
    while row >= 0 and model.children[row]:
        own = [child for child in model.children_of(row) if model.run(child) == uid]
        if not own:
            break
        row = own[-1]
    return row


def note(model: TreeModel, run: Mapping[str, Any]) -> int:
    """Keep the end of a run in the model; returns its row, -1 when there is nothing to be said."""
    reason = str(run.get("stop_reason") or "")
    if reason in QUIET or not run.get("ended"):
        return -1
    row = last_row(model, run)
    if row >= 0:
        model.ends[row] = reason
    return row


def words(reason: str) -> str:
    """The end of a run in two or three words, for a row of the tree."""
    known = {
        "waiting_for_user": translate("tree", "not answered"),
        "max_turns": translate("tree", "turn limit"),
        "max_tool_calls": translate("tree", "call limit"),
        "time_limit": translate("tree", "time limit"),
        "token_budget": translate("tree", "token budget"),
        "cost_limit": translate("tree", "cost limit"),
        "repeated_calls": translate("tree", "same thing again"),
        "repeated_failures": translate("tree", "same failure again"),
        "provider_error": translate("tree", "service failed"),
        "overloaded": translate("tree", "overloaded"),
        "rate_limited": translate("tree", "rate limit"),
        "auth_error": translate("tree", "no valid key"),
        "quota": translate("tree", "quota used up"),
        "network_error": translate("tree", "no network"),
        "context_limit": translate("tree", "context full"),
        "output_limit": translate("tree", "length limit"),
        "refusal": translate("tree", "declined"),
        "empty_reply": translate("tree", "empty reply"),
        "hook_blocked": translate("tree", "stopped by a hook"),
        "store_error": translate("tree", "not saved"),
        "sandbox_error": translate("tree", "no sandbox"),
        "internal_error": translate("tree", "defect"),
        "interrupted": translate("tree", "interrupted"),
    }
    return known.get(reason, reason.replace("_", " "))
