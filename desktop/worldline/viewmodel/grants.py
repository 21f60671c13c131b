"""What the person allowed for longer than one call, as it is listed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldline.viewmodel.visible import visible

_MOST = 200
"""Characters of a call in the list; all of it stands in the tip."""


@dataclass(frozen=True, slots=True)
class Given:
    """One row. Nothing of a call may hide: signs that are not seen are shown as such."""

    id: str
    scope: str
    call: str
    whole: str
    reach: str
    when: str


def given_of(answer: Mapping[str, Any]) -> list[Given]:
    """Rows of an answer to `grants`, in its order."""
    return [_row(item) for item in answer.get("grants") or []]


def _row(item: Mapping[str, Any]) -> Given:
    whole = visible(str(item.get("what") or item.get("tool") or ""))
    one_line = " ".join(whole.split())
    at = datetime.datetime.fromtimestamp(int(item.get("at") or 0) / 1000)
    return Given(
        id=str(item.get("id", "")),
        scope=str(item.get("scope", "")),
        call=one_line if len(one_line) <= _MOST else one_line[: _MOST - 1] + "…",
        whole=whole,
        reach=visible(str(item.get("reach", ""))),
        when=f"{at:%Y-%m-%d %H:%M}",
    )
