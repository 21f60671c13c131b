"""Masking of secrets in what is stored and sent, with a mark that shows where and what kind.

Only forms that are a secret by their look: tokens with a known prefix, private keys, passwords in addresses, and values
of variables that are named like a secret and look random. Code that merely speaks of tokens stays as it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from worldline.core import private_keys

MARK = "[masked: {}]"
_MARKS = ("[masked:", "[\ue000")
"""Of what is masked already, in the text itself or while it is searched."""

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.DOTALL))
    for kind, pattern in (
        ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
        ("OpenAI key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{40,}\b"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
        ("GitLab token", r"\bgl(?:pat|ptt|rt|dt|soat|cbt|ft|imt|agent|oas)-[A-Za-z0-9_.-]{20,}"),
        ("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
        ("AWS secret", r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s*[=:]\s*[\"']?(?P<v>[A-Za-z0-9/+=]{40})\b"),
        ("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("Google token", r"\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"),
        ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}"),
        ("Slack webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}"),
        ("Stripe key", r"\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{20,}"),
        ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b|(?<=:_authToken=)[^\s$\"']{8,}"),
        ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
        ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
        ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
        ("Docker token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
        ("Databricks token", r"\bdapi[a-f0-9]{32}\b"),
        ("Linear key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
        ("Notion token", r"\b(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,})\b"),
        ("Telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
        ("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
        ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"),
        ("Azure key", r"(?i:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,}={0,2})"),
        ("token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
        ("token", r"(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)(?P<v>[A-Za-z0-9._~+/=-]{12,})"),
        ("token", r"\b(?i:bearer)\s+(?P<v>[A-Za-z0-9._~+/-]{20,}=*)"),
        ("password", r"://[^\s:/@\"'<>{}$]{0,200}:(?P<v>[^\s:/@\"'<>{}$*]{3,200})@(?=[\w\[])"),
        ("password", r"(?i:\bmachine\s+\S+\s+login\s+\S+\s+password\s+)(?P<v>\S+)"),
    )
)  # fmt: skip

_NAMED = re.compile(
    r"(?P<name>(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credential)(?:[_-]?(?:key|value))?(?![A-Za-z])(?![_-](?:path|file|dir|url|uri|name|count|limit|type|id)\b)"
    r"[A-Za-z0-9_-]*[\"']?\s*(?:=|:|=>)\s*)"
    r"(?P<quote>[\"']?)(?P<v>[A-Za-z0-9+/_.~!@#%^&*=-]{12,200})(?P=quote)(?=[\s,;)}\]]|$)",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?i)(x{4,}|\*{3,}|\.{3}|your|example|placeholder|changeme|change-me|dummy|sample|redacted|<.*>|test[_-]?(?:key|token|secret)"
    r"|none|null|true|false|undefined)"
)
_LITERALS = (
    # For each pattern above what has to be in the (lowered) text for it to match: plain search is a hundred times faster.
    ("sk-ant-",), ("sk-",), ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ("glpat-", "glptt-", "glrt-", "gldt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-"),
    ("akia", "asia", "abia", "acca"), ("aws",), ("aiza",), ("ya29.", "gocspx-"), ("xox", "xapp-"), ("hooks.slack",),
    ("sk_", "rk_", "whsec_"), ("npm_", "_authtoken="), ("pypi-",), ("hf_",), ("sg.",), ("_v1_",), ("dckr_",), ("dapi",),
    ("lin_",), ("secret_", "ntn_"), (":aa",), ("hvs.", "hvb.", "hvr."), ("age-secret",), ("accountkey", "sharedaccesskey"),
    ("eyj",), ("authorization",), ("bearer",), ("://",), ("machine",),
)  # fmt: skip
_NAMES = ("secret", "token", "passw", "passphrase", "api", "access", "private", "credential")
assert len(_LITERALS) == len(_PATTERNS)
_KEYS = ("private key", "putty-user")
_HINTS = (*_KEYS, *dict.fromkeys(literal for literals in _LITERALS for literal in literals), *_NAMES)


def _random(value: str) -> bool:
    """Looks generated: letters and digits mixed, and no repetition."""
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    if re.fullmatch(r"[a-z_]+(?:[._-][a-z0-9_]+)*", value) or _PLACEHOLDER.search(value):
        return False
    if re.fullmatch(r"[\w.~-]*(?:/[\w.~-]+)+\.\w{1,5}", value):
        return False  # a path
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy >= 3.0


@dataclass(slots=True, frozen=True)
class Found:
    """A secret in a text: what is replaced by its mark."""

    start: int
    end: int
    kind: str


def hinted(lowered: str) -> bool:
    """Whether a text in lower case holds anything without which there is no secret in it. Cheap."""
    return any(map(lowered.__contains__, _HINTS))


def find(text: str) -> list[Found]:
    """The secrets in `text`, in order, none within another."""
    lowered = text.lower()
    found: list[Found] = []
    if not hinted(lowered):
        return found
    # What a special form has found already is nothing in which a general one looks, nor is it part of a word.
    rest = text

    def take(matches: Iterable[re.Match[str]], kind: str) -> None:
        spans = []
        for match in matches:
            value = match.groupdict().get("v")
            if not any(mark in match[0] for mark in _MARKS) and not _PLACEHOLDER.fullmatch(value or match[0]):
                spans.append(match.span("v" if value is not None else 0))
        replace(spans, kind)

    def replace(spans: list[tuple[int, int]], kind: str) -> None:
        nonlocal rest
        if spans:
            found.extend(Found(start, end, kind) for start, end in spans)
            rest = replaced(rest, spans, lambda start, end: "[" + "\ue000" * (end - start - 1))

    if any(literal in lowered for literal in _KEYS):
        replace(private_keys.spans(text), "private key")
    for (kind, pattern), literals in zip(_PATTERNS, _LITERALS, strict=True):
        if any(literal in lowered for literal in literals):
            take(pattern.finditer(rest), kind)
    if any(name in lowered for name in _NAMES):
        take((m for m in _NAMED.finditer(rest) if _random(m["v"])), "secret")
    found.sort(key=lambda secret: secret.start)
    return found


def replaced(text: str, spans: Iterable[tuple[int, int]], by: Callable[[int, int], str]) -> str:
    """`text` with other words in the place of each span; these are in order."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [text[at:start], by(start, end)]
        at = end
    return "".join([*parts, text[at:]])


