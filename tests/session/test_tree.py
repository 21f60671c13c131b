from __future__ import annotations

import random
from pathlib import Path

import networkx as nx
import pytest

from session import make
from worldline.core.header_reader import HeaderColumns
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.session import branches
from worldline.session.document import SessionDocument
from worldline.session.tree import SessionTree


def grow(parents: list[int]) -> SessionTree:
    tree = SessionTree()
    for seq, parent in enumerate(parents, 1):
        kind = NodeKind.USER if parent else NodeKind.ROOT
        tree.append(NodeHeader(seq, f"{seq:016x}", parent, kind, seq * 1000, ""))
    return tree


def test_walks_against_plain_definitions() -> None:
    rng = random.Random(3)
    parents = [0] + [rng.randrange(1, n) if rng.random() < 0.3 else n - 1 for n in range(2, 300)]
    parents[150] = 0  # a second root
    tree = grow(parents)
    up: dict[int, list[int]] = {0: []}
    for seq, parent in enumerate(parents, 1):
        up[seq] = [*up[parent], seq]
    for seq in range(1, 300):
        assert tree.path(seq) == up[seq]
        assert tree.depth(seq) == len(up[seq]) - 1
        assert tree.children(seq) == [n for n, p in enumerate(parents, 1) if p == seq]
        assert sorted(tree.subtree(seq)) == [n for n in range(1, 300) if seq in up[n]]
        other = rng.randrange(1, 300)
        shared = [x for x in up[seq] if x in up[other]]
        assert tree.lca(seq, other) == (shared[-1] if shared else 0)
        assert tree.is_ancestor(seq, other) == (seq in up[other])
    assert tree.leaves() == [n for n in range(1, 300) if n not in parents]
    assert tree.forks() == [n for n in range(1, 300) if parents.count(n) > 1]
    assert tree.roots() == [1, 151]
    for bad in (0, -1, 300):
        with pytest.raises(IndexError):
            tree.parent(bad)


def test_appending_grows_the_links_that_were_made_before() -> None:
    tree = grow([0, 1])
    assert tree.children(1) == [2]
    tree.append(NodeHeader(3, "3" * 16, 1, NodeKind.USER, 0, ""))
    assert tree.children(1) == [2, 3] and tree.newest_leaf(1) == 3
    tree.truncate(2)
    assert tree.children(1) == [2] and len(tree) == 2
    for header in (NodeHeader(5, "x", 1, NodeKind.USER, 0, ""), NodeHeader(3, "x", 3, NodeKind.USER, 0, "")):
        with pytest.raises(ValueError):
            tree.append(header)


def test_a_deep_chain_and_a_wide_node_need_no_recursion() -> None:
    columns = HeaderColumns()
    columns.parent.extend(range(100_000))
    columns.kind.extend([0] * 100_000)
    tree = SessionTree(columns)
    assert len(tree.path(100_000)) == 100_000 and len(tree.subtree(1)) == 100_000
    wide = grow([0] + [1] * 10_000)
    assert len(wide.children(1)) == 10_000 == len(wide.leaves())


def test_the_branch_graph_has_one_edge_for_each_linear_run(tmp_path: Path) -> None:
    tree = grow([0, 1, 2, 3, 3, 5, 6, 2, 8])
    tree.columns.flags[5] = int(NodeFlag.EFFECT)
    graph = branches.branch_graph(tree, uids={3: "abc"})
    assert sorted(graph.nodes) == [1, 2, 3, 4, 7, 9]
    assert graph.nodes[3]["role"] == "fork" and graph.nodes[3]["uid"] == "abc"
    assert sorted(graph.edges) == [(1, 2), (2, 3), (2, 9), (3, 4), (3, 7)]
    edge = graph.edges[3, 7]
    assert (edge["nodes"], edge["first"], edge["flags"], edge["seconds"]) == (3, 5, int(NodeFlag.EFFECT), 2.0)
    assert sum(data["nodes"] for _, _, data in graph.edges(data=True)) == len(tree) - 1
    assert branches.common_ancestor(tree, [4, 7, 9]) == 2
    assert branches.common_ancestor(tree, []) == 0
    assert 6 in branches.branch_graph(tree, keep=[6])
    (tmp_path / "g.graphml").write_text(branches.graphml(graph), "utf-8")
    again = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert again.nodes(data=True) == graph.nodes(data=True)
    assert sorted(again.edges(data=True)) == sorted(graph.edges(data=True))


def test_the_branch_graph_of_a_large_session_stays_small() -> None:
    rng = random.Random(1)
    parents = [0] + [n - 1 if rng.random() > 0.01 else rng.randrange(1, n) for n in range(2, 20_000)]
    graph = branches.branch_graph(grow(parents))
    assert len(graph) < 1000


def test_forks_are_counted_as_they_are_made(doc: SessionDocument) -> None:
    root = doc.append(make.root())
    first = doc.append(make.user(root.uid))
    doc.append(make.user(first.uid))
    doc.append(make.user(root.uid))
    doc.append(make.user(root.uid))
    assert doc._rows("SELECT seq FROM nodes WHERE fork = 1") == [(4,), (5,)]
    assert len(doc.tree.leaves()) == 3
    assert doc.tree.outcome(1) is Outcome.NONE
