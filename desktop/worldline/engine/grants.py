"""What the person allowed for longer than one call, listed and taken back."""

from __future__ import annotations

from typing import Any

from worldline.core.errors import BadInput
from worldline.engine.shared import Shared
from worldline.policy.grants import GrantBook, key_of, reach
from worldline.protocol import commands as c

REMOVED = "grant_removed"
"""Kind of record: a grant was taken back."""


class GrantDesk:
    """Of one session. Used on the loop only."""

    def __init__(self, shared: Shared, book: GrantBook) -> None:
        self._shared = shared
        self._book = book
        book.taken_back |= {str(record.data.get("id")) for record in shared.doc.records(REMOVED)}

    def grants(self) -> c.Grants:
        """Those that hold at the cursor."""
        found = [*self._infos("session", self._book.session), *self._infos("branch", self._of_branch())]
        return c.Grants(grants=sorted(found, key=lambda info: -info.at))

    def remove(self, p: c.RemoveGrant) -> c.Grants:
        """Take one back. On the record before it holds no more. Raises BadInput when there is none, SessionError when the
        session is only being read."""
        self._shared.writable()
        info = next((info for info in self.grants().grants if info.id == p.id), None)
        if info is None:
            raise BadInput("This permission is not there any more.", "Nothing was changed.", kind="gone")
        data = {"id": info.id, "scope": info.scope, "tool": info.tool, "what": info.what, "reach": info.reach}
        self._shared.doc.add_record(REMOVED, data, node=self._shared.doc.cursor)
        self._book.take_back(p.id)
        return self.grants()

    def _of_branch(self) -> list[dict[str, Any]]:
        """Stored with the node of the cursor, and those of a run that has not stored them yet."""
        doc = self._shared.doc
        stored = (doc.task_state(doc.cursor) or {}).get("grants", [])
        path = set(doc.tree.path(doc.seq(doc.cursor)))
        fresh = [grant for node, grant in self._book.given if node and doc.seq(node) in path]
        every = {key_of(grant): grant for grant in self._book.of_branch([*stored, *fresh])}
        return list(every.values())

    @staticmethod
    def _infos(scope: Any, grants: list[dict[str, Any]]) -> list[c.GrantInfo]:
        return [
            c.GrantInfo(
                id=key_of(grant), scope=scope, tool=str(grant.get("tool", "")), what=str(grant.get("what", "")),
                at=int(grant.get("at", 0)),
                reach=reach(str(grant.get("tool", "")), str(grant.get("rule", "")), command=" " in str(grant.get("digest", ""))),
            )
            for grant in grants
        ]  # fmt: skip
