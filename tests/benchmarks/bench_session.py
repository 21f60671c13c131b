"""The session document in numbers, each against a yardstick measured in the same run.

    python tests/benchmarks/bench_session.py [--small]

Prints a table and exits with 1 when a goal is missed. `--small` uses a tenth of the sizes (to try the script).
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from worldline.core import header_reader
from worldline.core.kinds import NodeKind, Outcome
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd
from worldline.session.tree import SessionTree

WORDS = [
    f"{a}{b}{c}"
    for a in ("re", "un", "pre", "ca", "lo")
    for b in ("ta", "mi", "so", "ver")
    for c in ("ling", "tion", "der", "x")
]


def words(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=size // 7))


def build(path: Path, nodes: int, size: int) -> None:
    """A session of prompts, replies and tool calls with about `size` bytes of text a node, some forks."""
    rng = random.Random(7)
    doc = SessionDocument.create(path, title="bench")
    doc._db.execute("PRAGMA synchronous = OFF")
    parent = doc.append(NodeDraft(NodeKind.ROOT, None, state="s" * 40)).uid
    uids = [parent]
    while len(uids) < nodes:
        with doc.transaction():
            for _ in range(min(2000, nodes - len(uids))):
                turn = len(uids) % 4
                text = words(rng, size)
                if turn in (1, 3):
                    kind = NodeKind.USER if turn == 1 else NodeKind.ASSISTANT
                    message = {"role": kind.value, "content": [{"type": "text", "text": text}]}
                    node = doc.append(NodeDraft(kind, parent, message, model="claude", run="r" * 16))
                else:
                    detail = {
                        "call": {"id": f"toolu_{len(uids)}", "name": "bash", "input": {"command": text[:60]}}
                    }
                    node = doc.append(
                        NodeDraft(
                            NodeKind.TOOL, parent, detail=detail, tool="bash", run="r" * 16, preview=text[:60]
                        )
                    )
                    block = {"type": "tool_result", "tool_use_id": f"toolu_{len(uids)}", "content": text}
                    doc.finish(
                        node.uid, NodeEnd(Outcome.OK, {"role": "user", "content": [block]}, state="t" * 40)
                    )
                uids.append(node.uid)
                parent = node.uid if rng.random() > 0.03 else uids[-min(len(uids), rng.randrange(2, 40))]
        doc._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    doc.append(
        NodeDraft(
            NodeKind.USER,
            parent,
            {"role": "user", "content": [{"type": "text", "text": "the zyzzyva needle"}]},
        )
    )
    doc.close()


def build_headers(path: Path, nodes: int) -> None:
    """Rows without bodies, written directly."""
    SessionDocument.create(path, title="rows").close()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA synchronous = OFF")
    raw.execute("BEGIN")
    kinds = ["user", "assistant", "tool", "tool"]
    raw.executemany(
        "INSERT INTO nodes VALUES(?,?,?,?,?,?,'ok',0,2000,'r','','bash','claude','s',0,0,0,0,1,NULL,NULL,NULL,NULL)",
        (
            (
                n,
                f"{n:016x}",
                None if n == 1 else n - 1 if n % 50 else n - 30,
                kinds[n % 4],
                n,
                "a preview of some words of it",
            )
            for n in range(1, nodes + 1)
        ),
    )
    raw.execute("COMMIT")
    raw.close()


def median(job: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        gc.collect()
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def best(job: Callable[[], object], rounds: int = 5) -> float:
    """The quickest of some runs: for goals in seconds, on a machine that has other work as well."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def in_child(job: Callable[..., object], *args: object) -> object:
    """Run in a fresh process, so that memory is that job's own."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_put, args=(queue, job, args))
    process.start()
    result = queue.get()
    process.join()
    return result


def _put(
    queue: multiprocessing.queues.SimpleQueue[object], job: Callable[..., object], args: tuple[object, ...]
) -> None:
    queue.put(job(*args))


def opened(path: Path) -> tuple[float, float]:
    """Seconds and megabytes that opening to a usable tree takes."""
    process = psutil.Process()
    before = process.memory_info().rss
    begin = time.perf_counter()
    doc = SessionDocument.open(path)
    doc.tree.path(doc.seq(doc.cursor))
    doc.tree.children(1)
    seconds = time.perf_counter() - begin
    grown = (process.memory_info().rss - before) / 1e6
    doc.close()
    return seconds, grown


def appends(folder: Path, size: int, *, long: bool, rounds: int = 400) -> tuple[float, float]:
    """Seconds per durable append, and per bare durable insert of the same bytes; interleaved, medians.

    Both with the same page size, kind of log and of sync, and both in the same phase of their logs: one that grows (a session
    that was just opened) costs the file system more than one that is written over again (`long`: after the first
    checkpoint). Without `long`, both begin anew before the first of them gets there."""
    rng = random.Random(1)
    ours: list[float] = []
    bare: list[float] = []
    part = rounds if long else min(rounds, 3_000_000 // (size + 20_000))
    while len(ours) < rounds:
        place = folder / str(len(ours))
        place.mkdir(parents=True)
        doc = SessionDocument.create(place / "a.worldline")
        parent = doc.append(NodeDraft(NodeKind.ROOT, None)).uid
        raw = sqlite3.connect(place / "bare.db", isolation_level=None)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, body BLOB)")
        for pragma in ("page_size", "synchronous", "wal_autocheckpoint"):
            assert doc._rows(f"PRAGMA {pragma}") == raw.execute(f"PRAGMA {pragma}").fetchall()
        if long:
            more_than_a_checkpoint = rng.randbytes(6_000_000)
            doc.put_blob(more_than_a_checkpoint)
            raw.execute("INSERT INTO t(body) VALUES(?)", (more_than_a_checkpoint,))
        for _ in range(min(part, rounds - len(ours))):
            message = {"role": "user", "content": [{"type": "text", "text": words(rng, size)}]}
            begin = time.perf_counter()
            parent = doc.append(NodeDraft(NodeKind.USER, parent, message)).uid
            ours.append(time.perf_counter() - begin)
            data = json.dumps(message).encode()
            begin = time.perf_counter()
            raw.execute("INSERT INTO t(body) VALUES(?)", (data,))
            bare.append(time.perf_counter() - begin)
        assert long or (place / "a.worldline-wal").stat().st_size < 4_000_000, "its log came to a checkpoint"
        doc.close()
        raw.close()
    return statistics.median(ours), statistics.median(bare)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    scale = 10 if parser.parse_args().small else 1
    rows: list[tuple[str, str, str, bool]] = []

    def row(what: str, value: str, goal: str, ok: bool) -> None:
        rows.append((what, value, goal, ok))
        print(f"{'ok  ' if ok else 'MISS'} {what:58} {value:>28}   goal {goal}", flush=True)

    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        big, million = folder / "big.worldline", folder / "million.worldline"
        nodes = 100_000 // scale
        build(big, nodes, 2000)
        print(f"{nodes} nodes, {big.stat().st_size / 1e6:.0f} MB", flush=True)

        results = [in_child(opened, big) for _ in range(3)]
        seconds, megabytes = (min(r[at] for r in results) for at in (0, 1))  # type: ignore[index]
        row("open 100k nodes / 200 MB to a usable tree", f"{seconds:.2f} s", "< 0.5 s", seconds < 0.5)
        row("resident memory of that", f"{megabytes:.0f} MB", "< 100 MB", megabytes < 100)
        reader = header_reader.connect_readonly(big)

        def raw_select() -> None:
            reader.execute("SELECT seq, parent, kind, outcome, flags, created FROM nodes").fetchall()
            reader.execute("SELECT id, node, outcome, flags FROM node_ends").fetchall()

        select = median(raw_select)
        load = median(lambda: header_reader.read_columns(reader))
        print(f"     load columns: {load / select:.2f} x a raw SELECT of the same ({load * 1000:.0f} ms)")
        headers = best(lambda: header_reader.read_headers(reader, nodes - 200), 5)
        row("200 rows as objects (a screen and more)", f"{headers * 1000:.1f} ms", "< 20 ms", headers < 0.02)

        build_headers(million, 1_000_000 // scale)
        rows_reader = header_reader.connect_readonly(million)
        seconds = best(lambda: SessionTree(header_reader.read_columns(rows_reader)).children(1), 3)
        row("1M rows to a tree with children", f"{seconds:.2f} s", "< 4 s", seconds < 4)

        for long in (False, True):
            for size in (500, 2000, 8000, 20_000):
                ours, bare = appends(folder / f"{size}{long}", size, long=long)
                row(
                    f"durable append, {size} bytes / bare insert, {'long' if long else 'new'} session",
                    f"{ours / bare:.2f} x ({ours * 1e6:.0f} us)", "<= 1.5 x", ours <= 1.5 * bare,
                )  # fmt: skip

        doc = SessionDocument.open(big)
        deepest = max(doc.tree.leaves()[-200:], key=doc.tree.depth)
        path = doc.tree.path(deepest)[-5000:]
        seconds = best(lambda: [body.message_bytes or body.end_message_bytes for body in doc.bodies_at(path)])
        row(f"bodies of a path of {len(path)} nodes", f"{seconds * 1000:.0f} ms", "< 100 ms", seconds < 0.1)

        begin = time.perf_counter()
        entries = 0
        while done := doc.index(2000):
            entries += done
        seconds = time.perf_counter() - begin
        print(f"     index {entries} entries off the path: {seconds / max(entries, 1) * 1e6:.0f} us each")
        print(f"     file with index: {big.stat().st_size / 1e6:.0f} MB")
        for query in ("zyzzyva", "retaling", "retaling unmider", "reta"):
            seconds = best(lambda query=query: doc.search(query, 50))  # type: ignore[misc]
            row(f"search {query!r}: first 50 hits", f"{seconds * 1000:.1f} ms", "< 100 ms", seconds < 0.1)
        doc.close()
    return 0 if all(ok for *_, ok in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
