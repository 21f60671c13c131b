"""Copies that are kept ready: what may be another than it was is made anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.core import paths
from worldline.workspace import isolate, isolate_ready
from worldline.workspace.isolate_manifest import BadManifest, decode, encode, head_of

from .conftest import run_sh
from .ready import everything, make, same_both_ways, settle, waiting
from .test_engine import SETUP

Sh = Callable[..., str]
HOUR_NS = 3_600_000_000_000
TAMPERING = {
    "same size": "printf '9\\n9\\n9\\n9\\n' > files/a",
    "same times": "cp -p files/a old && echo 9 >> files/a && touch -r old files/a && rm old",
    "mode": "chmod 700 files/d/f",
    "folder closed": "chmod 500 files/d",
    "second name": "ln files/a ../elsewhere",
    "file gone": "rm files/d/f",
    "folder gone": "rm -r files/deep",
    "file for a link": "rm files/link && echo l > files/link",
    "link for a file": "rm files/a && ln -s /etc/hostname files/a",
    # From here on it is thrown away.
    "foreign file": "echo f > files/foreign",
    "foreign file inside": "echo f > files/deep/er/foreign",
    "foreign folder": "mkdir files/foreign",
    "folder that the original has by now": "mkdir files/later",
    "git folder": "git init -q files",
    "folder for a file": "rm files/a && mkdir files/a",
    "link for a folder": "mv files/d files/dd && ln -s dd files/d",
    "link for all": "mv files elsewhere && ln -s elsewhere files",
    "no files": "rm -r files",
    "no manifest": "rm manifest",
    "cut manifest": "truncate -s -1 manifest",
    "empty manifest": ": > manifest",
    "turned bit": "printf X | dd of=manifest bs=1 seek=400 conv=notrunc status=none",
    "other version": "printf 'worldline ready copy 0' | dd of=manifest conv=notrunc status=none",
    "manifest is a pipe": "rm manifest && mkfifo manifest",
}


@pytest.mark.parametrize("kind", TAMPERING)
def test_what_was_touched_is_not_trusted(work: Path, sh: Sh, kind: str) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    settle()
    run_sh(TAMPERING[kind], place)
    (work / "later").mkdir()
    ready = isolate.prepare(work, "aaaaaaaa")
    assert os.path.lexists(place) is False
    assert everything(ready) == everything(isolate.prepare(work, "bbbbbbbb"))
    for path in ready.path.rglob("*"):
        assert path.is_symlink() or path.is_dir() or path.stat().st_nlink == 1
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_the_manifest_of_another_folder(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    shutil.copytree(work, tmp_path / "other", symlinks=True)
    place.rename(isolate_ready.place_of(tmp_path / "other"))
    ready = isolate.prepare(tmp_path / "other", "aaaaaaaa")
    assert everything(ready) == everything(isolate.prepare(tmp_path / "other", "bbbbbbbb"))
    assert not waiting()


def test_an_original_that_changed_a_moment_ago_is_copied_again(work: Path, sh: Sh) -> None:
    sh("git init -q -b main . && echo a > a && git add . && git commit -qm i")
    made = make(work, settled_ns=HOUR_NS)
    assert made.path is not None
    assert make(work, settled_ns=HOUR_NS).reused == 0
    assert make(work).reused == 0  # what was not trusted does not become so by waiting
    assert make(work).reused == 1


def test_a_copy_of_another_folder_of_the_same_name(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    make(work)
    work.rename(tmp_path / "moved")
    work.mkdir()
    sh("git init -q -b main . && echo new > a && git add . && git commit -qm other")
    same_both_ways(work)


def test_a_manifest_is_read_whole_or_not_at_all(work: Path, sh: Sh) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    data = (place / "manifest").read_bytes()
    whole = decode(data)
    assert encode(decode(encode(whole))) and decode(encode(whole)) == whole
    assert (
        head_of(data)["source"] == str(work) and "new\nline" in whole.files and "lat\udce4in" in whole.files
    )
    for cut in range(0, len(data), 37):
        with pytest.raises(BadManifest):
            decode(data[:cut])
    for at in range(0, len(data), 61):
        with pytest.raises(BadManifest):
            decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
