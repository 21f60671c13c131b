"""JSON lines, version 1: everything of a session, one object a line, readable by any program and by `worldline import`.

`{"type": "worldline", "version": 1}` first, then in this order, each in the order of the session:

* `meta` {key, value, at}
* `body` {sha256, text | base64}: bytes that no node carries inline (large outputs, images)
* `node` {uid, parent, kind, created, outcome, preview, flags, run, branch, tool, model, state, added, removed, files,
  fork, moved, size, message, detail, task, search}; parent is a uid or null, message is what the model got
* `end` {node, at, outcome, preview, flags, state, added, removed, files, size, message, detail, task, search}
* `usage` {node, input, output, cache_read, cache_write, thinking, cost, answers}
* `run` {uid, prompt, started, settings, after_node}, `run_end` {run, at, stop_reason, detail, api_said, usage}
* `record` {kind, at, node, run, data}, `cursor` {node, at, why, after_node}; a node with moved took the cursor with it
* `end_of_export` {lines}: how many lines there are, this one included; without it the file is not whole

Times are milliseconds since the epoch, UTC. What is empty is left out. Fields that a reader does not know are to be kept.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldline.core import header_reader
from worldline.core.errors import BadInput
from worldline.core.ids import is_node_id
from worldline.core.jsontext import dumps, loads
from worldline.session import bodies, connect, heads, schema, sums

VERSION = 1
_NODE = (
    "uid", "kind", "created", "preview", "outcome", "flags", "size", "run", "branch", "tool", "model", "state",
    "added", "removed", "files", "fork", "moved",
)  # fmt: skip
_END = ("at", "outcome", "preview", "flags", "size", "state", "added", "removed", "files")
_INLINE = ("message", "detail", "task", "search")
_USAGE = ("input", "output", "cache_read", "cache_write", "thinking", "cost", "answers")


def lines(path: Path) -> Iterator[bytes]:
    """The export, a line at a time, without line ends. Raises SessionError when the file cannot be read."""
    count = 0
    for line in _all_lines(path):
        count += 1
        yield line
    yield dumps({"type": "end_of_export", "lines": count + 1})


def _all_lines(path: Path) -> Iterator[bytes]:
    connect.check_file(path)
    with contextlib.closing(connect.connect_read(path)) as db, connect.told(path):
        yield dumps({"type": "worldline", "version": VERSION})
        for key, value, at in db.execute("SELECT key, value, at FROM meta ORDER BY id"):
            yield dumps({"type": "meta", "key": key, "value": value, "at": at})
        yield from _free_bodies(db)
        for row in db.execute(
            f"SELECT p.uid, {', '.join('n.' + c for c in _NODE)}, {', '.join('n.' + c for c in _INLINE)}"
            " FROM nodes n LEFT JOIN nodes p ON p.seq = n.parent ORDER BY n.seq"
        ):
            node = {"type": "node", "uid": row[1], "parent": row[0]} | _filled(_NODE, row[1:])
            yield dumps(node | _inline(db, row[1 + len(_NODE) :]))
        for row in db.execute(
            f"SELECT n.uid, {', '.join('e.' + c for c in _END)}, {', '.join('e.' + c for c in _INLINE)}"
            " FROM node_ends e JOIN nodes n ON n.seq = e.node ORDER BY e.id"
        ):
            end = {"type": "end", "node": row[0]} | _filled(_END, row[1:])
            yield dumps(end | _inline(db, row[1 + len(_END) :]))
        yield from _beside(db)


def _filled(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=False) if value not in ("", 0)}


def _inline(db: sqlite3.Connection, ids: tuple[int | None, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, body in zip(_INLINE, ids, strict=True):
        if body is not None:
            data = bodies.get(db, body)
            found[name] = data.decode("utf-8", "replace") if name == "search" else loads(data)
    return found


def _free_bodies(db: sqlite3.Connection) -> Iterator[bytes]:
    used = " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} NOT NULL"
        for table in ("nodes", "node_ends")
        for column in _INLINE
    )
    wanted = db.execute(f"SELECT id, hash FROM bodies WHERE id NOT IN ({used}) ORDER BY id")
    for body, digest in wanted.fetchall():
        data = bodies.get(db, body)
        try:
            yield dumps({"type": "body", "sha256": digest.hex(), "text": data.decode("utf-8")})
        except UnicodeDecodeError:
            yield dumps({"type": "body", "sha256": digest.hex(), "base64": base64.b64encode(data).decode()})


def _beside(db: sqlite3.Connection) -> Iterator[bytes]:
    for row in db.execute(
        f"SELECT n.uid, {', '.join('u.' + c for c in _USAGE)} FROM usage u JOIN nodes n ON n.seq = u.node ORDER BY u.node"
    ):
        yield dumps({"type": "usage", "node": row[0]} | dict(zip(_USAGE, row[1:], strict=True)))
    for uid, prompt, started, settings, after in db.execute(
        "SELECT uid, prompt, started, settings, after_node FROM runs ORDER BY id"
    ):
        run = {"type": "run", "uid": uid, "prompt": prompt, "started": started, "settings": loads(settings)}
        yield dumps(run | {"after_node": after})
    for uid, at, reason, detail, said, usage in db.execute(
        "SELECT r.uid, e.at, e.stop_reason, e.detail, e.api_said, e.usage FROM run_ends e"
        " JOIN runs r ON r.id = e.run ORDER BY e.id"
    ):
        end = {"type": "run_end", "run": uid, "at": at, "stop_reason": reason, "detail": detail}
        yield dumps(end | {"api_said": said, "usage": loads(usage)})
    for kind, at, node, run, data in db.execute(
        "SELECT r.kind, r.at, n.uid, r.run, r.data FROM records r LEFT JOIN nodes n ON n.seq = r.node ORDER BY r.id"
    ):
        yield dumps({"type": "record", "kind": kind, "at": at, "node": node, "run": run, "data": loads(data)})
    for node, at, why, after in db.execute(
        "SELECT n.uid, c.at, c.why, c.after_node FROM cursor_moves c JOIN nodes n ON n.seq = c.node ORDER BY c.id"
    ):
        yield dumps({"type": "cursor", "node": node, "at": at, "why": why, "after_node": after})


# --- reading it back --------------------------------------------------------------------------------------------------


def looks_like(record: dict[str, Any]) -> bool:
    return record.get("type") == "worldline" and "version" in record


def read_back(source: Path, out: Path) -> int:
    """Write the session of an export into the new file `out`; returns the number of nodes.

    Raises BadInput with the line at fault; nothing is left behind then. Written in one transaction.
    """
    connect.create_file(out)
    try:
        with contextlib.closing(connect.connect_write(out)) as db, source.open("rb") as file:
            db.execute("BEGIN IMMEDIATE")
            count = _Reader(db).read(file)
            db.execute("COMMIT")
    except BaseException:
        connect.remove(out)
        raise
    return count


class _Reader:
    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.seqs: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self.whole = False

    def read(self, file: Iterator[bytes] | Any) -> int:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = loads(line)
                if self.whole:
                    raise ValueError("something stands behind the end of the export")
                if number == 1:
                    self._header(record)
                elif record.get("type") == "end_of_export":
                    if record["lines"] != number:
                        raise ValueError(f"{record['lines']} lines were written, {number} are here")
                    self.whole = True
                else:
                    self._take(record)
            except _UNFIT as problem:
                raise BadInput(
                    f"Line {number} of the export cannot be read: {problem}.",
                    "Export the session again; nothing was written.",
                ) from problem
        if not self.whole:
            raise BadInput(
                "The export ends too early.", "A part of the file is missing; nothing was written."
            )
        return len(self.seqs)

    def _header(self, record: dict[str, Any]) -> None:
        if not looks_like(record):
            raise ValueError("it does not begin with the header of an export")
        if record["version"] > VERSION:
            raise ValueError(f"version {record['version']} is newer than {VERSION}; update Worldline")

    def _take(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        handler = getattr(self, f"_{kind}", None) if isinstance(kind, str) else None
        if handler is not None and kind in _KINDS:
            handler(record)

    def _put(self, table: str, values: dict[str, Any]) -> None:
        if table in sums.COLUMNS:
            sums.insert(self.db, table, [values[name] for name in sums.COLUMNS[table]], summed=True)
            return
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values()))

    def _with_bodies(self, record: dict[str, Any], row: dict[str, Any], seq: int) -> dict[str, Any]:
        """The row of a node, or of its end, with its bodies, which are stored."""
        texts: dict[str, bytes | None] = {}
        for name in _INLINE:
            value: Any = record.get(name)
            if not isinstance(value, str if name == "search" else dict) and value is not None:
                raise TypeError(f"{name} is no {'text' if name == 'search' else 'object'}")
            texts[name] = None if value is None else str(value).encode() if name == "search" else dumps(value)
        copies = heads.of_row(seq, row, end="node" in row, message_size=len(texts["message"] or b""))
        ids = {
            name: None if data is None else bodies.put(self.db, data, head=head)
            for (name, data), head in zip(texts.items(), copies, strict=True)
        }
        return row | ids

    def _meta(self, record: dict[str, Any]) -> None:
        self._put("meta", {"key": record["key"], "value": record["value"], "at": record["at"]})

    def _body(self, record: dict[str, Any]) -> None:
        data = (
            record["text"].encode() if "text" in record else base64.b64decode(record["base64"], validate=True)
        )
        if hashlib.sha256(data).hexdigest() != record["sha256"]:
            raise ValueError("a body does not fit its hash")
        bodies.put(self.db, data, shared=True)

    def _node(self, record: dict[str, Any]) -> None:
        seq = len(self.seqs) + 1
        parent = record.get("parent")
        if not is_node_id(str(record["uid"])):
            raise ValueError(f"{record['uid']!r} is no id of a node")
        values = _typed(record, _NODE)
        values |= {"seq": seq, "parent": None if parent is None else self.seqs[parent]}
        self._put("nodes", self._with_bodies(record, values, seq))
        self.seqs[record["uid"]] = seq

    def _end(self, record: dict[str, Any]) -> None:
        seq = self.seqs[record["node"]]
        self._put("node_ends", self._with_bodies(record, _typed(record, _END) | {"node": seq}, seq))

    def _usage(self, record: dict[str, Any]) -> None:
        self._put("usage", {name: record.get(name) for name in _USAGE} | {"node": self.seqs[record["node"]]})

    def _run(self, record: dict[str, Any]) -> None:
        settings = dumps(record["settings"]).decode()
        self._put("runs", {"uid": record["uid"], "prompt": record["prompt"], "started": record["started"],
                           "settings": settings, "after_node": record["after_node"]})  # fmt: skip
        self.runs[record["uid"]] = len(self.runs) + 1

    def _run_end(self, record: dict[str, Any]) -> None:
        self._put("run_ends", {"run": self.runs[record["run"]], "at": record["at"], "stop_reason": record["stop_reason"],
                               "detail": record["detail"], "api_said": record["api_said"],
                               "usage": dumps(record["usage"]).decode()})  # fmt: skip

    def _record(self, record: dict[str, Any]) -> None:
        node = record.get("node")
        self._put("records", {"kind": record["kind"], "at": record["at"], "node": None if node is None else self.seqs[node],
                              "run": record["run"], "data": dumps(record["data"]).decode()})  # fmt: skip

    def _cursor(self, record: dict[str, Any]) -> None:
        values = {name: record[name] for name in ("at", "why", "after_node")}
        self._put("cursor_moves", values | {"node": self.seqs[record["node"]]})


_UNFIT = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, sqlite3.Error)


def _typed(record: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Values as the columns hold them: SQLite would take any type, and the row could not be read any more."""
    values = {name: record.get(name, _EMPTY[name]) for name in names}
    for name, value in values.items():
        if type(value) is not type(_EMPTY[name]):
            raise TypeError(f"{name} is {value!r}")
    return values


_KINDS = frozenset({"meta", "body", "node", "end", "usage", "run", "run_end", "record", "cursor"})
_TEXTS = frozenset({"uid", "kind", "preview", "outcome", "run", "branch", "tool", "model", "state"})
_EMPTY: dict[str, Any] = {name: "" if name in _TEXTS else 0 for name in (*_NODE, *_END)}

assert header_reader.SCHEMA_VERSION == 3, "look through this module when the schema changes"
assert set(schema.HISTORY_TABLES) >= {"nodes", "node_ends", "records"}
