"""Failures that other agents' users reported, each as a case: given, when, then."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S, measured
from toolbench import Bench, error_of, text_of
from worldline.core.errors import ToolFailure
from worldline.tools.arguments import check_schema, parse_raw, repair
from worldline.tools.breaker import Breaker
from worldline.tools.pipeline import find_tool, unknown_tool
from worldline.tools.schema import legal_name

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]


def of(kind: str) -> Any:
    chosen = [case for case in CASES if case["payload"]["kind"] == kind]
    assert chosen
    return pytest.mark.parametrize("payload", [c["payload"] for c in chosen], ids=[c["id"] for c in chosen])


@of("file_edit")
async def test_edit(bench: Bench, payload: dict[str, Any]) -> None:
    path = bench.root / "file.txt"
    before = (
        base64.b64decode(payload["file_before_b64"])
        if "file_before_b64" in payload
        else payload["file_before"].encode()
    )
    path.write_bytes(before)
    outcomes = [await bench.call("edit", path="file.txt", **edit) for edit in payload["edits"]]
    expect = payload["expect"]
    after = path.read_bytes()
    if "file_after" in expect:
        assert after == expect["file_after"].encode()
    if "file_after_b64" in expect:
        assert after == base64.b64decode(expect["file_after_b64"])
    if "file_after_b64_or_error" in expect:
        assert after == base64.b64decode(expect["file_after_b64_or_error"])
    if "second_error_type" in expect:
        assert error_of(outcomes[1]) == expect["second_error_type"]
    if expect.get("file_unchanged"):
        assert after == before
        assert error_of(outcomes[0]) == expect["error_type"]
        for number in expect["error_lines"]:
            assert str(number) in text_of(outcomes[0])


@pytest.mark.parametrize("case", [c for c in CASES if c["id"] == "edit-010"], ids=lambda c: c["id"])
def test_edit_whatever_the_locale(tmp_path: Path, case: dict[str, Any]) -> None:
    payload = case["payload"]
    (tmp_path / "file.txt").write_bytes(base64.b64decode(payload["file_before_b64"]))
    tests = Path(__file__).parent.parent
    code = (
        "import asyncio, sys, pathlib\n"
        "from toolbench import Bench\n"
        "edit = sys.argv[2:4]\n"
        "out = asyncio.run(Bench(pathlib.Path(sys.argv[1])).call('edit', path='file.txt', old=edit[0], new=edit[1]))\n"
        "sys.exit(0 if out.ok else 1)\n"
    )
    edit = payload["edits"][0]
    env = {**os.environ, **payload["expect"]["env"], "PYTHONPATH": f"{tests.parent / 'desktop'}:{tests}"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path), edit["old"], edit["new"]], env=env, check=True)
    assert (tmp_path / "file.txt").read_bytes() == base64.b64decode(payload["expect"]["file_after_b64"])


@of("file_write")
async def test_write(bench: Bench, payload: dict[str, Any]) -> None:
    await bench.call("write", path="new.txt", content=payload["content"])
    assert (bench.root / "new.txt").read_bytes() == base64.b64decode(payload["expect"]["file_after_b64"])


@of("fs")
async def test_file_system(bench: Bench, payload: dict[str, Any]) -> None:
    subprocess.run(payload["setup"], shell=True, cwd=bench.root, check=True)
    outcome = await bench.call("edit", **payload["edit"])
    assert outcome.ok
    expect = payload["expect"]
    if "mode" in expect:
        assert oct((bench.root / payload["edit"]["path"]).stat().st_mode)[-3:] == expect["mode"]
    for name, content in expect.get("content", {}).items():
        assert (bench.root / name).read_text() == content
    if expect.get("note_if_diverged") and (bench.root / "b").read_text() != (bench.root / "a").read_text():
        assert "hard link" in text_of(outcome)


@of("stale_write")
async def test_stale(bench: Bench, payload: dict[str, Any]) -> None:
    (bench.root / "f.txt").write_text("first\n")
    outcome = None
    for who, what, path, *content in payload["steps"]:
        if who == "outside":
            (bench.root / path).write_text(content[0])
        elif what == "read":
            await bench.call("read", path=path)
        else:
            outcome = await bench.call("write", path=path, content=content[0])
    assert outcome is not None and error_of(outcome) == payload["expect"]["error_type"]
    assert (bench.root / "f.txt").read_text() == payload["expect"]["file_after"]
    assert "+new line" in text_of(outcome)


@of("shell")
async def test_shell(bench: Bench, payload: dict[str, Any]) -> None:
    began = time.monotonic()
    outcome = await bench.call("bash", command=payload["command"], timeout_s=PATIENCE_S)
    took = time.monotonic() - began
    expect = payload["expect"]
    try:
        assert outcome.result is not None
        text = text_of(outcome)
        measured("seconds", took, expect.get("returns_within_s", 20))
        assert expect.get("stdout_contains", "") in text
        if "exit_code" in expect:
            assert outcome.result.detail["exit_code"] == expect["exit_code"]
        if expect.get("no_nul_in_result"):
            assert "\x00" not in json.dumps(outcome.block) and "\\u0000" not in json.dumps(outcome.block)
        if expect.get("lossy_flag"):
            assert outcome.result.detail["lossy"] and "not UTF-8" in text
        if expect.get("head_unchanged"):
            assert outcome.result.detail["exit_code"] == 0
            assert "problem with the editor" in text
        if "side_effect" in expect:
            assert [effect["kind"] for effect in outcome.result.effects] == [expect["side_effect"]]
            assert bench.table.running()
    finally:
        assert await bench.table.stop_all() == []


@of("tool_args")
def test_arguments(payload: dict[str, Any]) -> None:
    value, notes = repair(payload["input"], payload["schema"])
    expect = payload["expect"]
    wanted = expect.get("repaired") or expect.get("repaired_or_error")
    if wanted is not None:
        check_schema(value, payload["schema"])
        assert value == wanted
        assert notes
    else:
        with pytest.raises(ToolFailure) as failure:
            check_schema(value, payload["schema"])
        assert failure.value.error.type == expect["error_type"]
        assert expect["error_mentions"] in failure.value.error.message


@of("tool_args_raw")
def test_raw_arguments(payload: dict[str, Any]) -> None:
    expect = payload["expect"]
    if "error_type" in expect:
        with pytest.raises(ToolFailure) as failure:
            parse_raw(payload["raw"])
        assert failure.value.error.type == expect["error_type"]
    else:
        value, notes = parse_raw(payload["raw"])
        assert value == (expect.get("repaired") or expect.get("repaired_or_error"))
        assert notes


@of("tool_name")
def test_tool_names(payload: dict[str, Any]) -> None:
    called = payload["called"]
    for name in [called] if isinstance(called, str) else called:
        found, _ = find_tool(name, payload["tools"])
        if not found:
            error = unknown_tool(name, payload["tools"]).error
            assert error.type == "unknown_tool" and error.details["candidates"]
            assert all(tool in error.hint for tool in payload["tools"])
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", legal_name(name))
    if isinstance(called, list):
        assert find_tool("functions.Bash", payload["tools"])[0] == "Bash"


@of("loop")
def test_loops(payload: dict[str, Any]) -> None:
    breaker = Breaker({})
    steps = [
        breaker.observe(call["name"], call["input"], ok=call["ok"], error_type=call.get("error_type", ""))
        for call in payload["calls"]
    ]
    actions = [step.action for step in steps]
    assert actions.index("hint") + 1 == payload["expect"]["warn_at"]
    assert actions.index("stop") + 1 <= payload["expect"]["stop_by"]
    assert json.loads(json.dumps(breaker._state)) == breaker._state


@of("stream_text")
def test_repeated_text(payload: dict[str, Any]) -> None:
    assert Breaker({}).observe_text(payload["text"]).action == "stop"
    breaker = Breaker({})
    assert breaker.observe_text("All is done.").action == "go"
    assert breaker.observe_text("All is done.").action == "stop"
