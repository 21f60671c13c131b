"""Codex CLI sessions: a linear log of items; rollbacks and replays make it a tree."""

from __future__ import annotations

import re
from typing import Any

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.session.importers.blocks import api_blocks, call_block
from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import ImportedTree, SourceNode, first_words, milliseconds, text_of

_LINE_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_METADATA = frozenset(
    {
        "turn_context", "inter_agent_communication", "token_usage_record", "world_state", "retained_context",
        "rollout_reference", "realtime_item", "security_risk_score",
    }
)  # fmt: skip
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_SERVER_SIDE = frozenset({"web_search_call", "image_generation_call"})
"""Run by the provider: no result follows."""
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_INJECTED = re.compile(
    r"^\s*(<(user_instructions|environment_context|INSTRUCTIONS|turn_aborted)|# AGENTS\.md instructions)"
)


def looks_like(records: list[dict[str, Any]]) -> bool:
    return any(r.get("type") in _LINE_TYPES and isinstance(r.get("payload"), dict) for r in records) or any(
        r.get("type") in ("message", "function_call", "reasoning") and ("role" in r or "call_id" in r)
        for r in records
    )


def build(tree: ImportedTree, records: list[SourceRecord]) -> None:
    """Fill `tree` from the records of one file."""
    _Builder(tree).run(records)


