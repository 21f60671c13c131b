"""Kill the process that writes a session, at every point, and look what is left.

A child performs random operations and says before each what it is about to do and after each that it is done. It is killed
(SIGKILL) at the n-th write point (a SQL statement, a step of SQLite's machine, a call that touches a file) or at a random time. Then:
the file is sound and opens; it holds exactly what was acknowledged, or that and the one operation in flight, whole; unfinished calls
and runs are interrupted; the cursor is where it was put. The session goes on from there until it is killed again.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from worldline.core.errors import SessionError
from worldline.session.document import SessionDocument
from worldline.session.recover import recover
from worldline.session.verify import verify

from .session_model import Model, Op, perform, snapshot

_FILE_EVENTS = frozenset({"open", "os.link", "os.rename", "os.remove", "os.truncate", "sqlite3.connect"})
_STEPS = 150
"""Steps of SQLite's machine between two points inside a statement."""


class _Killer:
    """Counts points in the child and kills it at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def point(self, *_: object) -> int:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def arm(self) -> None:
        connect = sqlite3.connect

        def traced(*args: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*args, **more)
            connection.set_trace_callback(self.point)
            connection.set_progress_handler(self.point, _STEPS)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]
        sys.addaudithook(lambda event, _: self.point() if event in _FILE_EVENTS and self.at else None)


def _child(path: Path, model: Model, seed: int, kill_at: int, operations: int, out: int) -> None:
    """Runs in the fork: create or open, work, end."""
    killer = _Killer(kill_at)
    killer.arm()
    rng = random.Random(seed)

    def say(word: str, op: Op | None = None) -> None:
        data = json.dumps([word, op]).encode() + b"\n"
        while data:
            data = data[os.write(out, data) :]

    doc = SessionDocument.open(path) if path.exists() else SessionDocument.create(path, title="campaign")
    if model.nodes:
        model.after_crash()
    say("open")
    for _ in range(operations):
        op = model.random_op(rng)
        say("try", op)
        perform(doc, op)
        model.apply(op)
        say("done", op)
    doc.close()
    say("points", {"count": killer.count})


def _fork(
    path: Path, model: Model, seed: int, kill_at: int, operations: int, after: float
) -> tuple[list[Any], bool]:
    """(what the child said, whether it was killed). `after` > 0: killed by the clock instead."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            _child(path, model.copy(), seed, kill_at, operations, writing)
        except BaseException:  # noqa: BLE001 - the parent must hear of it, whatever it is
            os.write(
                writing, json.dumps(["failed", {"trace": traceback.format_exc()[-3000:]}]).encode() + b"\n"
            )
        finally:
            os._exit(0)
    os.close(writing)
    deadline = time.monotonic() + after if after else None
    data = b""
    while True:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([reading], [], [], wait)[0]:
            os.kill(pid, signal.SIGKILL)
            deadline = None
            continue
        part = os.read(reading, 1 << 16)
        if not part:
            break
        data += part
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return [json.loads(line) for line in data.split(b"\n")[:-1] if line], os.WIFSIGNALED(status)


def _follow(model: Model, said: list[Any]) -> tuple[Model, Op | None]:
    """The model after all that was acknowledged, and the operation that was in flight."""
    flying: Op | None = None
    for word, op in said:
        if word == "open" and model.nodes:
            model.after_crash()
        elif word == "try":
            flying = op
        elif word == "done":
            model.apply(op)
            flying = None
    return model, flying


def _check(path: Path, model: Model, flying: Op | None) -> Model:
    """Raises AssertionError; returns the model of what the file really holds."""
    report = verify(path)
    assert report.sound, report.faults[:3]
    acknowledged = model.copy()
    acknowledged.after_crash()
    allowed = [acknowledged]
    if flying is not None:
        whole = model.copy()
        whole.apply(flying)
        whole.after_crash()
        allowed.append(whole)
    with SessionDocument.open(path, "read") as reader:
        assert any(snapshot(reader) == one.snapshot() for one in allowed), "a reader sees something else"
    with SessionDocument.open(path) as doc:
        found = snapshot(doc)
    for one in allowed:
        if found == one.snapshot():
            return one
    expected = acknowledged.snapshot()
    lost = [uid for uid in expected["nodes"] if uid not in found["nodes"]]
    raise AssertionError(f"lost {lost}; " + "; ".join(k for k in expected if expected[k] != found[k]))


