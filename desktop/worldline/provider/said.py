"""What the server said, as a text in which words can be looked for."""

from __future__ import annotations

import json
import re
from typing import Any

from worldline.provider.model import Exchange


def searchable(exchange: Exchange) -> str:
    """All that was said, including texts wrapped inside texts, without ids (their digits mean nothing)."""
    text = " ".join(
        (exchange.detail, exchange.error_type, exchange.error_code, _inner(exchange.raw.get("body")))
    )
    return re.sub(r"\b(?:srv)?(?:toolu|msg|req|call|chatcmpl)[_-][\w-]+", "(id)", text)


def _inner(body: Any) -> str:
    if body is None:
        return ""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
    return text.replace('\\\\"', '"').replace('\\"', '"')[:20_000]
