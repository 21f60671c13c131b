"""The status bar in words: what each segment says. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worldline.viewmodel import engine_words
from worldline.viewmodel.words import translate

SEGMENTS = ("state", "model", "context", "cost", "cache", "sandbox", "effects", "saved")


@dataclass(slots=True)
class Segment:
    """`color` is a token. `buttons` are (command, text) shown inside the segment."""

    name: str
    text: str
    color: str = "muted"
    icon: str = ""
    buttons: list[tuple[str, str]] = field(default_factory=list)
    hint: str = ""
    share: float = -1.0
    """0..1 of a small meter before the text; below 0 = none."""


def tokens(count: int) -> str:
    """`940`, `41k`, `1M`, `1.2M`."""
    if count < 1_000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1_000:.0f}k" if count >= 10_000 else f"{count / 1_000:.1f}k".replace(".0k", "k")
    return f"{count / 1_000_000:.1f}M".replace(".0M", "M")


def size(count: int) -> str:
    """`512 B`, `0.3 MB`, `1.2 GB`."""
    if count < 1_000:
        return f"{count} B"
    if count < 100_000:
        return f"{count / 1_000:.0f} kB"
    if count < 1_000_000_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1_000_000_000:.1f} GB"


def money(cost: float | None) -> str:
    """Never a zero for an unknown price."""
    if cost is None:
        return translate("status", "cost unknown")
    return f"${cost:.2f}" if cost >= 0.005 or cost == 0 else f"${cost:.4f}"


def model_name(model: str) -> str:
    """Short: `claude-sonnet-5-5` → `sonnet-5-5`."""
    return model.removeprefix("claude-")


def short_branch(name: str) -> str:
    """`refs/heads/worldline/x/2` → `worldline/x/2`."""
    return name.removeprefix("refs/heads/")


_NO_KEY = "There is no key for the model."
"""How the engine's sentence about it begins."""


def key_is_missing(detail: str) -> bool:
    """Whether a run ended because no key is set: none was refused then."""
    return detail.startswith((_NO_KEY, engine_words.say(_NO_KEY)))


def stop_words(reason: str, detail: str = "") -> str:
    if reason == "auth_error" and key_is_missing(detail):
        return translate("status", "there is no key")
    words = {
        "completed": translate("status", "completed"),
        "waiting_for_user": translate("status", "not answered"),
        "aborted": translate("status", "stopped by you"),
        "max_turns": translate("status", "turn limit"),
        "max_tool_calls": translate("status", "limit of tool calls"),
        "time_limit": translate("status", "time limit"),
        "token_budget": translate("status", "token budget"),
        "cost_limit": translate("status", "cost limit"),
        "repeated_calls": translate("status", "the same thing again and again"),
        "repeated_failures": translate("status", "the same failure again and again"),
        "provider_error": translate("status", "the service failed"),
        "overloaded": translate("status", "the service is overloaded"),
        "rate_limited": translate("status", "too many requests"),
        "auth_error": translate("status", "the key was refused"),
        "quota": translate("status", "no credit left"),
        "network_error": translate("status", "no connection"),
        "context_limit": translate("status", "the context is full"),
        "output_limit": translate("status", "the reply was too long"),
        "refusal": translate("status", "the model declined"),
        "empty_reply": translate("status", "the reply was empty"),
        "hook_blocked": translate("status", "blocked by a hook"),
        "store_error": translate("status", "could not be saved"),
        "sandbox_error": translate("status", "the sandbox does not start"),
        "internal_error": translate("status", "a fault of Worldline"),
        "interrupted": translate("status", "interrupted"),
        "unknown": translate("status", "ended for an unknown reason"),
    }
    return words.get(reason, reason)


def stop_color(reason: str) -> str:
    if reason in ("", "completed", "aborted"):
        return "muted"
    brakes = {"max_turns", "max_tool_calls", "time_limit", "token_budget", "cost_limit", "repeated_calls",
              "repeated_failures", "context_limit", "output_limit", "hook_blocked", "interrupted", "waiting_for_user"}  # fmt: skip
    return "warn" if reason in brakes else "bad"


def retry_sentence(status: Mapping[str, Any], now_ms: int) -> str:
    """`Overloaded. Trying again in 8 s (2 of 5).`"""
    seconds = max(0, round((int(status.get("retry_at", 0)) - now_ms) / 1000))
    why = str(status.get("retry_why") or translate("status", "The service did not answer."))
    if not why.endswith((".", "!", "?", "。")):
        why += "."
    if not seconds:
        words = translate("status", "{why} Trying again now ({n} of {of}).")
    else:
        words = translate("status", "{why} Trying again in {s} s ({n} of {of}).")
    return words.format(
        why=why[:1].upper() + why[1:],
        s=seconds,
        n=status.get("retry_attempt", 0),
        of=status.get("retry_of", 0),
    )


