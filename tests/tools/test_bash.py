"""Commands as real processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

import psutil
import pytest

from tests_support import PATIENCE_S, measured
from toolbench import Bench, error_of, text_of
from worldline.core.access import CommandResult
from worldline.core.kinds import NodeFlag
from worldline.tools import process
from worldline.tools.envelope import strip_ansi

NAP = f"30.{os.getpid()}"
"""Seconds that nobody else on this machine sleeps for."""


@pytest.mark.parametrize(
    ("command", "error", "says"),
    [
        (f"echo out; sleep {NAP}", "timeout", "out"),
        (f"trap '' TERM INT HUP; echo out; sleep {NAP}", "timeout", "out"),
        (
            f"setsid bash -c \"trap '' TERM; echo up; sleep {NAP}1\" & sleep {NAP}",
            "timeout",
            "longer than 1 s",
        ),
        ("yes", "timeout", "left out"),
    ],
    ids=["sleep", "ignores signals", "own session", "endless output"],
)
async def test_a_time_limit_ends_everything_and_keeps_the_output(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, command: str, error: str, says: str
) -> None:
    real = process.finish

    async def finish(started: process.Started, timeout_s: float | None) -> CommandResult:
        """The limit begins when the command has come so far that there is something to end."""
        while not started.output.total:
            await asyncio.sleep(0.01)
        return await real(started, timeout_s)

    monkeypatch.setattr(process, "finish", finish)
    began = time.monotonic()
    outcome = await bench.call("bash", command=command, timeout_s=1)
    measured("seconds of a time limit of 1 s", time.monotonic() - began, 4)
    assert error_of(outcome) == error and says in text_of(outcome)
    assert bench.table.running() == []
    assert await asyncio.to_thread(sleepers) == []


def sleepers() -> list[int]:
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if one.cmdline()[:1] == ["sleep"] and one.cmdline()[1] in (NAP, f"{NAP}1"):
                found.append(one.pid)
    return found


@pytest.mark.parametrize(
    ("command", "error", "says"),
    [
        ("nosuchcommand", "command_not_found", "The command is wrong"),
        ("cat /nonexistent/x", "path_wrong", "A path is wrong"),
        ("touch x; chmod 0 x; ./x", "not_permitted", "not permitted"),
        ("echo 'unbalanced", "syntax_error", "not closed"),
        ("grep x /dev/null", "no_match", "nothing matched"),
        ("kill -SEGV $$", "nonzero_exit", "segmentation"),
        ("exit 42", "nonzero_exit", "42"),
        ("true " + "x" * 200_000, "cannot_start", "too long"),
    ],
)
async def test_exit_codes_have_a_meaning(bench: Bench, command: str, error: str, says: str) -> None:
    outcome = await bench.call("bash", command=command)
    assert error_of(outcome) == error and says in text_of(outcome)


async def test_nothing_waits_for_a_person(bench: Bench) -> None:
    command = "cat; read x; git init -q .; git -c user.name=a -c user.email=a@b.c commit --allow-empty; tty; echo end"
    outcome = await bench.call("bash", command=command, timeout_s=PATIENCE_S)
    assert "end" in text_of(outcome) and "not a tty" in text_of(outcome)


async def test_keys_are_not_in_the_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_PROFILE", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "leaked")
    assert "leaked" not in text_of(await bench.call("bash", command="env"))


async def test_output_as_the_model_sees_it(bench: Bench) -> None:
    outcome = await bench.call(
        "bash", command=r"printf '\033[31mred\033[0m\n10%%\r100%%\n'; printf 'caf\303\251\n'"
    )
    assert text_of(outcome) == "red\n100%\ncafé"
    big = await bench.call("bash", command="seq 100000")
    assert big.result is not None and big.result.full_output is not None
    assert len(big.result.full_output) == 588_895 and len(text_of(big)) < 31_000
    assert text_of(big).startswith("1\n2\n") and text_of(big).endswith("100000")


async def test_cancelling_ends_the_command(bench: Bench) -> None:
    task = asyncio.create_task(bench.call("bash", command="echo $$ > pid; sleep 600", timeout_s=PATIENCE_S))
    while not (bench.root / "pid").exists() or not (bench.root / "pid").read_text().strip():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = int((bench.root / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_background_processes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await bench.call("bash", command="echo up; sleep 600", background=True)
    assert outcome.ok and "p1" in text_of(outcome)
    assert outcome.result is not None
    assert [e["reversibility"] for e in outcome.result.effects] == ["undoable"], "to end it undoes it"
    assert "running" in text_of(await bench.call("process", action="list"))
    said = ""
    while "up" not in said:
        said = text_of(await bench.call("process", action="wait", id="p1", timeout_s=0.2))
        assert "still running" in said
    assert error_of(await bench.call("process", action="stop", id="p9")) == "no_such_process"
    assert (await bench.call("process", action="stop", id="p1")).ok
    assert bench.table.running() == []
    monkeypatch.setattr(process, "UP_S", PATIENCE_S)  # at once is at once, however long it takes
    failed = await bench.call("bash", command="echo why; exit 3", background=True)
    assert error_of(failed) == "nonzero_exit" and "why" in text_of(failed)


async def test_a_child_that_goes_on_writing_does_not_hold_the_call(bench: Bench) -> None:
    outcome = await bench.call(
        "bash", command="while :; do echo x; sleep 0.05; done & echo hi", timeout_s=PATIENCE_S
    )
    assert outcome.ok and "still running" in text_of(outcome)
    assert await bench.table.stop_all() == [] and bench.table.running() == []


async def test_checks_are_recognised(bench: Bench) -> None:
    (bench.root / "pytest").write_text("#!/bin/sh\necho '2 failed, 3 passed in 0.1s'\nexit 1\n")
    (bench.root / "pytest").chmod(0o755)
    outcome = await bench.call("bash", command="./pytest -q")
    assert outcome.flags & NodeFlag.CHECKS_FAILED and outcome.summary == "3 passed, 2 failed"


async def test_the_folder(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    assert text_of(await bench.call("bash", command="basename $PWD", cwd="sub")) == "sub"
    assert error_of(await bench.call("bash", command="ls", cwd="nope")) == "file_not_found"
    assert os.getcwd() != str(bench.root)


def test_output_full_of_begun_sequences_is_read_in_time() -> None:
    """Removing them must cost what the output is long, not its square: nothing else of the engine runs meanwhile."""
    assert strip_ansi("a\x1bPq#0;2;0\x1b\\b\x1b_G1\x1b\\c\x1b]0;title\x07d\x1b[31me") == "abcde"

    for sign in "PX^_][(":
        # By the square this would take hours.
        assert len(strip_ansi(f"\x1b{sign}" * 1_000_000)) <= 2_000_000, sign


async def test_what_is_not_kept_whole_is_not_called_so(bench: Bench) -> None:
    whole = await bench.call("bash", command="head -c 900000 /dev/zero | tr '\\0' x")
    assert "whole output is kept" in text_of(whole)
    assert whole.result is not None and len(whole.result.full_output or b"") == 900_000
    large = await bench.call("bash", command="head -c 6000000 /dev/zero | tr '\\0' x")
    assert "whole output is kept" in text_of(large)
    assert large.result is not None and large.result.whole is not None and large.result.full_output is None
    with large.result.whole as file:
        assert file.read() == b"x" * 6_000_000
    huge = await bench.call("bash", command="head -c 40000000 /dev/zero | tr '\\0' x")
    assert huge.result is not None and huge.result.whole is not None
    with huge.result.whole as file:
        assert len(file.read()) < 34_100_000
    assert "whole output is kept" not in text_of(huge)
    assert "40,000,000 bytes" in text_of(huge) and "into a file" in text_of(huge)
