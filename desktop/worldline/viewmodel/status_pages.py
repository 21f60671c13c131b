"""What a click on a segment of the status bar explains. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.viewmodel.status import model_name, money, short_branch, size, stop_words
from worldline.viewmodel.words import translate

Page = tuple[str, list[tuple[str, str]], str]


def explain(name: str, status: Mapping[str, Any]) -> Page:
    """What a click shows: title, (what, value) lines, and a sentence that explains."""
    pages = {
        "state": _explain_state,
        "model": _explain_model,
        "context": _explain_context,
        "cost": _explain_cost,
        "cache": _explain_cache,
        "sandbox": _explain_sandbox,
        "effects": _explain_effects,
        "saved": _explain_saved,
    }
    return pages[name](status)


def _explain_state(status: Mapping[str, Any]) -> Page:
    lines = []
    if status.get("last_stop"):
        lines.append(
            (
                translate("status", "Last run"),
                stop_words(str(status["last_stop"]), str(status.get("last_stop_detail") or "")),
            )
        )
    if status.get("retry_why"):
        lines.append((translate("status", "Waits because"), str(status["retry_why"])))
    if status.get("branch"):
        lines.append((translate("status", "Branch"), short_branch(str(status["branch"]))))
    lines.append((translate("status", "Waiting for you"), str(status.get("approvals", 0))))
    lines.append((translate("status", "Queued messages"), str(status.get("queued", 0))))
    lines.append((translate("status", "Running processes"), str(status.get("processes", 0))))
    return (
        translate("status", "Run"),
        lines,
        str(status.get("last_stop_detail") or status.get("sentence") or ""),
    )


def _explain_model(status: Mapping[str, Any]) -> Page:
    lines = [
        (translate("status", "Answers"), model_name(str(status.get("model", ""))) or "–"),
        (translate("status", "Asked for"), model_name(str(status.get("asked_model", ""))) or "–"),
    ]
    return translate("status", "Model"), lines, str(status.get("fallback_why", ""))


def _explain_context(status: Mapping[str, Any]) -> Page:
    used, limit = int(status.get("context_tokens", 0)), int(status.get("context_limit", 0))
    lines = [
        (translate("status", "Used"), translate("status", "{n} tokens").format(n=f"{used:,}")),
        (
            translate("status", "Room"),
            translate("status", "{n} tokens").format(n=f"{limit:,}") if limit else "–",
        ),
        (translate("status", "Size"), size(int(status.get("context_bytes", 0)))),
    ]
    return (
        translate("status", "Context"),
        lines,
        translate("status", "What the next request sends to the model. Near the limit the history is summarised; nothing is lost from the tree."),
    )  # fmt: skip


def _explain_cost(status: Mapping[str, Any]) -> Page:
    lines = [(translate("status", "This session"), money(status.get("cost")))]
    note = str(
        status.get("cost_note")
        or translate("status", "From the token counts of the answers and the list prices known here.")
    )
    return translate("status", "Cost"), lines, note


def _explain_cache(status: Mapping[str, Any]) -> Page:
    hit = status.get("cache_hit")
    lines = [
        (translate("status", "Read from the cache"), f"{round(hit * 100)} %" if hit is not None else "–")
    ]
    note = str(
        status.get("cache_note")
        or translate("status", "Text that was sent before and did not change costs a tenth.")
    )
    return translate("status", "Cache"), lines, note


def _explain_sandbox(status: Mapping[str, Any]) -> Page:
    words = {
        "complete": translate("status", "Commands can write only to the workspace and reach no network. What needs more is asked first."),
        "partial": translate("status", "Commands are confined in part. What is not confined is asked first."),
        "none": translate("status", "This system offers no sandbox: commands are judged by their text, and more is asked."),
    }  # fmt: skip
    mode = str(status.get("sandbox", "unknown"))
    why = str(status.get("sandbox_why") or "")
    if problem := str(status.get("sandbox_problem") or ""):
        return (
            translate("status", "Sandbox"),
            [(translate("status", "This machine"), why)] if why else [],
            problem,
        )
    if mode == "complete":
        return translate("status", "Sandbox"), [], words[mode]
    fix = translate(
        "status",
        "To confine commands on Linux: install bubblewrap, let users make namespaces, and start the session again. Settings say what else can be chosen.",
    )  # fmt: skip
    lines = [(translate("status", "Why"), why)] if why else []
    return translate("status", "Sandbox"), lines, " ".join(filter(None, [words.get(mode, ""), fix]))


def _explain_effects(status: Mapping[str, Any]) -> Page:
    lines = [
        (translate("status", "Cannot be undone by going back"), str(status.get("effects", 0))),
        (translate("status", "Can be put back from the list"), str(status.get("effects_undoable", 0))),
        (translate("status", "On other branches"), str(status.get("effects_elsewhere", 0))),
    ]
    return (
        translate("status", "Done outside the files"),
        lines,
        translate("status", "Going back in the tree puts files back. It does not take these back."),
    )


def _explain_saved(status: Mapping[str, Any]) -> Page:
    note = str(
        status.get("saved_note") or translate("status", "Every step is on disk before the next begins.")
    )
    return translate("status", "Saved"), [], note
