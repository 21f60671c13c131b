"""`worldline run` against a server that fails at random: one stop reason for every run, nothing lost, nothing run that
was not received whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.fault_server import FaultServer
from worldline.core import paths
from worldline.session.document import SessionDocument

TURNS = int(os.environ.get("WORLDLINE_FAULT_TURNS", "30"))
"""1000 for the long version."""
IN_A_RUN = 60
FAST = {
    "retry": {"base_s": 0.01, "cap_s": 0.03, "retry_after_cap_s": 0.05},
    "limits": {"turns": 0, "tool_calls": 0},
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_campaign(cli: Any, tmp_path: Path) -> None:
    work, session = tmp_path / "work", tmp_path / "s.worldline"
    work.mkdir()
    server = FaultServer(seed=11, turns=IN_A_RUN)
    books = server.books
    results: list[dict[str, Any]] = []
    try:
        paths.config_file().write_text(json.dumps(FAST))
        while len(books.whole) < TURNS and len(results) < TURNS // 3 + 5:
            done = cli(
                "run", "--workspace", work, "--session", session, "--in-place", "--base-url", server.base_url,
                "--model", "faulty", "--mode", "work", "--approve", "allow", "--prompt", f"goal {len(results)}",
                "--max-turns", "500", "--json", expect=None,
            )  # fmt: skip
            assert done.code in (0, 1), done.err
            assert "Traceback" not in done.err, done.err
            ends = [line for line in done.lines if line["event"] == "result"]
            assert len(ends) == 1
            results.append(ends[0])
    finally:
        server.close()
    assert len(books.whole) >= TURNS, (len(books.whole), [r["stop_reason"] for r in results])
    assert books.bad_requests == []
    assert all(r["stop_reason"] not in ("internal_error", "store_error", "interrupted") for r in results)
    doc = SessionDocument.open(session, mode="read")
    try:
        runs = doc.runs()
        assert len(runs) == len(results) and all(r.stop_reason is not None and r.ended for r in runs)
        headers = doc.headers()
        assert all(h.outcome.value not in ("running", "waiting") for h in headers)
        bodies = doc.bodies_of([h.uid for h in headers])
        stored = {str(b.detail.get("message_id", "")) for b in bodies}
    finally:
        doc.close()
    assert set(books.whole) <= stored
    ran = (work / "ran.txt").read_text().split()
    assert not set(ran) & set(books.forbidden) and "other" not in ran
    assert len(ran) == len(set(ran))
    assert set(ran) <= set(books.runnable)
    missed = set(books.runnable) - set(ran)
    assert not missed, missed
    assert len(set(books.faults)) >= min(18, TURNS // 8)
