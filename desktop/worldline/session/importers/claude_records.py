"""Single records of Claude Code, each as a node or as part of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.core.jsontext import digest
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.session.importers.beside import beside
from worldline.session.importers.blocks import api_blocks, call_words, tool_calls_of
from worldline.session.importers.claude_meta import Metadata, chip_of
from worldline.session.importers.claude_order import parent_of
from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import ImportedTree, SourceNode, first_words, milliseconds

CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})


class ClaudeRecords:
    """Takes records one after the other, parents first; what they come to together is for the class below it to say."""

    def __init__(self, tree: ImportedTree) -> None:
        self.tree = tree
        self.nodes: dict[str, SourceNode] = {}
        self.alias: dict[str, str] = {}
        """uuid of a record → id of the node that its children hang on."""
        self.raw_parent: dict[str, str | None] = {}
        self.digests: dict[str, bytes] = {}
        self.groups: dict[tuple[str, str], str] = {}
        """(message id, file or side branch) of a reply → its newest node."""
        self.closed: set[str] = set()
        """Replies one of whose calls has a result: a later thinking or text block starts a new node."""
        self.calls: dict[str, tuple[str, dict[str, Any], SourceNode]] = {}
        self.last_of: dict[tuple[str, bool], str] = {}
        """(session id, of a sub-agent) → uuid of the newest record; session id "" = of any session."""
        self.last_call: dict[str, str] = {}
        """Reply or call → the last call of the reply: what follows hangs there."""
        self.agents: dict[str, SourceNode] = {}
        """Id of a sub-agent → the call that started it."""
        self.meta = Metadata()
        self.candidates: list[tuple[int, str]] = []
        self.sessions: dict[str, int] = {}
        """Session ids in the order of their first record of the main line → number of such records."""
        self.cut: set[str] = set()

    def _chain(self, uid: str, record: SourceRecord) -> None:
        value = record.value
        mark = digest(value)
        if uid in self.digests:
            if self.digests[uid] != mark:
                self.tree.warn(f"line {record.line}: record {uid} is there twice with different contents")
                node = self.nodes.get(self.alias.get(uid, ""))
                if node is not None:
                    node.detail.setdefault("revisions", []).append(value.get("message"))
            return
        self.digests[uid] = mark
        self.raw_parent[uid] = parent_of(record)
        self.tree.cwd = self.tree.cwd or str(value.get("cwd") or "")
        session = str(value.get("sessionId") or value.get("session_id") or "")
        side = bool(value.get("isSidechain"))
        if session and not side:
            self.sessions[session] = self.sessions.get(session, 0) + 1
        parent, guessed = self._parent_of(uid, value, (session, side), record)
        kind = value.get("type")
        if kind == "progress":
            # Progress records make false forks: their children hang on their parent.
            self.alias[uid] = parent or ""
            return
        node = self._node_of(uid, parent, value, record)
        if guessed and node is not None:
            node.flags |= NodeFlag.GUESSED_PARENT
            node.detail["guessed_parent"] = True
        if node is not None:
            forked = value.get("forkedFrom")
            node.copied_from = str(forked.get("sessionId") or "") if isinstance(forked, dict) else ""
            node.detail.setdefault("session", session)
        if uid in self.alias:
            self.last_of[session, side] = self.last_of["", side] = uid
        if not side and kind in ("user", "assistant", "attachment", "system"):
            self.candidates.append((record.order, uid))

    def _node_of(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode | None:
        kind, message = value.get("type"), value.get("message")
        if kind == "assistant" and isinstance(message, dict):
            return self._assistant(uid, parent, value, message, record)
        if kind == "system":
            return self._system(uid, parent, value, record)
        if value.get("isCompactSummary") or (kind == "summary" and isinstance(message, dict)):
            return self._compact_summary(uid, parent, value, record)
        if kind == "user":
            return self._user(uid, parent, value, record)
        return self._attachment(uid, parent, value, record)

    def _parent_of(
        self, uid: str, value: dict[str, Any], line: tuple[str, bool], record: SourceRecord
    ) -> tuple[str | None, bool]:
        """The node to hang it on, and whether that is a guess: where the parent is nowhere in the file, the record before it."""
        raw = parent_of(record, self.alias)
        boundary = value.get("type") == "system" and value.get("subtype") == "compact_boundary"
        if boundary and (raw is None or raw not in self.alias):
            self.tree.warn(
                f"line {record.line}: the compaction does not say what it follows; put behind the record before it"
            )
            return self._resolve(self.last_of.get(line) or self.last_of.get(("", line[1]))), True
        if raw is None:
            return None, False
        if uid in self.cut:
            self.tree.warn(f"line {record.line}: the parents of record {uid} form a circle, cut here")
            return None, True
        if raw in self.alias:
            return self._resolve(raw), False
        self.tree.gap(record.line, record.offset, f"parent {raw} is missing")
        return self._resolve(self.last_of.get(line)), True

    def _resolve(self, uid: str | None) -> str | None:
        return (self.alias.get(uid) or None) if uid else None

    def _new(self, uid: str, parent: str | None, kind: NodeKind, record: SourceRecord) -> SourceNode:
        value = record.value
        node = SourceNode(
            id=uid,
            parent=parent,
            kind=kind,
            order=record.order,
            created=milliseconds(value.get("timestamp")),
            side=bool(value.get("isSidechain")),
            detail={"source": record.place},
        )
        if node.side:
            node.flags |= NodeFlag.SIDE_BRANCH
            if isinstance(value.get("agentId"), str):
                node.detail["agent"] = value["agentId"]
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
        key = (mid, (record.file or "side") if value.get("isSidechain") else "")
        calls = tool_calls_of(message, content)
        group = self.groups.get(key) if mid else None
        thinks = any(b["type"] in ("thinking", "redacted_thinking", "text") for b in content)
        if group is not None and not (group in self.closed and thinks):
            node = self.nodes[group]
            assert node.message is not None
            have = {b["id"] for b in node.message["content"] if b["type"] == "tool_use"}
            again = [b for b in content if b["type"] == "tool_use" and b["id"] in have]
            node.message["content"].extend(b for b in content if b not in again)
            self.alias[uid] = group
        else:
            node = self._new(uid, parent, NodeKind.IMPORTED_ASSISTANT, record)
            node.message = {"role": "assistant", "content": content}
            if mid:
                self.groups[key] = node.id
        node.model = str(message.get("model") or node.model)
        node.outcome = Outcome.OK
        usage = message.get("usage")
        if isinstance(usage, dict):
            # Every record of a reply repeats its usage and the last one is right; never add them.
            if group is not None:
                self.nodes[group].usage = None
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
            order=record.order,
            created=reply.created,
            call=call,
            tool=str(call["name"]),
            preview=call_words(call),
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
            last = self._result(uid, block, value, record) or last
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
        self, uid: str, block: dict[str, Any], value: dict[str, Any], record: SourceRecord
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
        node.order, node.created = record.order, milliseconds(value.get("timestamp")) or node.created
        self._result_facts(node, value.get("toolUseResult"))
        denied = value.get("toolDenialKind") or "doesn't want to proceed" in first_words(
            block["content"], 400
        )
        node.outcome = Outcome.DENIED if denied else Outcome.FAILED if block["is_error"] else Outcome.OK
        node.detail["source"] = record.place
        self.closed.add(reply)
        return node

    def _result_facts(self, node: SourceNode, facts: Any) -> None:
        """What stands beside a result: the sub-agent that it came from, the file that holds what was too long for it."""
        if not isinstance(facts, dict):
            return
        if isinstance(facts.get("agentId"), str):
            self.agents[facts["agentId"]] = node
        path = facts.get("persistedOutputPath")
        if isinstance(path, str) and path:
            node.detail["persisted_output"] = {"path": path, "size": facts.get("persistedOutputSize")}
            node.attachment = beside(Path(self.tree.source), path)

    def _system(
        self, uid: str, parent: str | None, value: dict[str, Any], record: SourceRecord
    ) -> SourceNode:
        subtype = str(value.get("subtype") or "notice")
        if subtype == "compact_boundary":
            node = self._new(uid, parent, NodeKind.IMPORTED_COMPACTION, record)
            meta = value.get("compactMetadata")
            node.detail["compaction"] = meta
            kept = self._preserved(meta if isinstance(meta, dict) else {}, record)
            if kept is not None:
                node.detail["kept"] = [self.alias.get(u) or u for u in kept]
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

    def _preserved(self, meta: dict[str, Any], record: SourceRecord) -> list[str] | None:
        """uuids of what a compaction keeps; None when it does not say."""
        named = meta.get("preservedMessages")
        if isinstance(named, dict) and isinstance(named.get("uuids"), list):
            return [str(u) for u in named["uuids"]]
        segment = meta.get("preservedSegment")
        if not isinstance(segment, dict):
            return None
        head, current = segment.get("headUuid"), segment.get("tailUuid")
        kept: list[str] = []
        seen: set[str] = set()
        while isinstance(current, str) and current in self.raw_parent and current not in seen:
            seen.add(current)
            kept.append(current)
            if current == head:
                return kept[::-1]
            current = self.raw_parent[current]
        self.tree.warn(
            f"line {record.line}: what the compaction keeps is not in the file; only its summary is"
        )
        return []

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
        if kind == "queued_command" and prompt and isinstance(attachment, dict):
            node = self._new(uid, parent, NodeKind.IMPORTED_USER, record)
            blocks = api_blocks(prompt)
            node.message = {"role": "user", "content": blocks} if blocks else None
            node.preview = first_words(blocks)
            chip = chip_of(value, blocks)
            if chip or attachment.get("commandMode") == "task-notification":
                node.kind, node.preview = NodeKind.IMPORTED_EVENT, chip or node.preview
            return node
        node = self._new(uid, parent, NodeKind.IMPORTED_EVENT, record)
        node.flags |= NodeFlag.HIDDEN
        node.preview = kind.replace("_", " ") or "attachment"
        if value.get("type") not in CHAIN:
            self.tree.count_unknown(str(value.get("type")))
            node.detail["unknown"] = value
        return node
