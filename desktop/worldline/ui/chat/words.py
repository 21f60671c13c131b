"""The words of the chat: what tools do, how runs end, what may be done next."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from worldline.viewmodel import engine_words, status
from worldline.viewmodel.status import key_is_missing
from worldline.viewmodel.words import spoken_tool

translate = QCoreApplication.translate


def effort(name: str) -> str:
    """How much a model thinks; a step of another service keeps its own name."""
    words = {
        "low": translate("Words", "low"),
        "medium": translate("Words", "medium"),
        "high": translate("Words", "high"),
        "xhigh": translate("Words", "xhigh"),
        "max": translate("Words", "max"),
    }
    return words.get(name, name)


def verb(name: str) -> str:
    """What a tool does, in one word; a tool of unknown kind keeps its own name."""
    words = {
        "run": translate("Words", "run"),
        "read": translate("Words", "read"),
        "write": translate("Words", "write"),
        "edit": translate("Words", "edit"),
        "search": translate("Words", "search"),
        "find": translate("Words", "find"),
        "list": translate("Words", "list"),
        "ask": translate("Words", "ask"),
        "access": translate("Words", "ask for access"),
        "task": translate("Words", "task"),
        "plan": translate("Words", "plan"),
        "fetch": translate("Words", "fetch"),
        "process": translate("Words", "process"),
        "memory": translate("Words", "memory"),
    }
    return words.get(name) or spoken_tool(name)


TOOL_ICONS = {
    "run": "run", "read": "read", "write": "edit", "edit": "edit", "search": "search",
    "find": "search", "list": "search", "ask": "ask", "access": "ask", "task": "task",
    "plan": "task", "fetch": "read", "process": "run", "memory": "note",
}  # fmt: skip


def outcome(word: str) -> tuple[str, str, str]:
    """Glyph, colour token and word of an outcome: the shape says it without the colour."""
    table = {
        "ok": ("✓", "ok", translate("Words", "done")),
        "failed": ("✗", "bad", translate("Words", "failed")),
        "denied": ("⊘", "warn", translate("Words", "denied")),
        "stopped": ("■", "warn", translate("Words", "stopped")),
        "aborted": ("▢", "muted", translate("Words", "aborted by you")),
        "interrupted": ("⌁", "warn", translate("Words", "interrupted, what it did is not known")),
        "running": ("◔", "accent", translate("Words", "working")),
        "waiting": ("❚❚", "warn", translate("Words", "waiting for you")),
    }
    return table.get(word, ("", "muted", ""))


def stop_title(reason: str, detail: str = "") -> str:
    """How a run ended. `detail` is the engine's sentence: it tells apart what has one reason and several causes."""
    if reason == "auth_error" and key_is_missing(detail):
        return translate("Words", "There is no key for the model")
    words = {
        "completed": translate("Words", "Completed"),
        "waiting_for_user": translate("Words", "Ended before your answer"),
        "aborted": translate("Words", "Stopped by you"),
        "max_turns": translate("Words", "Stopped: turn limit"),
        "max_tool_calls": translate("Words", "Stopped: limit of tool calls"),
        "time_limit": translate("Words", "Stopped: time limit"),
        "token_budget": translate("Words", "Stopped: token budget"),
        "cost_limit": translate("Words", "Stopped: cost limit"),
        "repeated_calls": translate("Words", "Stopped: the same thing again and again"),
        "repeated_failures": translate("Words", "Stopped: the same failure again and again"),
        "provider_error": translate("Words", "The model service failed"),
        "overloaded": translate("Words", "The model service is overloaded"),
        "rate_limited": translate("Words", "Rate limit reached"),
        "auth_error": translate("Words", "The key was not accepted"),
        "quota": translate("Words", "The quota is used up"),
        "network_error": translate("Words", "The connection to the model failed"),
        "context_limit": translate("Words", "The context is full"),
        "output_limit": translate("Words", "The reply reached its length limit"),
        "refusal": translate("Words", "The model declined"),
        "empty_reply": translate("Words", "The model answered nothing"),
        "hook_blocked": translate("Words", "Stopped by a hook"),
        "store_error": translate("Words", "The session could not be saved"),
        "sandbox_error": translate("Words", "The sandbox does not start"),
        "internal_error": translate("Words", "A defect in Worldline ended the run"),
        "interrupted": translate("Words", "Interrupted"),
    }
    return words.get(reason, translate("Words", "Ended for an unknown reason"))


