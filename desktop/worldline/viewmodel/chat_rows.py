"""What a row of the chat is, and what can be read from a node's body without Qt."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from worldline.core.call_words import subject_of
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind
from worldline.protocol.model import Approval, Body, Question, RunInfo
from worldline.viewmodel.repeated import Repeated, repeated
from worldline.viewmodel.tree_text import plain_note
from worldline.viewmodel.tree_words import stored_verb
from worldline.viewmodel.words import translate


class RowKind(StrEnum):
    USER = "user"
    REPLY = "reply"
    TOOL = "tool"
    DIVIDER = "divider"
    LIVE = "live"
    """A reply that is coming in and not stored yet."""
    APPROVAL = "approval"
    QUESTION = "question"
    STOP = "stop"
    """How a run ended, with what may be done next."""


class DividerKind(StrEnum):
    START = "start"
    FORK = "fork"
    FALLBACK = "fallback"
    COMPACTION = "compaction"
    BRANCH_SUMMARY = "branch_summary"
    EXTERNAL_CHANGE = "external_change"
    JUMP = "jump"
    CONTEXT_EDIT = "context_edit"
    EVENT = "event"


@dataclass(slots=True)
class LiveBlock:
    kind: str
    """text, thinking or tool_input."""
    text: str = ""
    tool: str = ""


@dataclass(slots=True)
class ChatRow:
    """One row. `key` names it for its whole life; `revision` grows with every change, so a view that drew
    revision n draws again only when it is larger."""

    key: str
    kind: RowKind
    header: NodeHeader | None = None
    body: Body | None = None
    revision: int = 0
    divider: DividerKind | None = None
    count: int = 0
    """Fork: how many other ways lead on from here."""
    blocks: list[LiveBlock] = field(default_factory=list)
    output: OutputTail | None = None
    approval: Approval | None = None
    question: Question | None = None
    run: RunInfo | None = None
    offers: list[str] = field(default_factory=list)

    @property
    def uid(self) -> str:
        return self.header.uid if self.header is not None else ""

    def estimated_chars(self) -> int:
        """How much text the row holds, as far as is known; good enough for a first guess at its height."""
        if self.kind is RowKind.LIVE:
            return sum(len(block.text) for block in self.blocks)
        if self.header is None:
            return 80
        if self.kind is RowKind.TOOL:
            return 80
        return max(self.header.size, len(self.header.preview))


MAX_LINES = 2000
MAX_CHARS = 256_000


class OutputTail:
    """The last lines of what a command prints. Takes any amount, keeps a bounded tail and counts what it let go.
    A carriage return overwrites its line, as in a terminal."""

    def __init__(self, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> None:
        self._max_lines = max_lines
        self._max_chars = max_chars
        self._pending: list[str] = []
        self._pending_chars = 0
        self._lines: list[str] = [""]
        self.dropped = 0

    def add(self, text: str) -> None:
        self._pending.append(text)
        self._pending_chars += len(text)
        if self._pending_chars > self._max_chars:
            self._fold()

    def _fold(self) -> None:
        if not self._pending:
            return
        text = "".join(self._pending).replace("\r\n", "\n")
        self._pending.clear()
        self._pending_chars = 0
        first, *rest = text.split("\n")
        self._lines[-1] = _overwrite(self._lines[-1] + first)
        self._lines.extend(_overwrite(line) if "\r" in line else line for line in rest)
        # The last line is still open: it does not count.
        surplus = len(self._lines) - 1 - self._max_lines
        if surplus > 0:
            del self._lines[:surplus]
            self.dropped += surplus
        chars = sum(map(len, self._lines))
        while chars > self._max_chars and len(self._lines) > 1:
            chars -= len(self._lines.pop(0))
            self.dropped += 1
        if chars > self._max_chars:
            self._lines[0] = self._lines[0][-self._max_chars :]

    def lines(self, last: int = 0) -> list[str]:
        """The kept lines (or the last so many), without the empty one that a closing newline leaves."""
        self._fold()
        lines = self._lines[:-1] if self._lines[-1].rstrip("\r") == "" else list(self._lines)
        return [line.rstrip("\r") for line in (lines[-last:] if last else lines)]

    @property
    def kept(self) -> int:
        """Lines that there are to be shown."""
        self._fold()
        return len(self._lines) - (self._lines[-1].rstrip("\r") == "")

    @property
    def total(self) -> int:
        return self.kept + self.dropped


def _overwrite(line: str) -> str:
    # A carriage return at the end has overwritten nothing yet.
    body = line.rstrip("\r")
    return body.rsplit("\r", 1)[-1] + line[len(body) :]


def row_kind(kind: NodeKind) -> RowKind:
    if kind in (NodeKind.USER, NodeKind.IMPORTED_USER):
        return RowKind.USER
    if kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT):
        return RowKind.REPLY
    if kind in (NodeKind.TOOL, NodeKind.IMPORTED_TOOL):
        return RowKind.TOOL
    return RowKind.DIVIDER


_DIVIDERS = {
    NodeKind.ROOT: DividerKind.START,
    NodeKind.COMPACTION: DividerKind.COMPACTION,
    NodeKind.IMPORTED_COMPACTION: DividerKind.COMPACTION,
    NodeKind.BRANCH_SUMMARY: DividerKind.BRANCH_SUMMARY,
    NodeKind.IMPORTED_SUMMARY: DividerKind.BRANCH_SUMMARY,
    NodeKind.JUMP: DividerKind.JUMP,
    NodeKind.EXTERNAL_CHANGE: DividerKind.EXTERNAL_CHANGE,
    NodeKind.CONTEXT_EDIT: DividerKind.CONTEXT_EDIT,
}


def divider_kind(kind: NodeKind) -> DividerKind:
    return _DIVIDERS.get(kind, DividerKind.EVENT)


def content_blocks(body: Body | None) -> list[dict[str, Any]]:
    """The content blocks of a body's message; a plain string counts as one text block, anything else is skipped."""
    content = (body.message or {}).get("content") if body is not None else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def text_of(body: Body | None, kind: str = "text") -> str:
    parts = [block.get(kind) for block in content_blocks(body) if block.get("type") == kind]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part)


