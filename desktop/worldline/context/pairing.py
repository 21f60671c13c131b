"""Entries → messages: alternating roles, and exactly one result for each call, in the next user message, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from worldline.context.blocks import Piece, stand_in
from worldline.context.model import Repair
from worldline.context.select import Change
from worldline.context.texts import looks_synthetic

Role = Literal["user", "assistant"]
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
MAX_ID = 64
MAX_NAME = 64


@dataclass(slots=True)
class Entry:
    """One node as a contribution to the view."""

    role: Role
    pieces: list[Piece]
    pos: int
    uid: str


@dataclass(slots=True)
class Group:
    """A message in the making."""

    role: Role
    pieces: list[Piece] = field(default_factory=list)
    nodes: list[tuple[int, str]] = field(default_factory=list)
    """(place on the path, uid) of the nodes in it."""


@dataclass(slots=True)
class _Call:
    piece: Piece
    stored_id: str
    group: int
    results: list[tuple[int, Piece]] = field(default_factory=list)


@dataclass(slots=True)
class Paired:
    groups: list[Group]
    repairs: list[Repair] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    """Ids of the calls, as stored and as sent → place on the path of the first one."""


def group(entries: list[Entry]) -> list[Group]:
    """Join consecutive entries of one role. Empty entries join nothing."""
    groups: list[Group] = []
    for entry in entries:
        if not entry.pieces:
            continue
        if not groups or groups[-1].role != entry.role:
            groups.append(Group(entry.role))
        groups[-1].pieces.extend(entry.pieces)
        groups[-1].nodes.append((entry.pos, entry.uid))
    return groups


def merge(groups: list[Group]) -> list[Group]:
    """Drop empty messages and join neighbours of one role, in place where nothing is to be done."""
    result: list[Group] = []
    for item in groups:
        if not item.pieces:
            continue
        if result and result[-1].role == item.role:
            result[-1].pieces.extend(item.pieces)
            result[-1].nodes.extend(item.nodes)
        else:
            result.append(item)
    return result


def pair(
    groups: list[Group],
    *,
    missing: Callable[[str, str], tuple[str, str]],
    gone_calls: set[str],
) -> Paired:
    """Give each call its result.

    `missing`: (uid of the assistant node, id of the call) → (kind of the repair, text) for a call without a result.
    Ids are matched as stored: a result belongs to the nearest call before it with its id.
    """
    paired = Paired(groups)
    calls = _assign(groups, paired, gone_calls)
    _drop_replays(calls, groups, paired)
    _make_legal([call for by_group in calls for call in by_group], paired)
    for by_group in calls:
        for call in by_group:
            for use_id in (call.stored_id, call.piece.block["id"]):
                paired.ids.setdefault(use_id, call.piece.pos)
    rebuilt: list[Group] = []
    results: list[Piece] = []
    for index, item in enumerate(groups):
        if item.role == "assistant":
            rebuilt.append(item)
            results = [_result(call, paired, missing) for call in calls[index]]
            continue
        pieces = results + [p for p in item.pieces if p.block["type"] != "tool_result"]
        if results and pieces != item.pieces and _reordered(item.pieces, pieces):
            paired.repairs.append(
                Repair(
                    "order",
                    item.nodes[0][1],
                    "Tool results were put before the text, in the order of their calls.",
                )
            )
        rebuilt.append(Group("user", pieces, item.nodes))
        results = []
    if results:
        rebuilt.append(Group("user", results))
    paired.groups = merge(rebuilt)
    return paired


def _reordered(before: list[Piece], after: list[Piece]) -> bool:
    """Whether pieces that are in both stand in another order."""
    place = {id(piece): i for i, piece in enumerate(before)}
    places = [place[id(piece)] for piece in after if id(piece) in place]
    return places != sorted(places)


def _assign(groups: list[Group], paired: Paired, gone_calls: set[str]) -> list[list[_Call]]:
    """Calls of each group, with the results that belong to them. Results without a call are reported."""
    calls: list[list[_Call]] = [[] for _ in groups]
    latest: dict[str, list[_Call]] = {}
    for index, item in enumerate(groups):
        if item.role == "assistant":
            fresh: dict[str, list[_Call]] = {}
            for piece in item.pieces:
                if piece.block["type"] == "tool_use":
                    call = _Call(piece, piece.block["id"], index)
                    calls[index].append(call)
                    fresh.setdefault(piece.block["id"], []).append(call)
            latest.update(fresh)
            continue
        for piece in item.pieces:
            if piece.block["type"] != "tool_result":
                continue
            use_id = piece.block["tool_use_id"]
            candidates = latest.get(use_id)
            if candidates:
                free = next((c for c in candidates if not c.results), candidates[-1])
                free.results.append((index, piece))
            elif use_id not in gone_calls:
                paired.repairs.append(
                    Repair(
                        "orphan_result",
                        piece.uid,
                        "A tool result without its call is not sent.",
                        {"id": use_id},
                    )
                )
    return calls


def _drop_replays(calls: list[list[_Call]], groups: list[Group], paired: Paired) -> None:
    """The same call recorded twice in one reply, with one result: it was one call."""
    for by_group in calls:
        if len(by_group) < 2:
            continue
        seen: dict[str, _Call] = {}
        for call in list(by_group):
            block = call.piece.block
            first = seen.setdefault(block["id"], call)
            if first is call or call.results:
                continue
            if (first.piece.block["name"], first.piece.block["input"]) == (block["name"], block["input"]):
                by_group.remove(call)
                call.piece.change({"type": "dropped"})
                paired.repairs.append(
                    Repair(
                        "duplicate_id",
                        call.piece.uid,
                        "A call that was recorded twice is sent once.",
                        {"id": block["id"]},
                    )
                )
                groups[call.group].pieces = [p for p in groups[call.group].pieces if p is not call.piece]


def _make_legal(calls: list[_Call], paired: Paired) -> None:
    """Legal, unique ids and legal names. The names given depend only on what stands before a call."""
    used: set[str] = set()
    for call in calls:
        block = call.piece.block
        old_id, old_name = block["id"], block["name"]
        if old_id not in used and _LEGAL.match(old_id) and _LEGAL.match(old_name):
            used.add(old_id)
            continue
        new_id = _BAD_ID.sub("_", old_id)[:MAX_ID] or "call"
        if new_id != old_id:
            paired.repairs.append(
                Repair(
                    "bad_id",
                    call.piece.uid,
                    "The id of a call was made legal.",
                    {"id": old_id[:200], "sent": new_id},
                )
            )
        if new_id in used:
            number = 2
            while (candidate := f"{new_id[: MAX_ID - 8]}_{number}") in used:
                number += 1
            paired.repairs.append(
                Repair(
                    "duplicate_id",
                    call.piece.uid,
                    "Two calls had one id; the later one was renamed.",
                    {"id": old_id[:200], "sent": candidate},
                )
            )
            new_id = candidate
        used.add(new_id)
        new_name = _BAD_ID.sub("_", old_name)[:MAX_NAME] or "unknown_tool"
        if new_name != old_name:
            paired.repairs.append(
                Repair(
                    "bad_name",
                    call.piece.uid,
                    "The name of a tool was made legal.",
                    {"name": old_name[:200], "sent": new_name},
                )
            )
        if new_id != old_id or new_name != old_name:
            call.piece.change({**block, "id": new_id, "name": new_name})


def _result(call: _Call, paired: Paired, missing: Callable[[str, str], tuple[str, str]]) -> Piece:
    piece = call.piece
    sent_id = piece.block["id"]
    if len(call.results) == 1:
        place, only = call.results[0]
        if place == call.group + 1 and not only.note and only.block["tool_use_id"] == sent_id:
            return only
    if not call.results:
        kind, text = missing(piece.uid, call.stored_id)
        call.results.append((call.group + 1, stand_in(sent_id, text, piece.uid, piece.pos, kind)))
    chosen_group, chosen = max(call.results, key=lambda r: (_worth(r[1]), -r[0]))
    for _, other in call.results:
        if other is not chosen and not other.note:
            paired.repairs.append(
                Repair(
                    "duplicate_result",
                    other.uid,
                    "A second result for one call is not sent.",
                    {"id": sent_id},
                )
            )
    if chosen.note:
        text = chosen.block["content"][0]["text"]
        paired.repairs.append(
            Repair(chosen.note, chosen.uid, f"A call got this in place of a result: {text}", {"id": sent_id})
        )
    if chosen_group > call.group + 1:
        paired.repairs.append(
            Repair("order", chosen.uid, "A late tool result was moved to its call.", {"id": sent_id})
        )
        paired.changes.append(Change(piece.pos, chosen.pos))
    if chosen.block["tool_use_id"] != sent_id:
        chosen.change({**chosen.block, "tool_use_id": sent_id})
    return chosen


def _worth(piece: Piece) -> int:
    """A result of the tool is worth more than one that only says that there is none."""
    if piece.note:
        return -1
    block = piece.block
    if not block.get("is_error"):
        return 2
    content = block["content"]
    text = " ".join(b.get("text", "") for b in content if b["type"] == "text")
    return 0 if looks_synthetic(text) else 1