def mask(text: str) -> tuple[str, int]:
    """`text` with secrets replaced by a mark, and how many there were."""
    found = find(text)
    if not found:
        return text, 0
    marks = iter(found)
    spans = [(secret.start, secret.end) for secret in found]
    return replaced(text, spans, lambda *_: MARK.format(next(marks).kind)), len(found)


def mask_value(value: Any) -> tuple[Any, int]:
    """The same for every text in a JSON value. What holds no secret is given back as it is."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        pairs = {key: _mask_pair(key, item) for key, item in value.items()}
        count = sum(found for _, found in pairs.values())
        return ({key: item for key, (item, _) in pairs.items()} if count else value), count
    if isinstance(value, list):
        items = [mask_value(item) for item in value]
        count = sum(found for _, found in items)
        return ([item for item, _ in items] if count else value), count
    return value, 0


def mask_reply(blocks: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int, int]:
    """The blocks of a reply as they are stored: without secrets; (blocks, secrets, thoughts that are lost by it).

    Thinking is signed as it was thought. It cannot be masked, so a thought that holds a secret is left out; and what was
    thought after something that is masked is left out too, since its signature speaks of the text that stood there. What
    the next replies think they think with the masked text in view, and keep."""
    kept: list[dict[str, Any]] = []
    count = lost = 0
    changed = False
    for block in blocks:
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            found = mask(str(block.get("thinking", "")))[1]
            count += found
            if changed or found:
                lost += 1
                changed = True
            else:
                kept.append(block)
        elif kind == "compaction":
            kept.append(block)  # signed as a whole, and nothing goes on without it
        else:
            masked, found = mask_value(block)
            kept.append(masked)
            count += found
            changed = changed or bool(found)
    return kept, count, lost


def _mask_pair(key: Any, item: Any) -> tuple[Any, int]:
    """A value whose name says that it is a secret, as it would be masked in a text."""
    if isinstance(key, str) and isinstance(item, str) and any(name in key.lower() for name in _NAMES):
        match = _NAMED.search(f"{key}={item}") if len(item) <= 200 else None
        if match is not None and match["v"] == item and _random(item):
            return MARK.format("secret"), 1
    return mask_value(item)
