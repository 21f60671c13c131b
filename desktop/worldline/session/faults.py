"""Faults of a session file as `verify` reports them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    where: str
    meaning: str
    still_works: str


@dataclass(slots=True)
class Report:
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    """Worth knowing, and no damage: steps that were interrupted, a newer schema, a clock that went back."""

    @property
    def sound(self) -> bool:
        return not self.faults

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "sound": self.sound,
            "faults": [asdict(fault) for fault in self.faults],
            "notes": [asdict(note) for note in self.notes],
        }


Found = Iterator[tuple[bool, Fault]]
"""What a check yields: whether it is a fault (or only a note), and what."""


def bad(kind: str, where: str, meaning: str, still_works: str) -> tuple[bool, Fault]:
    return True, Fault(kind, where, meaning, still_works)


def note(kind: str, where: str, meaning: str, still_works: str) -> tuple[bool, Fault]:
    return False, Fault(kind, where, meaning, still_works)
