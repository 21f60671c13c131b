"""The session as a whole: the greeting, its title, search, export and what it takes on disk."""

from __future__ import annotations

from typing import Literal

from worldline.protocol.model import Approval, Question, RunInfo, SessionInfo, Status
from worldline.protocol.wire import Message


class Hello(Message):
    protocol: int
    client: str = "window"


class HelloResult(Message):
    protocol: int
    version: str
    session: SessionInfo
    cursor: str
    status: Status
    run: RunInfo | None = None
    """The run that is going on, if any."""
    approvals: list[Approval] = []
    questions: list[Question] = []
    note: str = ""
    """What was done to open it, as sentences."""
    recovered: str = ""
    """What was found after a crash and what was done about it; "" = nothing."""
    problems: list[str] = []
    """Settings and rules that could not be used, one sentence each; the session goes on without them."""


class SetTitle(Message):
    title: str


class Search(Message):
    text: str
    scope: Literal["session", "all"] = "session"
    limit: int = 200


class SearchHit(Message):
    session: str
    uid: str
    seq: int
    kind: str
    snippet: str
    """Plain text with the matches between U+0002 and U+0003."""


class SearchResult(Message):
    hits: list[SearchHit]
    more: bool = False


class Export(Message):
    format: Literal["jsonl", "html", "markdown", "graphml", "bundle"]
    out: str
    node: str = ""


class ExportResult(Message):
    path: str
    bytes: int


class StoredSession(Message):
    """What one session takes on disk."""

    path: str
    title: str
    session_bytes: int
    states_bytes: int
    """Of the store of its files."""
    worktree: str = ""
    """Its isolated worktree, "" = it works in the person's folder."""
    updated: int = 0
    first_prompt: str = ""
    here: bool = False
    """The session of this engine."""


class Storage(Message):
    sessions: list[StoredSession]
    total_bytes: int
    states: int = 0
    """States that this session's store holds."""
    unused_states: int = 0
    """Of these, the ones that no node of the session refers to: pruning removes them and nothing else changes."""


class Prune(Message):
    """Give back the room of states of this session."""

    older_than_days: int | None = None
    """None: only states that no node refers to. Else also those of nodes that are older, carry no label and are not on
    the current path; these nodes lose their files, and the result names them."""
    dry_run: bool = True
    lose_id: str = ""
    """`Pruned.lose_id` of the dry run that the person has seen: only the loss of these nodes was agreed to. "" = of none."""


class Pruned(Message):
    freed_bytes: int
    """In a dry run: about how much it would be."""
    states_removed: int
    states_kept: int
    nodes: list[str] = []
    """Nodes whose files are (or would be) gone; their conversation stays."""
    lose_id: str = ""
    """Stands for these nodes; "" = none."""
    note: str = ""


class Retention(Message):
    """What the person's wish to keep files (`retention_days` of the settings) says about this session. Nothing is ever
    removed for it alone: it is what the window reminds of."""

    days: int
    """0 = files of every node are kept."""
    nodes: int = 0
    """Nodes whose files are older and would go if one pruned by this age."""
