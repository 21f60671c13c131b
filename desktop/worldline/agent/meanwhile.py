"""Which commands of the session may have written what no step wrote.

A command in the background writes whenever it likes. Nothing tells its files from those that the person saves at the same
time: the observer of the sandbox sees what a command opens, but not what others do to the same file, and it may miss some.
So what changed while one ran is of the command or of the person, and is said and kept as that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from worldline.core.background import shown_command
from worldline.core.secrets import mask
from worldline.session.document import SessionDocument
from worldline.tools.process_table import ProcessEntry, ProcessTable

BACKGROUND = "background"
"""Kind of the record with the commands that may have written since the last capture: for the next opening of the session,
which knows nothing of its processes any more."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look, taken before the capture that it is about."""

    commands: tuple[str, ...]
    """Which ran at some time since the last capture; () = what changed and no step wrote is the person's."""
    ended: frozenset[str]
    """Processes that can write nothing after this look."""


@dataclass(slots=True)
class Meanwhile:
    """One for a session; on the loop only."""

    doc: SessionDocument
    table: ProcessTable | None = None
    _settled: frozenset[str] = frozenset()
    """Processes that had ended before the last capture began: what is found later is not of them."""
    _left: tuple[str, ...] = ()
    """Commands of an earlier time that what is found next may be of."""
    _told: tuple[str, ...] = ()
    """As in the last record."""
    _read: bool = field(default=False, init=False)

    async def look(self) -> Seen:
        """To be taken before a capture."""
        if self.table is not None:
            await self.table.look()
        return self.now()

    def now(self) -> Seen:
        """The same as far as it is known: what has ended unnoticed still counts as running."""
        if not self._read:
            self._read = True
            for record in self.doc.records(BACKGROUND)[-1:]:
                self._left = self._told = tuple(map(str, record.data.get("commands", ())))
        entries = self.table.entries(look=False) if self.table is not None else []
        open_ones = (_shown(e) for e in entries if not e.ended or e.id not in self._settled)
        commands = tuple(dict.fromkeys([*self._left, *open_ones]))
        return Seen(commands, frozenset(e.id for e in entries if e.ended))

    def carry(self, commands: Iterable[str]) -> None:
        """What these may have written was left on disk where the session does not have it any more. Raises SessionError."""
        self._left = tuple(dict.fromkeys([*self._left, *commands]))
        self._store()

    def settle(self, seen: Seen) -> None:
        """What was on disk after this look is part of the session. Raises SessionError."""
        self._settled = seen.ended
        self._left = ()
        self._store()

    def _store(self) -> None:
        commands = self.now().commands
        if commands != self._told:
            self.doc.add_record(BACKGROUND, {"commands": list(commands)})
            self._told = commands


def _shown(entry: ProcessEntry) -> str:
    return shown_command(mask(entry.command)[0])