def approval_title(title: str) -> str:
    """The question of an approval in the language of the window; the engine asks in English."""
    words = {
        "Allow this command?": translate("Words", "Allow this command?"),
        "Allow this change?": translate("Words", "Allow this change?"),
        "Allow reading outside the workspace?": translate("Words", "Allow reading outside the workspace?"),
        "Allow this network request?": translate("Words", "Allow this network request?"),
        "Allow this access?": translate("Words", "Allow this access?"),
    }
    return words.get(title, title)


def offer(name: str) -> str:
    words = {
        "go_on": translate("Words", "Go on for 10 turns"),
        "backtrack": translate("Words", "Go back and fork"),
        "retry": translate("Words", "Try again"),
        "settings": translate("Words", "Open settings"),
        "login": translate("Words", "Enter a key"),
        "compact": translate("Words", "Compact the context"),
        "bigger_model": translate("Words", "Use a larger model"),
        "drop_results": translate("Words", "Leave out old tool results"),
        "billing": translate("Words", "Open the billing page"),
    }
    return words.get(name, name)


def diagnostic(kind: str) -> str:
    """What a diagnostic is about; a kind of a newer engine keeps its own name."""
    words = {
        "retry": translate("Words", "retry"),
        "repair": translate("Words", "repair"),
        "view_repair": translate("Words", "repair of the request"),
        "fallback": translate("Words", "other model"),
        "cache_miss": translate("Words", "cache miss"),
        "compaction": translate("Words", "compaction"),
        "branch_summary": translate("Words", "branch summary"),
        "backtrack": translate("Words", "way back"),
        "hook": translate("Words", "hook"),
        "capture": translate("Words", "files"),
        "breaker": translate("Words", "brake"),
        "nudge": translate("Words", "hint to the model"),
        "engine": translate("Words", "engine"),
        "mcp": translate("Words", "tool server"),
        "secret_masked": translate("Words", "secret masked"),
        "secret_in_prompt": translate("Words", "secret in a message"),
        "head": translate("Words", "branch"),
        "memory": translate("Words", "notes"),
        "price_unknown": translate("Words", "price not known"),
        "cache_warning": translate("Words", "cache"),
        "input_transformation": translate("Words", "request changed by the server"),
        "poisoned": translate("Words", "refused history"),
        "context_dropped": translate("Words", "conversation cut by the server"),
        "thinking_refused": translate("Words", "thinking refused"),
    }
    return words.get(kind, kind.replace("_", " "))


def duration(ms: int) -> str:
    if ms < 1000:
        return (
            translate("Words", "{} ms").format(ms)
            if ms < 100
            else translate("Words", "{} s").format(f"{ms / 1000:.1f}")
        )
    if ms < 60_000:
        return translate("Words", "{} s").format(f"{ms / 1000:.1f}")
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes}:{seconds:02d}"


def count(number: int) -> str:
    """A number for people, as the status bar says it: 950, 5k, 41k, 1.2M."""
    return status.tokens(number)


def size(number: int) -> str:
    """As the status bar says it."""
    return status.size(number)


def cost(dollars: float | None) -> str:
    return translate("Words", "cost unknown") if dollars is None else f"${dollars:.2f}"


def clock(ms: int) -> str:
    """The time; the day as well when that is not today."""
    at = QDateTime.fromMSecsSinceEpoch(ms)
    if at.date() == QDateTime.currentDateTime().date():
        return QLocale().toString(at.time(), QLocale.FormatType.ShortFormat)
    return QLocale().toString(at, QLocale.FormatType.ShortFormat)


def changed(added: int, removed: int) -> str:
    return f"+{added} −{removed}" if removed else f"+{added}"


def refusal(message: str) -> str:
    """What a tool said of its failure, for the person: the model is told of "the person", who reads this."""
    denied = re.fullmatch(
        r"The person denied this (?:command|call)\.(?: The person says: (.*))?", message, re.DOTALL
    )
    if denied is not None:
        said = translate("Words", " You said: “{text}”").format(text=denied[1]) if denied[1] else ""
        return translate("Words", "You denied it.") + said
    if message.startswith("The person has denied exactly this call before"):
        return translate("Words", "You denied exactly this before; you were not asked again.")
    if message.startswith("The person did not answer in time"):
        return translate("Words", "Nobody answered in time, which counts as a denial.")
    return engine_words.failure(message)


def model_name(model: str) -> str:
    """A model id as people say it: `claude-sonnet-5-5-20260101` → `sonnet 5.5`."""
    parts = [
        part for part in model.removeprefix("claude-").split("-") if not (part.isdigit() and len(part) >= 6)
    ]
    numbers = [part for part in parts if part.replace(".", "").isdigit()]
    names = [part for part in parts if part not in numbers]
    return f"{'-'.join(names)} {'.'.join(numbers)}".strip() if names and numbers else model
