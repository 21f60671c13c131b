"""`worldline worktrees --stores`: what is kept of deleted sessions, and letting go of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import Done, call_worldline, session_in_own_folder
from worldline.core import paths
from worldline.session.document import SessionDocument
from worldline_engine import engine_on

Cli = Callable[..., Done]
here: Cli = call_worldline


@pytest.fixture
def session() -> Path:
    return paths.sessions_dir() / "made.worldline"


@pytest.fixture
def store(session: Path, repo: Path) -> Path:
    session_in_own_folder(repo, session, {"a.txt": "beta\n", "new.txt": "one\n"})
    with SessionDocument.open(session, mode="read") as doc:
        return Path(doc.info()["workspace"]["store"])


def stores() -> list[dict[str, Any]]:
    rows = here("worktrees", "--stores", "--json").json["folders"]
    return [row for row in rows if row["kind"] == "store"]


def to_trash(session: Path) -> Path:
    gone = paths.trash_dir() / "made-20260101-000000.worldline"
    session.rename(gone)
    return gone


def test_a_store_that_a_session_needs_is_not_listed_and_not_removed(session: Path, store: Path) -> None:
    assert stores() == []
    refused = here("worktrees", "remove", store, "--yes-lose", "x", expect=2)
    assert "nothing of a deleted session" in refused.err and store.is_dir()
    elsewhere = session.parent.parent / "mine.worldline"
    session.rename(elsewhere)
    here("jump", elsewhere, "root", "--json")
    assert stores() == [], "it was written down where the session lies"


def test_what_a_deleted_session_leaves_goes_when_it_was_named(session: Path, store: Path, repo: Path) -> None:
    home = store.with_name(store.name + "-home")
    shutil.copytree(store, home)
    trashed = to_trash(session)
    [row] = stores()
    assert (row["path"], row["session"], row["title"], row["session_file"]) == (
        str(store), "trash", "project", str(trashed),
    )  # fmt: skip
    assert row["repository"] == str(repo) and row["bytes"] > 1000 and row["looked"]
    assert [line.split(",")[0] for line in row["lose"]] == [
        f"the files of 2 steps in {store.name}", f"the files of 2 steps in {home.name}",
    ]  # fmt: skip
    assert "in the trash" in row["note"] and "no step of it can be gone back to" in row["note"]
    refused = here("worktrees", "remove", store, expect=1)
    assert "is not what was confirmed" in refused.err and row["lose_id"] in refused.out and store.is_dir()
    done = here("worktrees", "remove", store, "--yes-lose", row["lose_id"], "--json").json
    assert done["lost"] == row["lose"] and done["bytes"] > 1000
    assert not store.exists() and not home.exists() and stores() == []
    assert list(paths.stores_dir().iterdir()) == []
    faults = here("verify", trashed, "--json", expect=1).json["faults"]
    assert {fault["kind"] for fault in faults} == {"state_missing"}, "the conversation is whole"


def test_without_any_session_file_the_store_says_whose_it_was(session: Path, store: Path, repo: Path) -> None:
    session.unlink()
    [row] = stores()
    assert (row["session"], row["title"], row["repository"]) == ("none", "project", str(repo))
    assert "somewhere else" in row["note"]
    said = here("worktrees", "--stores").out
    assert "The files of its steps." in said and row["lose_id"] in said
    # More was kept since it was looked at.
    states = json.loads((store / "session.json").read_text())
    assert states["session_file"] == str(session)
    work = repo.parent / "again"
    work.mkdir()
    (work / "x").write_text("x")
    from worldline.workspace.engine import Workspace

    workspace = Workspace(work, store)
    workspace.capture(None)
    assert stores()[0]["in_use"], "somebody writes to it"
    workspace.close()
    here("worktrees", "remove", store, "--yes-lose", row["lose_id"], expect=1)
    assert store.is_dir()


def test_a_removal_that_was_cut_off_is_finished(session: Path, store: Path) -> None:
    session.unlink()
    store.rename(store.with_name(f".removing-{store.name}"))
    assert stores() == [] and list(paths.stores_dir().iterdir()) == []


def test_an_open_session_in_the_trash_keeps_its_files(session: Path, store: Path) -> None:
    trashed = to_trash(session)
    [row] = stores()
    with engine_on("--session", trashed):
        assert here("worktrees", "remove", store, "--yes-lose", row["lose_id"], expect=1).err
        assert store.is_dir()


def test_what_is_no_store_of_ours_is_named_and_stays(store: Path, session: Path) -> None:
    foreign = paths.stores_dir() / "foreign"
    subprocess.run(["git", "init", "-q", "--bare", str(foreign)], check=True)
    [row] = stores()
    assert row["name"] == "foreign" and "cannot be looked at" in row["problem"] and not row["lose_id"]
    here("worktrees", "remove", foreign, expect=2)
    assert foreign.is_dir()
