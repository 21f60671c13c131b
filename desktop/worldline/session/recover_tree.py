"""The nodes of a recovered session, numbered anew, with something in the place of what is gone."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

from worldline.core.ids import new_uid
from worldline.core.jsontext import dumps, loads
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session import bodies
from worldline.session.copies import Made, Rows
from worldline.session.pages import Value
from worldline.session.recovered import Recovered
from worldline.session.schema import LOST_KIND


class Texts:
    """What stands in the place of a text that is gone."""

    def __init__(self, stored: dict[int, list[Value]]) -> None:
        self._stored = stored
        self._free: Iterator[int] = itertools.count(max(stored, default=0) + 1)

    def add(self, message: dict[str, Any]) -> int:
        """The key of the new body."""
        key, data = next(self._free), dumps(message)
        codec, packed = bodies.encode(data)
        self._stored[key] = [None, hashlib.sha256(data).digest(), codec, len(data), 0, packed]
        return key


def nodes_of(rows: Rows, texts: Texts, report: Recovered) -> tuple[dict[int, int], Made]:
    """Old number → new number, and the rows by their new ones."""
    nodes = rows["nodes"]
    wanted = {int(row[2]) for row in nodes.values() if isinstance(row[2], int)}
    ended = {int(row[1]) for row in rows["node_ends"].values() if isinstance(row[1], int)}
    wanted |= ended
    last = max((*nodes, *wanted), default=0) if len(wanted) < 1 << 24 else max(nodes, default=0)
    report.lost_nodes = [seq for seq in range(1, last + 1) if seq not in nodes] if last < 1 << 24 else []
    numbers: dict[int, int] = {}
    made: Made = {}
    uids: set[str] = set()
    has_child: set[int] = set()
    for seq in sorted({*nodes, *(seq for seq in wanted if 0 < seq <= last)}):
        new = len(numbers) + 1
        row = nodes.get(seq)
        if row is None:
            values: list[Value] = _lost_node(ended=seq in ended)
        else:
            values = list(row[1:])
            parent = values[1]
            values[1] = numbers.get(parent) if isinstance(parent, int) and parent < seq else None
            if str(values[0]) in uids:
                values[0] = new_uid()
                report.remarks.append(f"node number {seq}: its id was taken, it has a new one")
            _mend(rows, texts, values, str(values[2]), report)
            report.nodes += 1
        uids.add(str(values[0]))
        hung_on = int(values[1] or 0) if isinstance(values[1], int) else 0
        values[16] = int(hung_on in has_child)
        has_child.add(hung_on)
        numbers[seq] = new
        made[new] = values
    return numbers, made


def _lost_node(*, ended: bool) -> list[Value]:
    preview = "[lost: the file was damaged here]"
    flags = int(NodeFlag.INCOMPLETE | NodeFlag.GUESSED_PARENT)
    outcome = "running" if ended else "none"  # what has an end was started once
    texts: list[Value] = ["", "", "", "", ""]
    return [
        new_uid(),
        None,
        LOST_KIND,
        0,
        preview,
        outcome,
        flags,
        0,
        *texts,
        0,
        0,
        0,
        0,
        0,
        None,
        None,
        None,
        None,
    ]


def _mend(rows: Rows, texts: Texts, values: list[Value], kind: str, report: Recovered) -> None:
    """Replace references to lost bodies: a message by a note that it is lost, the rest by nothing."""
    for at in range(18, 22):
        if values[at] is not None and values[at] not in rows["bodies"]:
            if at == 18:
                role = "assistant" if kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT) else "user"
                note = f"[The text of this step was lost when the session file was damaged. It began: {values[4]!s}]"
                values[at] = texts.add({"role": role, "content": [{"type": "text", "text": note}]})
            else:
                values[at] = None
            values[6] = int(values[6] or 0) | NodeFlag.INCOMPLETE if isinstance(values[6], int) else 0
            if at in (18, 19):
                report.body_lost(str(values[0]))


def ends_of(rows: Rows, texts: Texts, numbers: dict[int, int], report: Recovered) -> Made:
    done: set[int] = set()
    made: Made = {}
    for rowid, row in sorted(rows["node_ends"].items()):
        node = row[1]
        if not isinstance(node, int) or node not in numbers or node in done:
            report.notes.append(f"the end of node number {node!r}: its beginning is gone")
            continue
        done.add(node)
        values = list(row[1:])
        values[0] = numbers[node]
        for at in range(10, 14):
            if values[at] is not None and values[at] not in rows["bodies"]:
                values[at] = _lost_result(rows, texts, node) if at == 10 else None
                if at in (10, 11):
                    report.body_lost(f"result of node number {node}")
        made[rowid] = values
    return made


def _lost_result(rows: Rows, texts: Texts, node: int) -> Value:
    """A result that pairs with the call and says that it is lost; None when the call is lost as well."""
    detail = rows["nodes"].get(node, [None] * 23)[20]
    stored = rows["bodies"].get(detail) if isinstance(detail, int) else None
    if stored is None:
        return None
    _, digest, codec, size, _, data = stored
    if not (
        isinstance(codec, int)
        and isinstance(size, int)
        and isinstance(data, bytes)
        and isinstance(digest, bytes)
    ):
        return None
    call = loads(bodies.decode(codec, data, size, digest)).get("call") or {}
    text = "[The result of this call was lost when the session file was damaged.]"
    block = {"type": "tool_result", "tool_use_id": call.get("id", ""), "content": text, "is_error": True}
    return texts.add({"role": "user", "content": [block]})
