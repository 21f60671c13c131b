"""What became of a session that was saved out of a damaged file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Recovered:
    """What came through."""

    out: Path
    nodes: int = 0
    bodies: int = 0
    rows: int = 0
    """All rows of history, those of nodes and bodies included."""
    rebuilt_nodes: int = 0
    """Of these, so many are in their place thanks to the copy beside their texts."""
    lost_nodes: list[int] = field(default_factory=list)
    """Numbers of nodes that are gone, in the numbering of the damaged file."""
    lost_bodies: list[str] = field(default_factory=list)
    """uids of nodes whose text is gone, and which results are; each once."""
    notes: list[str] = field(default_factory=list)
    """What else did not come through."""
    remarks: list[str] = field(default_factory=list)
    """What came through in another way than it was."""

    def body_lost(self, whose: str) -> None:
        if whose not in self.lost_bodies:
            self.lost_bodies.append(whose)

    def losses(self) -> list[str]:
        """What did not come through, for the person; empty = everything did."""
        told = []
        if count := len(self.lost_nodes):
            told.append("1 step is lost." if count == 1 else f"{count} steps are lost.")
        if count := len(self.lost_bodies):
            told.append(
                "The text or result of 1 step is lost."
                if count == 1
                else f"The text or result of {count} steps is lost."
            )
        return told + self.notes
