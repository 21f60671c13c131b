"""Codex CLI sessions: a linear log of items; rollbacks and replays make it a tree."""

from __future__ import annotations

import re
from typing import Any

from worldline.core.jsontext import digest, dumps
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage, bounded_count
from worldline.session.importers.blocks import api_blocks, call_block, call_words, tool_calls_of
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
_TURN_BEGINS = frozenset({"task_started", "turn_started"})
_INJECTED = re.compile(
    r"^\s*(<(user_instructions|environment_context|INSTRUCTIONS|turn_aborted)|# AGENTS\.md instructions)"
)


def looks_like(records: list[dict[str, Any]]) -> bool:
    return any(r.get("type") in _LINE_TYPES and isinstance(r.get("payload"), dict) for r in records) or any(
        _is_bare_item(r) for r in records
    )


def _is_bare_item(record: dict[str, Any]) -> bool:
    """Very old files have items without an envelope, the oldest messages without a type as well."""
    kind = record.get("type")
    if kind in ("message", "function_call", "function_call_output", "reasoning"):
        return "role" in record or "call_id" in record or kind == "reasoning"
    return kind is None and "role" in record and ("content" in record or "tool_calls" in record)


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
        self.meta_seen = False
        self.ordinal = -1
        self.last_line = b""
        self.orphan_calls = 0
        """Calls without a result whose id was taken again."""
        self.turns_known = False
        """The file says where turns begin. Else every prompt begins one."""
        self.turn_begins = True
        self.compacting: tuple[str, SourceNode] | None = None
        """The compaction that nothing followed yet, and the type of the record that told of it."""
        self.prompts: set[str] = set()
        """Texts of real prompts, from the events that name them."""

    def run(self, records: list[SourceRecord]) -> None:
        for record in records:
            payload = record.value.get("payload")
            event = payload if record.value.get("type") == "event_msg" and isinstance(payload, dict) else {}
            if event.get("type") == "user_message":
                self.prompts.add(str(event.get("message") or "").strip())
            self.turns_known = self.turns_known or event.get("type") in _TURN_BEGINS
        for record in records:
            self._line(record)
        self.tree.orphan_calls = self.orphan_calls + sum(1 for n in self.calls.values() if n.result is None)
        self.tree.nodes = list(self.by_id.values())
        self.tree.leaf = self.cursor or ""

    def _line(self, record: SourceRecord) -> None:
        value = record.value
        kind, payload = value.get("type"), value.get("payload")
        ordinal = value.get("ordinal")
        if isinstance(ordinal, int):
            mark = digest(value)
            if ordinal == self.ordinal and mark == self.last_line:
                self.tree.warn(f"line {record.line}: item {ordinal} is there twice, taken once")
                return
            self.last_line = mark
            if ordinal != self.ordinal + 1 and self.ordinal >= 0:
                self.tree.warn(f"line {record.line}: item {ordinal} follows item {self.ordinal}")
            self.ordinal = ordinal
        if not isinstance(payload, dict):
            # Very old files have no envelope.
            if _is_bare_item(value) or "call_id" in value:
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
            self._event(payload)
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
            order=record.order,
            created=milliseconds(record.value.get("timestamp")),
            detail={"source": record.place},
        )
        while node.id in self.by_id:
            node.id += "+"
        self.by_id[node.id] = node
        self.cursor = node.id
        self.compacting = None
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
            calls = tool_calls_of(item, content)
            reply.message["content"].extend(b for b in content if b["type"] != "tool_use")
            reply.preview = first_words(reply.message["content"]) or reply.preview
            for block in calls:
                self._put_call(block, reply, record)
            return
        if role == "tool":
            output = {"call_id": item.get("tool_call_id"), "output": item.get("content")}
            self._result(output, record)
            return
        for block in [b for b in content if b["type"] == "tool_result"]:
            content.remove(block)
            self._put_result(block["tool_use_id"], block["content"], block["is_error"], record)
        if not content and isinstance(item.get("content"), list) and item["content"]:
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
        else:
            # What is said in the middle of a turn steers it, and goes away with it.
            node.detail["steers"] = self.turns_known and not self.turn_begins
            self.turn_begins = False

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
        self._put_call(call_block(call_id, name, arguments), reply, record)

    def _put_call(self, block: dict[str, Any], reply: SourceNode, record: SourceRecord) -> None:
        name = block["name"]
        known = self.calls.get(block["id"])
        if known is not None and known.detail["reply"] == reply.id:
            self.tree.warn(f"line {record.line}: call {block['id']} is there twice, taken once")
            return
        assert reply.message is not None
        reply.message["content"].append(block)
        reply.preview = reply.preview or name
        node = self._new(NodeKind.IMPORTED_TOOL, record, ".call")
        node.call, node.tool, node.preview = block, name, call_words(block)
        node.outcome = Outcome.INTERRUPTED
        node.detail["reply"] = reply.id
        self.orphan_calls += known is not None and known.result is None
        self.calls[block["id"]] = node

    def _result(self, item: dict[str, Any], record: SourceRecord) -> None:
        output = item.get("output")
        failed = False
        if isinstance(output, dict):
            failed = output.get("success") is False
            output = output.get("content") if "content" in output else dumps(output).decode()
        self._put_result(str(item.get("call_id") or ""), api_blocks(output), failed, record)

    def _put_result(
        self, call_id: str, content: list[dict[str, Any]], failed: bool, record: SourceRecord
    ) -> None:
        node = self.calls.get(call_id)
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
        node.finished = milliseconds(record.value.get("timestamp"))
        if self.reply is not None and node.detail.get("reply") == self.reply.id:
            self.reply = None

    # --- events: what the person saw ----------------------------------------------------------------------

    def _event(self, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind in _TURN_BEGINS:
            self.turn_begins = True
        elif kind == "thread_rolled_back":
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
                cached = bounded_count(last.get("cached_input_tokens"))
                reply.usage = Usage(
                    input_tokens=max(0, bounded_count(last.get("input_tokens")) - cached),
                    output_tokens=bounded_count(last.get("output_tokens")),
                    cache_read_tokens=cached,
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
        if turns < 1:
            self.tree.warn(f"a roll-back by {turns} turns, not followed")
            return
        self.reply, self.compacting, self.turn_begins = None, None, True
        current = self.cursor
        remaining = turns
        while current is not None:
            node = self.by_id[current]
            current = node.parent
            if node.kind is NodeKind.IMPORTED_USER and not node.detail.get("steers"):
                remaining -= 1
                if remaining == 0:
                    break
        self.cursor = current

    def _compacted(self, payload: dict[str, Any], record: SourceRecord) -> None:
        self.reply = None
        told_by = "line" if record.value.get("type") == "compacted" else "item"
        if self.compacting is not None and self.compacting[0] != told_by:
            node = self.compacting[1]  # one compaction, told of as a line and as an item
        else:
            node = self._new(NodeKind.IMPORTED_COMPACTION, record)
            self.tree.compactions += 1
            self.compacting = (told_by, node)
        summary = str(payload.get("message") or text_of(payload.get("summary")) or "")
        history = payload.get("replacement_history")
        # The replacement is what the model saw from here on. It is context, never chat: what of it stands in the tree
        # is referred to, because some sessions copy their whole history into it again and again.
        if isinstance(history, list):
            node.detail["replacement_items"] = len(history)
            node.detail["kept"], told = self._replaced(node, history)
            summary = told if summary.strip() in told else f"{told}\n\n{summary}".strip()
        elif record.value.get("type") == "compacted":
            # Without a replacement the model kept what the person said, and got the summary.
            node.detail["kept"] = [
                n.id for n in self._above(node) if n.kind is NodeKind.IMPORTED_USER and n.message
            ]
        summary = summary or node.detail.get("summary", "")
        node.detail["summary"] = summary
        node.preview = (
            first_words(payload.get("message") or summary) or node.preview or "conversation compacted"
        )

    def _replaced(self, node: SourceNode, history: list[Any]) -> tuple[list[str], str]:
        """What of a replacement is in the tree (ids, oldest first), and the text of the rest."""
        by_text = {text_of(n.message["content"]): n.id for n in self._above(node) if n.message}
        kept: list[str] = []
        told: list[str] = []
        for item in history:
            text = text_of(item.get("content")) if isinstance(item, dict) else ""
            if text and text in by_text:
                kept.append(by_text[text])
            elif text:
                told.append(text)
        return kept, "\n\n".join(told)

    def _above(self, node: SourceNode) -> list[SourceNode]:
        """The path to `node`, without it, root first."""
        found: list[SourceNode] = []
        current = node.parent
        while current is not None:
            found.append(self.by_id[current])
            current = self.by_id[current].parent
        return found[::-1]
