"""Claude Code sessions: records with uuid and parentUuid, almost always one content block each, no header."""

from __future__ import annotations

from typing import Any

from worldline.core.jsontext import dumps
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.session.importers.blocks import api_blocks, tool_calls_of
from worldline.session.importers.claude_meta import Metadata, chip_of
from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import ImportedTree, SourceNode, break_cycles, first_words, milliseconds

_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})


def looks_like(records: list[dict[str, Any]]) -> bool:
    return any("uuid" in r and "parentUuid" in r for r in records) or any(
        r.get("type") in ("file-history-snapshot", "last-prompt", "queue-operation") and "sessionId" in r
        for r in records
    )


def build(tree: ImportedTree, records: list[SourceRecord]) -> None:
    """Fill `tree` from the records of one file."""
    _Builder(tree).run(records)


class _Builder:
    def __init__(self, tree: ImportedTree) -> None:
        self.tree = tree
        self.nodes: dict[str, SourceNode] = {}
        self.alias: dict[str, str] = {}
        """uuid of a record → id of the node that its children hang on."""
        self.raw_parent: dict[str, str | None] = {}
        self.bytes_of: dict[str, bytes] = {}
        self.groups: dict[str, str] = {}
        """message id of a reply → its newest node."""
        self.closed: set[str] = set()
        """Replies one of whose calls has a result: a later thinking or text block starts a new node."""
        self.calls: dict[str, tuple[str, dict[str, Any], SourceNode]] = {}
        self.last_of_session: dict[str, str] = {}
        self.meta = Metadata()
        self.candidates: list[tuple[int, str]] = []

    def run(self, records: list[SourceRecord]) -> None:
        for record in records:
            value = record.value
            uid = value.get("uuid")
            kind = value.get("type")
            if isinstance(uid, str) and (kind in _CHAIN or "parentUuid" in value):
                self._chain(uid, record)
            else:
                self.meta.take(value, record, self.tree)
        self.tree.nodes = list(self.nodes.values())
        self._hang_results()
        break_cycles(self.tree)
        self._finish()

    # --- one record -------------------------------------------------------------------------------------

    def _chain(self, uid: str, record: SourceRecord) -> None:
        value = record.value
        if uid in self.bytes_of:
            if self.bytes_of[uid] != dumps(value):
                self.tree.warn(f"line {record.line}: record {uid} is there twice with different contents")
                node = self.nodes.get(self.alias.get(uid, ""))
                if node is not None:
                    node.detail.setdefault("revisions", []).append(value.get("message"))
            return
        self.bytes_of[uid] = dumps(value)
        self.tree.cwd = self.tree.cwd or str(value.get("cwd") or "")
        session = str(value.get("sessionId") or value.get("session_id") or "")
        self.tree.session_id = self.tree.session_id or session
        parent, guessed = self._parent_of(value, session, record)
        kind = value.get("type")
        message = value.get("message")
        if kind == "progress":
            # Progress records make false forks: their children hang on their parent.
            self.alias[uid] = parent or ""
            return
        if kind == "assistant" and isinstance(message, dict):
            node = self._assistant(uid, parent, value, message, record)
        elif kind == "system":
            node = self._system(uid, parent, value, record)
        elif value.get("isCompactSummary") or (kind == "summary" and isinstance(message, dict)):
            node = self._compact_summary(uid, parent, value, record)
        elif kind == "user":
            node = self._user(uid, parent, value, record)
        else:
            node = self._attachment(uid, parent, value, record)
        if guessed and node is not None:
            node.flags |= NodeFlag.GUESSED_PARENT
        if session and uid in self.alias:
            self.last_of_session[session] = uid
        if not value.get("isSidechain") and kind in ("user", "assistant", "attachment", "system"):
            self.candidates.append((record.line, uid))

    def _parent_of(
        self, value: dict[str, Any], session: str, record: SourceRecord
    ) -> tuple[str | None, bool]:
        raw = value.get("parentUuid")
        boundary = value.get("type") == "system" and value.get("subtype") == "compact_boundary"
        if boundary:
            logical = value.get("logicalParentUuid")
            raw = logical if isinstance(logical, str) and logical in self.alias else raw
            if not isinstance(raw, str) or raw not in self.alias:
                self.tree.warn(
                    f"line {record.line}: the compaction does not say what it follows; put behind the record before it"
                )
                return self._resolve(self.last_of_session.get(session)), True
        if not isinstance(raw, str):
            return None, False
        if raw in self.alias:
            return self._resolve(raw), False
        self.tree.gap(record.line, record.offset, f"parent {raw} is missing")
        return self._resolve(self.last_of_session.get(session)), True

    def _resolve(self, uid: str | None) -> str | None:
        return (self.alias.get(uid) or None) if uid else None

    def _new(self, uid: str, parent: str | None, kind: NodeKind, record: SourceRecord) -> SourceNode:
        value = record.value
        node = SourceNode(
            id=uid,
            parent=parent,
            kind=kind,
            order=record.line,
            created=milliseconds(value.get("timestamp")),
            side=bool(value.get("isSidechain")),
            detail={"source": {"line": record.line, "offset": record.offset, "length": record.length}},
        )
        if node.side:
            node.flags |= NodeFlag.SIDE_BRANCH
        branch = value.get("gitBranch")
        if isinstance(branch, str) and branch:
            node.detail["git_branch"] = branch
        while node.id in self.nodes:
            node.id += "+"
        self.nodes[node.id] = node
        self.alias[uid] = node.id
        return node

    def _assistant(
        self,
        uid: str,
        parent: str | None,
        value: dict[str, Any],
        message: dict[str, Any],
        record: SourceRecord,
    ) -> SourceNode:
        content = api_blocks(message.get("content"))
        if value.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            node = self._new(uid, parent, NodeKind.IMPORTED_EVENT, record)
            node.outcome, node.preview = Outcome.FAILED, first_words(content)
            node.detail["error"] = first_words(content, 2000)
            return node
        mid = str(message.get("id") or "")
        calls = tool_calls_of(message, content)
        group = self.groups.get(mid) if mid else None
        thinks = any(b["type"] in ("thinking", "redacted_thinking", "text") for b in content)
        if group is not None and not (group in self.closed and thinks):
            node = self.nodes[group]
            assert node.message is not None
            node.message["content"].extend(content)
            self.alias[uid] = group
        else:
            node = self._new(uid, parent, NodeKind.IMPORTED_ASSISTANT, record)
            node.message = {"role": "assistant", "content": content}
            if mid:
                self.groups[mid] = node.id
        node.model = str(message.get("model") or node.model)
        node.outcome = Outcome.OK
        usage = message.get("usage")
        if isinstance(usage, dict):
            # Every record of a reply repeats its usage and the last one is right; never add them.
            node.usage = Usage.from_api(usage)
            node.detail["usage_key"] = [mid, str(value.get("requestId") or "")]
        stop = message.get("stop_reason")
        if isinstance(stop, str):
            node.detail["stop_reason"] = stop
        node.preview = first_words(node.message["content"]) or ", ".join(
            str(b["name"]) for b in node.message["content"] if b["type"] == "tool_use"
        ) or "(empty reply)"  # fmt: skip
        for call in calls:
            self._call(call, node, record)
        return node

    def _call(self, call: dict[str, Any], reply: SourceNode, record: SourceRecord) -> None:
        if call["id"] in self.calls:
            self.tree.warn(f"line {record.line}: call {call['id']} is there twice")
            return
        node = SourceNode(
            id=f"{reply.id}.{len(self.calls)}",
            parent=reply.id,
            kind=NodeKind.IMPORTED_TOOL,
            order=record.line,
            created=reply.created,
            call=call,
            tool=str(call["name"]),
            preview=str(call["name"]),
            outcome=Outcome.INTERRUPTED,
            side=reply.side,
            flags=reply.flags,
        )
        self.calls[call["id"]] = (reply.id, call, node)

    def _user(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode | None:
        message = value.get("message")
        raw = message.get("content") if isinstance(message, dict) else message
        if isinstance(message, dict) and raw is None:
            self.tree.warn(f"line {record.line}: a user record without content")
        content = api_blocks(raw)
        results = [b for b in content if b["type"] == "tool_result"]
        rest = [b for b in content if b["type"] != "tool_result"]
        last: SourceNode | None = None
        for block in results:
            last = self._result(uid, block, value, record, parent) or last
        if results and not rest:
            if last is None:
                last = self._new(uid, parent, NodeKind.IMPORTED_EVENT, record)
                last.preview, last.flags = first_words(results[0]["content"]), last.flags | NodeFlag.HIDDEN
                last.detail["orphan_result"] = results
            return last
        node = self._new(uid if last is None else f"{uid}.text", parent if last is None else last.id,
                         NodeKind.IMPORTED_USER, record)  # fmt: skip
        self.alias[uid] = node.id
        chip = chip_of(value, rest)
        node.message = {"role": "user", "content": rest} if rest else None
        node.preview = first_words(rest)
        if chip:
            node.kind, node.preview = NodeKind.IMPORTED_EVENT, chip
            if value.get("isMeta"):
                node.flags |= NodeFlag.HIDDEN
        return node

    def _result(
        self, uid: str, block: dict[str, Any], value: dict[str, Any], record: SourceRecord, parent: str | None
    ) -> SourceNode | None:
        known = self.calls.get(block["tool_use_id"])
        if known is None:
            self.tree.orphan_results += 1
            return None
        reply, _call, node = known
        if node.result is not None:
            self.tree.warn(
                f"line {record.line}: a second result for call {block['tool_use_id']}, the first one is shown"
            )
            self.alias[uid] = node.id
            return node
        node.id = uid if uid not in self.nodes and self.alias.get(uid) != uid else f"{uid}.{len(self.nodes)}"
        self.alias[uid] = node.id
        node.result = {"role": "user", "content": [block]}
        node.order, node.created = record.line, milliseconds(value.get("timestamp")) or node.created
        denied = value.get("toolDenialKind") or "doesn't want to proceed" in first_words(
            block["content"], 400
        )
        node.outcome = Outcome.DENIED if denied else Outcome.FAILED if block["is_error"] else Outcome.OK
        node.detail["source"] = {"line": record.line, "offset": record.offset, "length": record.length}
        self.closed.add(reply)
        return node

    def _system(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode:
        subtype = str(value.get("subtype") or "notice")
        if subtype == "compact_boundary":
            node = self._new(uid, parent, NodeKind.IMPORTED_COMPACTION, record)
            meta = value.get("compactMetadata")
            node.detail["compaction"] = meta
            kept = meta.get("preservedMessages") if isinstance(meta, dict) else None
            if isinstance(kept, dict) and isinstance(kept.get("uuids"), list):
                node.detail["kept"] = [self.alias.get(str(u), str(u)) for u in kept["uuids"]]
            node.preview = "conversation compacted"
            self.tree.compactions += 1
            return node
        node = self._new(uid, parent, NodeKind.IMPORTED_EVENT, record)
        node.preview = first_words(value.get("content")) or subtype.replace("_", " ")
        if subtype == "api_error":
            node.outcome = Outcome.FAILED
            node.detail["retry"] = {
                k: value.get(k) for k in ("retryInMs", "retryAttempt", "maxRetries", "error")
            }
        else:
            node.flags |= NodeFlag.HIDDEN
        return node

    def _compact_summary(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode:
        message = value.get("message")
        blocks = api_blocks(message.get("content") if isinstance(message, dict) else value.get("summary"))
        above = self.nodes.get(parent or "")
        if above is not None and above.kind is NodeKind.IMPORTED_COMPACTION and "summary" not in above.detail:
            node = above
            self.alias[uid] = above.id
        else:
            node = self._new(uid, parent, NodeKind.IMPORTED_COMPACTION, record)
            self.tree.compactions += 1
        node.detail["summary"] = "\n".join(b.get("text", "") for b in blocks)
        node.preview = first_words(blocks) or node.preview
        return node

    def _attachment(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode:
        attachment = value.get("attachment")
        kind = str(attachment.get("type") or "") if isinstance(attachment, dict) else str(value.get("type"))
        prompt = attachment.get("prompt") if isinstance(attachment, dict) else None
        if kind == "queued_command" and prompt:
            node = self._new(uid, parent, NodeKind.IMPORTED_USER, record)
            blocks = api_blocks(prompt)
            node.message, node.preview = {"role": "user", "content": blocks}, first_words(blocks)
            return node
        node = self._new(uid, parent, NodeKind.IMPORTED_EVENT, record)
        node.flags |= NodeFlag.HIDDEN
        node.preview = kind.replace("_", " ") or "attachment"
        if value.get("type") not in _CHAIN:
            self.tree.count_unknown(str(value.get("type")))
            node.detail["unknown"] = value
        return node

    # --- the whole --------------------------------------------------------------------------------------

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

    def _finish(self) -> None:
        line, leaf = self.candidates[-1] if self.candidates else (0, "")
        if self.meta.last_prompt is not None:
            hint_line, hint = self.meta.last_prompt
            # A hint written after the last record names the leaf; an older one must not hide later turns.
            if hint_line > line and hint in self.alias:
                leaf = hint
        resolved = self.alias.get(leaf, "")
        self.tree.leaf = self.last_call.get(resolved, resolved)
        self.tree.title = self.meta.title(self.alias)
        self.tree.base_commit = self.meta.base_commit
        if self.meta.backups:
            self.tree.nodes[0].detail["file_history"] = self.meta.backups if self.tree.nodes else None
