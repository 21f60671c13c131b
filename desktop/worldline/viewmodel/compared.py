"""Which two places of the session the changes pane compares, and what taking a file from one of them asks for."""

from __future__ import annotations

from typing import Any

from worldline.core.kinds import NodeKind
from worldline.protocol.model import FileChange
from worldline.viewmodel import tree_paths
from worldline.viewmodel.tree_model import TreeModel

DISK = "disk"


_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)


class Compared:
    """A node that is looked at, and what it is compared with."""

    def __init__(self, tree: TreeModel) -> None:
        self._tree = tree
        self.node = ""
        self.wanted = ""
        """What the person chose to compare with: parent | attempt | base | disk | the id of a node; "" = what fits the step."""

    @property
    def against(self) -> str:
        """What is compared with, also when nobody chose it. A step that changed files is shown by itself; any other by
        what its attempt has changed so far."""
        if self.wanted:
            return self.wanted
        row = self._tree.row(self.node)
        return "parent" if row >= 0 and self._tree.files[row] else "attempt"

    def pair(self) -> tuple[str, str]:
        """(a, b) of the question: from a to b."""
        against = self.against
        if against == DISK:
            return (self.node, DISK)
        return (self._start_of_attempt() if against == "attempt" else against, self.node)

    @property
    def with_disk(self) -> bool:
        """The newer side is what is on disk."""
        return self.pair()[1] == DISK

    def _start_of_attempt(self) -> str:
        """The node at which this attempt left the others; "base" when there are no others. One that goes on where
        another was forked off in the middle has not begun there."""
        tree = self._tree
        for row, child in tree_paths.forks_up(tree, tree.row(self.node)):
            if tree.kind_of(child) in _PROMPTS or tree.first_child(row) != child:
                return tree.uid(row)
        return "base"

    def before(self) -> str:
        """The node of the older side."""
        a, _ = self.pair()
        if a not in ("parent", "base"):
            return a
        tree = self._tree
        row = tree.row(self.node)
        if a == "base":
            return tree.uid(tree_paths.root_of(tree, row))
        return tree.uid(tree.parent[row]) if tree.parent[row] >= 0 else self.node

    def taking_file(self, path: str, change: FileChange | None, *, revert: bool) -> dict[str, Any]:
        """Parameters of `take_file`: the file as it is on this side, or as it is on the other (`revert`). Where that
        side has no such file, `remove` names what goes."""
        status, old_path = (change.status, change.old_path) if change is not None else ("M", "")
        params: dict[str, Any] = {"node": self.before() if revert else self.node, "path": path}
        if status == "R":
            params["path"], params["remove"] = (old_path, path) if revert else (path, old_path)
        elif status == ("A" if revert else "D"):
            params["remove"] = path
        return params

    def taking_hunk(
        self, path: str, change: FileChange | None, hunk: int, *, context: int, revert: bool
    ) -> dict[str, Any]:
        """Parameters of `take_file` for one hunk, counted with so many lines of `context`."""
        newer = self.pair()[1]
        node, against = (self.before(), newer) if revert else (newer, self.before())
        return {
            "node": node, "path": path, "hunks": [hunk], "against": against, "undo": revert, "context": context,
            "other": change.old_path if change is not None else "",
        }  # fmt: skip
