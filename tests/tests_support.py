"""Small things that tests of several parts use."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

# Put together here so that no scanner takes this file for a leak.
SECRETS = [
    "sk-ant-" + "api03-" + "aB3" * 10,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "11A" * 15,
    "AKIA" + "ABCDEFGH2345WXYZ",
    "AIza" + "b" * 35,
    "xoxb-" + "1234567890-abcdef",
    "sk_live_" + "a1" * 12,
    "npm_" + "a1B2" * 9,
    "glpat-" + "a1B2c3" * 4,
    "hf_" + "aB" * 17,
    "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".c2lnbmF0dXJlMTIz",
    "123456789:" + "AAabcdefghijklmnopqrstuvwxyz0123456",
    "dop_v1_" + "0a" * 32,
    "SG." + "aB3" * 7 + "." + "cD4" * 14,
]
"""One of each known form."""


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def repository_with_own_work(folder: Path) -> Path:
    """A repository with one commit and work that is not committed."""
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    (folder / "mine.txt").write_text("committed\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (folder / "mine.txt").write_text("my own work\n")
    (folder / "untracked.txt").write_text("not added\n")
    return folder


def in_conflict(repository: Path, command: str) -> None:
    """Two branches that change a.txt each in its way, and `git <command> topic` stopped between them, on the one that was
    there before."""
    git(repository, "switch", "-qc", "topic")
    for text in ("topic", "main"):
        (repository / "a.txt").write_text(f"{text}\n")
        git(repository, "commit", "-qam", text)
        git(repository, "switch", "-q", "-")
    git(repository, "switch", "-q", "-")
    subprocess.run(["git", command, "-q", "topic"], cwd=repository, capture_output=True, check=False)


PATIENCE_S = 120.0
"""How long a test waits for what must come. It guards against a hang and says nothing of speed: other programs on the machine
may take most of its time."""

MEASURING = bool(os.environ.get("WORLDLINE_MEASURE"))


def measured(what: str, value: float, limit: float) -> None:
    """Print a figure that depends on the machine; hold it against its limit only when figures are asked for.

    A test of the default suite fails by what the program does, never by how fast the machine was. With `WORLDLINE_MEASURE=1`
    on a quiet machine the same tests judge the figures as well."""
    print(f"{what}: {value:.4g} (limit {limit:.4g})")
    assert not MEASURING or value < limit, f"{what}: {value:.4g}, limit {limit:.4g}"


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, a piece of work calls on this thread: its cost without a clock."""
    count = 0

    def tell(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@dataclass
class Done:
    """What a command of Worldline said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one document; fails when anything else is on it."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def run_worldline(*arguments: str | Path, timeout: float = 5 * PATIENCE_S) -> Done:
    """A command in a process of its own, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "worldline", *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, env=os.environ,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def run_code(code: str, *arguments: str | Path) -> str:
    """What Python code prints, in a process of its own: what waits for ever there fails the test and hangs nothing."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    ).stdout


def session_in_own_folder(repo: Path, session: Path, files: dict[str, str]) -> Path:
    """A session with a worktree of its own and one step that wrote these files; closed again. Returns its folder."""
    import asyncio

    from worldline.core.kinds import NodeKind
    from worldline.engine.opening import OpenRequest, open_session, plant_root
    from worldline.session.model import NodeDraft

    async def make() -> Path:
        opened = open_session(OpenRequest(session=session, workspace=repo, title=repo.name))
        assert opened.work is not None
        try:
            await plant_root(opened)
            root = opened.doc.header(opened.doc.cursor)
            for name, text in files.items():
                (opened.work.work_path / name).write_text(text)
            done = await opened.work.capture(root.state)
            opened.doc.append(
                NodeDraft(kind=NodeKind.USER, parent=root.uid, preview="go on", state=done.state)
            )
            return opened.work.work_path
        finally:
            await opened.work.close()
            opened.close()

    return asyncio.run(make())


NUMBERS_SERVER = """
import os, sys
from mcp.server import MCPServer

server = MCPServer("numbers")

@server.tool()
def add(a: int, b: int) -> str:
    "Add two numbers."
    return str(a + b)

@server.tool()
def broken() -> str:
    "Always fails."
    raise ValueError("no luck")

@server.tool()
def dies() -> str:
    "Ends the server."
    os._exit(3)

server.run(*sys.argv[1:2], **({'port': int(sys.argv[2])} if sys.argv[2:] else {}))
"""
"""An MCP server. Its arguments: the transport and the port, where it is not its standard input and output."""


def unasked(session: Path, base_url: str) -> list[str | Path]:
    """Options of a run that works on its own: nobody is asked, the events come as lines of JSON."""
    return ["--session", session, "--base-url", base_url, "--mode", "work", "--approve", "allow", "--json"]


def wait_until(fits: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait for a condition that another process or thread brings about; fail when it does not come."""
    end = time.monotonic() + seconds
    while not fits():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


HALTS = {
    "start": "halt()",
    "nodes": """
write = sys.stderr.write
all_said = ""
def said(text):
    global all_said
    write(text)
    all_said += text
    if " nodes\\n" in all_said:
        sys.stderr.write = write
        sys.stderr.flush()
        halt()
sys.stderr.write = said
""",
    "states": """
written = 0
def hook(event, args):
    global written
    written += event == "os.mkdir" and "/stores/" in str(args[0])
    if written == 20:
        written += 1
        halt()
sys.addaudithook(hook)
""",
}


def halt_imports(patch: pytest.MonkeyPatch, folder: Path, where: str) -> None:
    """`worldline import` in processes of its own goes so far from here on, and no further until a signal ends it: whoever
    gives it up does so in the middle, however long they take to get to it. `where`: at its start; when it has told how many
    `nodes` it has written; among the `states` that it takes out of a bundle."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys, time\n\ndef halt():\n    while True:\n        time.sleep(0.05)\n\n"
        + "\n".join(["if 'import' in sys.orig_argv:", *(f"    {line}" for line in HALTS[where].splitlines())])
        + "\n"
    )
    patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))


def check_files(work: Path, expect: dict[str, Any]) -> None:
    """What a case says of the files of its workspace: `content`, `exists`, `absent` and `no_file`."""
    for path, text in expect.get("content", {}).items():
        assert (work / path).read_text() == text, path
    for path in expect.get("exists", []):
        assert (work / path).exists(), path
    for path in (*expect.get("absent", []), *expect.get("no_file", [])):
        assert not (work / path).exists(), path


def call_worldline(*arguments: str | Path, expect: int | None = 0) -> Done:
    """A command in this process, a second cheaper each than in one of its own. It speaks the language of the environment, as a
    process that begins does."""
    from worldline.cli import output
    from worldline.cli.main import main
    from worldline.viewmodel import engine_words

    out, err = io.StringIO(), io.StringIO()
    output._catalogue.cache_clear()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    finally:
        output._catalogue.cache_clear()
        engine_words.use("en")
    assert expect is None or code == expect, out.getvalue() + err.getvalue()
    return Done(code, out.getvalue(), err.getvalue())


def session_of_pages(path: Path, texts: int) -> Path:
    """A closed session whose texts, `needle-0 …` and so on, lie on several pages of its file."""
    from worldline.core.kinds import NodeKind
    from worldline.session.document import SessionDocument
    from worldline.session.model import NodeDraft

    with SessionDocument.create(path, title="long", workspace={"mode": "none"}) as doc:
        parent = doc.append(NodeDraft(NodeKind.ROOT, None)).uid
        for number in range(texts):
            text = f"needle-{number} " + "text " * 100
            message = {"role": "user", "content": [{"type": "text", "text": text}]}
            parent = doc.append(NodeDraft(NodeKind.USER, parent, message, preview="p")).uid
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def damage_page_of(session: Path, text: bytes) -> None:
    """Zero the page of a closed session file on which these bytes lie, as a failing disk does."""
    size = 4096
    data = bytearray(session.read_bytes())
    page = data.index(text) // size
    assert page > 0
    data[page * size : (page + 1) * size] = bytes(size)
    session.write_bytes(data)
