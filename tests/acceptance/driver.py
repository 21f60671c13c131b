"""The workspace engine as it is used: through the command line, with a scripted model that calls bash.

A case says what the person does (`sh`), what the agent does (`agent_sh`, `agent_edit`), where a checkpoint is made and
where to go back to. Each checkpoint is a node of a real session; each restore is `worldline jump`.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests_support import PATIENCE_S, Done
from worldline.cli.main import main
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario

_TOOL = re.compile(r"^(bash|write) (\S+)$")


def answer(talk: Conversation) -> Reply:
    """Do what the prompt names (`bash <base64>`), then stop."""
    asked = _TOOL.match(talk.prompt.strip())
    if asked is None or talk.step:
        return Reply(text="Done.")
    words = json.loads(base64.b64decode(asked[2]))
    return Reply(calls=[Call(asked[1], words)])


def scenario() -> Scenario:
    return Scenario(answerer=answer, name="acceptance")


def worldline(*arguments: str | Path) -> Done:
    """One command in this process: what it imports is loaded once for all cases."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in arguments])
    out.flush()
    raw = out.buffer.getvalue()  # type: ignore[attr-defined]
    return Done(code, raw.decode("utf-8", "surrogateescape"), err.getvalue())


def shell(command: str, folder: Path, *, check: bool = True) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert not check or done.returncode == 0, f"{command}: {done.stderr.decode(errors='replace')}"
    return done.stdout.decode("utf-8", "surrogateescape")


@dataclass
class Driver:
    """One session on one repository."""

    source: Path
    session: Path
    base_url: str
    in_place: bool
    points: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """What was told about paths that are not captured or were kept."""
    left: str = ""
    """Where the last jump started from."""
    last: dict[str, Any] = field(default_factory=dict)
    work: Path = Path()

    def start(self) -> None:
        self._run("begin", "--workspace", self.source, *(["--in-place"] if self.in_place else []))
        self.work = Path(self.inspect()["session"]["workspace"]["path"])
        assert self.in_place == (self.work == self.source.resolve())

    def inspect(self) -> Any:
        seen = worldline("inspect", self.session, "--json")
        assert seen.code == 0, seen.err
        return seen.json

    @property
    def cursor(self) -> str:
        return str(self.inspect()["cursor"])

    def _run(self, prompt: str, *options: str | Path) -> dict[str, Any]:
        done = worldline(
            "run", "--session", self.session, "--base-url", self.base_url, "--mode", "work", "--approve", "allow",
            "--prompt", prompt, "--json", *options,
        )  # fmt: skip
        assert done.code == 0, done.err + done.out[-2000:]
        events = [json.loads(line) for line in done.out.splitlines()]
        assert events[-1]["stop_reason"] == "completed", events[-1]
        return dict(events[-1])

    def _tool(self, name: str, **words: str) -> None:
        packed = base64.b64encode(json.dumps(words).encode()).decode()
        self._run(f"{name} {packed}")

    # --- steps of a case ------------------------------------------------------------------------------------------

    def sh(self, command: str) -> str:
        return shell(command, self.work)

    def agent_sh(self, command: str) -> None:
        self._tool("bash", command=command)

    def agent_edit(self, path: str, text: str) -> None:
        self._tool("write", path=path, content=text)

    def checkpoint(self, name: str) -> None:
        self._run(f"checkpoint {name}")
        self.points[name] = self.cursor

    def plan(self, name: str, *options: str) -> dict[str, Any]:
        shown = worldline("jump", self.session, self.points.get(name, name), "--dry-run", "--json", *options)
        assert shown.code == 0, shown.err
        return dict(shown.json)

    def restore(self, name: str, *options: str) -> dict[str, Any]:
        self.left = self.cursor
        done = worldline("jump", self.session, self.points.get(name, name), "--json", *options)
        assert done.code == 0, done.err + done.out
        self.last = dict(done.json)
        assert self.last["verified"]["files"] == self.last["verified"]["of"]
        self.said += [f"{row['path']} {row['action']} {row['reason']}" for row in self.last["plan"]]
        self.said += [self.last.get("note", "")]
        return self.last

    def undo_restore(self) -> None:
        self.restore(self.last["safety_node"] or self.left)

    def action(self, path: str) -> str:
        """What the last jump did with a path, "" = nothing."""
        return next((str(row["action"]) for row in self.last["plan"] if row["path"] == path), "")

    def diff(self, a: str, b: str) -> str:
        shown = worldline("diff", self.session, self.points.get(a, a), self.points.get(b, b))
        assert shown.code == 0, shown.err
        return shown.out

    def kill_during(self, what: str, at: int) -> int:
        """Run a step in a process of its own that is killed at its `at`-th file operation. Returns its exit status."""
        words = {
            "checkpoint": [
                "run", "--session", str(self.session), "--base-url", self.base_url, "--mode", "work",
                "--approve", "allow", "--prompt", "checkpoint", "--json",
            ],
            "restore": ["jump", str(self.session), self.points.get("c1", "root"), "--json"],
        }[what]  # fmt: skip
        code = (
            "import os, signal, sys\n"
            "from worldline.cli.main import main\n"
            "import worldline.workspace.engine, worldline.engine.session\n"
            "count = 0\n"
            "def hook(event, args):\n"
            "    global count\n"
            "    text = str(args[0]) if args else ''\n"
            "    if event in ('os.rename', 'os.link', 'os.remove', 'os.mkdir', 'os.rmdir', 'os.chmod', 'open'):\n"
            "        count += 1\n"
            f"        if count == {at}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "sys.addaudithook(hook)\n"
            f"sys.exit(main({words!r}))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, env=os.environ, check=False, timeout=PATIENCE_S
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
        return done.returncode
