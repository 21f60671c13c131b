"""From the nodes that were chosen to entries of a conversation: what each node says to the model.

Whatever is sent otherwise than it is stored is named in a `Repair`, and in a `Change` where it ends what signed thinking
rests on.
"""

from __future__ import annotations

from typing import Any

from worldline.context.blocks import Piece, json_size, made_up, prepare, stand_in
from worldline.context.model import Repair, ViewOptions
from worldline.context.pairing import Entry
from worldline.context.select import NEVER, Change, Item, Selection
from worldline.context.texts import DENIED, INTERRUPTED, POISONED
from worldline.core.jsontext import clean_text
from worldline.core.kinds import NodeKind, Outcome

ASSISTANTS = (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT)
_TOOLS = (NodeKind.TOOL, NodeKind.IMPORTED_TOOL)


def entries_of(
    selection: Selection, options: ViewOptions
) -> tuple[list[Entry], list[Repair], dict[int, list[str]]]:
    """One for each message that a node gives, in order; what was changed in them; and by entry the texts that the request
    for it carried at its end."""
    entries: list[Entry] = []
    repairs: list[Repair] = []
    tails: dict[int, list[str]] = {}
    for item in selection.items:
        node = item.node
        if node.kind in ASSISTANTS:
            tail = node.detail.get("view_tail")
            if isinstance(tail, list):
                tails[len(entries)] = [t for t in tail if isinstance(t, str) and t.strip()]
        if item.text is not None:
            entries.append(_text_entry(item))
        elif node.kind in _TOOLS:
            entries.append(_tool_entry(item, options, repairs, selection))
        elif node.message is not None:
            entries.extend(_message_entries(item, node.message, options, repairs, selection))
    return entries, repairs, tails


def _text_entry(item: Item) -> Entry:
    node, pos = item.node, item.pos
    piece = made_up(clean_text(item.text or ""), pos)
    if pos >= 0:
        piece.uid, piece.index = node.uid, 0
    role: Any = "assistant" if node.kind in ASSISTANTS and pos >= 0 else "user"
    return Entry(role, [piece] if piece.block["text"].strip() else [], pos, node.uid)


def _message_entries(
    item: Item, message: dict[str, Any], options: ViewOptions, repairs: list[Repair], selection: Selection
) -> list[Entry]:
    node, pos = item.node, item.pos
    prepared = prepare(node, message, options)
    repairs.extend(prepared.repairs)
    role: Any = prepared.role
    entries = [Entry(role, _placed(prepared.pieces, item, options, repairs, selection), pos, node.uid)]
    if prepared.misplaced:
        repairs.append(
            Repair("order", node.uid, "Tool results that were stored in a reply are sent after it.")
        )
        entries.append(
            Entry("user", _placed(prepared.misplaced, item, options, repairs, selection), pos, node.uid)
        )
    if not any(entry.pieces for entry in entries):
        repairs.append(Repair("empty_message", node.uid, "A message without content is not sent."))
    return entries


def _placed(
    pieces: list[Piece], item: Item, options: ViewOptions, repairs: list[Repair], selection: Selection
) -> list[Piece]:
    """Pieces for this view. They are kept with the node; whatever changes one says so (`Piece.change`)."""
    pos = item.pos
    for piece in pieces:
        piece.pos = pos
    if options.poisoned:
        return [_poisoned(p, options, repairs, selection) for p in pieces]
    return pieces


def _poisoned(piece: Piece, options: ViewOptions, repairs: list[Repair], selection: Selection) -> Piece:
    why = options.poisoned.get((piece.uid, piece.index))
    if why is None:
        return piece
    note = {"type": "text", "text": clean_text(POISONED.format(why=why.strip() or "no reason given"))}
    if piece.block["type"] == "tool_result":
        block: dict[str, Any] = {**piece.block, "content": [note]}
    else:
        if piece.block["type"] == "tool_use":
            selection.gone_calls.add(piece.block["id"])
        block = note
    repairs.append(
        Repair(
            "poisoned",
            piece.uid,
            "A block that the API refused is replaced by a note.",
            {"block": piece.index},
        )
    )
    at = selection.places.get(options.poisoned_at.get((piece.uid, piece.index), ""))
    selection.changes.append(Change(piece.pos, NEVER if at is None else at + 1))
    return Piece(block, piece.uid, piece.index, json_size(block), piece.pos)


def _tool_entry(item: Item, options: ViewOptions, repairs: list[Repair], selection: Selection) -> Entry:
    node, pos = item.node, item.pos
    call = node.call or node.detail.get("call")
    use_id = str(call.get("id", "")) if isinstance(call, dict) else ""
    message = node.end_message or (node.message if _holds_result(node.message) else None)
    if item.reason:
        failed = node.outcome not in (Outcome.OK, Outcome.NONE)
        piece = stand_in(use_id or _result_id(message), clean_text(item.reason), node.uid, pos, "")
        if not failed:
            del piece.block["is_error"]
        piece.index = 0
        return Entry("user", [piece], pos, node.uid)
    if message is not None:
        prepared = prepare(node, message, options)
        pieces = [p for p in [*prepared.pieces, *prepared.misplaced] if p.block["type"] == "tool_result"]
        if pieces:
            repairs.extend(prepared.repairs)
            made = _placed(pieces, item, options, repairs, selection)
            for piece in made:
                if use_id and not piece.block["tool_use_id"]:
                    piece.change({**piece.block, "tool_use_id": use_id})
            extra = [p for p in prepared.pieces if p.block["type"] != "tool_result"]
            return Entry("user", made + _placed(extra, item, options, repairs, selection), pos, node.uid)
    if node.outcome is Outcome.DENIED:
        return Entry("user", [stand_in(use_id, DENIED, node.uid, pos, "missing_result")], pos, node.uid)
    return Entry("user", [stand_in(use_id, INTERRUPTED, node.uid, pos, "interrupted_call")], pos, node.uid)


def _holds_result(message: dict[str, Any] | None) -> bool:
    return _result_id(message) != ""


def _result_id(message: dict[str, Any] | None) -> str:
    content = (message or {}).get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            return str(block.get("tool_use_id", ""))
    return ""


def with_tails(entries: list[Entry], tails: dict[int, list[str]]) -> list[Entry]:
    """Repeat what earlier requests carried at their end: the replies after it were given to exactly that."""
    if not tails:
        return entries
    result: list[Entry] = []
    for index, entry in enumerate(entries):
        texts = tails.get(index)
        if texts:
            before = next((e for e in reversed(result) if e.pieces), None)
            if before is not None and before.role == "assistant":
                strip_end(before.pieces)
            result.append(Entry("user", [made_up(clean_text(t), entry.pos) for t in texts], entry.pos, ""))
        result.append(entry)
    return result


def strip_end(pieces: list[Piece]) -> bool:
    """Cut trailing white space of a reply's last text. True if something was cut."""
    last = pieces[-1]
    text = last.block.get("text")
    if last.block["type"] != "text" or text is None or text == text.rstrip():
        return False
    last.change({**last.block, "text": text.rstrip()})
    return True
