"""The branch graph: the tree without its linear runs, as a networkx DiGraph that stays small.

Its nodes are roots, forks and leaves (and whatever is asked to be kept); an edge stands for the run of nodes between two of them.
`networkx` is not used for single nodes: 100,000 of them would cost it seconds and tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session.tree import SessionTree

if TYPE_CHECKING:
    import networkx as nx

_PROMPTS = frozenset({NodeKind.USER, NodeKind.IMPORTED_USER})


def branch_graph(
    tree: SessionTree, keep: Iterable[int] = (), uids: dict[int, str] | None = None
) -> nx.DiGraph[int]:
    """One graph node for each root, fork, leaf and member of `keep`, named by `seq`, with `kind`, `outcome`, `created`, `role`
    (root, fork, leaf, kept) and `uid` where given. An edge parent → child carries `nodes` (how many it stands for, the child
    included), `prompts`, `first` (the first node of the run), `flags` (of all of them together) and `seconds`."""
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    roots, forks, leaves = set(tree.roots()), set(tree.forks()), set(tree.leaves())
    marked = roots | forks | leaves | {seq for seq in keep if seq in tree}
    for seq in sorted(marked):
        role = "fork" if seq in forks else "leaf" if seq in leaves else "root" if seq in roots else "kept"
        facts: dict[str, Any] = {
            "kind": tree.kind(seq).value,
            "outcome": tree.outcome(seq).value,
            "created": tree.created(seq),
            "role": role,
        }
        if uids and seq in uids:
            facts["uid"] = uids[seq]
        graph.add_node(seq, **facts)
    parents, created = tree.columns.parent, tree.columns.created
    for seq in sorted(marked - roots):
        count = prompts = 0
        flags = NodeFlag.NONE
        at = first = seq
        while True:
            count += 1
            prompts += tree.kind(at) in _PROMPTS
            flags |= tree.flags(at)
            first, at = at, parents[at]
            if at in marked:
                break
        graph.add_edge(
            at,
            seq,
            nodes=count,
            prompts=prompts,
            first=first,
            flags=int(flags),
            seconds=max(0, created[seq] - created[first]) / 1000,
        )
    return graph


def common_ancestor(tree: SessionTree, seqs: Iterable[int]) -> int:
    """Lowest node on the paths of all of them; 0 when they hang on different roots, or when there are none."""
    found = 0
    for at, seq in enumerate(seqs):
        found = seq if at == 0 else tree.lca(found, seq) if found else 0
    return found


def graphml(graph: nx.DiGraph[int]) -> str:
    """For programs that draw and measure graphs."""
    import networkx as nx

    return "\n".join(nx.generate_graphml(graph)) + "\n"
