"""What sessions take on disk and what pruning would take away, as the storage dialog tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from worldline.core.kinds import NodeKind
from worldline.protocol.commands import Storage, StoredSession
from worldline.viewmodel.tree_model import TreeModel

PROMPTS = frozenset({NodeKind.USER, NodeKind.IMPORTED_USER})


@dataclass(slots=True)
class LostGroup:
    """Nodes that would lose their files, told by the prompt they belong to."""

    prompt: int
    """Row of the prompt; -1 = before the first one."""
    steps: int
    newest: int
    """When the last of them was made, in milliseconds."""


def lost_groups(tree: TreeModel, uids: Iterable[str]) -> list[LostGroup]:
    """The nodes in groups by prompt, the newest group first. Nodes that the window does not know are counted as well."""
    groups: dict[int, LostGroup] = {}
    for uid in uids:
        row = tree.row(uid)
        prompt = row
        while prompt >= 0 and tree.kind_of(prompt) not in PROMPTS:
            prompt = tree.parent[prompt]
        made = tree.created[row] if row >= 0 else 0
        group = groups.setdefault(prompt, LostGroup(prompt, 0, 0))
        group.steps += 1
        group.newest = max(group.newest, made)
    return sorted(groups.values(), key=lambda group: -group.newest)


def taken(session: StoredSession) -> int:
    """Bytes of a session: what was said and the files of its nodes."""
    return session.session_bytes + session.states_bytes


def told_apart(session: StoredSession, storage: Storage) -> str:
    """Its title; where others are called the same, with its first words or, for want of any, the name of its file."""
    if sum(one.title == session.title for one in storage.sessions) < 2:
        return session.title
    words = session.first_prompt if session.first_prompt != session.title else ""
    return f"{session.title} · {words or PurePath(session.path).name}"


def share(session: StoredSession, storage: Storage) -> float:
    """How long the bar of a session is, against the largest: 0 to 1."""
    largest = max((taken(one) for one in storage.sessions), default=0)
    return taken(session) / largest if largest else 0.0


def this_session(storage: Storage) -> StoredSession | None:
    return next((one for one in storage.sessions if one.here), None)
