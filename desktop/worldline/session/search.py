"""Full-text search (FTS5) in a session.

The index is derived: it holds no text of its own (contentless), is filled off the path of appends by `catch_up`, and can be
made anew at any time. `search_upto` says how far it goes; what lies behind is read directly, so nothing is missed while it lags.
A node has two entries: what was there when it was appended (rowid 2·seq) and what its end brought (2·seq + 1).

Chinese, Japanese and Korean characters are indexed one by one and looked for as phrases, so words need no spaces.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator

from worldline.core.errors import SessionError
from worldline.core.jsontext import loads
from worldline.session import bodies, text
from worldline.session.model import SearchHit

_CJK = re.compile("([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_WORD = re.compile(r"\w+")
_CONTEXT = 80
_NODE_SQL = (
    "SELECT seq, uid, kind, preview, tool, message, detail, search FROM nodes WHERE seq {where} ORDER BY seq"
)
_END_SQL = (
    "SELECT n.seq, n.uid, n.kind, e.preview, '', e.message, e.detail, e.search, e.id"
    " FROM node_ends e JOIN nodes n ON n.seq = e.node WHERE e.id {where} ORDER BY e.id"
)


def catch_up(connection: sqlite3.Connection, limit: int) -> int:
    """Index up to `limit` entries that are not yet in the index; returns how many it did. Part of the caller's transaction."""
    nodes_upto, ends_upto = connection.execute("SELECT nodes, ends FROM search_upto").fetchone()
    done = 0
    for row in connection.execute(
        _NODE_SQL.format(where="> ? ") + " LIMIT ?", (nodes_upto, limit)
    ).fetchall():
        _insert(connection, 2 * row[0], _text(connection, row))
        nodes_upto, done = row[0], done + 1
    for row in connection.execute(
        _END_SQL.format(where="> ? ") + " LIMIT ?", (ends_upto, limit - done)
    ).fetchall():
        _insert(connection, 2 * row[0] + 1, _text(connection, row))
        ends_upto, done = row[8], done + 1
    if done:
        connection.execute("UPDATE search_upto SET nodes = ?, ends = ?", (nodes_upto, ends_upto))
    return done


def pending(connection: sqlite3.Connection) -> int:
    """How many entries the index lags behind."""
    nodes, ends = connection.execute(
        "SELECT ifnull((SELECT max(seq) FROM nodes), 0) - nodes, ifnull((SELECT max(id) FROM node_ends), 0) - ends"
        " FROM search_upto"
    ).fetchone()
    return int(nodes) + int(ends)


def find(connection: sqlite3.Connection, query: str, limit: int, *, session: str) -> list[SearchHit]:
    """Nodes that hold all words of `query`, newest first, each once. Words are matched whole, the last one from its
    beginning; capitals and accents do not count. An empty query finds nothing."""
    needles = query.split()
    match = _match(needles)
    if not match or limit <= 0:
        return []
    hits: dict[int, SearchHit] = {}
    for seq, uid, kind, words in _candidates(connection, match, needles):
        if seq not in hits:
            hits[seq] = SearchHit(session, seq, uid, kind, snippet(words, needles))
            if len(hits) >= limit:
                break
    return list(hits.values())


def _candidates(
    connection: sqlite3.Connection, match: str, needles: list[str]
) -> Iterator[tuple[int, str, str, str]]:
    upto = connection.execute("SELECT nodes, ends FROM search_upto").fetchone()
    fresh = [
        *connection.execute(_END_SQL.format(where="> ?"), (upto[1],)).fetchall(),
        *connection.execute(_NODE_SQL.format(where="> ?"), (upto[0],)).fetchall(),
    ]
    pattern = _pattern(needles)
    for row in sorted(fresh, key=lambda row: -row[0]):
        words = _text(connection, row)
        if all(part.search(words) for part in pattern):
            yield row[0], row[1], row[2], words
    for (rowid,) in connection.execute(
        "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC", (match,)
    ):
        sql, key = (
            (_END_SQL.replace("e.id {where}", "e.node {where}"), rowid >> 1)
            if rowid & 1
            else (_NODE_SQL, rowid >> 1)
        )
        for row in connection.execute(sql.format(where="= ?"), (key,)):
            yield row[0], row[1], row[2], _text(connection, row)


def _text(connection: sqlite3.Connection, row: tuple[object, ...]) -> str:
    """What can be found of one entry. A damaged body hides only itself: its node is found by the preview."""
    parts: list[object] = [row[3], row[4]]
    # A damaged body: `verify` reports it, opening the node says so; here the rest of the words still count.
    with contextlib.suppress(SessionError, ValueError):
        for body_id in (row[7],) if row[7] else (row[5], row[6]):
            if not isinstance(body_id, int):
                continue
            data = bodies.get(connection, body_id)
            if row[7]:
                parts.append(data.decode("utf-8", "replace"))
                continue
            value = loads(data)
            parts.append(value)
            for name in text.blobs_in(value):
                blob = bodies.by_hash(connection, name)
                if blob and b"\0" not in blob[:1024]:
                    parts.append(blob[: text.MAX_TEXT].decode("utf-8", "replace"))
    return text.words_of(*parts)


def _insert(connection: sqlite3.Connection, rowid: int, words: str) -> None:
    connection.execute("INSERT INTO search(rowid, text) VALUES(?, ?)", (rowid, _CJK.sub(r" \1 ", words)))


def _match(needles: list[str]) -> str:
    parts = []
    for needle in needles:
        phrase = _CJK.sub(r" \1 ", needle).replace('"', " ").strip()
        if _WORD.search(phrase):
            parts.append(f'"{phrase}"')
    if not parts:
        return ""
    if not _CJK.search(needles[-1][-1:]):
        parts[-1] += " *"
    return " ".join(parts)


def _pattern(needles: list[str]) -> list[re.Pattern[str]]:
    """The same question in regular expressions, for entries that are not indexed yet, and for snippets."""
    patterns = []
    for at, needle in enumerate(needles):
        words = _WORD.findall(needle.replace("_", " "))
        if not words:
            continue
        body = r"[\W_]*".join(re.escape(word) for word in words)
        if _CJK.search(needle):
            patterns.append(re.compile(body, re.IGNORECASE))
        else:
            end = "" if at == len(needles) - 1 else r"(?![^\W_])"
            patterns.append(re.compile(rf"(?<![^\W_]){body}{end}", re.IGNORECASE))
    return patterns


def snippet(words: str, needles: list[str]) -> str:
    """Text round the first match on one line, matches between U+0002 and U+0003."""
    patterns = _pattern(needles)
    first = min((found.start() for part in patterns if (found := part.search(words))), default=0)
    begin, end = max(0, first - _CONTEXT), first + 2 * _CONTEXT
    piece = words[begin:end].replace("\x02", " ").replace("\x03", " ")
    if patterns:
        union = re.compile("|".join(f"(?:{part.pattern})" for part in patterns), re.IGNORECASE)
        piece = union.sub(lambda found: f"\x02{found[0]}\x03" if found[0] else "", piece)
    head, tail = "…" if begin else "", "…" if end < len(words) else ""
    return head + " ".join(piece.split()) + tail
