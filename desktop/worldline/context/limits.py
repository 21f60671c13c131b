"""What a request may hold at most: images, bytes, and how long old failures stay whole.

Each limit is applied by walking the messages in order and freeing room in steps, down to three quarters. So a view
changes at its front once in a while instead of with every step, which is what keeps prompt caches and thinking valid.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from worldline.context.blocks import Piece
from worldline.context.model import Repair, ViewOptions
from worldline.context.pairing import Paired
from worldline.context.select import Change
from worldline.context.texts import IMAGE_DROPPED, shorten

LONG_FAILURE = 600
"""Bytes of text: shorter failed results stay as they are."""
SHORT_FAILURE = 300
SMALL_RESULT = 4_000
"""Bytes: results below this are not worth shortening for the sake of the byte limit."""


def apply_limits(paired: Paired, options: ViewOptions) -> tuple[list[int], bool]:
    """Bring the messages within the limits, oldest first. Returns the places of long failed results, and whether images
    or bytes were over a limit."""
    pieces = [piece for item in paired.groups for piece in item.pieces]
    failed = [
        p
        for p in pieces
        if p.size >= LONG_FAILURE and p.block["type"] == "tool_result" and p.block.get("is_error")
    ]
    places = _shorten_failures(failed, paired, options.keep_failed_results) if failed else []
    limited = False
    if sum([piece.images for piece in pieces]) > options.max_images:
        limited = True
        _limit_images(pieces, paired, options.max_images)
    if sum([piece.size for piece in pieces]) > options.max_bytes:
        limited = True
        _limit_bytes(pieces, paired, options.max_bytes)
    return places, limited


def _replace(piece: Piece, block: dict[str, Any], since: int, paired: Paired, repair: Repair) -> None:
    piece.change(block)
    paired.repairs.append(repair)
    paired.changes.append(Change(piece.pos, since))


def waiting_failures(count: int, keep: int) -> int:
    """How many of `count` long failed results stand whole: see `_shorten_failures`."""
    most = 2 * max(1, keep)
    return count if count <= most else keep + (count - most - 1) % (most - keep + 1)


def _shorten_failures(pieces: Iterable[Piece], paired: Paired, keep: int) -> list[int]:
    waiting: deque[Piece] = deque()
    places: list[int] = []
    for piece in pieces:
        text = "\n".join(b["text"] for b in piece.block["content"] if b["type"] == "text")
        if len(text.encode()) < LONG_FAILURE:
            continue
        places.append(piece.pos)
        waiting.append(piece)
        if len(waiting) > 2 * max(1, keep):
            while len(waiting) > keep:
                _shorten_failure(waiting.popleft(), piece.pos, paired)
    return places


def _shorten_failure(piece: Piece, since: int, paired: Paired) -> None:
    text = "\n".join(b["text"] for b in piece.block["content"] if b["type"] == "text")
    block = {**piece.block, "content": [{"type": "text", "text": shorten(text, SHORT_FAILURE)}]}
    repair = Repair("result_shortened", piece.uid, "An older failed result is sent shortened.")
    _replace(piece, block, since, paired, repair)


def _limit_images(pieces: Iterable[Piece], paired: Paired, limit: int) -> None:
    held: deque[Piece] = deque()
    count = 0
    for piece in pieces:
        if not piece.images:
            continue
        held.append(piece)
        count += piece.images
        if count <= limit:
            continue
        while held and count > limit * 3 // 4:
            oldest = held.popleft()
            count -= oldest.images
            drop_images(oldest, piece.pos, paired, "image_limit", f"at most {limit} images fit in a request")


def drop_images(piece: Piece, since: int, paired: Paired, kind: str, why: str) -> None:
    """Put notes in place of the images of a piece."""
    block = piece.block
    note = {"type": "text", "text": IMAGE_DROPPED}
    if block["type"] == "tool_result":
        block = {**block, "content": [note if b["type"] == "image" else b for b in block["content"]]}
    else:
        block = note
    piece.images = piece.image_bytes = 0
    _replace(piece, block, since, paired, Repair(kind, piece.uid, f"An image is not sent: {why}."))


def _limit_bytes(pieces: Iterable[Piece], paired: Paired, limit: int) -> None:
    seen: list[Piece] = []
    total = 0
    for piece in pieces:
        seen.append(piece)
        total += piece.size
        if total > limit:
            freed = _free_bytes(seen, total - limit * 3 // 4, piece.pos, paired)
            total -= freed
            if not freed:
                return  # only what was said is left; making that smaller is the business of a compaction


def _free_bytes(seen: list[Piece], goal: int, since: int, paired: Paired) -> int:
    """Images go first, then the middle of tool results; what people and the model said stays whole."""
    freed = 0
    for piece in seen:
        if freed >= goal:
            return freed
        if piece.images:
            before = piece.size
            drop_images(piece, since, paired, "byte_limit", "the request would be too large")
            freed += before - piece.size
    for piece in seen[:-1]:
        if freed >= goal:
            return freed
        if piece.block["type"] == "tool_result" and piece.size > SMALL_RESULT:
            text = "\n".join(b["text"] for b in piece.block["content"] if b["type"] == "text")
            rest = [b for b in piece.block["content"] if b["type"] != "text"]
            short = shorten(text, SMALL_RESULT // 4)
            if short == text:
                continue
            before = piece.size
            repair = Repair(
                "byte_limit", piece.uid, "A tool result is sent shortened: the request would be too large."
            )
            content = [{"type": "text", "text": short}, *rest]
            _replace(piece, {**piece.block, "content": content}, since, paired, repair)
            freed += before - piece.size
    return freed
