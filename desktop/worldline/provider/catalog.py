"""Models: what each can do, and which one stands in for which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")
DEFAULT_MODEL = "claude-sonnet-5-5"
DEFAULT_CHAIN = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
"""Stand-ins in their order; all have the same window, so that a switch never overflows. A configured local model
comes after them."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """`context` and `max_output` in tokens, 0 = not known."""

    id: str
    name: str = ""
    context: int = 0
    max_output: int = 0
    efforts: tuple[str, ...] = ()
    default_effort: str = ""
    thinking: str = ""
    """adaptive, enabled (with a budget), or "" for none that we would ask for."""
    images: bool = True
    refusal_fallback: bool = False
    """The server itself goes on with another model when this one refuses."""
    compaction: bool = False
    """The server itself can summarise a conversation for it."""
    retires: str = ""
    """Date of its end, if one is announced."""
    listed: bool = False
    """The server named it."""


def _claude(uid: str, name: str, effort: str, *, fallback: bool = False, retires: str = "") -> ModelFacts:
    return ModelFacts(
        uid, name, 1_000_000, 128_000, ALL_EFFORTS, effort, "adaptive", True, fallback, True, retires
    )


KNOWN: dict[str, ModelFacts] = {
    facts.id: facts
    for facts in (
        _claude("claude-fable-5-2", "Claude Fable 5.2", "high"),
        _claude("claude-fable-5-1", "Claude Fable 5.1", "high"),
        _claude("claude-opus-5-5", "Claude Opus 5.5", "medium", fallback=True),
        _claude("claude-opus-5", "Claude Opus 5", "high"),
        _claude("claude-sonnet-5-5", "Claude Sonnet 5.5", "high", fallback=True),
        _claude("claude-sonnet-5", "Claude Sonnet 5", "high"),
        _claude("claude-haiku-5-5", "Claude Haiku 5.5", "medium"),
        ModelFacts("claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 64_000, (), "", ""),
    )
}


def facts(model: str, listed: dict[str, ModelFacts] | None = None) -> ModelFacts:
    """What is known of a model: what the server listed, else the table (dated ids match their undated name), else
    nothing but its id."""
    if listed and model in listed:
        return listed[model]
    if model in KNOWN:
        return KNOWN[model]
    head, _, tail = model.rpartition("-")
    if len(tail) == 8 and tail.isdigit() and head in KNOWN:
        return replace(KNOWN[head], id=model)
    return ModelFacts(model)


def merge(listed: Iterable[dict[str, Any]]) -> dict[str, ModelFacts]:
    """Facts from a server's list of models, filled up from the table. Lists in the shape of other servers, without
    limits, work too; entries without an id are passed over."""
    result: dict[str, ModelFacts] = {}
    for raw in listed:
        uid = raw.get("id")
        if not isinstance(uid, str) or not uid:
            continue
        known = facts(uid)
        meta = raw.get("meta")
        context = _positive(raw.get("max_input_tokens"))
        if not context and isinstance(meta, dict):
            context = _positive(meta.get("n_ctx")) or _positive(meta.get("n_ctx_train"))
        capabilities = raw.get("capabilities")
        capabilities = capabilities if isinstance(capabilities, dict) else {}
        result[uid] = replace(
            known,
            name=str(raw.get("display_name") or known.name or uid),
            context=context or known.context,
            max_output=_positive(raw.get("max_tokens")) or known.max_output,
            efforts=_efforts(capabilities, known),
            thinking=_thinking(capabilities, known),
            images=_flag(capabilities.get("image_input"), known.images),
            compaction=_flag(capabilities.get("compaction"), known.compaction),
            retires=str(raw.get("retires_at") or known.retires or ""),
            listed=True,
        )
    return result


def _positive(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _flag(value: Any, default: bool) -> bool:
    if isinstance(value, dict):
        value = value.get("supported")
    return value if isinstance(value, bool) else default


def _efforts(capabilities: dict[str, Any], known: ModelFacts) -> tuple[str, ...]:
    raw = capabilities.get("effort")
    if not isinstance(raw, dict):
        return known.efforts
    return tuple(name for name in ALL_EFFORTS if _flag(raw.get(name), False))


def _thinking(capabilities: dict[str, Any], known: ModelFacts) -> str:
    raw = capabilities.get("thinking")
    types = raw.get("types") if isinstance(raw, dict) else None
    if not isinstance(types, dict):
        return known.thinking
    return "adaptive" if _flag(types.get("adaptive"), False) else ""


def default_chain(model: str, local: str = "") -> list[str]:
    """The stand-ins for a model: those after it in the chain first, then those before it, then the local one."""
    order = list(DEFAULT_CHAIN)
    if model in order:
        at = order.index(model)
        order = order[at + 1 :] + order[:at]
    chain = [name for name in order if name != model]
    return [*chain, local] if local and local != model else chain