_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+")
MOST_LINKS = 8


def links_in(text: str) -> list[str]:
    """The addresses of pages in a text, each once; where they are part of a sentence its marks are left out."""
    found: dict[str, None] = {}
    for match in _ADDRESS.finditer(text):
        address = match[0].rstrip(".,;:!?*_")
        while address.endswith((")", "]")) and address.count(address[-1]) > address.count(
            {")": "(", "]": "["}[address[-1]]
        ):
            address = address[:-1]
        found[address] = None
        if len(found) == MOST_LINKS:
            break
    return list(found)


def said_of(body: Body | None) -> str:
    """What the person wrote, without the facts that go to the model with it (`notes_of`)."""
    if body is not None and not body.detail.get("by_engine") and isinstance(body.detail.get("text"), str):
        return str(body.detail["text"])
    return text_of(body)


def notes_of(body: Body | None) -> list[str]:
    """The facts that the model is told before what the person wrote, without the marks that are meant for it."""
    if body is None or body.detail.get("by_engine"):
        return []
    notes = body.detail.get("notes")
    return [plain_note(str(note)) for note in notes] if isinstance(notes, list) else []


def images_of(body: Body | None) -> list[str]:
    """Base64 data of the images of a message."""
    found = []
    for block in content_blocks(body):
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict) and isinstance(source.get("data"), str):
            found.append(source["data"])
    return found


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in words: the verb of its kind, what it is done to, and the rest of its arguments."""

    verb: str
    """run, read, write, edit, search, find, list, ask, access, task, plan; else the tool's own name."""
    subject: str
    name: str
    arguments: dict[str, Any]
    repairs: list[str]


