"""The whole way through the command line, as a person would go it, against a model server of somebody else."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S, Done, git, unasked

from .plain_server import PlainServer

Cli = Callable[..., Done]
Start = Callable[..., "subprocess.Popen[str]"]

WORK: list[list[dict[str, Any]]] = [
    [
        {"say": "I begin."},
        {
            "name": "bash",
            "input": {"command": "printf one > made.txt; chmod 755 made.txt; ln -s made.txt lnk"},
        },
    ],
    [{"name": "bash", "input": {"command": "rm link; echo more >> tool.sh; chmod 644 tool.sh; git add -A"}}],
    [{"name": "write", "input": {"path": "made.txt", "content": "two\n"}}],
]


def do(*steps: list[dict[str, Any]]) -> str:
    return "DO " + json.dumps(steps)


def picture(folder: Path) -> dict[str, object]:
    """Every file below with kind, mode, content and time; of git what belongs to the person."""
    seen: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith((".git/objects", ".git/worktrees", ".git/logs")) or "heads/worldline" in name:
            continue
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            seen[name] = os.readlink(path)
        elif stat.S_ISREG(about.st_mode):
            seen[name] = (about.st_mode, about.st_mtime_ns, path.read_bytes())
        else:
            seen[name] = about.st_mode
    return seen


def world(folder: Path) -> tuple[dict[str, object], str, str]:
    """What a state has to bring back: files with modes and links, the staging area, HEAD's commit."""
    files: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] != ".git" and not path.is_dir():
            files[str(path.relative_to(folder))] = (
                os.readlink(path) if path.is_symlink() else (path.stat().st_mode, path.read_bytes())
            )
    return files, git(folder, "ls-files", "--stage"), git(folder, "rev-parse", "HEAD")


