"""What sessions take on disk, and giving room back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from worldline.agent.capture import OUTSIDE
from worldline.core import paths
from worldline.core.errors import BadInput
from worldline.engine.folders import id_of
from worldline.engine.shared import Shared, now_ms
from worldline.engine.stores import size_of
from worldline.protocol import commands as c
from worldline.session.catalog import SessionEntry, entry_of, list_sessions
from worldline.workspace.model import NOT_CAPTURED

_DAY_MS = 86_400_000


class StorageDesk:
    def __init__(self, shared: Shared, busy: Callable[[], bool], now: Callable[[], int] = now_ms) -> None:
        self._shared = shared
        self.now = now
        self._busy = busy

    async def storage(self) -> c.Storage:
        """All sessions of the data folder and this one, the largest first."""
        doc = self._shared.doc
        rows = await asyncio.to_thread(_rows, doc.path)
        rows.sort(key=lambda row: row.states_bytes + row.session_bytes, reverse=True)
        result = c.Storage(
            sessions=rows, total_bytes=sum(row.states_bytes + row.session_bytes for row in rows)
        )
        if self._shared.work is not None:
            stored = await self._shared.work.call(lambda w: w.stored_states())
            result.states = len(stored)
            result.unused_states = len(stored - self._referred())
        return result

    def _referred(self) -> set[str]:
        """States that a node, or the record of a jump, refers to."""
        doc = self._shared.doc
        found = {header.state for header in doc.headers()}
        found |= {str(record.data.get("target", "")) for record in doc.records("jump")}
        return found - {"", NOT_CAPTURED}

    async def prune(self, p: c.Prune) -> c.Pruned:
        """Remove states that no node needs; with an age, also those of old side branches, which are named first: nodes that
        lose their files must be those of the dry run that `p.lose_id` stands for, else nothing is removed."""
        shared = self._shared
        doc = shared.doc
        if not p.dry_run:
            shared.writable()
        if p.older_than_days is not None and p.older_than_days < 1:
            raise BadInput("The age must be at least one day.", "Give a larger number of days.")
        async with shared.turnstile:
            # In here: what was about to start when this was asked has its states by now, and makes more.
            if self._busy():
                raise BadInput("A run is going on.", "Stop it first, or wait.")
            keep, gone = self._split(p.older_than_days)
            lose_id = id_of(sorted(gone))
            if not p.dry_run and lose_id != p.lose_id:
                # Nodes grow old while a question stands open, labels and the cursor move.
                raise BadInput(
                    "What would lose its files is not what you have seen any more. Nothing was removed.",
                    "Look at the list again.",
                    kind="changed",
                )
            # What the person changed while a run went on has no node of its own.
            keep |= {str(record.data["state"]) for record in doc.records(OUTSIDE)}
            stored = await shared.workspace().call(lambda w: w.stored_states())
            # What a node refers to and the store has lost already is no reason to keep everything else.
            keep &= stored
            note = f"The files of {len(gone)} nodes cannot be put back any more." if gone else ""
            if len(gone) == 1:
                note = "The files of 1 node cannot be put back any more."
            if p.dry_run:
                would_free = await shared.workspace().call(lambda w: w.prunable(keep))
                return c.Pruned(
                    freed_bytes=would_free, states_removed=len(stored - keep), states_kept=len(keep), nodes=sorted(gone),
                    lose_id=lose_id, note=note,
                )  # fmt: skip
            report = await shared.workspace().call(lambda w: w.prune(keep))
            if gone:
                # They are not offered again; a jump to one of them says that its files are gone.
                doc.add_record("pruned", {"nodes": sorted(gone)})
        return c.Pruned(
            freed_bytes=report.freed, states_removed=report.states_removed, states_kept=report.states_kept,
            nodes=sorted(gone), lose_id=lose_id, note=note,
        )  # fmt: skip

    async def retention(self) -> c.Retention:
        """Cheap: looks at headers only."""
        days = int(self._shared.settings.values.get("retention_days") or 0)
        return c.Retention(days=days, nodes=len(self._split(days)[1]) if days > 0 else 0)

    def _split(self, older_than_days: int | None) -> tuple[set[str], set[str]]:
        """The states that pruning keeps, and the nodes that it would leave without files."""
        states = self._states()
        lose = self._old_nodes(older_than_days, states) if older_than_days is not None else {}
        keep = {state for uid, state in states.items() if uid not in lose} - {""}
        if older_than_days is None:
            keep |= self._referred()
        return keep, {uid for uid, state in lose.items() if state not in keep}

    def _states(self) -> dict[str, str]:
        """uid → the state of its files: its own, or the one that it has from a node before ("" = none)."""
        found: dict[int, str] = {}
        named: dict[str, str] = {}
        for header in self._shared.doc.headers():
            own = header.state if header.state != NOT_CAPTURED else ""
            named[header.uid] = found[header.seq] = own or found.get(header.parent, "")
        return named

    def _old_nodes(self, days: int, states: dict[str, str]) -> dict[str, str]:
        """Nodes beside the current path that are older than so many days and carry no label: uid → state."""
        doc = self._shared.doc
        limit = self.now() - days * _DAY_MS
        path = {doc.uid(seq) for seq in doc.tree.path(doc.seq(doc.cursor))}
        spared = path | set(doc.marks())
        for record in doc.records("pruned"):
            spared.update(record.data["nodes"])
        return {
            header.uid: states[header.uid]
            for header in doc.headers()
            if header.created < limit and header.uid not in spared and states[header.uid]
        }


def _rows(session: Path) -> list[c.StoredSession]:
    here = session.resolve()
    return [_row(entry, here) for entry in _entries(here)]


def _entries(here: Path) -> list[SessionEntry]:
    found = {entry.path.resolve(): entry for entry in list_sessions(paths.sessions_dir())}
    if here not in found:
        found[here] = entry_of(here)
    return list(found.values())


def _row(entry: SessionEntry, here: Path) -> c.StoredSession:
    store = str(entry.workspace.get("store", ""))
    return c.StoredSession(
        path=str(entry.path), title=entry.title, session_bytes=entry.bytes,
        states_bytes=size_of(Path(store)) if store else 0, worktree=str(entry.workspace.get("worktree", "")),
        updated=entry.updated, first_prompt=entry.first_prompt, here=entry.path.resolve() == here,
    )  # fmt: skip