class _Builder:
    def __init__(self, tree: ImportedTree) -> None:
        self.tree = tree
        self.cursor: str | None = None
        self.calls: dict[str, SourceNode] = {}
        self.model = ""
        self.reply: SourceNode | None = None
        self.by_id: dict[str, SourceNode] = {}
        self.last_prompt_text = ""
        self.meta_seen = False
        self.ordinal = -1
        self.prompts: set[str] = set()
        """Texts of real prompts, from the events that name them."""

    def run(self, records: list[SourceRecord]) -> None:
        for record in records:
            payload = record.value.get("payload")
            event = payload if record.value.get("type") == "event_msg" and isinstance(payload, dict) else {}
            if event.get("type") == "user_message":
                self.prompts.add(str(event.get("message") or "").strip())
        for record in records:
            self._line(record)
        for node in self.calls.values():
            if node.result is None:
                self.tree.orphan_calls += 1
        self.tree.nodes = list(self.by_id.values())
        self.tree.leaf = self.cursor or ""

    def _line(self, record: SourceRecord) -> None:
        value = record.value
        kind, payload = value.get("type"), value.get("payload")
        ordinal = value.get("ordinal")
        if isinstance(ordinal, int):
            if ordinal != self.ordinal + 1 and self.ordinal >= 0:
                self.tree.warn(f"line {record.line}: item {ordinal} follows item {self.ordinal}")
            self.ordinal = ordinal
        if not isinstance(payload, dict):
            # Very old files have no envelope.
            if "role" in value or "call_id" in value or kind == "reasoning":
                self._item(value, record)
            elif "id" in value and "timestamp" in value and kind is None:
                self._meta(value)
            else:
                self.tree.count_unknown(str(kind))
            return
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "response_item":
            self._item(payload, record)
        elif kind == "event_msg":
            self._event(payload, record)
        elif kind == "compacted":
            self._compacted(payload, record)
        elif kind in _METADATA:
            self.model = str(payload.get("model") or self.model)
        else:
            self.tree.count_unknown(str(kind))

    def _meta(self, payload: dict[str, Any]) -> None:
        if self.meta_seen:
            self.tree.warn("a second session header, copied from a parent session, skipped")
            return
        self.meta_seen = True
        self.tree.session_id = str(payload.get("id") or payload.get("session_id") or "")
        self.tree.cwd = str(payload.get("cwd") or "")
        self.tree.parent_session = str(payload.get("forked_from_id") or payload.get("parent_thread_id") or "")
        git = payload.get("git")
        if isinstance(git, dict):
            self.tree.base_commit = str(git.get("commit_hash") or "")

    def _new(self, kind: NodeKind, record: SourceRecord, suffix: str = "") -> SourceNode:
        node = SourceNode(
            id=f"line-{record.line}{suffix}",
            parent=self.cursor,
            kind=kind,
            order=record.line,
            created=milliseconds(record.value.get("timestamp")),
            detail={"source": {"line": record.line, "offset": record.offset, "length": record.length}},
        )
        while node.id in self.by_id:
            node.id += "+"
        self.by_id[node.id] = node
        self.cursor = node.id
        return node

    # --- items: what the model saw ------------------------------------------------------------------------

    def _item(self, item: dict[str, Any], record: SourceRecord) -> None:
        kind = item.get("type")
        if kind == "message" or (kind is None and "role" in item):
            self._message(item, record)
        elif kind == "reasoning":
            reply = self._reply(record)
            summary = text_of(item.get("summary")) or text_of(item.get("content"))
            if summary:
                reply.detail.setdefault("reasoning", []).append(summary)
                reply.preview = reply.preview or first_words(summary)
        elif kind in _CALLS:
            self._call(item, record, str(kind))
        elif kind in _RESULTS:
            self._result(item, record)
        elif kind in _SERVER_SIDE:
            reply = self._reply(record)
            assert reply.message is not None
            action = item.get("action")
            query = action.get("query") if isinstance(action, dict) else None
            reply.message["content"].append(
                {"type": "text", "text": f"[{kind.removesuffix('_call')}: {query or ''}]"}
            )
        elif kind == "ghost_snapshot":
            commit = item.get("ghost_commit")
            target = self.by_id.get(self.cursor or "")
            if target is not None:
                target.detail["ghost_commit"] = commit.get("id") if isinstance(commit, dict) else commit
        elif kind in ("compaction", "compaction_summary", "context_compaction"):
            self._compacted(item, record)
        else:
            self.tree.count_unknown(f"response_item/{kind}")

    def _message(self, item: dict[str, Any], record: SourceRecord) -> None:
        role = item.get("role")
        content = api_blocks(item.get("content"))
        text = text_of(content)
        if role == "assistant":
            reply = self._reply(record)
            assert reply.message is not None
            reply.message["content"].extend(content)
            reply.preview = first_words(reply.message["content"]) or reply.preview
            return
        self.reply = None
        injected = (
            role != "user" or _INJECTED.match(text) or (self.prompts and text.strip() not in self.prompts)
        )
        node = self._new(NodeKind.IMPORTED_EVENT if injected else NodeKind.IMPORTED_USER, record)
        node.message = {"role": "user", "content": content} if content else None
        node.preview = first_words(content)
        if injected:
            node.flags |= NodeFlag.HIDDEN

    def _reply(self, record: SourceRecord) -> SourceNode:
        """The reply that is being written: reasoning, text and calls up to the next result are one."""
        if self.reply is None:
            self.reply = self._new(NodeKind.IMPORTED_ASSISTANT, record)
            self.reply.message = {"role": "assistant", "content": []}
            self.reply.model = self.model
            self.reply.outcome = Outcome.OK
        return self.reply

    def _call(self, item: dict[str, Any], record: SourceRecord, kind: str) -> None:
        reply = self._reply(record)
        name = str(item.get("name") or kind.removesuffix("_call"))
        arguments = item.get("arguments", item.get("input", item.get("action")))
        call_id = str(item.get("call_id") or item.get("id") or f"line-{record.line}")
        block = call_block(call_id, name, arguments)
        assert reply.message is not None
        reply.message["content"].append(block)
        reply.preview = reply.preview or name
        node = self._new(NodeKind.IMPORTED_TOOL, record, ".call")
        node.call, node.tool, node.preview = block, name, name
        node.outcome = Outcome.INTERRUPTED
        node.detail["reply"] = reply.id
        self.calls[call_id] = node

    def _result(self, item: dict[str, Any], record: SourceRecord) -> None:
        call_id = str(item.get("call_id") or "")
        node = self.calls.get(call_id)
        output = item.get("output")
        failed = False
        if isinstance(output, dict):
            failed = output.get("success") is False
            output = output.get("content") if "content" in output else str(output)
        content = api_blocks(output)
        if node is None:
            self.tree.orphan_results += 1
            node = self._new(NodeKind.IMPORTED_EVENT, record)
            node.flags |= NodeFlag.HIDDEN
            node.preview = first_words(content)
            node.detail["orphan_result"] = call_id
            return
        if node.result is not None:
            self.tree.warn(f"line {record.line}: a second result for call {call_id}, the first one is shown")
            return
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": failed}
        node.result = {"role": "user", "content": [block]}
        node.outcome = Outcome.FAILED if failed else Outcome.OK
        if self.reply is not None and node.detail.get("reply") == self.reply.id:
            self.reply = None

    # --- events: what the person saw ----------------------------------------------------------------------

    def _event(self, payload: dict[str, Any], record: SourceRecord) -> None:
        kind = payload.get("type")
        if kind == "thread_rolled_back":
            turns = payload.get("num_turns")
            self._roll_back(turns if isinstance(turns, int) else 1)
        elif kind == "turn_aborted":
            node = self.by_id.get(self.cursor or "")
            if node is not None and node.outcome in (Outcome.OK, Outcome.INTERRUPTED, Outcome.NONE):
                node.outcome = Outcome.ABORTED
            self.reply = None
        elif kind == "token_count":
            info = payload.get("info")
            last = info.get("last_token_usage") if isinstance(info, dict) else None
            reply = self._last_reply()
            if isinstance(last, dict) and reply is not None:
                cached = last.get("cached_input_tokens") or 0
                reply.usage = Usage(
                    input_tokens=max(0, int(last.get("input_tokens") or 0) - int(cached)),
                    output_tokens=int(last.get("output_tokens") or 0),
                    cache_read_tokens=int(cached),
                    answers=1,
                )
        elif kind == "thread_name_updated":
            self.tree.title = str(payload.get("thread_name") or payload.get("name") or "")

    def _last_reply(self) -> SourceNode | None:
        current = self.cursor
        while current is not None:
            node = self.by_id[current]
            if node.kind is NodeKind.IMPORTED_ASSISTANT:
                return node
            current = node.parent
        return None

    def _roll_back(self, turns: int) -> None:
        """Go before the `turns`-th last prompt of the current path; what is left behind stays as a branch."""
        self.reply = None
        current = self.cursor
        remaining = max(1, turns)
        while current is not None:
            node = self.by_id[current]
            current = node.parent
            if node.kind is NodeKind.IMPORTED_USER:
                remaining -= 1
                if remaining == 0:
                    break
        self.cursor = current

    def _compacted(self, payload: dict[str, Any], record: SourceRecord) -> None:
        self.reply = None
        node = self._new(NodeKind.IMPORTED_COMPACTION, record)
        summary = str(payload.get("message") or text_of(payload.get("summary")) or "")
        history = payload.get("replacement_history")
        # The replacement is what the model saw from here on. It is context, never chat.
        if isinstance(history, list):
            texts = [text_of(h.get("content")) for h in history if isinstance(h, dict)]
            node.detail["replacement_items"] = len(history)
            summary = summary or "\n\n".join(t for t in texts if t)
        node.detail["summary"] = summary
        node.preview = first_words(summary) or "conversation compacted"
        self.tree.compactions += 1
