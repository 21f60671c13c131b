"""The edges of the engine process: what cannot be written, what breaks while it starts, what must not be logged."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core import log, paths
from worldline.core.errors import BadInput, WorkspaceError, WorldlineError
from worldline.engine.opening import OpenRequest, open_session
from worldline.engine.outbox import Outbox, encode
from worldline.engine.server import EngineServer
from worldline.engine.stdio import StdioChannel
from worldline.protocol.wire import Response

SECRET = "sk-ant-api03-abcdefghijklmnop"


def test_a_number_that_json_does_not_have_travels_as_text() -> None:
    line = encode([("x", {"n": float("nan"), "deep": [{"i": float("inf")}], "ok": 1.5})])
    assert json.loads(line)["params"] == {"n": "nan", "deep": [{"i": "inf"}], "ok": 1.5}


@pytest.mark.parametrize(
    "error", [OSError("gone"), ValueError("closed"), RuntimeError("no executor"), TypeError("x")]
)
async def test_an_outbox_that_cannot_write_lets_everybody_go(error: Exception) -> None:
    async def write(_: bytes) -> None:
        raise error

    box = Outbox(write)
    box.start()
    box.answer(Response(id=1, result={}))
    await asyncio.wait_for(box.drain(), PATIENCE_S)
    assert box.broken
    await asyncio.wait_for(box.close(), PATIENCE_S)


async def test_a_start_that_breaks_is_told_to_the_window() -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    channel = StdioChannel(os.fdopen(read_in, "rb"), os.fdopen(write_out, "wb", buffering=0))

    def opens(_: Any) -> Any:
        raise ZeroDivisionError("of no use")

    request = {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 1}}
    os.write(write_in, json.dumps(request).encode() + b"\n")
    code = await asyncio.wait_for(EngineServer(channel, opens).serve(), PATIENCE_S)
    answer = json.loads(os.read(read_out, 65_536))
    os.close(write_in)
    os.close(read_out)
    assert code == 1
    assert answer["error"]["data"]["kind"] == "defect" and "of no use" in answer["error"]["message"]


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "home"))
    root = logging.getLogger("worldline")
    before = (list(root.handlers), root.level, root.propagate)
    yield paths.logs_dir() / "test.log"
    for handler in root.handlers[len(before[0]) :]:
        handler.close()
    root.handlers, root.level, root.propagate = before
    logging.getLogger("worldline").manager._clear_cache()  # type: ignore[attr-defined]


def test_a_traceback_in_the_log_names_no_key(logged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDLINE_LOG", "loud")  # no level: warnings, and no crash
    log.setup("test")
    try:
        raise ValueError(f"refused: {SECRET}")
    except ValueError as error:
        logging.getLogger("worldline.test").error("with %s", SECRET, exc_info=error)
    text = logged.read_text()
    assert SECRET not in text and text.count("[masked: ") >= 2 and "ValueError" in text


def test_a_session_that_cannot_be_made_leaves_no_worktree(repo: Path, tmp_path: Path) -> None:
    def refs() -> str:
        return subprocess.run(
            ["git", "for-each-ref"], cwd=repo, capture_output=True, text=True, check=True
        ).stdout

    before = refs(), sorted(p.name for p in paths.worktrees_dir().iterdir())
    path = tmp_path / "s.worldline"
    path.with_name(path.name + ".lock").mkdir()  # its lock cannot be taken

    with pytest.raises(BadInput):
        open_session(OpenRequest(session=path, workspace=repo))

    assert (refs(), sorted(p.name for p in paths.worktrees_dir().iterdir())) == before
    assert not list((repo / ".git" / "worktrees").glob("*"))


def test_a_session_file_cannot_name_the_home_folder(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.worldline"
    open_session(OpenRequest(session=path, workspace=repo, in_place=True)).close()
    monkeypatch.setenv("HOME", str(repo))

    with pytest.raises(WorldlineError, match="home folder"):
        open_session(OpenRequest(session=path))
    monkeypatch.undo()
    open_session(OpenRequest(session=path)).close()


@pytest.mark.parametrize("in_place", [True, False], ids=["in the folder", "in a worktree"])
def test_a_session_whose_folder_cannot_be_taken_is_let_go_of(repo: Path, in_place: bool) -> None:
    """A full disk, say. It is no defect, and the next try finds nobody in the way."""
    made = open_session(OpenRequest(workspace=repo, in_place=in_place))
    path = made.doc.path
    lease = made.in_use or made.worktree
    assert lease is not None
    made.close()
    obstacle = lease.with_name(lease.name + ".lease")
    (obstacle / "x").mkdir(parents=True)
    with pytest.raises(WorkspaceError) as refused:
        open_session(OpenRequest(session=path))
    assert refused.value.kind == "not_writable"
    shutil.rmtree(obstacle)
    open_session(OpenRequest(session=path)).close()
