"""The folders of loose objects are made while nobody waits, and a capture makes those that are missing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests_support import wait_until
from worldline.workspace import settle
from worldline.workspace.objects import make_folders


def test_captures_after_a_quiet_moment_make_no_folder_in_the_store(
    work: Path, open_workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "_CALM", 0.0)
    ws = open_workspace(watch=False)
    (work / "f").write_text("one")
    first = ws.capture(None).state  # the first one begins the quiet
    objects = ws.store.path / "objects"
    wait_until(lambda: sum(len(path.name) == 2 for path in objects.iterdir()) == 256)
    made: list[str] = []
    real = os.mkdir
    monkeypatch.setattr(
        os, "mkdir", lambda path, *more, **options: made.append(str(path)) or real(path, *more, **options)
    )
    for number in range(20):
        (work / "f").write_text(f"{number}")
        assert ws.capture(first).changed
    assert made == []


def test_a_store_without_those_folders_takes_what_is_captured(work: Path, open_workspace: Any) -> None:
    """Pruning, and git, remove empty ones."""
    ws = open_workspace(watch=False)
    (work / "f").write_text("one")
    first = ws.capture(None).state
    make_folders(ws.store.path / "objects")
    make_folders(ws.store.path / "objects")  # what is there stays
    for folder in (ws.store.path / "objects").glob("??"):
        with contextlib.suppress(OSError):
            folder.rmdir()
    (work / "f").write_text("two")
    assert ws.read_file(ws.capture(first).state, "f") == b"two"
