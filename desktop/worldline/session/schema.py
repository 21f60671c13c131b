"""The tables of a session file, and the triggers that make them append-only.

History tables refuse UPDATE and DELETE, and INSERT OR REPLACE as well: the insert trigger refuses an existing key before
SQLite would delete the old row. What is derived and can be made again (the search index) is exempt.
A later schema may add columns and tables; it never changes what a column of this one means.

Rows of each table differ from those of every other by their shape, so that `recover` can tell to which table a
row on a torn page belonged.
"""

from __future__ import annotations

from worldline.core.header_reader import APPLICATION_ID, SCHEMA_VERSION

LOST_KIND = "lost"
"""Stored kind of a node that `recover` put in the place of one that is gone; shown as unknown."""

_TABLES = """
CREATE TABLE bodies(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL, codec INTEGER NOT NULL, size INTEGER NOT NULL,
  shared INTEGER NOT NULL, head BLOB, data BLOB NOT NULL
);
CREATE UNIQUE INDEX bodies_by_hash ON bodies(hash) WHERE shared = 1;
CREATE TABLE nodes(
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  uid TEXT NOT NULL UNIQUE,
  parent INTEGER REFERENCES nodes(seq) CHECK (parent > 0 AND parent < seq),
  kind TEXT NOT NULL, created INTEGER NOT NULL, preview TEXT NOT NULL, outcome TEXT NOT NULL,
  flags INTEGER NOT NULL, size INTEGER NOT NULL, run TEXT NOT NULL, branch TEXT NOT NULL, tool TEXT NOT NULL,
  model TEXT NOT NULL, state TEXT NOT NULL, added INTEGER NOT NULL, removed INTEGER NOT NULL, files INTEGER NOT NULL,
  fork INTEGER NOT NULL, moved INTEGER NOT NULL,
  message INTEGER REFERENCES bodies(id), detail INTEGER REFERENCES bodies(id),
  task INTEGER REFERENCES bodies(id), search INTEGER REFERENCES bodies(id)
);
CREATE INDEX forks ON nodes(seq) WHERE fork = 1;
CREATE TABLE node_ends(
  id INTEGER PRIMARY KEY, node INTEGER NOT NULL UNIQUE REFERENCES nodes(seq), at INTEGER NOT NULL,
  outcome TEXT NOT NULL, preview TEXT NOT NULL, flags INTEGER NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL,
  added INTEGER NOT NULL, removed INTEGER NOT NULL, files INTEGER NOT NULL,
  message INTEGER REFERENCES bodies(id), detail INTEGER REFERENCES bodies(id),
  task INTEGER REFERENCES bodies(id), search INTEGER REFERENCES bodies(id)
);
CREATE TABLE cursor_moves(
  id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES nodes(seq), at INTEGER NOT NULL, why TEXT NOT NULL,
  after_node INTEGER NOT NULL, sum BLOB
);
CREATE TABLE runs(
  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, prompt TEXT NOT NULL, started INTEGER NOT NULL,
  settings TEXT NOT NULL, after_node INTEGER NOT NULL, sum BLOB
);
CREATE TABLE run_ends(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL UNIQUE REFERENCES runs(id), at INTEGER NOT NULL,
  stop_reason TEXT NOT NULL, detail TEXT NOT NULL, api_said TEXT NOT NULL, usage TEXT NOT NULL,
  sum BLOB
);
CREATE TABLE usage(
  node INTEGER PRIMARY KEY REFERENCES nodes(seq), input INTEGER NOT NULL, output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, thinking INTEGER NOT NULL, cost REAL,
  answers INTEGER NOT NULL, sum BLOB
);
CREATE TABLE records(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, node INTEGER REFERENCES nodes(seq),
  run TEXT NOT NULL, data TEXT NOT NULL, sum BLOB
);
CREATE INDEX records_by_kind ON records(kind);
CREATE TABLE meta(id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL, sum BLOB);
CREATE TABLE openings(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, app TEXT NOT NULL, pid INTEGER NOT NULL, last_node INTEGER NOT NULL,
  sum BLOB
);
"""

_DERIVED = """
CREATE VIRTUAL TABLE search USING fts5(text, content='', tokenize="unicode61 remove_diacritics 2");
CREATE TABLE search_upto(one INTEGER PRIMARY KEY CHECK (one = 1), nodes INTEGER NOT NULL, ends INTEGER NOT NULL);
INSERT INTO search_upto VALUES(1, 0, 0);
"""

_KEYS = {
    "bodies": ("id",),
    "nodes": ("seq", "uid"),
    "node_ends": ("id", "node"),
    "cursor_moves": ("id",),
    "runs": ("id", "uid"),
    "run_ends": ("id", "run"),
    "usage": ("node",),
    "records": ("id",),
    "meta": ("id",),
    "openings": ("id",),
}
HISTORY_TABLES = tuple(_KEYS)


def _triggers() -> str:
    statements = [
        "CREATE TRIGGER nodes_parent BEFORE INSERT ON nodes WHEN NEW.parent IS NOT NULL"
        " AND (NEW.parent >= NEW.seq OR NOT EXISTS (SELECT 1 FROM nodes WHERE seq = NEW.parent))"
        " BEGIN SELECT RAISE(ABORT, 'worldline: the parent must be there first'); END;"
    ]
    for table, keys in _KEYS.items():
        taken = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})" for key in keys)
        if table == "bodies":
            taken += (
                " OR NEW.shared = 1 AND EXISTS (SELECT 1 FROM bodies WHERE hash = NEW.hash AND shared = 1)"
            )
        statements.append(
            f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} WHEN {taken}"
            " BEGIN SELECT RAISE(ABORT, 'worldline: append-only, this key is taken'); END;"
        )
        for verb in ("UPDATE", "DELETE"):
            statements.append(
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table}"
                " BEGIN SELECT RAISE(ABORT, 'worldline: append-only'); END;"
            )
    return "\n".join(statements)


def create_script() -> str:
    """The whole of a new file, one transaction."""
    return (
        f"BEGIN;\n{_TABLES}\n{_triggers()}\n{_DERIVED}\n"
        f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {SCHEMA_VERSION};\nCOMMIT;"
    )
