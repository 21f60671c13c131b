"""`worldline worktrees`: whose each folder is, what would be lost, and removing only what was confirmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S, Done, git, session_in_own_folder
from worldline.core import paths
from worldline.engine import folders
from worldline.session.document import SessionDocument
from worldline.workspace import isolate_make
from worldline_engine import engine_on

Cli = Callable[..., Done]


@pytest.fixture
def session() -> Path:
    return paths.sessions_dir() / "made.worldline"


@pytest.fixture
def work(session: Path, repo: Path) -> Path:
    """The folder of the session, with work in it that is in no commit."""
    return session_in_own_folder(repo, session, {"a.txt": "beta\n", "new.txt": "one\n"})


def rows(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("worktrees", "--json").json["folders"]
    return found


def to_trash(session: Path) -> Path:
    gone = paths.trash_dir() / "made-20260101-000000.worldline"
    session.rename(gone)
    return gone


def test_a_folder_is_listed_and_goes_only_as_confirmed(
    cli: Cli, session: Path, work: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "SIZE_S", PATIENCE_S)
    monkeypatch.setattr(folders, "ALL_SIZES_S", PATIENCE_S)
    [row] = rows(cli)
    assert (row["path"], row["session"], row["title"], row["session_file"]) == (
        str(work), "there", "project", str(session),
    )  # fmt: skip
    assert row["repository"] == str(repo) and row["branch"].startswith("worldline/")
    assert row["looked"] and row["bytes_complete"] and row["bytes"] > 20 and row["in_use"] == ""
    # What the agent made is in the nodes; what the person had not committed is in their folder.
    assert (row["lose"], row["lose_id"]) == ([], "") and row["kept"] >= 2
    assert "The session's nodes keep their files" in row["note"] and "can be made anew" in row["note"]
    (work / "since.txt").write_text("later\n")
    [row] = rows(cli)
    assert row["lose"] == ["untracked file since.txt"] and row["lose_id"]
    refused = cli("worktrees", "remove", work, expect=1)
    assert "is not what was confirmed" in refused.err and f"--yes-lose {row['lose_id']}" in refused.out
    assert "untracked file since.txt" in refused.out
    said = cli("worktrees", "--json", "remove", work, "--yes-lose", "0123456789ab", expect=1).lines[-1]
    assert said["error"]["kind"] == "changed" and work.is_dir()
    trashed = to_trash(session)
    [row] = rows(cli)
    assert (row["session"], row["session_file"]) == ("trash", str(trashed))
    done = cli("worktrees", "remove", work, "--yes-lose", row["lose_id"], "--json").json
    assert done["lost"] == ["untracked file since.txt"] and done["schema"] == 1
    assert rows(cli) == [] and not work.exists()
    assert str(work) not in git(repo, "worktree", "list")
    assert git(repo, "branch", "--list", row["branch"])
    # The states belong to the session, which can be had back.
    assert cli("verify", trashed, "--json").json["sound"] is True
    cli("worktrees", "remove", work, expect=2)


def test_without_its_session_nothing_keeps_the_files(cli: Cli, session: Path, work: Path) -> None:
    session.unlink()
    [row] = rows(cli)
    assert row["session"] == "none" and row["title"] == ""
    assert row["lose"] == ["changed file a.txt", "untracked file new.txt"] and row["kept"] == 0
    told = cli("worktrees")
    assert "no session file is known any more" in told.out and row["lose_id"] in told.out
    cli("worktrees", "remove", work, "--yes-lose", row["lose_id"])
    assert not work.exists()
    assert "no folder" in cli("worktrees").err


def test_a_session_that_lies_elsewhere_or_is_damaged_is_known(
    cli: Cli, session: Path, work: Path, tmp_path: Path
) -> None:
    [row] = rows(cli)
    elsewhere = tmp_path / "mine.worldline"
    session.rename(elsewhere)
    cli("inspect", elsewhere, "--json")
    assert rows(cli)[0]["session"] == "none", "a file that was moved is known when it is opened to be written"
    cli("jump", elsewhere, "root", "--json")
    [row] = rows(cli)
    assert (row["session"], row["session_file"]) == ("there", str(elsewhere))
    slug = row["name"].removeprefix("project-")
    broken = paths.sessions_dir() / f"{slug}.worldline"
    broken.write_bytes(b"nothing of the kind")
    elsewhere.unlink()
    assert rows(cli)[0]["session_file"] == str(broken)


def test_one_that_is_open_keeps_its_folder(cli: Cli, session: Path, work: Path) -> None:
    with engine_on("--session", session) as engine:
        [row] = rows(cli)
        assert f"process {engine.child.pid}" in row["in_use"]
        refused = cli("worktrees", "remove", work, "--yes-lose", row["lose_id"], "--json", expect=1)
        assert refused.lines[-1]["error"]["kind"] == "leased" and work.is_dir()
    # The lock of the file alone is enough: a session that is open keeps its folder without a lease too.
    doc = SessionDocument.open(session)
    try:
        assert rows(cli)[0]["in_use"].startswith("Its session is open")
        refused = cli("worktrees", "remove", work, "--json", expect=1)
        assert refused.lines[-1]["error"]["kind"] == "leased" and work.is_dir()
    finally:
        doc.close()
    cli("worktrees", "remove", work)
    assert not work.exists()


def test_a_bundle_has_a_folder_too(cli: Cli, session: Path, work: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.bundle"
    cli("export", session, "--format", "bundle", "--out", bundle)
    out = Path(cli("import", bundle, "--out", tmp_path / "in", "--json").json["files"][0]["out"])
    [row] = [row for row in rows(cli) if row["session_file"] == str(out)]
    assert row["session"] == "there" and row["lose"] == [] and row["kept"] >= 3
    (Path(row["path"]) / "files" / "own.txt").write_text("o")
    [row] = cli("worktrees", "--only", row["path"], "--json").json["folders"]
    assert row["lose"] == ["file own.txt (git cannot say whether it is in a commit)"]
    cli("worktrees", "remove", row["path"], "--yes-lose", row["lose_id"])
    assert [one["session_file"] for one in rows(cli)] == [str(session)]


def test_lines_come_twice_the_quick_facts_first(cli: Cli, session: Path, work: Path) -> None:
    first, second = cli("worktrees", "--json", "--lines").lines
    assert (first["looked"], second["looked"]) == (False, True)
    assert first["title"] == second["title"] and second["bytes"] > 0


def test_a_copy_that_is_kept_ready_is_listed_and_removed(cli: Cli, work: Path, repo: Path) -> None:
    made = isolate_make.make(repo, least_files=0)
    assert made.path is not None
    first, row = rows(cli)
    assert first["path"] == str(work)
    assert (row["path"], row["session"], row["repository"], row["bytes"]) == (
        str(made.path), "ready", str(repo), made.bytes,
    )  # fmt: skip
    assert row["looked"] and row["lose"] == [] and "next session" in row["note"]
    assert cli("worktrees", "--only", made.path, "--json").json["folders"] == [row]
    told = cli("worktrees").out
    assert "kept ready" in told and f"copy of {repo}" in told and "Nothing would be lost" in told
    lines = [line for line in cli("worktrees", "--json", "--lines").lines if line["session"] == "ready"]
    assert lines == [row]
    done = cli("worktrees", "remove", made.path, "--json").json
    assert (done["bytes"], done["lost"]) == (made.bytes, [])
    assert [row["path"] for row in rows(cli)] == [str(work)] and not made.path.exists()
    cli("worktrees", "remove", made.path, expect=2)
