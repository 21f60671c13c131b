"""Trees read and objects written by hand are what git says they are."""

from __future__ import annotations

import errno
import os
from itertools import pairwise
from pathlib import Path

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.workspace import treediff
from worldline.workspace.objects import (
    BLOB,
    MODE_DIR,
    MODE_EXEC,
    MODE_FILE,
    MODE_GITLINK,
    MODE_LINK,
    TREE,
    PackWriter,
    TreeEntry,
    encode_tree,
    object_id,
    parse_tree,
    write_loose,
)
from worldline.workspace.packnames import PackNames
from worldline.workspace.treecache import TreeCache

_NAMES = st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw and b"/" not in raw)
_MODES = st.sampled_from([MODE_DIR, MODE_FILE, MODE_EXEC, MODE_LINK, MODE_GITLINK])
_TREES = st.dictionaries(_NAMES, st.tuples(_MODES, st.binary(min_size=20, max_size=20)), max_size=8)


def _entries(tree: dict[bytes, tuple[int, bytes]]) -> list[TreeEntry]:
    return [TreeEntry(name.decode("utf-8", "surrogateescape"), *rest) for name, rest in tree.items()]


@given(_TREES)
def test_a_tree_read_is_the_tree_written(tree: dict[bytes, tuple[int, bytes]]) -> None:
    entries = _entries(tree)
    assert sorted(parse_tree(encode_tree(entries))) == sorted(entries)


@given(_TREES.filter(bool), st.integers(min_value=1, max_value=19))
def test_a_tree_that_was_cut_is_none(tree: dict[bytes, tuple[int, bytes]], cut: int) -> None:
    with pytest.raises(ValueError, match="not a tree"):
        parse_tree(encode_tree(_entries(tree))[:-cut])


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1024, 1025, 5000, 20_000, 300_000])
@pytest.mark.parametrize("kind", [BLOB, TREE])
def test_git_reads_what_is_written(tmp_path: Path, kind: int, size: int) -> None:
    repository = pygit2.init_repository(str(tmp_path / "repo"), bare=True)
    data = (
        encode_tree(TreeEntry(f"{number:05}", MODE_FILE, os.urandom(20)) for number in range(size // 33))
        if kind == TREE
        else os.urandom(size // 2) + b"x" * (size - size // 2)
    )
    oid = object_id(kind, data)
    write_loose(tmp_path / "repo" / "objects", oid, kind, data)
    assert repository.read(pygit2.Oid(raw=oid)) == (kind, data)


def test_nothing_is_left_of_an_object_that_found_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = pygit2.init_repository(str(tmp_path / "repo"), bare=True)
    objects = tmp_path / "repo" / "objects"
    data = os.urandom(5000)
    oid = object_id(BLOB, data)
    real = os.write
    calls = 0

    def write(fd: int, part: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.ENOSPC, "no room")
        return real(fd, part[:100])

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        with pytest.raises(OSError, match="no room"):
            write_loose(objects, oid, BLOB, data)
    assert not [path for path in objects.rglob("*") if path.is_file()]

    def no_folder(path: str, *_: int) -> None:
        raise OSError(errno.ENOSPC, "no room", path)

    with monkeypatch.context() as full:
        full.setattr(os, "mkdir", no_folder)
        with pytest.raises(OSError, match="no room"):
            write_loose(objects, oid, BLOB, data)
    assert not [path for path in objects.rglob("*") if path.is_file()]
    write_loose(objects, oid, BLOB, data)
    assert repository.read(pygit2.Oid(raw=oid))[1] == data


@given(_TREES, st.data())
def test_a_few_other_ids_are_found_without_taking_the_trees_apart(
    tree: dict[bytes, tuple[int, bytes]], data: st.DataObject
) -> None:
    changed = data.draw(st.sets(st.sampled_from(sorted(tree)))) if tree else set()
    other = {name: (mode, bytes(20) if name in changed else oid) for name, (mode, oid) in tree.items()}
    trees = [encode_tree(_entries(each)) for each in (tree, other)]
    cache = TreeCache({object_id(TREE, each): each for each in trees}.__getitem__)
    a, b = (object_id(TREE, each) for each in trees)
    starts = cache.starts(a, b)
    assert [trees[0][begin : end - 20].count(b"\0") for begin, end in pairwise(starts)] == [1] * len(tree)
    assert starts[-1] == len(trees[0])
    differ = {entry.name for entry in set(parse_tree(trees[0])) - set(parse_tree(trees[1]))}
    found = treediff.in_place(cache, a, b)
    assert found is not None
    assert {other.name for other in found} == differ
    for index, each in enumerate(trees):
        rows = {(name, mode, oid) for name, mode, oid in parse_tree(each) if name in differ}
        assert {(row.name, row.mode, row[2 + index]) for row in found} == rows


@given(_TREES, _TREES)
def test_of_other_trees_only_ids_are_told(
    tree: dict[bytes, tuple[int, bytes]], other: dict[bytes, tuple[int, bytes]]
) -> None:
    trees = [encode_tree(_entries(each)) for each in (tree, other)]
    cache = TreeCache({object_id(TREE, each): each for each in trees}.__getitem__)
    found = treediff.in_place(cache, *(object_id(TREE, each) for each in trees))
    shapes = [[(entry.name, entry.mode) for entry in parse_tree(each)] for each in trees]
    if found is not None and trees[0] != trees[1]:
        assert shapes[0] == shapes[1]
        rows = [set(parse_tree(each)) for each in trees]
        assert {TreeEntry(row.name, row.mode, row.old) for row in found} == rows[0] - rows[1]
        assert {TreeEntry(row.name, row.mode, row.new) for row in found} == rows[1] - rows[0]


def test_what_lies_in_packs_is_known_without_asking_git(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    names = PackNames(folder)
    stored: list[bytes] = []
    for _ in range(2):
        writer = PackWriter(folder)
        for number in range(600):
            data = b"%d" % (len(stored) + number)
            writer.add(object_id(BLOB, data), BLOB, data)
        stored += [object_id(BLOB, b"%d" % (len(stored) + number)) for number in range(600)]
        writer.finish()
        names.forget()
        assert all(names.hold(oid) for oid in stored)
    # The end of one name and the beginning of the next is no name.
    between = [one[10:] + two[:10] for one, two in pairwise(sorted(stored))]
    assert not any(names.hold(oid) for oid in [*between, object_id(BLOB, b"none"), bytes(20), b"\xff" * 20])
    names.forget()


def test_an_index_without_its_pack_holds_nothing(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path)
    oid = object_id(BLOB, b"x")
    writer.add(oid, BLOB, b"x")
    (tmp_path / writer.finish()).with_suffix(".pack").unlink()
    assert not PackNames(tmp_path).hold(oid)
