"""What is kept of a message that was never sent."""

from __future__ import annotations

import base64
import os
import stat
import time
from pathlib import Path

import pytest

from worldline.viewmodel import drafts
from worldline.viewmodel.drafts import Draft, DraftFolder, masked, prune

KEY = "sk-ant-" + "a1B2c3D4" * 5


def image(content: bytes) -> dict[str, str]:
    return {"media_type": "image/png", "data": base64.b64encode(content).decode()}


@pytest.fixture
def folder(tmp_path: Path) -> DraftFolder:
    return DraftFolder(tmp_path / "drafts", "/data/one.worldline")


def test_all_of_a_draft_comes_back(folder: DraftFolder) -> None:
    draft = Draft("wörter 你好", ["line\n" * 40_000, "b"], [image(b"one"), image(b"two")])
    assert folder.save(draft) == 0
    assert DraftFolder(folder.folder.parent, folder.session).load() == draft
    assert DraftFolder(folder.folder.parent, "/data/other.worldline").load() is None


def test_a_session_whose_name_is_no_text_has_one_too(tmp_path: Path) -> None:
    named = DraftFolder(tmp_path / "drafts", os.fsdecode(b"/data/caf\xe9.worldline"))
    named.save(Draft("half a thought"))
    assert named.load() == Draft("half a thought")
    assert prune(tmp_path / "drafts", now=time.time() + 2 * drafts.STALE_S) == 1


def test_nobody_else_can_read_it(folder: DraftFolder) -> None:
    folder.save(Draft("text", ["paste"], [image(b"one")]))
    assert stat.S_IMODE(folder.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.folder.iterdir()} == {0o600}


def test_secrets_are_masked_wherever_they_are(folder: DraftFolder) -> None:
    long = "2026-11-01 12:00 INFO nothing here\n" * 4000 + f"key {KEY}\n" + "more\n" * 30_000
    folder.save(Draft(f"use {KEY}", [long], []))
    kept = b"".join(file.read_bytes() for file in folder.folder.iterdir())
    assert KEY.encode() not in kept and kept.count(b"[masked: Anthropic key]") == 2
    assert b"more" in kept


def test_a_secret_of_many_lines_is_not_cut_in_two() -> None:
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 50
        + "-----END PRIVATE KEY-----\n"
    )
    text = "x y z\n" * (drafts.PIECE // 6 - 20) + key + "the end\n" * 20_000
    assert "MIIEv" not in masked(text) and masked(text).endswith("the end\n")


def test_pieces_are_the_whole_text() -> None:
    text = (
        "".join(f"line {number} of a log\n" for number in range(20_000))
        + "one long line " * 90_000
        + "x" * 900_000
    )
    assert masked(text) == text


def test_what_is_too_large_is_left_out_and_counted(
    folder: DraftFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MAX_BYTES", 1000)
    assert folder.save(Draft("text", ["a" * 600, "b" * 600], [image(b"c" * 300)])) == 1
    kept = folder.load()
    assert kept == Draft("text", ["a" * 600], [image(b"c" * 300)])


def test_what_is_taken_away_is_removed_and_what_stays_is_not_written_again(folder: DraftFolder) -> None:
    folder.save(Draft("", ["first", "second"], []))
    before = {file.name: file.stat().st_ino for file in folder.folder.iterdir()}
    folder.save(Draft("words", ["second"], []))
    after = {file.name: file.stat().st_ino for file in folder.folder.iterdir()}
    assert len(before) == 3 and len(after) == 2
    assert {name for name in after if after[name] == before.get(name)}, (
        "the paste that stays is the same file"
    )


def test_an_empty_draft_leaves_nothing(folder: DraftFolder) -> None:
    folder.save(Draft("text", ["paste"], []))
    folder.save(Draft("  ", [], []))
    assert not folder.folder.exists() and folder.load() is None


def test_a_kill_between_two_files_leaves_the_draft_before(
    folder: DraftFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Draft("before", ["one"], [])
    folder.save(before)
    real = Path.replace
    calls: list[str] = []

    def killed(source: Path, target: Path) -> Path:
        calls.append(Path(target).name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(source, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.save(Draft("after", ["one", "two"], []))
    monkeypatch.undo()
    assert folder.load() == before
    # What the kill has left is cleared away by the next.
    folder.save(before)
    assert len(list(folder.folder.iterdir())) == 2


def test_a_damaged_draft_is_none_and_gives_way_to_the_next(folder: DraftFolder) -> None:
    folder.save(Draft("text", ["one"], []))
    (folder.folder / "draft.json").write_bytes(b"{")
    assert folder.load() is None
    folder.save(Draft("new", [], []))
    assert folder.load() == Draft("new", [], [])


def test_drafts_of_sessions_that_are_gone_are_cleared_away(tmp_path: Path) -> None:
    home = tmp_path / "drafts"
    here = tmp_path / "here.worldline"
    here.touch()
    for session in (str(here), "/gone.worldline"):
        DraftFolder(home, session).save(Draft("text", [], []))
    later = (
        home / DraftFolder(home, "/gone.worldline").folder.name / "draft.json"
    ).stat().st_mtime + drafts.STALE_S
    assert prune(home, now=later - 10) == 0
    assert prune(home, now=later + 10) == 1
    assert DraftFolder(home, str(here)).load() is not None
