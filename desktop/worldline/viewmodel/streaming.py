"""What has come of replies and outputs that are not stored yet: whoever begins to show them later begins with that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MOST_OUTPUT = 400_000
"""Characters of what a command prints that are kept, from its end."""


class Streaming:
    """Takes notifications of the protocol as plain dicts, in their order, and tells what they come to so far."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, int, int], tuple[dict[str, Any], list[str]]] = {}
        """By run, turn and block: the first delta, and the texts of all."""
        self._outputs: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}

    def copy(self) -> Streaming:
        """One that goes on by itself from here."""
        other = Streaming()
        other._blocks = {key: (first, list(texts)) for key, (first, texts) in self._blocks.items()}
        other._outputs = {node: list(texts) for node, texts in self._outputs.items()}
        other._sizes = dict(self._sizes)
        return other

    def clear(self) -> None:
        self._blocks.clear()
        self._outputs.clear()
        self._sizes.clear()

    # -- what comes

    def take_deltas(self, deltas: Iterable[Mapping[str, Any]]) -> None:
        for delta in deltas:
            key = (str(delta["run"]), int(delta["turn"]), int(delta["block"]))
            known = self._blocks.get(key)
            if known is None:
                known = self._blocks[key] = (dict(delta), [])
            first, texts = known
            texts.append(str(delta["text"]))
            first["kind"], first["tool"] = delta["kind"], delta.get("tool") or first.get("tool") or ""

    def take_outputs(self, outputs: Iterable[Mapping[str, Any]]) -> None:
        for output in outputs:
            node, text = str(output["node"]), str(output["text"])
            texts = self._outputs.setdefault(node, [])
            texts.append(text)
            size = self._sizes[node] = self._sizes.get(node, 0) + len(text)
            if size > 2 * MOST_OUTPUT:
                texts[:] = ["".join(texts)[-MOST_OUTPUT:]]
                self._sizes[node] = MOST_OUTPUT

    def node_stored(self, header: Mapping[str, Any]) -> None:
        """A reply that is stored is read from the session: the oldest of its run."""
        if header.get("kind") == "assistant":
            run = str(header.get("run") or "")
            turn = min((key[1] for key in self._blocks if key[0] == run), default=0)
            self._drop(run, turn)

    def node_ended(self, header: Mapping[str, Any]) -> None:
        """So is what a command has printed by its end."""
        if header.get("outcome") not in ("running", "waiting"):
            self._outputs.pop(str(header.get("uid")), None)
            self._sizes.pop(str(header.get("uid")), None)

    def discarded(self, run: str, turn: int) -> None:
        self._drop(run, turn)

    def run_ended(self, run: str) -> None:
        for key in [key for key in self._blocks if key[0] == run]:
            del self._blocks[key]

    def _drop(self, run: str, turn: int) -> None:
        for key in [key for key in self._blocks if key[:2] == (run, turn)]:
            del self._blocks[key]

    # -- what it comes to

    def deltas(self) -> list[dict[str, Any]]:
        """One delta for each block, with all of its text."""
        return [{**first, "text": "".join(texts)} for first, texts in self._blocks.values()]

    def outputs(self) -> dict[str, str]:
        """By node."""
        return {node: "".join(texts) for node, texts in self._outputs.items()}
