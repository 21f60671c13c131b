"""A session as it might be after an hour: two attempts, failures, effects, labels."""

from __future__ import annotations

import time
from typing import Any


def header(seq: int, parent: int, kind: str, preview: str, **more: Any) -> dict[str, Any]:
    return {
        "seq": seq, "uid": f"{seq:016x}", "parent": parent, "kind": kind, "preview": preview,
        "created": int(time.time() * 1000) - (60 - seq) * 60_000, **more,
    }  # fmt: skip


def uid(seq: int) -> str:
    return f"{seq:016x}"


def step(seq: int, parent: int, tool: str, preview: str, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    row = header(seq, parent, "tool", preview, tool=tool, outcome=outcome, **more)
    return {**row, "finished": row["created"] + 1200}


def session() -> list[dict[str, Any]]:
    """27 nodes; the fork is at node 2, attempt 1 ends at 14, attempt 2 at 26."""
    rows = [header(1, 0, "root", "start"), header(2, 1, "user", "Fix the parser, tests must pass")]
    rows += [
        header(3, 2, "assistant", "I will look at the failing test first.", outcome="ok", model="sonnet-5.5"),
        step(4, 3, "read", "src/parser.py"),
        step(5, 4, "read", "tests/test_parser.py"),
        step(6, 5, "grep", "def parse"),
        header(7, 6, "assistant", "The quotes are not handled. I will change the split.", outcome="ok"),
        step(8, 7, "edit", "src/parser.py", added=61, removed=3, files=1, flags=1),
        step(9, 8, "bash", "pytest -q", "failed", flags=16384),
        header(10, 9, "assistant", "Three tests fail. I try again.", outcome="ok"),
        step(11, 10, "edit", "src/parser.py", "failed", flags=0),
        step(12, 11, "edit", "src/parser.py", "failed"),
        step(13, 12, "edit", "src/parser.py", "failed"),
        header(14, 13, "assistant", "The same edit failed three times.", outcome="stopped"),
        header(15, 2, "assistant", "A tokenizer would be cleaner.", outcome="ok", flags=8, model="opus-5.5"),
        step(16, 15, "read", "src/parser.py"),
        step(17, 16, "read", "src/lexer.py"),
        step(18, 17, "read", "docs/grammar.md"),
        step(19, 18, "glob", "tests/**/*.py"),
        step(20, 19, "edit", "src/tokenizer.py", added=30, removed=9, files=1, flags=1),
        step(21, 20, "edit", "tests/test_parser.py", added=10, removed=2, files=1, flags=1),
        step(22, 21, "bash", "pytest -q", flags=8192),
        header(23, 22, "assistant", "All 12 tests pass now.", outcome="ok"),
        header(24, 23, "user", "Push it so that CI runs"),
        step(25, 24, "bash", "git push origin wip", flags=6),
        header(26, 25, "assistant", "Pushed. CI is running.", outcome="ok"),
        header(27, 26, "user", "Thanks. Add a changelog entry"),
    ]
    return rows


STATUS = {
    "state": "ready", "last_stop": "completed", "model": "sonnet-5.5", "asked_model": "sonnet-5.5",
    "context_tokens": 41_200, "context_limit": 1_000_000, "context_bytes": 310_000, "cost": 0.42,
    "cache_hit": 0.91, "sandbox": "complete", "effects": 1, "saved": True, "branch": "worldline/fix-parser/2",
}  # fmt: skip


def script(**more: Any) -> dict[str, Any]:
    return {"headers": session(), "cursor": uid(27), "status": dict(STATUS), **more}
