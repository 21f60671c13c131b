"""The failures that others have had with this, as data (see data/cases.jsonl)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "cases.jsonl"


@cache
def _all() -> dict[str, dict[str, Any]]:
    lines = DATA.read_text("utf-8").splitlines()
    return {entry["id"]: entry for entry in map(json.loads, lines)}


def case(uid: str) -> dict[str, Any]:
    return _all()[uid]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [entry for entry in _all().values() if entry["payload"]["kind"] == kind]
