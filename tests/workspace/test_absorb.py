"""Objects of confined commands are taken over while other commands still write some."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from worldline.workspace.absorb import absorb


def git(*words: str, cwd: Path, data: bytes = b"") -> str:
    return (
        subprocess.run(["git", *words], cwd=cwd, input=data, capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """A repository of the person, and one in which commands write."""
    for name in ("person", "command"):
        git("init", "-q", name, cwd=tmp_path)
    return tmp_path / "person", tmp_path / "command"


def objects(repository: Path) -> Path:
    return repository / ".git" / "objects"


def test_what_is_whole_is_taken_over_and_goes(two: tuple[Path, Path]) -> None:
    person, command = two
    one = git("hash-object", "-w", "--stdin", cwd=command, data=b"one\n")
    two_ = git("hash-object", "-w", "--stdin", cwd=command, data=b"two\n")
    git("pack-objects", "-q", ".git/objects/pack/pack", cwd=command, data=f"{two_}\n".encode())
    (objects(command) / two_[:2] / two_[2:]).unlink()
    assert absorb(objects(command), objects(person)) == 2
    assert (
        git("cat-file", "-p", one, cwd=person) == "one" and git("cat-file", "-p", two_, cwd=person) == "two"
    )
    assert [p for p in objects(command).rglob("*") if p.is_file()] == []
    assert absorb(objects(command), objects(person)) == 0


def test_a_pack_whose_index_has_not_come_yet_waits_for_it(two: tuple[Path, Path]) -> None:
    """Git puts the pack in its place first, and the index that makes it readable last."""
    person, command = two
    oid = git("hash-object", "-w", "--stdin", cwd=command, data=b"packed\n")
    git("pack-objects", "-q", ".git/objects/pack/pack", cwd=command, data=f"{oid}\n".encode())
    (objects(command) / oid[:2] / oid[2:]).unlink()
    (index,) = (objects(command) / "pack").glob("*.idx")
    late = index.rename(command / "late")
    absorb(objects(command), objects(person))
    late.rename(index)
    assert absorb(objects(command), objects(person)) == 1
    assert git("cat-file", "-p", oid, cwd=person) == "packed"


def test_a_command_that_still_writes_is_not_disturbed(two: tuple[Path, Path]) -> None:
    person, command = two
    writer = subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip
    assert writer.stdin is not None and writer.stdout is not None
    writer.stdin.write(b"blob\nmark :1\ndata 5\nmade\n\nprogress there\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == b"progress there\n"
    assert list((objects(command) / "pack").glob("tmp_pack_*"))
    absorb(objects(command), objects(person))
    many = b"".join(b"blob\ndata %d\n%d\n" % (len(str(n)) + 1, n) for n in range(200))
    said = writer.communicate(many)[1]
    assert writer.returncode == 0, said
    absorb(objects(command), objects(person))
    assert (
        git("cat-file", "-p", git("hash-object", "--stdin", cwd=person, data=b"made\n"), cwd=person) == "made"
    )


def test_what_a_killed_command_left_goes_some_day(two: tuple[Path, Path]) -> None:
    person, command = two
    folder = objects(command) / "ab"
    folder.mkdir()
    (folder / "tmp_obj_young").write_bytes(b"x")
    (folder / "tmp_obj_old").write_bytes(b"x")
    long_ago = time.time() - 200_000
    os.utime(folder / "tmp_obj_old", (long_ago, long_ago))
    absorb(objects(command), objects(person))
    assert [path.name for path in folder.iterdir()] == ["tmp_obj_young"]


def test_nothing_planted_is_followed_or_kept(two: tuple[Path, Path]) -> None:
    person, command = two
    secret = person.parent / "secret"
    secret.mkdir()
    (secret / ("0" * 38)).write_text("mine\n")
    (objects(command) / "cd").symlink_to(secret)
    folder = objects(command) / "ab"
    folder.mkdir()
    (folder / ("1" * 38)).write_bytes(b"no object")
    (folder / ("2" * 38)).symlink_to(secret / ("0" * 38))
    assert absorb(objects(command), objects(person)) == 0
    assert (secret / ("0" * 38)).exists() and list(folder.iterdir()) == []
    assert not (objects(command) / "cd").exists()
