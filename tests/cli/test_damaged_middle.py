"""A session whose rows of the tree are whole and whose texts are not: it opens, and must not do so silently."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests_support import Done, damage_page_of, session_of_pages, unasked
from worldline.session.document import SessionDocument
from worldline.session.health import FileCheck


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied. Some pages of texts; the one with `needle-150` on it is in the middle."""
    return session_of_pages(tmp_path_factory.mktemp("long") / "s.worldline", 300)


@pytest.fixture
def middle(long_session: Path, tmp_path: Path) -> Path:
    path = Path(shutil.copy(long_session, tmp_path))
    damage_page_of(path, b"needle-150 ")
    return path


def test_the_cheap_look_finds_a_page_that_nobody_reads(long_session: Path, middle: Path) -> None:
    assert FileCheck(long_session).run() == []
    with SessionDocument.open(middle, mode="read") as doc:
        assert len(doc.headers()) == 301, "opening meets no damage"
    assert FileCheck(middle).run()
    stopped = FileCheck(middle)
    stopped.stop()
    assert stopped.run() == []


def test_inspect_says_it_and_what_to_do(cli: Callable[..., Done], middle: Path) -> None:
    before = middle.read_bytes()
    done = cli("inspect", middle, "--json", expect=1)
    assert len(done.json["nodes"]) == 301, "what is readable is shown"
    told = " ".join(done.json["damage"])
    for said in (told, done.err):
        assert "is damaged" in said and f"worldline verify {middle}" in said
        assert f"worldline recover {middle} --out NEW" in said
    assert middle.read_bytes() == before
    assert cli("verify", middle, expect=1).out


def test_nothing_is_written_to_it(cli: Callable[..., Done], middle: Path, server: object) -> None:
    with SessionDocument.open(middle, mode="read") as doc:
        nodes = len(doc.tree)
    base_url = str(getattr(server, "base_url"))  # noqa: B009
    done = cli("run", *unasked(middle, base_url), "--prompt", "go on", expect=1)
    error = done.lines[-1]["error"]
    assert error["kind"] == "damaged" and "worldline recover" in error["hint"], json.dumps(done.lines)
    assert cli("jump", middle, "root", expect=1).err.count("is damaged") == 1
    with SessionDocument.open(middle, mode="read") as doc:
        assert len(doc.tree) == nodes


def test_recover_says_in_words_what_did_not_come_through(
    cli: Callable[..., Done], middle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new.worldline"
    # What is not whole is no success, though a session was written.
    done = cli("recover", middle, "--out", out, expect=1)
    assert "301 nodes saved" in done.out
    answer = cli("recover", middle, "--out", tmp_path / "other.worldline", "--json", expect=1).json
    lost = answer["lost_bodies"]
    assert len(lost) == len(set(lost)) > 1
    sentence = f"The text or result of {len(lost)} steps is lost."
    assert sentence in done.err and sentence in answer["losses"]
    assert cli("verify", out).out


@pytest.mark.parametrize("beginning", [b"SQMite format 3", bytes(range(200)) * 20])
def test_a_damaged_beginning_is_no_reason_to_call_it_something_else(
    cli: Callable[..., Done], long_session: Path, tmp_path: Path, beginning: bytes
) -> None:
    path = Path(shutil.copy(long_session, tmp_path))
    path.write_bytes(beginning + path.read_bytes()[len(beginning) :])
    done = cli("verify", path, "--json", expect=1)
    assert "`worldline recover` saves what is readable" in done.json["faults"][0]["still_works"]
    assert "is damaged: its beginning cannot be read" in cli("inspect", path, expect=1).err
    assert "301 nodes saved" in cli("recover", path, "--out", tmp_path / "new.worldline").out


def test_another_file_is_not_taken_for_a_damaged_session(cli: Callable[..., Done], tmp_path: Path) -> None:
    path = tmp_path / "log.worldline"
    path.write_text("a line of a log\n" * 20_000)
    assert "is not a session" in cli("verify", path, expect=2).err