def _damage(path: Path, folder: Path, ever: dict[str, str], rng: random.Random) -> str:
    """Damage a copy of file and log, and see that reading it invents nothing and changes nothing."""
    copy = folder / f"damaged{rng.randrange(1 << 30)}.worldline"
    log = copy.with_name(copy.name + "-wal")
    shutil.copyfile(path, copy)
    source_log = path.with_name(path.name + "-wal")
    if source_log.exists():
        shutil.copyfile(source_log, log)
    victim = log if log.exists() and log.stat().st_size and rng.random() < 0.5 else copy
    data = bytearray(victim.read_bytes())
    start, length = rng.randrange(len(data)), rng.choice((1, 50, 4096, 30_000))
    how = rng.choice(("cut", "zero", "fill"))
    if how == "cut":
        del data[start:]
    else:
        piece = min(length, len(data) - start)
        data[start : start + piece] = bytes(piece) if how == "zero" else rng.randbytes(piece)
    victim.write_bytes(data)
    before = copy.read_bytes(), log.read_bytes() if log.exists() else b""
    try:
        verify(copy)
        with SessionDocument.open(copy, "read") as doc:
            _nothing_new(doc, ever)
    except SessionError as problem:
        assert problem.kind in ("damaged", "unreadable", "not_a_session"), problem
    assert (copy.read_bytes(), log.read_bytes() if log.exists() else b"") == before, (
        "reading changed a damaged file"
    )
    out = copy.with_suffix(".recovered.worldline")
    try:
        recover(copy, out)
    except SessionError as problem:
        assert problem.kind == "not_a_session", problem
    else:
        report = verify(out)
        assert all(fault.kind == "no_cursor" for fault in report.faults), report.faults[:3]
        with SessionDocument.open(out) as doc:
            _nothing_new(doc, ever)
    for left in folder.glob(f"{copy.stem}*"):
        left.unlink()
    return f"{how} {'log' if victim == log else 'file'}"


def _nothing_new(doc: SessionDocument, ever: dict[str, str]) -> None:
    """Whatever is shown did happen, in those words. (A damaged body may refuse to be read: it must say so.)"""
    for header in doc.headers():
        if header.raw_kind == "lost":
            continue
        assert header.uid in ever, f"{header.uid} never happened"
        try:
            message = doc.body(header.uid).message
        except SessionError as problem:
            assert problem.kind == "damaged"
            continue
        if message is not None:
            text = message["content"][0]["text"]
            assert text == ever[header.uid] or text.startswith("[The text of this step was lost"), header.uid


def _texts(op: Op) -> dict[str, str]:
    if op["op"] == "group":
        return {uid: text for inner in op["ops"] for uid, text in _texts(inner).items()}
    return {op["uid"]: op["text"]} if op["op"] == "append" else {}


def run(kills: int, seed: int = 1) -> dict[str, Any]:
    """Kill `kills` times. {"kills", "by": {point | clock}, "damages", "files", "operations", "failures": [sentence]}."""
    rng = random.Random(seed)
    report: dict[str, Any] = {
        "kills": 0,
        "by": Counter(),
        "damages": Counter(),
        "files": 0,
        "operations": 0,
        "failures": [],
    }
    with tempfile.TemporaryDirectory(prefix="worldline-crash-") as name:
        folder = Path(name)
        while report["kills"] < kills and len(report["failures"]) < 5:
            report["files"] += 1
            _one_file(folder, rng, kills, report)
    return report


def _one_file(folder: Path, rng: random.Random, kills: int, report: dict[str, Any]) -> None:
    path = folder / f"s{report['files']}.worldline"
    model, ever = Model(), dict[str, str]()
    said, _ = _fork(folder / f"dry{report['files']}.worldline", Model(), 1, 0, 12, 0)
    dry = next((op["count"] for word, op in said if word == "points"), 1000)
    for turn in range(20):
        if report["kills"] >= kills:
            return
        seed = rng.randrange(1 << 30)
        by_clock = rng.random() < 0.25
        # The first kills of a file fall into its creation and the first operations.
        at = 0 if by_clock else rng.randrange(1, max(2, dry // (8 if turn == 0 else 1)))
        after = rng.uniform(0.001, 0.06) if by_clock else 0.0
        said, killed = _fork(path, model, seed, at, 12, after)
        where = f"file {report['files']}, turn {turn}, seed {seed}, point {at}, clock {after:.4f}"
        failed = [op["trace"] for word, op in said if word == "failed"]
        if failed:
            report["failures"].append(f"{where}: {failed[0]}")
            return
        for word, op in said:
            if word == "try":
                ever.update(_texts(op))
        report["operations"] += sum(word == "done" for word, _ in said)
        if killed:
            report["kills"] += 1
            report["by"]["clock" if by_clock else "point"] += 1
        if not path.exists():
            assert not any(word == "open" for word, _ in said), where
            continue
        model, flying = _follow(model, said)
        try:
            if killed and rng.random() < 0.5:
                report["damages"][_damage(path, folder, ever, rng)] += 1
            model = _check(path, model, flying)
        except (AssertionError, SessionError) as problem:
            report["failures"].append(f"{where}: {problem}")
            return