_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words_in(text: str) -> int:
    """Words as people count them: by spaces, and one for each character of scripts that have none."""
    return len(_IDEOGRAPHS.findall(text)) + len(_IDEOGRAPHS.sub(" ", text).split())


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plan_subject(arguments: dict[str, Any]) -> str:
    """How far a list of steps is, and what is being done; "" for arguments that hold none."""
    raw = arguments.get("steps")
    steps = [one for one in raw if isinstance(one, dict)] if isinstance(raw, list) else []
    if not steps:
        return ""
    done = sum(one.get("status") == "done" for one in steps)
    active = next((_short(one.get("text", "")) for one in steps if one.get("status") == "active"), "")
    far = translate("chat", "{done} of {n} done").format(done=done, n=len(steps))
    return f"{far} · {active}" if active else far


def tool_call(header: NodeHeader | None, body: Body | None) -> ToolCall:
    call = (body.call if body is not None else None) or {}
    name = str(call.get("name") or (header.tool if header is not None else "") or "tool")
    arguments = call.get("input")
    arguments = arguments if isinstance(arguments, dict) else {}
    subject = subject_of(arguments)
    verb = stored_verb(name)
    if not subject and header is not None:
        subject = header.preview.removeprefix(name).strip(" :") if not arguments else ""
    if verb == "plan":
        subject = _plan_subject(arguments) or subject
    if not subject and arguments:
        subject = ", ".join(f"{key}: {_short(value)}" for key, value in arguments.items())[:200]
    return ToolCall(verb, subject, name, arguments, [str(item) for item in call.get("repairs") or []])


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    blob: str
    """Hash of the whole output when the text is only its head and tail."""
    error: dict[str, Any] | None
    exit_code: int | None
    repeated: Repeated | None = None
    """What the model was told of it is neither output nor error."""


def _leading_object(text: str) -> tuple[dict[str, Any] | None, str]:
    """A JSON object that the text begins with, and what follows it."""
    if text.startswith("{"):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return None, text
        if isinstance(value, dict):
            return value, text[end:].strip("\n")
    return None, text


def tool_result(body: Body | None) -> ToolResult:
    """The result of a tool node for the person: the output where there is one, else what the model was told."""
    if body is None:
        return ToolResult("", "", None, None)
    told = _told(body)
    error: dict[str, Any] | None = None
    parsed, rest = _leading_object(told)
    if parsed is not None:
        envelope = parsed.get("error")
        error = envelope if isinstance(envelope, dict) else None
    again = repeated(body, error)
    if again is not None and error is None:
        told = told.removesuffix(again.told).removesuffix("\n")
    exit_code = body.detail.get("exit_code")
    output = body.detail.get("output")
    blob, text = "", ""
    answer = body.detail.get("answer")
    if isinstance(answer, str) and error is None:
        text = answer  # the model was told whose it is
    elif isinstance(output, str):
        text = output
    elif isinstance(output, dict):
        parts = output.get("parts")
        names = [str(part["blob"]) for part in parts] if isinstance(parts, list) else []
        blob = str(output.get("blob") or "+".join(names))
        head, tail = str(output.get("head") or ""), str(output.get("tail") or "")
        text = f"{head}\n⋯\n{tail}" if tail else head
    elif error is not None:
        text = rest  # what the tool produced all the same, behind the envelope
    elif parsed is not None and not rest:
        inner = parsed.get("result", parsed)
        text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False, indent=2)
        if isinstance(inner, dict) and isinstance(inner.get("output"), str):
            text = inner["output"]
    else:
        text = told
    if again is not None and error is not None:
        own = body.detail.get("error")
        error = own if isinstance(own, dict) else None
    return ToolResult(text, blob, error, exit_code if isinstance(exit_code, int) else None, again)


def _told(body: Body) -> str:
    for block in content_blocks(body):
        if block.get("type") == "tool_result":
            content = block.get("content")
            if isinstance(content, str):
                return content
            if isinstance(content, list):
                return "\n".join(
                    str(part.get("text", "")) for part in content if isinstance(part, dict) and "text" in part
                )
    return text_of(body)
