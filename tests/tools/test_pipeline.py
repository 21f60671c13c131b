"""Every way through the pipeline ends in one outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from toolbench import Bench, Call, error_of, text_of
from worldline.core.access import AccessAnswer
from worldline.core.errors import ErrorClass, ToolError
from worldline.core.kinds import NodeFlag
from worldline.core.secrets import mask
from worldline.tools.base import BaseTool, text
from worldline.tools.envelope import RESULT_LIMIT, Envelope
from worldline.tools.hooks import Hook, Hooks, parse_hooks
from worldline.tools.model import ToolContext, ToolDefect, ToolInput, ToolResult, fail
from worldline.tools.registry import default_tools
from worldline.tools.schema import tool_schemas


class FlakyInput(ToolInput):
    mode: str
    count: int = 0


class Flaky(BaseTool):
    name = "flaky"
    description = "Fails as told."
    Input = FlakyInput
    retry_safe = True

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, args: FlakyInput, ctx: ToolContext) -> ToolResult:
        self.runs += 1
        if args.mode == "defect":
            raise KeyError("a defect of ours")
        if args.mode == "big":
            return ToolResult(text("é" * 200_000))
        if args.mode == "secret":
            return ToolResult(text("key sk-ant-" + "aB3" * 10))
        if args.mode == "transient" and self.runs <= args.count:
            raise fail(ErrorClass.ENVIRONMENT, "busy", "It is busy.", retryable=True)
        if args.mode == "fixed":
            raise fail(
                ErrorClass.ENVIRONMENT,
                "gone",
                f"{ctx.root}/x is gone.\nTraceback (most recent call last):\n  File 'a'\n",
            )
        return ToolResult(text("fine"))


@pytest.fixture
def flaky(make_bench: Callable[..., Bench]) -> tuple[Bench, Flaky]:
    tool = Flaky()
    return make_bench(tools={"flaky": tool}), tool


async def test_transient_failures_are_tried_again_at_most_three_times(flaky: tuple[Bench, Flaky]) -> None:
    bench, tool = flaky
    good = await bench.call("flaky", mode="transient", count=2)
    assert good.ok and tool.runs == 3 and len(good.attempts) == 2 and good.flags & NodeFlag.RETRIED
    tool.runs = 0
    bad = await bench.call("flaky", mode="transient", count=99)
    assert error_of(bad) == "retries_exhausted" and tool.runs == 4
    assert bad.error is not None and len(bad.error.details["tried"]) == 4


async def test_deterministic_failures_are_not(flaky: tuple[Bench, Flaky]) -> None:
    bench, tool = flaky
    outcome = await bench.call("flaky", mode="fixed")
    assert error_of(outcome) == "gone" and tool.runs == 1
    assert str(bench.root) not in text_of(outcome) and "Traceback" not in text_of(outcome)


async def test_a_defect_is_no_result(flaky: tuple[Bench, Flaky]) -> None:
    with pytest.raises(ToolDefect) as defect:
        await flaky[0].call("flaky", mode="defect")
    assert isinstance(defect.value.__cause__, KeyError)


async def test_results_are_bounded_and_masked(flaky: tuple[Bench, Flaky]) -> None:
    bench, _ = flaky
    big = await bench.call("flaky", mode="big")
    assert len(text_of(big).encode()) <= RESULT_LIMIT + 200 and "left out" in text_of(big)
    bench.pipeline.envelope = Envelope(bench.root, mask)
    secret = await bench.call("flaky", mode="secret")
    assert "[masked: Anthropic key]" in text_of(secret) and secret.flags & NodeFlag.SECRET_MASKED


async def test_what_is_kept_besides_the_result_is_masked_too(bench: Bench) -> None:
    bench.pipeline.envelope = Envelope(bench.root, mask)
    secret = "sk-ant-" + "aB3" * 10
    written = await bench.call("write", path="env", content=f"K={secret}\n")
    assert written.result is not None and secret not in json.dumps(written.result.detail)
    assert written.flags & NodeFlag.SECRET_MASKED and secret in (bench.root / "env").read_text()
    shown = await bench.call("bash", command="cat env; seq 20000")
    assert shown.result is not None and shown.result.full_output is not None
    assert secret.encode() not in shown.result.full_output and secret not in text_of(shown)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ('{"path": "a"', "invalid_json"),
        ('{"path": "a", "path": "b"}', "invalid_json"),
        ('{"offset": NaN, "path": "a"}', "invalid_json"),
        ('["a"]', "invalid_json"),
        ("42", "invalid_json"),
        ('{"path": "\\ud800"}', "invalid_json"),
        ('{"path": 42}', "invalid_arguments"),
        ('{"path": null}', "invalid_arguments"),
        ("{}", "invalid_arguments"),
        ("", "invalid_arguments"),
        ('{"path": "a", "nonsense": 1}', "invalid_arguments"),
        ('{"path": "a", "file_path": "b"}', "invalid_arguments"),
        ('{"path": "a", "offset": 0}', "invalid_arguments"),
        ('{"path": "a", "offset": "1.5"}', "invalid_arguments"),
        ('{"path": "a", "offset": true}', "invalid_arguments"),
        ('{"path": ["a", "b"]}', "invalid_arguments"),
    ],
)
async def test_wrong_arguments_never_reach_the_tool(bench: Bench, raw: str, error: str) -> None:
    outcome = await bench.raw("read", raw)
    assert error_of(outcome) == error and not outcome.started
    assert outcome.error is not None and outcome.error.error_class is ErrorClass.USER and outcome.error.next
    assert outcome.block["is_error"] and bench.policy.asked == []


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "f", "offset": "1"}', '{"path": "f", "offset": 1.0}', '{"file_path": "f"}', '{"filePath": "f"}',
        '{"arguments": {"path": "f"}}', '{"input": "{\\"path\\": \\"f\\"}"}', '"{\\"path\\": \\"f\\"}"',
        '{"path": "f", "limit": null}', '{"path": "f", "file_path": "f"}', '```json\n{"path": "f"}\n```',
        '{"name": "read", "arguments": {"path": "f"}}', '{"read": {"path": "f"}}',
    ],
)  # fmt: skip
async def test_what_has_one_meaning_is_repaired_and_told(bench: Bench, raw: str) -> None:
    (bench.root / "f").write_text("hello\n")
    outcome = await bench.raw("read", raw)
    if raw.endswith('"limit": null}'):
        assert outcome.ok
        return
    assert outcome.ok and outcome.repairs and outcome.flags & NodeFlag.REPAIR, text_of(outcome)


async def test_errors_never_show_the_values(bench: Bench) -> None:
    outcome = await bench.raw("read", '{"path": {"deep": "very secret value"}}')
    assert "very secret value" not in text_of(outcome) and "path: " in text_of(outcome)


async def test_unknown_tools_and_odd_names(bench: Bench) -> None:
    outcome = await bench.call("search_files", q="x")
    assert error_of(outcome) == "unknown_tool" and "grep" in text_of(outcome)
    assert (await bench.call("functions.List_Dir")).ok
    assert (await bench.call("MultiEdit", path="x", edits=[])).tool == "multi_edit"
    for name in ("", "multi tool use!", "B" * 400, "läs"):
        odd = await bench.call(name)
        assert error_of(odd) == "unknown_tool" and len(odd.tool) <= 128 and odd.tool.isascii()


async def test_nothing_runs_when_started_cannot_be_stored(bench: Bench) -> None:
    async def full(prepared: Any) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError):
        call = Call("toolu_x", "write", json.dumps({"path": "a", "content": "x"}))
        await bench.pipeline.execute(call, bench.context(), on_start=full)
    assert not (bench.root / "a").exists()


async def test_policy_sees_what_would_run_and_its_no_is_final(bench: Bench) -> None:
    bench.policy.answer = AccessAnswer(
        ToolError(error_class=ErrorClass.PERMISSION, type="permission_denied", message="no")
    )
    outcome = await bench.call("write", path="sub/../a", content="x")
    assert error_of(outcome) == "permission_denied" and outcome.outcome.value == "denied"
    assert bench.policy.asked[0].writes == [bench.root.resolve() / "a"]
    assert not (bench.root / "a").exists()


def test_groups_keep_the_order(bench: Bench) -> None:
    calls = [
        Call(str(n), name, "{}")
        for n, name in enumerate(["read", "grep", "edit", "read", "nosuch", "glob", "glob"])
    ]
    assert bench.pipeline.groups(calls) == [[0, 1], [2], [3], [4], [5, 6]]


async def test_reads_run_side_by_side(bench: Bench) -> None:
    for n in range(20):
        (bench.root / f"f{n}").write_text(f"{n}\n")
    outcomes = await asyncio.gather(*(bench.call("read", path=f"f{n}") for n in range(21)))
    assert [outcome.ok for outcome in outcomes] == [True] * 20 + [False]
    assert len(bench.state.files) == 20


def test_schemas_are_flat_legal_and_the_same_each_time() -> None:
    schemas = tool_schemas(default_tools())
    assert schemas == tool_schemas(default_tools())
    for schema in schemas:
        assert "$ref" not in json.dumps(schema) and "anyOf" not in json.dumps(schema)
        assert (
            schema["input_schema"]["type"] == "object"
            and schema["input_schema"]["additionalProperties"] is False
        )
        assert len(schema["description"]) > 20
    with pytest.raises(ValueError):
        default_tools([Flaky(), Flaky()])


@pytest.mark.parametrize(
    ("command", "timeout", "error", "says"),
    [
        ("exit 0", PATIENCE_S, "", ""),
        ("cat; echo use make; exit 3", PATIENCE_S, "hook_blocked", "use make"),
        ("no-such-command-here", PATIENCE_S, "", "was not found"),
        ("kill -SEGV $$", PATIENCE_S, "", "crashed"),
        ("sleep 30", 0.2, "", "took longer"),
        ("yes | head -c 100000", PATIENCE_S, "", "the rest was cut"),
    ],
)
async def test_hooks(
    make_bench: Callable[..., Bench], command: str, timeout: float, error: str, says: str
) -> None:
    bench = make_bench(hooks=[Hook("PreToolUse", command, "list_*|bash", timeout)])
    outcome = await bench.call("list_dir")
    assert error_of(outcome) == error
    assert says in " ".join(outcome.notes) + text_of(outcome)
    assert (await bench.call("glob", pattern="*")).notes == []


async def test_hooks_after_a_tool_only_add(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(hooks=[Hook("PostToolUse", "echo formatted"), Hook("PostToolUse", "exit 9")])
    outcome = await bench.call("list_dir")
    assert outcome.ok and "[hook] formatted" in text_of(outcome) and "exit code 9" in outcome.notes[0]


def test_hook_configuration() -> None:
    hooks, problems = parse_hooks(
        {"PreToolUse": [{"command": "a", "timeout": -1}, {"matcher": "x"}], "Nope": [], "Stop": "b"}
    )
    assert [hook.command for hook in hooks] == ["a", "b"] and len(problems) == 3
    assert parse_hooks(None) == ([], [])


def test_a_path_of_the_app_is_never_shown(tmp_path: Path) -> None:
    envelope = Envelope(tmp_path / "ws", hidden=[tmp_path / "data"])
    error = ToolError(
        error_class=ErrorClass.SYSTEM, type="x", message=f"{tmp_path}/ws/a and {tmp_path}/data/b"
    )
    assert envelope.clean_error(error)[0].message == "a and (app data)/b"


async def test_a_hook_gets_any_text_that_a_prompt_can_hold(tmp_path: Path) -> None:
    """Half a character comes from a command line that is no UTF-8, or from a clipboard."""
    hooks = Hooks([Hook("UserPromptSubmit", "cat")])
    answer = await hooks.on_prompt("half \ud83d of it", tmp_path)
    assert answer.error is None and "half" in answer.text and "of it" in answer.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("write", {"path": "a.txt", "content": "1"}), ("bash", {"command": "touch a.txt"})],
)
async def test_no_other_folder_is_made_in_the_place_of_one_that_was_moved(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    bench = Bench(root)
    root.rename(tmp_path / "elsewhere")
    outcome = await bench.call(tool, **arguments)
    assert outcome.error is not None and not root.exists()
    if tool == "write":
        assert outcome.error.type == "workspace_gone"
