"""What a call that waits for the person is called with: every argument, nothing left out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from worldline.protocol.model import Approval
from worldline.viewmodel.visible import visible

SHORT = 160
"""Characters of an argument that stands beside its name."""


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    text: str

    @property
    def long(self) -> bool:
        return len(self.text) > SHORT or "\n" in self.text

    def lines(self, columns: int) -> list[str]:
        """Broken where they would not fit: nothing may hide beside what is seen."""
        return [
            line[at : at + columns]
            for line in self.text.split("\n")
            for at in range(0, max(len(line), 1), columns)
        ]


def facts_of(approval: Approval) -> list[Fact]:
    """The arguments of a call that is neither a command nor a change of a file."""
    return [
        Fact(
            visible(name),
            visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)),
        )
        for name, value in approval.input.items()
    ]
