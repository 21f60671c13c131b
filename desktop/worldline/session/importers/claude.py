"""Claude Code sessions: records with uuid and parentUuid, almost always one content block each, no header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.core.kinds import NodeFlag
from worldline.session.importers.claude_order import in_chain_order
from worldline.session.importers.claude_records import CHAIN, ClaudeRecords
from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import ImportedTree, SourceNode, break_cycles, text_of


def looks_like(records: list[dict[str, Any]]) -> bool:
    return any("uuid" in r and "parentUuid" in r for r in records) or any(
        r.get("type") in ("file-history-snapshot", "last-prompt", "queue-operation") and "sessionId" in r
        for r in records
    )


def build(tree: ImportedTree, records: list[SourceRecord]) -> None:
    """Fill `tree` from the records of one file."""
    _Builder(tree).run(records)


class _Builder(ClaudeRecords):
    def run(self, records: list[SourceRecord]) -> None:
        ordered, self.cut = in_chain_order(records)
        for record in ordered:
            value = record.value
            uid = value.get("uuid")
            kind = value.get("type")
            if isinstance(uid, str) and uid and (kind in CHAIN or "parentUuid" in value):
                self._chain(uid, record)
            else:
                self.meta.take(value, record, self.tree)
        self.tree.nodes = list(self.nodes.values())
        if not any(not n.side for n in self.tree.nodes):
            # The file of a sub-agent, read by itself: there it is the main line.
            for node in (*self.tree.nodes, *(call for _, _, call in self.calls.values())):
                node.side = False
                node.flags &= ~NodeFlag.SIDE_BRANCH
            self.candidates = [(n.order, n.id) for n in self.tree.nodes]
        self._hang_results()
        self._hang_agents()
        break_cycles(self.tree)
        self._finish()

    def _hang_results(self) -> None:
        """Chain the calls of each reply behind it, in source order, and hang what follows on the last of them:
        without this a plain walk loses the results of parallel calls."""
        by_reply: dict[str, list[SourceNode]] = {}
        for reply, _call, node in self.calls.values():
            by_reply.setdefault(reply, []).append(node)
        last: dict[str, str] = {}
        for reply, nodes in by_reply.items():
            above = reply
            for node in nodes:
                node.parent = above
                above = node.id
            last[reply] = above
            for node in nodes:
                if node.id != above:
                    last[node.id] = above
            self.tree.orphan_calls += sum(1 for n in nodes if n.result is None)
        for node in self.tree.nodes:
            node.parent = last.get(node.parent or "", node.parent)
        self.tree.nodes += [n for nodes in by_reply.values() for n in nodes]
        self.last_call = last

    def _hang_agents(self) -> None:
        """Hang the first record of each sub-agent on the call that started it, by the agent's id or by its task."""
        tasks: dict[str, SourceNode] = {}
        for _reply, call, node in self.calls.values():
            if not node.side and isinstance(call["input"].get("prompt"), str):
                tasks.setdefault(call["input"]["prompt"].strip(), node)
        for node in self.tree.nodes:
            if not node.side or node.parent is not None:
                continue
            starter = self.agents.get(node.detail.get("agent", ""))
            if starter is None and node.message is not None:
                starter = tasks.get(text_of(node.message["content"]).strip())
            if starter is not None and starter is not node:
                node.parent = starter.id

    def _finish(self) -> None:
        self._fold_copies()
        order, leaf = max(self.candidates, default=(0, ""))
        if self.meta.last_prompt is not None:
            hint_order, hint = self.meta.last_prompt
            # A hint written after the last record names the leaf; an older one must not hide later turns.
            if hint_order > order and hint in self.alias:
                leaf = hint
        resolved = self.alias.get(leaf) or (leaf if leaf in self.nodes else "")
        self.tree.leaf = self.last_call.get(resolved, resolved)
        self.tree.title = self.meta.title(self.alias)
        self.tree.base_commit = self.meta.base_commit
        if self.meta.backups and self.tree.nodes:
            self.tree.nodes[0].detail["file_history"] = self.meta.backups
            self.tree.workspace = "approximate"

    def _fold_copies(self) -> None:
        """Which session this is, and which of its records were copied from the one that it goes on from."""
        stem = Path(self.tree.source).name.split(".")[0]
        own = stem if stem in self.sessions else next(reversed(self.sessions), "")
        self.tree.session_id = own or self.tree.session_id
        for node in self.tree.nodes:
            session = node.detail.pop("session", "")
            if own and session and session != own and not node.side:
                node.copied_from = node.copied_from or session
            if node.copied_from:
                self.tree.parent_session = node.copied_from
        for reply, _call, node in self.calls.values():
            node.copied_from = self.nodes[reply].copied_from
        for (mid, line), uid in self.groups.items():
            if line and (mid, "") in self.groups:
                # A sub-agent's file replays replies of the main line: they are paid for once.
                self.nodes[uid].usage = None
