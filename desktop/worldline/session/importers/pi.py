"""pi sessions (v1 to v3 and 1.x): one JSON object a line, a header, then entries with id and parentId."""

from __future__ import annotations

from typing import Any

from worldline.core.jsontext import digest
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage, bounded_count
from worldline.session.importers.blocks import api_blocks, call_words, tool_calls_of
from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import (
    ImportedTree,
    SourceNode,
    break_cycles,
    first_words,
    milliseconds,
    text_of,
)

_ENTRY_TYPES = frozenset(
    {
        "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom",
        "custom_message", "label", "session_info", "context_edit", "usage",
    }
)  # fmt: skip


def looks_like(records: list[dict[str, Any]]) -> bool:
    return any(r.get("type") == "session" and ("cwd" in r or "id" in r) for r in records[:5]) or any(
        "parentId" in r and r.get("type") in _ENTRY_TYPES for r in records
    )


def build(tree: ImportedTree, records: list[SourceRecord]) -> None:
    """Fill `tree` from the records of one file."""
    _Builder(tree).run(records)


class _Builder:
    def __init__(self, tree: ImportedTree) -> None:
        self.tree = tree
        self.by_id: dict[str, SourceNode] = {}
        self.digests: dict[str, bytes] = {}
        self.messages: dict[bytes, str] = {}
        """Digest of a message → the entry that holds it."""
        self.version = 1
        self.last: str | None = None
        self.header_seen = False
        self.line_ids: dict[int, str] = {}
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self.answered: set[str] = set()
        self.last_written = ""
        self.strays: list[dict[str, Any]] = []

    def run(self, records: list[SourceRecord]) -> None:
        for record in records:
            value = record.value
            if value.get("type") == "session":
                self._header(value, record)
            elif value.get("type") == "title" and "id" not in value:
                self.tree.title = str(value.get("title") or self.tree.title)
            elif value.get("id") or value.get("type") in _ENTRY_TYPES:
                self._entry(record)
            else:
                # Not of this agent (another program wrote into its file): it has no place in the chain.
                self.tree.count_unknown(str(value.get("type")))
                self.strays.append(value)
        if not self.header_seen:
            self.tree.warn("no session header; imported without one")
        self.tree.nodes = list(self.by_id.values())
        if self.strays and self.tree.nodes:
            self.tree.nodes[0].detail["strays"] = self.strays
        self._join_parents()
        self._orphans()
        break_cycles(self.tree)
        self.tree.leaf = self.last_written

    def _header(self, value: dict[str, Any], record: SourceRecord) -> None:
        if self.header_seen:
            # Early entries of some versions were flushed twice, header included.
            self.tree.warn(f"line {record.line}: a second header, skipped")
            return
        self.header_seen = True
        version = value.get("version")
        self.version = version if isinstance(version, int) else 1
        if self.version > 3:
            self.tree.warn(
                f"format version {self.version} is newer than 3; imported as far as it is understood"
            )
        self.tree.session_id = str(value.get("id") or "")
        self.tree.cwd = str(value.get("cwd") or "")
        self.tree.parent_session = str(value.get("parentSession") or value.get("branchedFrom") or "")

    def _entry(self, record: SourceRecord) -> None:
        value = record.value
        uid = value.get("id")
        if not isinstance(uid, str) or not uid:
            uid = f"line-{record.line}"
            while uid in self.by_id:
                uid += "+"  # two records on one line
            parent = self.last
        else:
            raw_parent = value.get("parentId")
            parent = raw_parent if isinstance(raw_parent, str) else None
        if uid in self.by_id:
            self._duplicate(uid, record)
            return
        node = self._node(uid, parent, record)
        self.by_id[uid] = node
        self.digests[uid] = digest(value)
        self.line_ids.setdefault(record.line, uid)
        self.last = uid
        if not node.side:
            self.last_written = uid

    def _duplicate(self, uid: str, record: SourceRecord) -> None:
        """The same entry again adds nothing. pi itself uses the last body of an id; the first is kept beside it."""
        if self.digests[uid] == digest(record.value):
            return
        self.tree.warn(
            f"line {record.line}: entry {uid} is there twice with different contents; the last one is shown"
        )
        first = self.by_id[uid]
        value = record.value
        parent = value.get("parentId") if isinstance(value.get("parentId"), str) else None
        node = self._node(uid, parent, record)
        node.order = first.order
        node.detail["revisions"] = [*first.detail.get("revisions", []), first.message or first.result]
        self.by_id[uid] = node
        self.digests[uid] = digest(value)

    def _node(self, uid: str, parent: str | None, record: SourceRecord) -> SourceNode:
        value = record.value
        kind = value.get("type")
        node = SourceNode(
            id=uid,
            parent=parent,
            kind=NodeKind.IMPORTED_EVENT,
            order=record.order,
            created=milliseconds(value.get("timestamp")),
            detail={"source": record.place},
            side=bool(value.get("sidechain") or value.get("isSidechain")),
        )
        if node.side:
            node.flags |= NodeFlag.SIDE_BRANCH
        if kind == "message" and isinstance(value.get("message"), dict):
            self.messages[digest(value["message"])] = uid
            self._message(node, value["message"])
        elif kind in ("compaction", "branch_summary"):
            self._summary(node, value, str(kind), record)
        elif kind == "custom_message":
            content = api_blocks(value.get("content"))
            node.message = {"role": "user", "content": content} if content else None
            node.preview = first_words(content)
            if value.get("display") is False:
                node.flags |= NodeFlag.HIDDEN
        elif kind == "context_edit":
            node.kind = NodeKind.CONTEXT_EDIT
            replacement = value.get("replacement")
            text = first_words(replacement.get("content"), 4000) if isinstance(replacement, dict) else None
            node.detail |= {"target": value.get("targetId"), "replacement": text}
            node.preview = text or "left out of the view"
        else:
            self._marker(node, value, str(kind))
        return node

    def _marker(self, node: SourceNode, value: dict[str, Any], kind: str) -> None:
        node.flags |= NodeFlag.HIDDEN
        node.detail["raw"] = value
        if kind == "label":
            target = value.get("targetId")
            if isinstance(target, str):
                self.tree.labels[target] = str(value.get("label") or "")
            node.preview = f"label {value.get('label') or 'cleared'}"
        elif kind == "session_info":
            self.tree.title = str(value.get("name") or "")
            node.preview = f"session named {value.get('name') or ''}".strip()
        elif kind == "model_change":
            node.preview = f"model {value.get('provider')}/{value.get('modelId')}"
        elif kind == "thinking_level_change":
            node.preview = f"thinking {value.get('thinkingLevel')}"
        elif kind in ("custom", "usage"):
            node.preview = str(value.get("customType") or kind)
        else:
            self.tree.count_unknown(kind)
            node.preview = f"unknown record {kind}"
            node.detail["unknown"] = kind

    def _message(self, node: SourceNode, message: dict[str, Any]) -> None:
        role = message.get("role")
        node.created = node.created or milliseconds(message.get("timestamp"))
        if role == "assistant":
            self._assistant(node, message)
        elif role in ("toolResult", "tool"):
            self._result(node, message)
        elif role == "bashExecution":
            node.kind = NodeKind.IMPORTED_USER
            text = f"! {message.get('command')}\n{message.get('output') or ''}".rstrip()
            node.preview = first_words(text)
            hidden = bool(message.get("excludeFromContext"))
            node.message = None if hidden else {"role": "user", "content": [{"type": "text", "text": text}]}
            node.detail["bash"] = {
                k: message.get(k) for k in ("command", "exitCode", "cancelled", "truncated")
            }
        elif role in ("user", "custom", "hookMessage", "branchSummary", "compactionSummary"):
            node.kind = NodeKind.IMPORTED_USER if role == "user" else NodeKind.IMPORTED_EVENT
            content = api_blocks(message.get("content") if role in ("user", "custom", "hookMessage") else [
                {"type": "text", "text": str(message.get("summary") or "")}])  # fmt: skip
            node.message = {"role": "user", "content": content} if content else None
            node.preview = first_words(content)
        else:
            node.flags |= NodeFlag.HIDDEN
            node.detail["raw"] = message
            node.preview = f"{role} message"
            if role != "system":
                self.tree.count_unknown(f"message/{role}")

    def _assistant(self, node: SourceNode, message: dict[str, Any]) -> None:
        node.kind = NodeKind.IMPORTED_ASSISTANT
        content = api_blocks(message.get("content"))
        calls = tool_calls_of(message, content)
        node.message = {"role": "assistant", "content": content}
        node.model = str(message.get("responseModel") or message.get("model") or "")
        stop = str(message.get("stopReason") or "")
        node.outcome = {"error": Outcome.FAILED, "aborted": Outcome.ABORTED}.get(stop, Outcome.OK)
        if node.outcome is not Outcome.OK:
            # pi keeps such replies in the file and out of the model's view; so do we.
            node.flags |= NodeFlag.INCOMPLETE
            node.detail["left_out_of_view"] = True
        node.detail |= {"stop_reason": stop, "error": message.get("errorMessage")}
        node.usage = _usage(message.get("usage"))
        node.preview = (
            first_words(content)
            or ", ".join(str(c["name"]) for c in calls)
            or str(message.get("errorMessage") or "(empty reply)")
        )
        for call in calls:
            if call["id"] in self.calls:
                self.tree.warn(f"call {call['id']} is there twice")
            self.calls[call["id"]] = (node.id, call)

    def _result(self, node: SourceNode, message: dict[str, Any]) -> None:
        node.kind = NodeKind.IMPORTED_TOOL
        call_id = str(message.get("toolCallId") or "")
        node.tool = str(message.get("toolName") or "")
        failed = bool(message.get("isError"))
        content = api_blocks(message.get("content"))
        node.outcome = Outcome.FAILED if failed else Outcome.OK
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": failed}
        node.result = {"role": "user", "content": [block]}
        node.preview = node.tool or first_words(content)
        known = self.calls.get(call_id)
        if known is None:
            self.tree.orphan_results += 1
            node.detail["orphan_result"] = True
            return
        self.answered.add(call_id)
        node.call = known[1]
        node.tool = node.tool or str(known[1]["name"])
        node.preview = call_words(known[1])

    def _summary(self, node: SourceNode, value: dict[str, Any], kind: str, record: SourceRecord) -> None:
        summary = str(value.get("summary") or "")
        node.preview = first_words(summary)
        if kind == "branch_summary":
            node.kind = NodeKind.IMPORTED_SUMMARY
            node.message = (
                {"role": "user", "content": [{"type": "text", "text": summary}]} if summary else None
            )
            node.detail |= {"summary": summary, "from": value.get("fromId")}
            return
        self.tree.compactions += 1
        node.kind = NodeKind.IMPORTED_COMPACTION
        kept = value.get("firstKeptEntryId")
        index = value.get("firstKeptEntryIndex")
        if kept is None and isinstance(index, int) and index >= 0:
            # v1 counts raw lines, header included; malformed lines count too.
            kept = next((self.line_ids[n] for n in range(index + 1, record.line) if n in self.line_ids), None)
        tail = value.get("retainedTail")
        if kept is None and isinstance(tail, list):
            summary = self._retained(node, tail, summary)
        node.detail |= {"summary": summary, "kept_from": kept, "tokens_before": value.get("tokensBefore")}

    def _retained(self, node: SourceNode, tail: list[Any], summary: str) -> str:
        """Some versions copy what a compaction keeps into it. Copies of entries are kept as these entries; what is no copy is
        told behind the summary, so that the model still gets it. Returns the summary."""
        kept: list[str] = []
        for item in tail:
            inner = item.get("message") if isinstance(item, dict) else None
            message = inner if isinstance(inner, dict) else item
            uid = item if isinstance(item, str) else item.get("id") if isinstance(item, dict) else None
            if isinstance(uid, str) and uid in self.by_id:
                kept.append(uid)
            elif isinstance(message, dict) and (known := self.messages.get(digest(message))):
                kept.append(known)
            elif isinstance(message, dict) and (text := text_of(message.get("content"))):
                summary = f"{summary}\n\n[kept, {message.get('role') or 'message'}] {text}"
        node.detail["kept"] = kept
        return summary

    def _join_parents(self) -> None:
        for node in self.tree.nodes:
            place = node.detail["source"]
            if node.parent is not None and node.parent not in self.by_id:
                self.tree.gap(place["line"], place["offset"], f"parent {node.parent} is missing")
                node.detail["missing_parent"] = node.parent
                node.parent = None
            kept = node.detail.get("kept_from") if node.kind is NodeKind.IMPORTED_COMPACTION else None
            if kept and not self._on_path(node, str(kept)):
                self.tree.warn(f"line {place['line']}: what the compaction keeps is not on its path")
                node.detail["kept_from"] = None

    def _on_path(self, node: SourceNode, wanted: str) -> bool:
        seen: set[str] = set()
        current = node.parent
        while current is not None and current not in seen:
            if current == wanted:
                return True
            seen.add(current)
            current = self.by_id[current].parent if current in self.by_id else None
        return False

    def _orphans(self) -> None:
        self.tree.orphan_calls = sum(1 for call_id in self.calls if call_id not in self.answered)


def _usage(raw: Any) -> Usage | None:
    if not isinstance(raw, dict):
        return None
    cost = raw.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else None
    return Usage(
        input_tokens=bounded_count(raw.get("input")),
        output_tokens=bounded_count(raw.get("output")),
        cache_read_tokens=bounded_count(raw.get("cacheRead")),
        cache_write_tokens=bounded_count(raw.get("cacheWrite")),
        cost=float(total) if isinstance(total, (int, float)) and 0 < total < 1e9 else None,
        answers=1,
    )
