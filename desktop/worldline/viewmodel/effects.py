"""What was done outside the files, as far as the steps themselves tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def taken_back(effects: Iterable[Mapping[str, Any]]) -> set[str]:
    """Nodes of which nothing is left that no click takes back: a counter move was made for each of those effects."""
    found: dict[str, bool] = {}
    for effect in effects:
        if effect["node"] and effect["reversibility"] != "undoable":
            node = str(effect["node"])
            found[node] = found.get(node, True) and effect["status"] == "countered"
    return {node for node, countered in found.items() if countered}
