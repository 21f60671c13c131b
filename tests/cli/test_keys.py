"""A real key in the environment, and a server that is not the one it belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEY = "sk-ant-api03-REAL-KEY"


@pytest.mark.parametrize("named_by", ["option", "environment"])
def test_a_real_key_never_reaches_another_server(
    program: Any, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_by: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Secret: {KEY}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    work = tmp_path / "work"
    work.mkdir()
    where = ["--base-url", server.base_url] if named_by == "option" else []
    if named_by == "environment":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url + "/v1")
    done = program(
        "run", "--workspace", work, "--session", tmp_path / "s.worldline", *where,
        "--model", "rehearsal", "--prompt", "hello", "--json",
    )  # fmt: skip
    assert done.lines[-1]["stop_reason"] == "completed"
    assert server.message_requests
    for request in server.requests:
        assert KEY not in json.dumps([dict(request.headers), request.body], default=str)
    assert KEY not in done.out + done.err
