"""`run`, `inspect`, `view`, `jump`, `diff`, `verify`, `effects`: from a prompt to a fork."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from tests_support import PATIENCE_S, git, unasked
from worldline.cli import inspect
from worldline.core import paths
from worldline.protocol.model import EffectInfo

CLI = Callable[..., Any]


@pytest.mark.slow
def test_from_a_prompt_to_a_fork(cli: CLI, program: CLI, server: Any, repo: Path, tmp_path: Path) -> None:
    session = tmp_path / "s.worldline"
    before = {p.name: p.read_bytes() for p in repo.iterdir() if p.is_file()}
    index = (repo / ".git" / "index").read_bytes()
    common = ["--session", session, "--base-url", server.base_url, "--mode", "work", "--json"]

    done = program("run", "--workspace", repo, "--prompt", "make the file", *common)
    events = done.lines
    assert events[-1]["event"] == "result"
    assert events[-1]["stop_reason"] == "completed"
    assert {"node_stored", "node_ended", "delta", "run_started"} <= {e["event"] for e in events}

    seen = cli("inspect", session, "--json").json
    assert seen["schema"] == 1
    assert seen["session"]["workspace"]["mode"] == "isolated"
    work = Path(seen["session"]["workspace"]["path"])
    kinds = [n["kind"] for n in seen["nodes"]]
    assert kinds == ["root", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert [r["stop_reason"] for r in seen["runs"]] == ["completed"]
    assert seen["cursor"] == seen["nodes"][-1]["uid"]
    tools = [n for n in seen["nodes"] if n["kind"] == "tool"]
    assert [t["outcome"] for t in tools] == ["ok", "ok", "ok"]
    assert [bool(t["state"]) for t in tools] == [True, False, True]
    assert (work / "new.txt").read_text() == "one\n"
    assert (work / "a.txt").read_text() == "beta\n"
    assert (work / "mine.txt").read_text() == "my own work\n"

    # Back to the first write: its file is there, the later edit is not.
    first = tools[0]["uid"]
    dry = cli("jump", session, first[:8], "--dry-run", "--json").json
    assert [e["path"] for e in dry["plan"] if e["action"] == "overwrite"] == ["a.txt"]
    assert (work / "a.txt").read_text() == "beta\n"
    jumped = program("jump", session, first[:8], "--json").json
    assert jumped["cursor"] == first
    assert jumped["verified"]["files"] == jumped["verified"]["of"] == 1
    assert (work / "a.txt").read_text() == "alpha\n"
    assert (work / "new.txt").read_text() == "one\n"
    assert jumped["branch"].startswith("worldline/")
    assert git(work, "branch", "--show-current") == jumped["branch"]

    # And on from there, on the fork.
    again = cli("run", "--prompt", "the other way", "--at", first, *common).lines[-1]
    assert again["stop_reason"] == "completed"
    seen = cli("inspect", session, "--json").json
    children = [n for n in seen["nodes"] if n["parent"] == first]
    assert [n["kind"] for n in children] == ["assistant", "user"]
    assert (work / "other.txt").exists()
    sent = cli("view", session, "cursor", "--json").json
    text = json.dumps(sent["messages"])
    assert "taken back to an earlier point" in text
    assert "change another" not in text

    # The person's own checkout was not touched at all.
    assert {p.name: p.read_bytes() for p in repo.iterdir() if p.is_file()} == before
    assert (repo / ".git" / "index").read_bytes() == index
    assert git(repo, "branch", "--show-current") == "main"
    assert cli("verify", session, "--json").json["sound"] is True
    assert cli("effects", session, "--json").json["here"] == []


@pytest.mark.slow
def test_nothing_risky_happens_unasked(cli: CLI, server: Any, repo: Path, tmp_path: Path) -> None:
    session = tmp_path / "s.worldline"
    done = cli(
        "run", "--workspace", repo, "--in-place", "--session", session, "--prompt", "push", "--base-url", server.base_url,
        "--mode", "ask", "--json",
    )  # fmt: skip
    assert done.lines[-1]["stop_reason"] == "completed"
    nodes = cli("inspect", session, "--json").json["nodes"]
    assert [n["outcome"] for n in nodes if n["kind"] == "tool"] == ["denied"]
    assert not (tmp_path / "outside-marker").exists()


@pytest.mark.slow
def test_commands_run_in_a_session_that_lies_where_sessions_lie(cli: CLI, server: Any, repo: Path) -> None:
    """The folder of all sessions is covered in the sandbox, and the file of this one with it."""
    done = cli(
        "run", "--workspace", repo, "--prompt", "push", "--base-url", server.base_url, "--mode", "work",
        "--approve", "allow", "--json",
    )  # fmt: skip
    nodes = cli("inspect", done.lines[-1]["session"], "--json").json["nodes"]
    assert [n["outcome"] for n in nodes if n["kind"] == "tool"] == ["ok"]


def test_a_node_without_a_session_makes_nothing(
    cli: CLI, server: Any, repo: Path, tmp_path: Path, own_home: Path
) -> None:
    wanted = [
        "run",
        "--workspace",
        repo,
        "--prompt",
        "make the file",
        "--base-url",
        server.base_url,
        "--at",
        "abc",
    ]
    for more in ([], ["--session", tmp_path / "new.worldline"]):
        assert "--session FILE" in cli(*wanted, *more, expect=2).err
    assert list(own_home.rglob("*.worldline")) == [] and not (tmp_path / "new.worldline").exists()
    assert git(repo, "worktree", "list").count("\n") == 0


def in_the_middle_of_a_tool(folder: Path, session: Path, server: Any) -> subprocess.Popen[str]:
    """A run whose tool has started and will take a minute."""
    command = ["run", "--workspace", folder, "--prompt", "sleep", *unasked(session, server.base_url)]
    child = subprocess.Popen(
        [sys.executable, "-m", "worldline", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert any('"running"' in line for line in child.stdout), "it never came to the tool"
    return child


@pytest.mark.slow
def test_ctrl_c_ends_the_run_in_order(cli: CLI, server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    child = in_the_middle_of_a_tool(folder, session, server)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["stop_reason"] == "aborted"
    seen = cli("inspect", session, "--json").json
    assert [n["outcome"] for n in seen["nodes"] if n["kind"] == "tool"] == ["aborted"]
    assert seen["runs"][0]["stop_reason"] == "aborted"


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_tool_loses_nothing(cli: CLI, server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    child = in_the_middle_of_a_tool(folder, session, server)
    child.kill()
    child.communicate()
    again = cli(
        "run", "--session", session, "--prompt", "hello", "--base-url", server.base_url, "--json",
    )  # fmt: skip
    assert again.lines[-1]["stop_reason"] == "completed"
    assert "ended in the middle" in again.err
    seen = cli("inspect", session, "--json").json
    assert [r["stop_reason"] for r in seen["runs"]] == ["interrupted", "completed"]
    assert [n["outcome"] for n in seen["nodes"] if n["kind"] == "tool"] == ["interrupted"]
    sent = json.dumps(cli("view", session, "cursor", "--json").json["messages"])
    assert "effects" in sent and "unknown" in sent


@pytest.mark.slow
def test_other_ends_have_other_codes(cli: CLI, server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    common = unasked(session, server.base_url)
    refused = cli("run", "--workspace", folder, "--prompt", "broken", *common, expect=1)
    assert refused.lines[-1]["stop_reason"] == "auth_error"
    common[1] = tmp_path / "other.worldline"
    braked = cli("run", "--workspace", folder, "--prompt", "for ever", "--max-turns", "2", *common, expect=1)
    assert braked.lines[-1]["stop_reason"] == "max_turns"
    assert "2 of 2 turns" in braked.lines[-1]["detail"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--prompt", "x"], "--workspace"),
        (["run", "--workspace", "/nowhere/at/all", "--prompt", "x"], "not a folder"),
        (["inspect", "/nowhere/s.worldline"], "no session"),
        (["verify", "/nowhere/s.worldline"], "no session"),
        (["nonsense"], ""),
        (["jump"], "FILE"),
    ],
)
def test_wrong_usage_says_what_to_do(cli: CLI, arguments: list[str], said: str) -> None:
    done = cli(*arguments, expect=None) if arguments != ["nonsense"] else None
    if done is None:
        from worldline.cli.main import main

        assert main(arguments) == 2
        return
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_what_is_no_address_is_refused_before_anything_is_made(cli: CLI, tmp_path: Path) -> None:
    session = tmp_path / "s.worldline"
    done = cli(
        "run", "--workspace", tmp_path, "--session", session, "--base-url", "notaurl", "--prompt", "x", expect=2
    )  # fmt: skip
    assert "'notaurl' is no address of a server." in done.err and "http://notaurl" in done.err
    assert not session.exists()


def test_import_of_time_is_not_waited_for() -> None:
    """`verify` and `inspect` load neither the SDK nor the loop."""
    code = "import sys, worldline.cli.inspect, worldline.cli.files; print('anthropic' in sys.modules, 'worldline.agent.loop' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


def test_a_run_whose_output_nobody_reads_ends_in_order(server: Any, cli: Any, tmp_path: Path) -> None:
    folder, session = tmp_path / "plain", tmp_path / "s.worldline"
    folder.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "worldline", "run", "--workspace", str(folder), "--session", str(session),
         "--prompt", "for ever", "--mode", "work", "--approve", "allow", "--base-url", server.base_url, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(PATIENCE_S) == 1
    runs = cli("inspect", session, "--json").json["runs"]
    assert [r["stop_reason"] for r in runs] == ["aborted"]


@pytest.mark.slow
def test_in_the_own_folder_head_leaves_and_returns(cli: CLI, server: Any, repo: Path, tmp_path: Path) -> None:
    session = tmp_path / "s.worldline"
    before = {p.name: p.read_bytes() for p in repo.iterdir() if p.is_file()}
    common = (
        "--session",
        session,
        "--base-url",
        server.base_url,
        "--mode",
        "work",
        "--approve",
        "allow",
        "--json",
    )
    done = cli("run", "--workspace", repo, "--in-place", "--prompt", "make the file", *common)
    assert done.lines[-1]["stop_reason"] == "completed"
    assert git(repo, "branch", "--show-current").startswith("worldline/")
    changed = {p.name: p.read_bytes() for p in repo.iterdir() if p.is_file()}
    assert changed != before
    kept = cli("return", session, "--json").json
    assert kept["branch"] == "main" == git(repo, "branch", "--show-current")
    assert {p.name: p.read_bytes() for p in repo.iterdir() if p.is_file()} == changed
    cli("run", "--prompt", "again", *common)
    assert git(repo, "branch", "--show-current").startswith("worldline/")
    back = cli("return", session, "--files", "back", "--json").json
    assert back["branch"] == "main" == git(repo, "branch", "--show-current")
    assert cli("return", session).code == 0


@pytest.mark.parametrize("approve", ["deny", "allow"])
def test_it_is_said_that_no_sandbox_starts_here_and_why(
    cli: CLI, server: Any, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approve: str
) -> None:
    """As where a system refuses user namespaces to everybody: commands were denied, or ran as they were, without a word."""
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text('#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    command = [
        "run",
        "--workspace",
        repo,
        "--prompt",
        "push",
        "--approve",
        approve,
        "--base-url",
        server.base_url,
    ]
    said = cli(*command).err
    assert "The sandbox is not complete on this machine." in said
    assert "bwrap: setting up uid map: Permission denied." in said
    monkeypatch.setenv("WORLDLINE_LANG", "zh")
    said = cli(*command).err
    line = next(line for line in said.splitlines() if "bwrap: setting up uid map" in line)
    assert "此机器上的沙盒不完整。" in line
    assert " the " not in line.lower(), "every sentence of it is translated"


def test_a_session_is_not_run_in_another_folder_than_its_own(
    program: CLI, server: Any, repo: Path, tmp_path: Path
) -> None:
    session = tmp_path / "s.worldline"
    common = ["--session", session, "--base-url", server.base_url, "--prompt", "hello"]
    program("run", "--workspace", repo, *common)
    other = tmp_path / "other"
    other.mkdir()
    refused = program("run", "--workspace", other, *common, expect=2)
    assert str(repo) in refused.err and "not in" in refused.err
    program("run", "--workspace", repo, *common)


def test_what_was_done_outside_is_told_in_words() -> None:
    fields = EffectInfo.model_fields
    assert set(inspect._REVERSIBILITY) == set(get_args(fields["reversibility"].annotation))
    assert set(inspect._EVIDENCE) == set(get_args(fields["evidence"].annotation))
    catalogue = json.loads((paths.resources_dir() / "i18n" / "engine_zh_CN.json").read_text("utf-8"))
    words = {*inspect._REVERSIBILITY.values(), *inspect._EVIDENCE.values(), "undone", "countered"}
    assert words <= catalogue.keys()


def test_a_rescue_into_a_folder_that_is_not_there_says_so(
    program: CLI, server: Any, repo: Path, tmp_path: Path
) -> None:
    session = tmp_path / "s.worldline"
    program("run", "--workspace", repo, "--session", session, "--base-url", server.base_url, "--prompt", "hi")
    refused = program("recover", session, "--out", tmp_path / "nowhere" / "new.worldline", expect=2)
    assert "nowhere is not there" in refused.err
