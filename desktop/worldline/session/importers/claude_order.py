"""Records of Claude Code in an order in which every record comes behind the one that it hangs on."""

from __future__ import annotations

from collections import deque
from collections.abc import Container

from worldline.session.importers.lines import SourceRecord


def parent_of(record: SourceRecord, known: Container[str] | None = None) -> str | None:
    """uuid of the record that this one says it follows. A boundary of a compaction follows its logical parent, where there
    is one."""
    value = record.value
    raw = value.get("parentUuid")
    if value.get("type") == "system" and value.get("subtype") == "compact_boundary":
        logical = value.get("logicalParentUuid")
        if isinstance(logical, str) and (known is None or logical in known):
            raw = logical
    return raw if isinstance(raw, str) else None


def in_chain_order(records: list[SourceRecord]) -> tuple[list[SourceRecord], set[str]]:
    """File order, except that a record that stands before its parent waits for it. Also the uuids of the records at
    which circles of parents are cut: of each circle the one that closes it, which is the last in the file."""
    first: dict[str, int] = {}
    for place, record in enumerate(records):
        uid = record.value.get("uuid")
        if isinstance(uid, str):
            first.setdefault(uid, place)
    result: list[SourceRecord] = []
    done: set[str] = set()
    waiting: dict[str, list[int]] = {}

    def release(place: int) -> None:
        queue = deque([place])
        while queue:
            record = records[queue.popleft()]
            result.append(record)
            uid = record.value.get("uuid")
            if isinstance(uid, str) and uid not in done:
                done.add(uid)
                queue.extend(waiting.pop(uid, ()))

    for place, record in enumerate(records):
        parent = parent_of(record, first)
        if parent in first and parent not in done and isinstance(record.value.get("uuid"), str):
            assert parent is not None
            waiting.setdefault(parent, []).append(place)
        else:
            release(place)
    cut: set[str] = set()
    while waiting:
        place = _closing(records, waiting, first)
        parent = parent_of(records[place], first)
        assert parent is not None
        waiting[parent].remove(place)
        if not waiting[parent]:
            del waiting[parent]
        cut.add(str(records[place].value["uuid"]))
        release(place)
    return result, cut


def _closing(records: list[SourceRecord], waiting: dict[str, list[int]], first: dict[str, int]) -> int:
    """The last record, by file order, of a circle among those that wait."""
    trail: list[int] = []
    seen: dict[int, int] = {}
    place = first[next(iter(waiting))]
    while place not in seen:
        seen[place] = len(trail)
        trail.append(place)
        parent = parent_of(records[place], first)
        assert parent is not None, "what waits has a parent that waits too"
        place = first[parent]
    return max(trail[seen[place] :])
