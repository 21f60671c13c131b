"""Three-way merge of one file's content, byte for byte."""

from __future__ import annotations

import pygit2

from worldline.workspace import difftext


def merge_content(repo: pygit2.Repository, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The merged content, or None if both sides changed the same place (or the files are binary). Objects that are
    made on the way are written to `repo`, which must be a store of ours."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if any(difftext.is_binary(data) for data in (base, ours, theirs)):
        return None
    trees = []
    for data in (base, ours, theirs):
        builder = repo.TreeBuilder()
        builder.insert("f", repo.create_blob(data), pygit2.enums.FileMode.BLOB)
        trees.append(repo[builder.write()].peel(pygit2.Tree))
    index = repo.merge_trees(trees[0], trees[1], trees[2])
    if index.conflicts is not None:
        return None
    return bytes(repo[index["f"].id].peel(pygit2.Blob).data)
