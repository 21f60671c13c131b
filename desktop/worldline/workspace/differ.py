"""Comparing in a process of its own: `python -m worldline.workspace.differ STORE`.

libgit2 holds the interpreter lock while it compares (260 ms for 50,000 rewritten lines, seconds for large files), which
would stop everything else in the engine. Here it stops nobody; cancelling is killing. Reads the store and writes nothing
but a cache of line counts.

Requests and answers are frames: four bytes of length, then JSON. A request is `[method, params]`; an answer is
`{"part": [...]}` any number of times, then `{"done": …}` or `{"error": [message, hint, kind]}`.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from worldline.core.errors import WorldlineError
from worldline.workspace import linecount
from worldline.workspace.authorship import Step
from worldline.workspace.changes import changes
from worldline.workspace.file_diff import file_diff
from worldline.workspace.patching import patch
from worldline.workspace.renames import MAX_COUNTED
from worldline.workspace.states import State
from worldline.workspace.store import Store

LENGTH = struct.Struct(">I")
CHANGES_A_PART = 500
ROWS_A_PART = 1_000
"""So that taking a part in never takes long either."""


class Reader:
    """What comparing needs of a workspace: its stored states."""

    def __init__(self, store: Path) -> None:
        self.store = Store(store)

    def state(self, state: str) -> State:
        return State.load(self.store, state)


Answer = Iterator[dict[str, Any]]


def _steps(rows: list[list[Any]]) -> list[Step]:
    return [Step(uid, state, is_user) for uid, state, is_user in rows]


def _changes(reader: Reader, p: dict[str, Any]) -> Answer:
    found = changes(reader, p["a"], p["b"], path_states=_steps(p["steps"]))
    counted = len(found) <= MAX_COUNTED
    if not counted and (known := linecount.cached(reader.store, p["a"], p["b"])) is not None:
        counted = True
        for change in found:
            if change.status != "R":  # among so many files only an equal one counts as renamed
                change.added, change.removed = known.get(change.path, (0, 0))
    rows = [change.model_dump(mode="json") for change in found]
    for at in range(0, len(rows), CHANGES_A_PART):
        yield {"part": rows[at : at + CHANGES_A_PART]}
    yield {"done": {"counted": counted}}


def _file_diff(reader: Reader, p: dict[str, Any]) -> Answer:
    result = file_diff(
        reader, p["a"], p["b"], p["path"], context=p["context"], ignore_space=p["ignore_space"],
        max_rows=p["max_rows"], path_states=_steps(p["steps"]), old_states=_steps(p["old_steps"]),
    )  # fmt: skip
    rows, result.rows = result.rows, []
    for at in range(0, len(rows), ROWS_A_PART):
        yield {"part": [row.model_dump(mode="json") for row in rows[at : at + ROWS_A_PART]]}
    yield {"done": result.model_dump(mode="json")}


def _patch(reader: Reader, p: dict[str, Any]) -> Answer:
    yield {"done": patch(reader, p["a"], p["b"])}


def _lines(reader: Reader, p: dict[str, Any]) -> Answer:
    """Lines of every changed file: parts of [path, added, removed]; the sums at the end."""
    counts = linecount.count_all(reader, p["a"], p["b"])
    if p["files"]:
        rows = [[path, *pair] for path, pair in counts.items()]
        for at in range(0, len(rows), CHANGES_A_PART):
            yield {"part": rows[at : at + CHANGES_A_PART]}
    yield {"done": [sum(pair[0] for pair in counts.values()), sum(pair[1] for pair in counts.values())]}


METHODS: dict[str, Callable[[Reader, dict[str, Any]], Answer]] = {
    "changes": _changes, "file_diff": _file_diff, "patch": _patch, "lines": _lines,
}  # fmt: skip


def frame(value: Any) -> bytes:
    data = json.dumps(value, separators=(",", ":")).encode("ascii")
    return LENGTH.pack(len(data)) + data


def serve(store: Path, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the other side closes."""
    reader = Reader(store)
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        method, params = json.loads(requests.read(LENGTH.unpack(head)[0]))
        try:
            for answer in METHODS[method](reader, params):
                answers.write(frame(answer))
                answers.flush()
        except WorldlineError as error:
            answers.write(frame({"error": [error.message, error.hint, error.kind]}))
            answers.flush()


def main() -> None:
    os.nice(5)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the frames
    serve(Path(sys.argv[1]), sys.stdin.buffer, out)


if __name__ == "__main__":
    main()
