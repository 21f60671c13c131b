"""Effects on the world, as the session has recorded them: what was done on this path, and what on others."""

from __future__ import annotations

from typing import Any

from worldline.core.errors import BadInput
from worldline.core.secrets import mask_value
from worldline.engine.shared import Shared
from worldline.protocol.events import EffectChanged
from worldline.protocol.model import EffectInfo

_LATER = frozenset({"status", "undo_label"})


def still_there(effect: EffectInfo) -> bool:
    """Whether it still makes a difference to somebody. What was only read does not; the list shows it all the same."""
    return effect.status in ("open", "running") and effect.kind != "net_fetch"


class EffectList:
    """Reads and writes the records `effect` and `effect_update`. Effects belong to the world: one that was made on
    another branch is still in effect here."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def all(self) -> list[EffectInfo]:
        doc = self._shared.doc
        found: dict[int, EffectInfo] = {}
        for record in doc.records("effect"):
            data = record.data
            found[record.seq] = EffectInfo(
                id=record.seq,
                kind=str(data.get("kind", "unknown")),
                reversibility=data.get("reversibility", "irreversible"),
                evidence=data.get("evidence", "assumed"),
                summary=str(data.get("summary", "")),
                node=record.node,
                at=record.at,
                status=data.get("status", "open"),
                undo_label=str(data.get("undo_label", "")),
                detail=data.get("detail", {}),
            )
        for record in doc.records("effect_update"):
            effect = found.get(record.data.get("id", 0))
            if effect is not None:
                changes = {k: v for k, v in record.data.items() if k in _LATER}
                found[effect.id] = effect.model_copy(update=changes)
        return list(found.values())

    def split(self, uid: str) -> tuple[list[EffectInfo], list[EffectInfo]]:
        """(on the path to `uid`, on other branches)."""
        doc = self._shared.doc
        on_path = set(doc.tree.path(doc.header(uid).seq))
        here: list[EffectInfo] = []
        elsewhere: list[EffectInfo] = []
        for effect in self.all():
            near = not effect.node or doc.header(effect.node).seq in on_path
            (here if near else elsewhere).append(effect)
        return here, elsewhere

    def add(self, node: str, effects: list[dict[str, Any]]) -> None:
        for data in effects:
            if data.get("kind") == "background_process":
                continue  # listed with the processes as long as it runs; ending it undoes it
            # A command is shown here as the person may read it aloud; what it needs to be undone holds no secret.
            record = self._shared.doc.add_record("effect", mask_value(data)[0], node=node)
            self._tell(record.seq)
        self.count()

    def get(self, uid: int) -> EffectInfo:
        """Raises BadInput for an unknown one."""
        found = next((e for e in self.all() if e.id == uid), None)
        if found is None:
            raise BadInput("There is no such effect in this session.", "Open the list again.")
        return found

    def mark(self, uid: int, status: str) -> EffectInfo:
        """Note that an effect was undone or countered."""
        self._shared.doc.add_record("effect_update", {"id": uid, "status": status})
        self._tell(uid)
        self.count()
        return self.get(uid)

    def _tell(self, uid: int) -> None:
        self._shared.emit("effect_changed", EffectChanged(effect=self.get(uid)))

    def assume(self, node: str, kind: str, command: str, says: str, why: str) -> None:
        """A risky command that was allowed and that nothing confines: what it did is not known."""
        self.add(
            node,
            [
                {
                    "kind": kind, "reversibility": "irreversible", "evidence": "assumed", "summary": command[:300],
                    "detail": {"says": says, "allowed": why},
                }
            ],
        )  # fmt: skip

    def sentences_elsewhere(self) -> list[str]:
        _, elsewhere = self.split(self._shared.doc.cursor)
        return [e.summary for e in elsewhere if still_there(e)]

    def count(self) -> None:
        here, elsewhere = self.split(self._shared.doc.cursor)
        still = [e for e in here + elsewhere if e.status == "open" and still_there(e)]
        lasting = [e for e in still if e.reversibility != "undoable"]
        self._shared.status.set(
            effects=len(lasting),
            effects_undoable=len(still) - len(lasting),
            effects_countered=sum(e.status == "countered" for e in here + elsewhere),
            effects_elsewhere=sum(e.status == "open" and still_there(e) for e in elsewhere),
        )
