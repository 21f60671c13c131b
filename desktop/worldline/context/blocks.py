"""The blocks of one node, checked and made legal. What depends on other nodes is done in `pairing` and `limits`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from worldline.context.images import check_image
from worldline.context.model import PathNode, Repair, ViewOptions
from worldline.context.select import server_made
from worldline.context.texts import FAILED_WITHOUT_TEXT, NO_OUTPUT, UNKNOWN_BLOCK, shorten
from worldline.core.jsontext import clean_text, dumps, dumps_exact, loads_strict
from worldline.core.kinds import NodeKind

THINKING = frozenset({"thinking", "redacted_thinking"})
_FIELDS = {
    "text": ("type", "text", "citations"),
    "image": ("type", "source"),
    "document": ("type", "source", "title", "context", "citations"),
    "tool_use": ("type", "id", "name", "input", "caller"),
    "tool_result": ("type", "tool_use_id", "content", "is_error"),
}
_USER = frozenset({"text", "image", "document", "search_result", "tool_result", "container_upload"})
_DATE = re.compile(r"-\d{8}$")
"""The API answers to an alias with the dated name."""


@dataclass(slots=True)
class Piece:
    """A block on its way into the view."""

    block: dict[str, Any]
    uid: str
    index: int
    """Block index in the node's message; -1 = made up."""
    size: int
    """Bytes as JSON."""
    pos: int = 0
    """Place of its node on the path."""
    images: int = 0
    image_bytes: int = 0
    note: str = ""
    """For a result that stands in for a missing one: the kind of the repair."""
    shared: Prepared | None = None
    """The checked node that this piece is kept with, from one view to the next."""

    def change(self, block: dict[str, Any]) -> None:
        """Let another block stand in this view. The node is checked anew for the next one."""
        self.block = block
        self.size = json_size(block)
        if self.shared is not None:
            self.shared.stale = True


@dataclass(slots=True)
class Prepared:
    key: tuple[Any, ...]
    role: str
    pieces: list[Piece]
    misplaced: list[Piece]
    """Tool results that were found in an assistant message."""
    repairs: list[Repair] = field(default_factory=list)
    stale: bool = False
    """A piece was changed for the view it was last used in."""


def json_size(value: Any) -> int:
    try:
        return len(dumps(value))
    except ValueError:  # NaN, in a block that is passed on as it came
        return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def text_size(text: str) -> int:
    """Bytes of a string as JSON. Raises UnicodeEncodeError for a lone surrogate."""
    return len(dumps_exact(text))


def made_up(text: str, pos: int) -> Piece:
    return Piece({"type": "text", "text": text}, "", -1, text_size(text) + 23, pos)


def stand_in(use_id: str, text: str, uid: str, pos: int, note: str) -> Piece:
    """A result that says that there is none."""
    block = {
        "type": "tool_result",
        "tool_use_id": use_id,
        "content": [{"type": "text", "text": text}],
        "is_error": True,
    }
    return Piece(block, uid, -1, json_size(block), pos, note=note)


def as_blocks(content: Any) -> list[Any]:
    """The list that `content` stands for: other programs store strings, single blocks, or nothing."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    if isinstance(content, (list, tuple)):
        return [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return [{"type": "text", "text": str(content)}]


def prepare(node: PathNode, message: dict[str, Any], options: ViewOptions) -> Prepared:
    """Checked blocks of `message`, one of the node's. Kept with the node: a long path is checked once."""
    key = (
        id(message), options.max_image_side, options.max_image_bytes, options.max_result_bytes,
        options.drop_thinking, options.local, options.model,
    )  # fmt: skip
    cached = node.cache
    if isinstance(cached, Prepared) and cached.key == key and not cached.stale:
        return cached
    role = "assistant" if message.get("role") == "assistant" else "user"
    done = Prepared(key, role, [], [])
    for index, raw in enumerate(as_blocks(message.get("content"))):
        _Block(node, options, done, index).add(raw)
    node.cache = done
    return done


