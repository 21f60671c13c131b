"""What a node can be and how it can end: the words of the tree, used by both processes and stored as text."""

from __future__ import annotations

from enum import IntFlag, StrEnum
from typing import TypeVar

_Word = TypeVar("_Word", bound=StrEnum)


def member(words: type[_Word], word: str, otherwise: _Word) -> _Word:
    """The member of an enumeration for a stored word; `otherwise` for a word of a newer version."""
    try:
        return words(word)
    except ValueError:
        return otherwise


class NodeKind(StrEnum):
    """The kinds of node. A reader meets kinds it does not know as `UNKNOWN` and keeps the stored word."""

    ROOT = "root"
    """Where the session starts: no message, but the state of the workspace before anything was asked."""
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """One tool call with its result. Stored when it starts; its end is a row of its own."""
    COMPACTION = "compaction"
    BRANCH_SUMMARY = "branch_summary"
    JUMP = "jump"
    """What was on disk before a jump and no node had yet: the person's edits, or what a command in the
    background wrote, kept before files were put back."""
    EXTERNAL_CHANGE = "external_change"
    """The files changed between two steps, and by none: by the person, or by what the agent runs in the background."""
    CONTEXT_EDIT = "context_edit"
    """On this branch a node is left out of the view, or replaced by a note."""
    IMPORTED_USER = "imported_user"
    IMPORTED_ASSISTANT = "imported_assistant"
    IMPORTED_TOOL = "imported_tool"
    IMPORTED_COMPACTION = "imported_compaction"
    IMPORTED_SUMMARY = "imported_summary"
    IMPORTED_EVENT = "imported_event"
    """Anything of another agent's session that is no message: settings, notices, unknown records."""
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, word: str) -> NodeKind:
        """The kind for a stored word; `UNKNOWN` for a word of a newer version."""
        return member(cls, word, cls.UNKNOWN)


OF_THE_PERSON = frozenset({NodeKind.EXTERNAL_CHANGE, NodeKind.JUMP})
"""Nodes that hold what was changed on disk by no step: it is kept as the person's. Where a command ran in the background
meanwhile it may be the command's; their detail names it in `commands`."""


class Outcome(StrEnum):
    """How a node ended. `RUNNING` and `WAITING` are shown only while the process that works on it lives;
    at the next start such a node is `INTERRUPTED`."""

    NONE = "none"
    """Has no end of its own: prompts, notes, markers."""
    RUNNING = "running"
    WAITING = "waiting"
    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    STOPPED = "stopped"
    """Ended by a brake or the breaker."""
    ABORTED = "aborted"
    """Ended by the person. Never shown as a fault."""
    INTERRUPTED = "interrupted"
    """The process ended in the middle; what it did by then is not known."""

    @classmethod
    def of(cls, word: str) -> Outcome:
        return member(cls, word, cls.NONE)


class NodeFlag(IntFlag):
    """Badges of a node; a bit set, stored as an integer. Bits are never given a new meaning."""

    NONE = 0
    FILES_CHANGED = 1
    EFFECT = 2
    """Did something outside the workspace."""
    IRREVERSIBLE = 4
    """At least one of its effects cannot be undone."""
    FALLBACK = 8
    """Another model answered than the one asked for."""
    REPAIR = 16
    """Arguments or the view were repaired for it."""
    NOT_CAPTURED = 32
    """The files of this step could not be captured."""
    PARTLY_CAPTURED = 64
    """Some files were not captured (listed on the node)."""
    RETRIED = 128
    SIDE_BRANCH = 256
    """Belongs to a sub-agent."""
    IMPORTED = 512
    HIDDEN = 1024
    """Mechanics of another agent's session; folded away unless asked for."""
    GUESSED_PARENT = 2048
    """Imported; its place in the tree is a guess."""
    INCOMPLETE = 4096
    """A reply that was cut off; what arrived was kept."""
    CHECKS_PASSED = 8192
    """A command recognised as a test run succeeded here."""
    CHECKS_FAILED = 16384
    SECRET_MASKED = 32768
    CODE_RUNS_LATER = 65536
    """Changed a file that runs later when the person does something (a hook, a script of package.json)."""
