"""What the command line says where there is little to say, and the exit codes of bad input."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import Done, unasked
from worldline.core import paths
from worldline.core.kinds import NodeKind
from worldline.rehearsal.server import RehearsalServer
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline_engine import engine_on

Cli = Callable[..., Done]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


def test_return_speaks_of_no_branch_where_there_is_no_git(
    cli: Cli, plain: Path, tmp_path: Path, server: RehearsalServer
) -> None:
    session = tmp_path / "s.worldline"
    cli("run", "--workspace", plain, *unasked(session, server.base_url), "--prompt", "hello")
    done = cli("return", session)
    assert "no git repository" in done.err and "on no branch" not in done.err and "0 of 0" not in done.err


def test_a_worktree_that_is_not_there_is_not_to_be_removed_by_hand(cli: Cli, tmp_path: Path) -> None:
    said = cli("worktrees", "remove", tmp_path / "nope", expect=2).err
    assert "There is no" in said and "by hand" not in said
    said = cli("worktrees", "remove", tmp_path, expect=2).err
    assert "is not a worktree" in said and "by hand" not in said


def test_a_missing_file_points_at_no_list_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    said = cli("inspect", tmp_path / "none.worldline", expect=2).err
    assert "There is no session at" in said and "list" not in said


def test_a_view_without_messages_says_so(cli: Cli, tmp_path: Path) -> None:
    session = tmp_path / "s.worldline"
    with SessionDocument.create(session, workspace={"mode": "none"}) as doc:
        doc.append(NodeDraft(NodeKind.ROOT, None))
    done = cli("view", session, "root")
    assert done.out == "" and "no message" in done.err
    assert cli("view", session, "root", "--json").json["messages"] == []


def test_what_is_no_session_at_all_is_bad_input(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "x.txt"
    other.write_text("hello\n")
    cli("import", other, "--out", tmp_path / "out", expect=2)
    good = tmp_path / "pi.jsonl"
    good.write_text(
        '{"type":"session","version":3,"id":"1","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}\n'
        '{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01Z",'
        '"message":{"role":"user","content":"hi"}}\n'
    )
    cli("import", other, good, "--out", tmp_path / "out", expect=1)
    (tmp_path / "bundle.zip").write_bytes(b"PK\3\4 no bundle")
    cli("import", tmp_path / "bundle.zip", "--out", tmp_path / "out", expect=2)


def test_a_session_named_where_none_can_be_made_is_bad_input(cli: Cli, plain: Path) -> None:
    for place in ("/proc/x", "/proc/1/x", plain / "nothing" / "x"):
        done = cli("run", "--session", place, "--workspace", plain, "--prompt", "x", "--json", expect=2)
        assert done.lines[-1]["error"]["kind"] == "bad_input"
    assert list(paths.folder_leases_dir().glob("*.lease")) == []


def test_two_sessions_do_not_work_in_one_folder_of_the_person(
    cli: Cli, plain: Path, tmp_path: Path, server: RehearsalServer
) -> None:
    (plain / "inner").mkdir()
    first, second = tmp_path / "one.worldline", tmp_path / "two.worldline"
    for session in (first, second):
        cli("run", "--workspace", plain, *unasked(session, server.base_url), "--prompt", "hello")
    with engine_on("--session", first):
        for options in (
            ("--session", second),
            ("--workspace", plain, "--session", tmp_path / "three.worldline"),
            ("--workspace", plain / "inner", "--session", tmp_path / "four.worldline"),
        ):
            done = cli(
                "run", *options, "--base-url", server.base_url, "--prompt", "hello", "--json", expect=1
            )
            error = done.lines[-1]["error"]
            assert error["kind"] == "leased" and str(plain) in error["message"]
            assert "worktree" in error["hint"]
        assert not (tmp_path / "three.worldline").exists()
        assert cli("inspect", second, "--json").json["nodes"], "it can be read all the same"
    cli("run", *unasked(second, server.base_url), "--prompt", "hello")
    assert list(paths.folder_leases_dir().glob("*.lease")) == []
    assert sorted(p.name for p in plain.parent.iterdir() if "lease" in p.name) == []


def test_a_session_of_a_newer_version_is_not_open_elsewhere(
    cli: Cli, plain: Path, tmp_path: Path, server: RehearsalServer
) -> None:
    session = tmp_path / "s.worldline"
    cli("run", "--workspace", plain, *unasked(session, server.base_url), "--prompt", "hello")
    with sqlite3.connect(session) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    for command in (("run", "--session", session, "--prompt", "x"), ("jump", session, "root")):
        said = cli(*command, expect=1).err
        assert "newer version" in said and "Update Worldline" in said and "Close it there" not in said
