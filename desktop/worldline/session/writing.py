"""The statements that add rows. Nothing here decides anything: checks and memory are the document's business."""

from __future__ import annotations

import sqlite3
from typing import Any

from worldline.core.headers import NodeHeader
from worldline.core.jsontext import clean_text, dumps
from worldline.core.usage import Usage
from worldline.session import bodies, sums
from worldline.session.heads import Heads
from worldline.session.model import NodeDraft, NodeEnd, RunRecord

_INSERT_NODE = (
    "INSERT INTO nodes(seq, uid, parent, kind, created, preview, outcome, flags, size, run, branch, tool, model, state,"
    " added, removed, files, fork, moved, message, detail, task, search)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_INSERT_END = (
    "INSERT INTO node_ends(node, at, outcome, preview, flags, size, state, added, removed, files, message, detail, task,"
    " search) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)


NO_HEADS: Heads = (b"", b"", b"", b"")
"""For files of the first schema, which has no place for them."""


class Payload:
    """The bodies of a draft or an end as bytes, made before the transaction begins: what cannot be stored as JSON
    (NaN, foreign objects) is refused while nothing has been written."""

    __slots__ = ("detail", "message", "search", "task")

    def __init__(self, part: NodeDraft | NodeEnd) -> None:
        self.message = dumps(part.message) if part.message is not None else b""
        self.detail = dumps(part.detail) if part.detail else b""
        self.task = dumps(part.task_state) if part.task_state is not None else b""
        self.search = clean_text(part.search_text).encode() if part.search_text else b""

    @property
    def size(self) -> int:
        return len(self.message) + len(self.detail)

    def store(
        self, connection: sqlite3.Connection, recent: bodies.Recent, heads: Heads = NO_HEADS
    ) -> list[int | None]:
        """Ids of message, detail, task state and search text."""
        return [
            bodies.put(connection, data, recent=recent, head=head) if data else None
            for data, head in zip((self.message, self.detail, self.task, self.search), heads, strict=True)
        ]


def insert_node(
    connection: sqlite3.Connection,
    header: NodeHeader,
    payload: Payload,
    recent: bodies.Recent,
    *,
    fork: bool,
    moved: bool,
    heads: Heads = NO_HEADS,
) -> None:
    connection.execute(
        _INSERT_NODE,
        (
            header.seq,
            header.uid,
            header.parent or None,
            header.raw_kind or header.kind.value,
            header.created,
            header.preview,
            header.outcome.value,
            int(header.flags),
            header.size,
            header.run,
            header.branch,
            header.tool,
            header.model,
            header.state,
            header.added,
            header.removed,
            header.files,
            int(fork),
            int(moved),
            *payload.store(connection, recent, heads),
        ),
    )


def insert_end(
    connection: sqlite3.Connection,
    seq: int,
    end: NodeEnd,
    payload: Payload,
    recent: bodies.Recent,
    preview: str,
    at: int,
    heads: Heads = NO_HEADS,
) -> int:
    """Id of the end."""
    done = connection.execute(
        _INSERT_END,
        (
            seq,
            at,
            end.outcome.value,
            preview,
            int(end.flags),
            payload.size,
            end.state,
            end.added,
            end.removed,
            end.files,
            *payload.store(connection, recent, heads),
        ),
    )
    assert done.lastrowid is not None
    return done.lastrowid


def insert_usage(connection: sqlite3.Connection, seq: int, usage: Usage, *, summed: bool) -> None:
    values = (
        seq, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens,
        usage.thinking_tokens, usage.cost, usage.answers,
    )  # fmt: skip
    sums.insert(connection, "usage", values, summed=summed)


def insert_cursor(
    connection: sqlite3.Connection, seq: int, at: int, why: str, after_node: int, *, summed: bool
) -> None:
    sums.insert(connection, "cursor_moves", (seq, at, why, after_node), summed=summed)


def insert_record(
    connection: sqlite3.Connection,
    kind: str,
    at: int,
    node: int,
    run: str,
    data: dict[str, Any],
    *,
    summed: bool,
) -> int:
    """Id of the record."""
    values = (kind, at, node or None, run, dumps(data).decode())
    return sums.insert(connection, "records", values, summed=summed)


def insert_meta(connection: sqlite3.Connection, key: str, value: str, at: int, *, summed: bool) -> None:
    sums.insert(connection, "meta", (key, clean_text(value), at), summed=summed)


def insert_run(
    connection: sqlite3.Connection, run: RunRecord, at: int, after_node: int, *, summed: bool
) -> None:
    values = (run.uid, run.prompt, run.started or at, dumps(run.settings).decode(), after_node)
    sums.insert(connection, "runs", values, summed=summed)


def insert_run_end(
    connection: sqlite3.Connection,
    run: int,
    at: int,
    reason: str,
    detail: str,
    api_said: str,
    usage: Usage,
    *,
    summed: bool,
) -> None:
    values = (run, at, reason, clean_text(detail), clean_text(api_said), dumps(usage.model_dump()).decode())
    sums.insert(connection, "run_ends", values, summed=summed)


def insert_opening(
    connection: sqlite3.Connection, at: int, app: str, pid: int, last_node: int, *, summed: bool
) -> None:
    sums.insert(connection, "openings", (at, app, pid, last_node), summed=summed)