class _Block:
    """Checks one block and puts what remains of it into `done`."""

    def __init__(self, node: PathNode, options: ViewOptions, done: Prepared, index: int) -> None:
        self.node = node
        self.options = options
        self.done = done
        self.index = index

    def repair(self, kind: str, detail: str, **data: Any) -> None:
        self.done.repairs.append(Repair(kind, self.node.uid, detail, {"block": self.index, **data}))

    def put(
        self, block: dict[str, Any], size: int | None = None, images: int = 0, image_bytes: int = 0
    ) -> None:
        size = json_size(block) if size is None else size
        piece = Piece(block, self.node.uid, self.index, size, 0, images, image_bytes, shared=self.done)
        misplaced = block["type"] == "tool_result" and self.done.role == "assistant"
        (self.done.misplaced if misplaced else self.done.pieces).append(piece)

    def add(self, raw: Any) -> None:
        kind = raw.get("type") if isinstance(raw, dict) else None
        if not isinstance(kind, str):
            self.repair("bad_block", "A part of the message has no type and is not sent.")
            return
        if kind in THINKING:
            self._thinking(raw)
        elif kind == "text":
            self._text(raw)
        elif kind == "image":
            self._image(raw)
        elif kind == "tool_result":
            self._result(raw)
        elif kind == "compaction" and server_made(self.node, self.options):
            # Signed by the server: byte for byte, or not at all.
            self.put(raw)
        elif self.done.role == "user":
            self._other_user(raw, kind)
        elif kind == "tool_use":
            self._use(raw)
        elif not self.options.local and (
            kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result")
        ):
            self._put_clean(raw)
        else:
            self.repair("unknown_block", f"A part of type {kind} is not sent.", type=kind)

    # -- single kinds

    def _thinking(self, raw: dict[str, Any]) -> None:
        why = self._thinking_fault(raw)
        if why:
            self.repair("thinking_dropped", f"A thinking block is not sent: {why}.")
            return
        # Byte for byte: the signature covers it. One that cannot be encoded was not received like that.
        try:
            size = len(dumps_exact(raw))
        except ValueError:
            self.repair(
                "thinking_dropped", "A thinking block is not sent: it holds characters that cannot be sent."
            )
            return
        self.put(raw, size)

    def _thinking_fault(self, raw: dict[str, Any]) -> str:
        options, source = self.options, str(self.node.detail.get("model", ""))
        if self.done.role != "assistant":
            return "it is not part of a reply"
        if options.drop_thinking or options.local:
            return "it was switched off for this request"
        if raw["type"] == "redacted_thinking":
            valid = isinstance(raw.get("data"), str) and bool(raw["data"])
        else:
            valid = isinstance(raw.get("signature"), str) and bool(raw["signature"])
        if not valid:
            return "it has no signature"
        if not source:
            return "" if self.node.kind is NodeKind.ASSISTANT else "it comes from another program"
        return (
            ""
            if readable(source, options.model)
            else f"{options.model} does not read the thinking of {source}"
        )

    def _text(self, raw: dict[str, Any]) -> None:
        text = raw.get("text")
        if not isinstance(text, str):
            text = "" if text is None else str(text)
            self.repair("bad_block", "A text block held no text.")
        if not text.strip():
            self.repair("empty_block", "An empty text block is not sent.")
            return
        try:
            size = text_size(text) + 23
        except UnicodeEncodeError:
            text = clean_text(text)
            size = text_size(text) + 23
            self.repair("surrogate", "Half characters (lone surrogates) were replaced.")
            raw = {**raw, "text": text}
        if len(raw) != 2 or raw["text"] is not text:
            block = self._fields({**raw, "text": text})
            if not block.get("citations", True):
                del block["citations"]
            size = json_size(block)
        else:
            block = raw
        self.put(block, size)

    def _image(self, raw: dict[str, Any]) -> None:
        if self.done.role == "assistant":
            self.repair("bad_block", "An image in a reply is not sent.")
            return
        checked = check_image(raw, self.options.max_image_side, self.options.max_image_bytes)
        if checked.kind:
            self.repair(checked.kind, checked.detail)
        block = checked.block
        is_image = block["type"] == "image"
        size = json_size(block)
        self.put(block, size, int(is_image), size if is_image else 0)

    def _use(self, raw: dict[str, Any]) -> None:
        value = raw.get("input")
        if not isinstance(value, dict):
            value = self._object(value)
        block = self._fields({**raw, "input": value})
        block["id"] = raw["id"] if isinstance(raw.get("id"), str) else ""
        block["name"] = raw["name"] if isinstance(raw.get("name"), str) else ""
        self._put_clean(block)

    def _object(self, value: Any) -> dict[str, Any]:
        """An object for the arguments of a call. What was cut off is not guessed: a closed fragment could mean
        something else than what was meant (`"timeout": 12` of `120`)."""
        if isinstance(value, str):
            try:
                parsed = loads_strict(value)
            except (ValueError, RecursionError):
                parsed = None
            if isinstance(parsed, dict):
                self.repair(
                    "bad_input", "The arguments of a call were stored as text and are sent as an object."
                )
                return parsed
        shown = value if isinstance(value, str) else repr(value)
        self.repair(
            "bad_input",
            "The arguments of a call are no object and are sent as empty.",
            stored=clean_text(shown[:500]),
        )
        return {}

    def _other_user(self, raw: dict[str, Any], kind: str) -> None:
        if kind in _USER and not self.options.local:
            self._put_clean(self._fields(raw))
            return
        self.repair("unknown_block", f"A part of type {kind} is not sent.", type=kind)
        self.put({"type": "text", "text": UNKNOWN_BLOCK.format(kind=clean_text(kind[:40]))})

    def _result(self, raw: dict[str, Any]) -> None:
        is_error = raw.get("is_error") is True
        blocks: list[dict[str, Any]] = []
        images = image_bytes = 0
        for item in as_blocks(raw.get("content")):
            block = self._inner(item, is_error)
            if block is not None:
                blocks.append(block)
                if block["type"] == "image":
                    images += 1
                    image_bytes += json_size(block)
        if not blocks:
            if as_blocks(raw.get("content")) != []:
                self.repair("empty_block", "Empty text in a tool result is not sent.")
            blocks = [{"type": "text", "text": FAILED_WITHOUT_TEXT if is_error else NO_OUTPUT}]
        use_id = raw.get("tool_use_id")
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": use_id if isinstance(use_id, str) else "",
            "content": self._capped(blocks),
        }
        if is_error:
            result["is_error"] = True
        self._put_clean(result, images, image_bytes)

    def _inner(self, item: Any, is_error: bool) -> dict[str, Any] | None:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "text":
            text = item.get("text")
            return {"type": "text", "text": text} if isinstance(text, str) and text.strip() else None
        if kind == "image" and not is_error:
            checked = check_image(item, self.options.max_image_side, self.options.max_image_bytes)
            if checked.kind:
                self.repair(checked.kind, checked.detail)
            return checked.block
        if (
            kind in ("document", "search_result", "tool_reference")
            and not is_error
            and not self.options.local
        ):
            return dict(item)
        self.repair("unknown_block", f"A part of type {kind} of a tool result is not sent.", type=str(kind))
        return {"type": "text", "text": UNKNOWN_BLOCK.format(kind=clean_text(str(kind)[:40]))}

    def _capped(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        limit = self.options.max_result_bytes
        texts = [b["text"] for b in blocks if b["type"] == "text"]
        total = sum(len(t.encode("utf-8", "replace")) for t in texts)
        if total <= limit:
            return blocks
        self.repair("oversized_result", "The middle of a long tool result is not sent.", bytes=total)
        short = {"type": "text", "text": shorten("\n".join(texts), limit)}
        return [short, *(b for b in blocks if b["type"] != "text")]

    # -- shared

    def _fields(self, block: dict[str, Any]) -> dict[str, Any]:
        allowed = _FIELDS.get(block["type"])
        if allowed is None:
            return {k: v for k, v in block.items() if k != "cache_control"}
        extra = [k for k in block if k not in allowed]
        if extra:
            self.repair(
                "extra_field", f"Fields that the API does not take are not sent: {', '.join(extra[:5])}."
            )
        return {k: block[k] for k in allowed if k in block}

    def _put_clean(self, block: dict[str, Any], images: int = 0, image_bytes: int = 0) -> None:
        size: int | None = None
        try:
            size = len(dumps_exact(block))
        except ValueError:
            self.repair("surrogate", "Characters or numbers that JSON cannot hold were replaced.")
            block = {str(k): _cleaned(v) for k, v in block.items()}
        except TypeError:
            self.repair("bad_block", "Values that JSON cannot hold are sent as text.")
            block = {str(k): _cleaned(v) for k, v in block.items()}
        self.put(block, size, images, image_bytes)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {clean_text(str(k)): _cleaned(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(v) for v in value]
    return clean_text(str(value))


def readable(source: str, target: str) -> bool:
    """Whether `target` reads thinking of `source`: its own, that of a fixed set, and Haiku 5.5's anywhere."""
    source, target = _DATE.sub("", source), _DATE.sub("", target)
    if not target or source == target or source.startswith("claude-haiku-5-5"):
        return True
    return target.startswith("claude-fable-5-1") and source.startswith(("claude-opus-5", "claude-opus-5-5"))


def token_estimate(size: int, images: int, image_bytes: int) -> int:
    """From bytes: about 3.5 bytes a token; an image costs about 1,600 at 2,000 pixels, whatever its bytes are."""
    return (size - image_bytes) * 2 // 7 + images * 1_600