@pytest.mark.slow
def test_from_a_prompt_to_forks_and_back_without_touching_the_checkout(
    cli: Cli,
    here: Cli,
    server: PlainServer,
    repo: Path,
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-SECRET-MARKER")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    before = picture(repo)
    session = tmp_path / "s.worldline"
    common = ["--session", session, "--mode", "work", "--approve", "allow", "--json"]

    first = cli("run", "--workspace", repo, "--prompt", do(*WORK), *common).lines
    assert first[-1]["event"] == "result" and first[-1]["stop_reason"] == "completed"
    seen = here("inspect", session, "--json").json
    work = Path(seen["session"]["workspace"]["path"])
    assert [n["kind"] for n in seen["nodes"]] == ["root", "user", *["assistant", "tool"] * 3, "assistant"]
    assert len(seen["runs"]) == 1 and seen["runs"][0]["stop_reason"] == "completed"
    tools = [n["uid"] for n in seen["nodes"] if n["kind"] == "tool"]
    assert all(n["state"] for n in seen["nodes"] if n["kind"] == "tool")
    end = world(work)

    worlds: dict[str, object] = {}
    for jump, node in ((cli, tools[0]), (here, "root"), (here, tools[0]), (here, "root")):
        jumped = jump("jump", session, node, "--json").json
        assert jumped["verified"]["files"] == jumped["verified"]["of"]
        assert git(work, "branch", "--show-current") == jumped["branch"]
        assert jumped["branch"].startswith("worldline/")
        assert worlds.setdefault(node, world(work)) == world(work)
    assert os.readlink(work / "link") == "a.txt" and not (work / "made.txt").exists()
    assert git(work, "diff", "--cached", "--name-only") == "a.txt"
    assert (work / "a.txt").read_text() == "unstaged\n"
    assert here("jump", session, seen["cursor"], "--json").json["cursor"] == seen["cursor"]
    assert world(work) == end

    # On from an earlier node: it is a second branch of the tree, and the model hears nothing of the first.
    other = [{"name": "write", "input": {"path": "other.txt", "content": "x\n"}}]
    again = cli("run", "--at", tools[0], "--prompt", do(other), *common).lines[-1]
    assert again["stop_reason"] == "completed"
    assert (work / "made.txt").read_text() == "one" and (work / "other.txt").exists()
    assert "chmod 644" not in json.dumps(server.requests[-1]["messages"][1:])
    assert cli("run", "--prompt", "SAY and more", *common).lines[-1]["stop_reason"] == "completed"
    assert "+x" in cli("diff", session, tools[0], "cursor").out
    assert here("verify", session, "--json").json["sound"] is True

    assert picture(repo) == before
    assert [b for b in git(repo, "branch", "--format=%(refname:short)").split() if "worldline/" not in b] == [
        "main"
    ]
    # The key is for the real API alone; nobody else gets it, and it is written down nowhere.
    assert "SECRET-MARKER" not in json.dumps([server.requests, server.headers_seen])
    for file in [session, *tmp_path.glob("s.worldline*"), *own_home.rglob("*")]:
        assert not file.is_file() or b"SECRET-MARKER" not in file.read_bytes(), file


@pytest.mark.slow
def test_one_writer_and_an_orderly_end(
    cli: Cli, here: Cli, start: Start, server: PlainServer, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    common = ["--session", session, "--base-url", server.base_url, "--json"]
    child = start("run", "--workspace", folder, "--prompt", "HANG", *common)
    assert server.hanging.wait(PATIENCE_S)
    refused = cli("run", "--prompt", "SAY x", *common, expect=1)
    assert refused.json["error"]["kind"] == "locked" and "already open" in refused.err
    assert here("inspect", session, "--json").json["runs"][0]["stop_reason"] is None
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["stop_reason"] == "aborted"
    assert [r["stop_reason"] for r in here("inspect", session, "--json").json["runs"]] == ["aborted"]


@pytest.mark.slow
@pytest.mark.parametrize("events", [9])
def test_killed_after_so_many_events_it_goes_on(
    cli: Cli, here: Cli, start: Start, server: PlainServer, repo: Path, tmp_path: Path, events: int
) -> None:
    session = tmp_path / "s.worldline"
    common = unasked(session, server.base_url)
    # When all of it is done the server hangs: the run does not end before it is killed.
    child = start("run", "--workspace", repo, "--prompt", f"HANG {do(*WORK)}", *common)
    assert child.stdout is not None
    told = [json.loads(child.stdout.readline()) for _ in range(events)]
    child.kill()
    child.wait()
    stored = {e["uid"] for e in told if e["event"] == "node_stored"}
    seen = here("inspect", session, "--json").json
    assert stored <= {n["uid"] for n in seen["nodes"]}, "what was announced is durable"
    assert cli("run", "--prompt", "SAY on", *common).lines[-1]["stop_reason"] == "completed"
    seen = here("inspect", session, "--json").json
    assert [r["stop_reason"] for r in seen["runs"]] == ["interrupted", "completed"]
    assert cli("jump", session, "root", "--json").json["cursor"] == seen["nodes"][0]["uid"]
    assert here("verify", session, "--json").json["sound"] is True


@pytest.mark.slow
def test_wrong_use_is_told_and_costs_nothing(
    cli: Cli, here: Cli, server: PlainServer, tmp_path: Path, own_home: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    for words, said in (
        (("run", "--workspace", tmp_path / "nowhere", "--prompt", "x"), "is not a folder"),
        (("run", "--workspace", own_home, "--prompt", "x"), "home folder"),
        (("inspect", tmp_path / "nothing.worldline"), "no session"),
    ):
        assert said in here(*words, expect=2).err
    # Without a key nothing is sent anywhere, and the person hears where one belongs.
    keyless = cli("run", "--workspace", folder, "--session", session, "--prompt", "SAY x", "--json", expect=1)
    assert (
        keyless.lines[-1]["stop_reason"] == "auth_error"
        and "ANTHROPIC_API_KEY" in keyless.lines[-1]["detail"]
    )
    refused = cli(
        "run",
        "--session",
        session,
        "--prompt",
        "STATUS 401",
        "--base-url",
        server.base_url,
        "--json",
        expect=1,
    )
    assert refused.lines[-1]["stop_reason"] == "auth_error"
    unknown = here("jump", session, "zzz", "--json", expect=2)
    assert unknown.json["error"]["kind"] == "bad_input" and "inspect" in unknown.err
    assert len(here("inspect", session, "--json").json["nodes"]) == 3
