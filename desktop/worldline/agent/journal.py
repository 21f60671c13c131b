"""What a run writes: each step durable first, announced after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.protocol.events import CursorMoved, Diagnosed, NodeEnded, NodeStored
from worldline.protocol.model import Diagnostic, Header
from worldline.protocol.wire import Message
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd

Emit = Callable[[str, Message], None]


class Journal:
    """Appends to one branch of a session for one run (or for the engine between runs: `run` is "").

    Nothing is announced before it is stored. A `SessionError` of a write passes through: the caller stops.
    """

    def __init__(self, doc: SessionDocument, emit: Emit, *, run: str = "", branch: str = "") -> None:
        self.doc = doc
        self.emit = emit
        self.run = run
        self.branch = branch

    @property
    def tip(self) -> str:
        """uid of the node that the next one hangs on."""
        return self.doc.cursor

    def append(self, draft: NodeDraft, *, announce: bool = True) -> NodeHeader:
        """Inside a transaction of the caller: `announce=False`, and `announce` after it."""
        draft.run = draft.run or self.run
        draft.branch = draft.branch or self.branch
        header = self.doc.append(draft)
        if announce:
            self.announce(header)
        return header

    def announce(self, header: NodeHeader) -> None:
        self.emit("node_stored", NodeStored(header=Header.of(header)))
        self.emit("cursor_moved", CursorMoved(node=header.uid, why="append", branch=header.branch))

    def finish(self, uid: str, end: NodeEnd) -> NodeHeader:
        header = self.doc.finish(uid, end)
        self.announce_end(header)
        return header

    def announce_end(self, header: NodeHeader) -> None:
        self.emit("node_ended", NodeEnded(header=Header.of(header)))

    def diagnose(self, kind: str, detail: str, *, node: str = "", data: dict[str, Any] | None = None) -> None:
        """Record a fact about how the run went; the person can read it, the model never does."""
        stored = {"kind": kind, "detail": detail, "data": data or {}}
        record = self.doc.add_record("diagnostic", stored, node=node, run=self.run)
        self.emit(
            "diagnosed",
            Diagnosed(
                diagnostic=Diagnostic(
                    id=record.seq, kind=kind, node=node, run=self.run, at=record.at, detail=detail,
                    data=data or {},
                )
            ),
        )  # fmt: skip

    def user(
        self,
        text: str,
        *,
        notes: list[str] | None = None,
        images: list[dict[str, Any]] | None = None,
        by_engine: bool = False,
        detail: dict[str, Any] | None = None,
        announce: bool = True,
    ) -> NodeHeader:
        """A prompt. `notes` are facts for the model that go before the text: in the message, not in what the
        person sees as their own words."""
        content: list[dict[str, Any]] = [{"type": "text", "text": note} for note in notes or []]
        content += images or []
        if text.strip():
            content.append({"type": "text", "text": text})
        return self.append(
            NodeDraft(
                kind=NodeKind.USER,
                parent=self.tip,
                message={"role": "user", "content": content},
                detail={"text": text, "notes": notes or [], "by_engine": by_engine, **(detail or {})},
                preview=one_line(text),
                flags=NodeFlag.HIDDEN if by_engine else NodeFlag.NONE,
                search_text=text,
            ),
            announce=announce,
        )

    def assistant(
        self,
        blocks: list[dict[str, Any]],
        *,
        outcome: Outcome,
        flags: NodeFlag = NodeFlag.NONE,
        model: str = "",
        usage: Usage | None = None,
        detail: dict[str, Any] | None = None,
    ) -> NodeHeader:
        return self.append(
            NodeDraft(
                kind=NodeKind.ASSISTANT,
                parent=self.tip,
                message={"role": "assistant", "content": blocks},
                detail=detail or {},
                preview=preview_of(blocks),
                outcome=outcome,
                flags=flags,
                model=model,
                usage=usage,
            )
        )


def one_line(text: str, limit: int = 200) -> str:
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def text_of(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str))


def preview_of(blocks: list[dict[str, Any]]) -> str:
    """First words of a reply; the names of its calls when it says nothing."""
    text = one_line(text_of(blocks))
    if text:
        return text
    names = [str(b.get("name", "")) for b in blocks if b.get("type") == "tool_use"]
    if names:
        return one_line("calls " + ", ".join(names))
    return "(thinking only)" if blocks else "(empty reply)"
