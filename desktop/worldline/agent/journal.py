"""What a run writes: each step durable first, announced after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.secrets import mask, mask_reply, mask_value
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
        mask_draft(draft)
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
        header = self.store_end(uid, end)
        self.announce_end(header)
        return header

    def store_end(self, uid: str, end: NodeEnd) -> NodeHeader:
        """Without the announcement, for a transaction of the caller. The result in `message` is masked already: it is made
        for the model by the envelope."""
        end.detail, found = mask_value(end.detail)
        end.preview = mask(end.preview)[0]
        if end.task_state is not None:
            end.task_state = mask_value(end.task_state)[0]
        end.flags |= NodeFlag.SECRET_MASKED if found else NodeFlag.NONE
        return self.doc.finish(uid, end)

    def announce_end(self, header: NodeHeader) -> None:
        self.emit("node_ended", NodeEnded(header=Header.of(header)))

    def diagnose(self, kind: str, detail: str, *, node: str = "", data: dict[str, Any] | None = None) -> None:
        """Record a fact about how the run went; the person can read it, the model never does."""
        detail, data = mask(detail)[0], mask_value(data)[0]
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
        """A reply, whole or in parts. What it holds of secrets is masked here, before it is stored, announced or sent
        back to the model; a call in it runs with what the model really wrote."""
        blocks, masked, lost = mask_reply(blocks)
        if lost:
            detail = {**(detail or {}), "thinking_lost": lost}
        header = self.append(
            NodeDraft(
                kind=NodeKind.ASSISTANT,
                parent=self.tip,
                message={"role": "assistant", "content": blocks},
                detail=detail or {},
                preview=preview_of(blocks),
                outcome=outcome,
                flags=flags | (NodeFlag.SECRET_MASKED if masked else NodeFlag.NONE),
                model=model,
                usage=usage,
            )
        )
        if lost:
            self.diagnose(
                "secret_masked",
                "A thought was left out because of a secret: thinking is signed and cannot be masked.",
                node=header.uid,
            )
        return header


def mask_draft(draft: NodeDraft) -> None:
    """What a person wrote is kept, and sent, as they wrote it: they may want the agent to use it. All else is masked."""
    found = 0
    if draft.kind is not NodeKind.USER or draft.flags & NodeFlag.HIDDEN:
        if draft.kind is not NodeKind.ASSISTANT:  # whose thinking and calls need more care, see `assistant`
            draft.message, found = mask_value(draft.message)
        draft.detail, more = mask_value(draft.detail)
        draft.preview, draft.search_text = mask(draft.preview)[0], mask(draft.search_text)[0]
        found += more
    if draft.task_state is not None:
        draft.task_state = mask_value(draft.task_state)[0]
    draft.flags |= NodeFlag.SECRET_MASKED if found else NodeFlag.NONE


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
