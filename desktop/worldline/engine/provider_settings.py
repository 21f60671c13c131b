"""The person's settings about models, read strictly: what cannot be meant is refused with a sentence that says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from worldline.core.errors import BadInput
from worldline.provider.address import is_loopback, normalise
from worldline.provider.gateway import ProviderSettings
from worldline.provider.model import Endpoint
from worldline.provider.retry import RetryPolicy
from worldline.provider.transport import Limits

_RETRY: dict[str, tuple[float, float]] = {
    "attempts": (1, 20),
    "fallback_attempts": (1, 20),
    "base_s": (0.01, 60),
    "cap_s": (0.01, 600),
    "retry_after_cap_s": (0.01, 3600),
}
"""Setting → smallest and largest value that make sense."""
_TIMEOUTS: dict[str, tuple[float, float]] = {
    "connect_s": (0.1, 600),
    "headers_s": (1, 7200),
    "idle_s": (1, 7200),
    "progress_s": (1, 7200),
    "visible_s": (1, 7200),
}
_WHOLE = frozenset({"attempts", "fallback_attempts"})


def provider_settings(values: dict[str, Any], base: ProviderSettings | None = None) -> ProviderSettings:
    """`base` (or the defaults) with what the settings say of retries, time limits and the server on top. Raises
    BadInput."""
    base = base or ProviderSettings()
    retry = _numbers("retry", values.get("retry"), _RETRY)
    times = _numbers("timeouts", values.get("timeouts"), _TIMEOUTS)
    whole = {name: int(retry.pop(name)) for name in _WHOLE & retry.keys()}
    policy: RetryPolicy = replace(replace(base.retry, **whole), **retry)  # type: ignore[arg-type]
    if policy.base_s > policy.cap_s:
        raise BadInput(
            f"retry.base_s ({policy.base_s:g} s) is longer than retry.cap_s ({policy.cap_s:g} s).",
            "The first wait cannot be longer than the longest.",
        )
    limits: Limits = replace(base.limits, **times)
    local: Limits = replace(base.local_limits, **times)
    full = (
        frozenset({normalise(str(values.get("base_url") or ""))})
        if values.get("full_api") is True
        else frozenset()
    )
    return replace(base, retry=policy, limits=limits, local_limits=local, full_api=full)


def _numbers(name: str, raw: Any, known: dict[str, tuple[float, float]]) -> dict[str, float]:
    if raw in (None, {}):
        return {}
    if not isinstance(raw, dict):
        raise BadInput(
            f"{name} must be an object, not {raw!r}.",
            f'For example {{"{name}": {{"{next(iter(known))}": 5}}}}.',
        )
    found: dict[str, float] = {}
    for key, value in raw.items():
        if key not in known:
            raise BadInput(f"{name}.{key} is not a setting.", f"There are: {', '.join(known)}.")
        low, high = known[key]
        whole = key in _WHOLE
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not fits or not low <= value <= high:
            kind = "a whole number" if whole else "a number of seconds"
            raise BadInput(f"{name}.{key} cannot be {value!r}.", f"It is {kind} from {low:g} to {high:g}.")
        found[key] = value
    return found


def chain_of(raw: Any, place: Endpoint) -> list[Endpoint]:
    """The models that stand in for one at `place`: names, or objects that name another server as well. Raises
    BadInput."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise BadInput(f"chain must be a list, not {raw!r}.", 'For example {"chain": ["claude-haiku-5-5"]}.')
    found: list[Endpoint] = []
    for number, entry in enumerate(raw, 1):
        if isinstance(entry, str) and entry.strip():
            found.append(Endpoint(entry.strip(), place.base_url, place.local))
            continue
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("model"), str)
            or not entry["model"].strip()
        ):
            raise BadInput(
                f"Entry {number} of the chain is no model: {entry!r}.",
                'Write a name, or {"model": "…", "base_url": "http://…"}.',
            )
        unknown = sorted(entry.keys() - {"model", "base_url"})
        if unknown:
            raise BadInput(
                f"Entry {number} of the chain has {unknown[0]!r}, which is not known.",
                "An entry has model and base_url.",
            )
        given = entry.get("base_url", place.base_url)
        if not isinstance(given, str):
            raise BadInput(
                f"Entry {number} of the chain: {given!r} is no address.", "It looks like http://host:port."
            )
        url = normalise(given)
        local = place.local if url == place.base_url else bool(url) and is_loopback(url)
        found.append(Endpoint(entry["model"].strip(), url, local))
    return found


def checked(values: dict[str, Any]) -> None:
    """Raise BadInput for settings about models that cannot be used, before they are saved."""
    provider_settings(values)
    chain_of(values.get("chain"), Endpoint(""))
    base = values.get("base_url")
    if base is not None and not isinstance(base, str):
        raise BadInput(f"base_url cannot be {base!r}.", "It is an address such as http://localhost:11434.")
    normalise(base or "")