def state_segment(status: Mapping[str, Any], engine: str, ready: bool, now_ms: int) -> Segment:
    """The first segment: what is going on, and what can be done about it."""
    if engine in ("restarting", "gone"):
        restarting = engine == "restarting"
        text = (
            translate("status", "The engine stopped. Nothing saved is lost. Restarting…")
            if restarting
            else translate("status", "The engine stopped.")
        )
        buttons = [] if restarting else [("restart", translate("status", "Start again"))]
        return Segment("state", text, "warn" if restarting else "bad", "warn", buttons)
    state = str(status.get("state", "starting"))
    if state == "starting" or (not ready and state == "ready"):
        said = status.get("sentence") or translate(
            "status", "Getting ready: the model's library is loading. You can type already."
        )
        return Segment("state", str(said), "muted", "running")
    if state == "retrying":
        return Segment(
            "state",
            retry_sentence(status, now_ms),
            "warn",
            "retry",
            [("retry_now", translate("status", "Retry now")), ("stop", translate("status", "Stop"))],
        )
    if state == "waiting":
        said = status.get("sentence") or translate("status", "Waiting for you")
        return Segment("state", str(said), "warn", "pause", [("show", translate("status", "Show"))])
    if state in ("running", "compacting", "jumping", "stopping"):
        return _working(status, state)
    if state == "failed":
        said = status.get("sentence") or translate("status", "Something went wrong")
        return Segment("state", str(said), "bad", "warn", [("why", translate("status", "Why"))])
    last = str(status.get("last_stop", ""))
    text = translate("status", "Ready")
    if last:
        reason = stop_words(last, str(status.get("last_stop_detail") or ""))
        if last == "store_error" and status.get("saved", True):
            # Beside "saved" it must not read as if it were so now.
            reason = translate("status", "could not be saved at that time")
        text = translate("status", "Ready · last: {reason}").format(reason=reason)
    if stop_color(last) == "muted":
        return Segment("state", text, "text", "dot")
    return Segment("state", text, stop_color(last), "warn", [("why", translate("status", "Why"))])


CAN_BE_STOPPED = ("running", "retrying", "compacting")


def _working(status: Mapping[str, Any], state: str) -> Segment:
    words = {
        "running": translate("status", "Working"),
        "compacting": translate("status", "Summarising the history to make room"),
        "jumping": translate("status", "Putting the files back"),
        "stopping": translate("status", "Stopping…"),
    }
    text = str(status.get("sentence") or words[state])
    buttons = [("stop", translate("status", "Stop"))] if state in CAN_BE_STOPPED else []
    if status.get("fallback_why") and state == "running":
        text = translate("status", "{asked} cannot answer now; {model} answers for now.").format(
            asked=model_name(str(status.get("asked_model", ""))),
            model=model_name(str(status.get("model", ""))),
        )
        buttons.insert(0, ("why_fallback", translate("status", "Why")))
        return Segment("state", text, "info", "swap", buttons)
    if status.get("queued"):
        text += translate("status", " · {n} queued").format(n=status["queued"])
    return Segment("state", text, "accent", "running", buttons)


def segments(status: Mapping[str, Any], engine: str, ready: bool, now_ms: int) -> list[Segment]:
    """All segments, in order."""
    result = [state_segment(status, engine, ready, now_ms)]
    model, asked = model_name(str(status.get("model", ""))), model_name(str(status.get("asked_model", "")))
    if model and asked and model != asked:
        result.append(
            Segment("model", f"⇄ {model}", "info", hint=translate("status", "Another model answers"))
        )
    else:
        result.append(
            Segment(
                "model", model or asked or translate("status", "model –"), hint=translate("status", "Model")
            )
        )
    used, limit = int(status.get("context_tokens", 0)), int(status.get("context_limit", 0))
    share = min(1.0, used / limit) if limit else 0.0
    text = f"{tokens(used)}/{tokens(limit)}" if limit else tokens(used)
    color = "bad" if share >= 0.95 else "warn" if share >= 0.8 else "muted"
    result.append(
        Segment("context", f"{text} · {size(int(status.get('context_bytes', 0)))}", color,
                hint=translate("status", "Context: what the model is sent"), share=share)
    )  # fmt: skip
    result.append(
        Segment("cost", money(status.get("cost")), hint=translate("status", "Cost of this session"))
    )
    hit = status.get("cache_hit")
    cache = (
        translate("status", "cache {n} %").format(n=round(hit * 100))
        if hit is not None
        else translate("status", "cache –")
    )
    result.append(
        Segment("cache", cache, "warn" if status.get("cache_note") else "muted",
                hint=translate("status", "How much of the context was read from the cache"))
    )  # fmt: skip
    result.append(_sandbox(status))
    result.append(_effects(status))
    saved = bool(status.get("saved", True))
    result.append(
        Segment("saved", translate("status", "saved") if saved else translate("status", "not saved"),
                "muted" if saved else "bad", hint=translate("status", "Every step is on disk before the next begins"))
    )  # fmt: skip
    return result


def _sandbox(status: Mapping[str, Any]) -> Segment:
    mode = str(status.get("sandbox", "unknown"))
    if status.get("sandbox_problem"):
        text = translate("status", "sandbox: does not start")
        return Segment("sandbox", text, "bad", "warn", hint=translate("status", "What commands can reach"))
    words = {
        "complete": (translate("status", "sandbox: complete"), "muted"),
        "partial": (translate("status", "sandbox: partial"), "warn"),
        "none": (translate("status", "no sandbox"), "warn"),
        "unknown": (translate("status", "sandbox: –"), "muted"),
    }
    text, color = words.get(mode, words["unknown"])
    return Segment("sandbox", text, color, hint=translate("status", "What commands can reach"))


def _effects(status: Mapping[str, Any]) -> Segment:
    here, elsewhere, undoable = (
        int(status.get(name, 0)) for name in ("effects", "effects_elsewhere", "effects_undoable")
    )
    hint = translate("status", "Things done outside the files, which no click takes back")
    if here:
        text, color = translate("status", "⚠ {n} cannot be undone").format(n=here), "warn"
    elif elsewhere:
        text, color = translate("status", "⚠ {n} on other branches").format(n=elsewhere), "warn"
    elif undoable:
        text, color = translate("status", "{n} outside").format(n=undoable), "muted"
    else:
        text, color = translate("status", "nothing outside"), "muted"
    return Segment("effects", text, color, hint=hint)
