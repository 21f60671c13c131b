"""One node as a row of the tree. Headers are read from the session file by both processes, without bodies."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.core.kinds import NodeFlag, NodeKind, Outcome


@dataclass(slots=True)
class NodeHeader:
    """What the tree needs of a node. `seq` counts from 1 in the order of appending, so a parent's is always smaller."""

    seq: int
    uid: str
    parent: int
    """`seq` of the parent; 0 for a root."""
    kind: NodeKind
    created: int
    """Milliseconds since the epoch, UTC."""
    preview: str
    """First words, at most 200 characters, one line."""
    outcome: Outcome = Outcome.NONE
    flags: NodeFlag = NodeFlag.NONE
    size: int = 0
    """Bytes of the body and of what is referred to from it."""
    run: str = ""
    branch: str = ""
    """Full name of the git branch it was made on, or ""."""
    tool: str = ""
    """Name of the tool (kind `tool`)."""
    model: str = ""
    """The model that answered (kind `assistant`)."""
    state: str = ""
    """Id of the workspace state after this node; "" = same as the parent's; "!" = could not be captured."""
    added: int = 0
    removed: int = 0
    files: int = 0
    finished: int = 0
    """Milliseconds since the epoch; 0 while it has no end."""
    raw_kind: str = ""
    """The stored word when `kind` is UNKNOWN."""

    @property
    def duration_ms(self) -> int:
        return max(0, self.finished - self.created) if self.finished else 0
