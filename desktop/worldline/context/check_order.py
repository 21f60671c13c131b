"""How messages go together, judged as the API judges it: pairs of calls and results, roles, the end."""

from __future__ import annotations

from typing import Any

from worldline.context.check_blocks import THINKING, BlockJudge

Merged = list[tuple[int, str, list[dict[str, Any]]]]


class OrderJudge(BlockJudge):
    def order(self, messages: list[dict[str, Any]]) -> None:
        """Judge well-formed messages as a whole."""
        self._pairs(_merged(messages))
        self._order(messages)

    def _pairs(self, merged: Merged) -> None:
        for place, (index, role, blocks) in enumerate(merged):
            uses = [b["id"] for b in blocks if b["type"] == "tool_use"]
            following = merged[place + 1][2] if place + 1 < len(merged) else []
            answered = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
            lost = [u for u in uses if u not in answered]
            if lost:
                self.fault(
                    f"messages.{index}",
                    "`tool_use` ids were found without `tool_result` blocks immediately after: "
                    f"{', '.join(lost)}. Each `tool_use` block must have a corresponding `tool_result` block in "
                    "the next message.",
                )
            if role == "assistant":
                self._server_pairs(index, blocks)
                continue
            self._result_pairs(index, place, merged, blocks)

    def _result_pairs(
        self,
        index: int,
        place: int,
        merged: Merged,
        blocks: list[dict[str, Any]],
    ) -> None:
        before = merged[place - 1][2] if place else []
        asked = [b["id"] for b in before if b["type"] == "tool_use"]
        seen: set[str] = set()
        others = False
        for j, block in enumerate(blocks):
            if block["type"] != "tool_result":
                others = True
                continue
            use_id = block["tool_use_id"]
            if use_id not in asked:
                self.fault(
                    f"messages.{index}.content.{j}",
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {use_id}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message.",
                )
            elif use_id in seen:
                self.fault(
                    f"messages.{index}.content.{j}",
                    f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {use_id}",
                )
            elif others:
                self.fault(
                    f"messages.{index}",
                    f"`tool_use` ids were found without `tool_result` blocks immediately after: {use_id}. Each "
                    "`tool_use` block must have a corresponding `tool_result` block in the next message.",
                )
            seen.add(use_id)

    def _server_pairs(self, index: int, blocks: list[dict[str, Any]]) -> None:
        uses = {b.get("id") for b in blocks if b["type"] in ("server_tool_use", "mcp_tool_use")}
        for j, block in enumerate(blocks):
            kind = block["type"]
            if kind.endswith("_tool_result") and block.get("tool_use_id") not in uses:
                self.fault(
                    f"messages.{index}.content.{j}",
                    f"unexpected `tool_use_id` found in `{kind}` blocks: {block.get('tool_use_id')}. Each `{kind}` "
                    "block must have a corresponding `server_tool_use` block before it.",
                )

    def _order(self, messages: list[dict[str, Any]]) -> None:
        if messages[0]["role"] == "assistant" and not _has(messages[0], "compaction"):
            self.fault("messages", 'first message must use the "user" role')
        for index, message in enumerate(messages):
            if message["role"] == "assistant" and isinstance(message["content"], list):
                self._assistant(index, message["content"], last=index == len(messages) - 1)
        if messages[-1]["role"] == "assistant":
            self._tail(messages[-1]["content"])

    def _assistant(self, index: int, content: list[dict[str, Any]], *, last: bool) -> None:
        if not content:
            return
        kinds = [b["type"] for b in content]
        thinking = self.body.get("thinking")
        mode = thinking.get("type") if isinstance(thinking, dict) else None
        if kinds[-1] in THINKING:
            self.fault(f"messages.{index}", "The final block in an assistant message cannot be `thinking`.")
        if mode == "enabled" and any(k in THINKING for k in kinds) and kinds[0] not in THINKING:
            self.fault(
                f"messages.{index}.content.0",
                "If an assistant message contains any thinking blocks, the first block must be thinking or "
                f"redacted_thinking. Found {kinds[0]}.",
            )
        if last and mode == "disabled" and any(k in THINKING for k in kinds):
            self.fault(
                "",
                "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
            )

    def _tail(self, content: Any) -> None:
        text = content if isinstance(content, str) else (content[-1].get("text") if content else "")
        if isinstance(text, str) and text != text.rstrip():
            self.fault("messages", "final assistant content cannot end with trailing whitespace")
        if not _takes_prefill(str(self.body.get("model", ""))):
            self.fault(
                "",
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            )


def _merged(messages: list[dict[str, Any]]) -> Merged:
    """Consecutive messages of one role are one turn for the API; the index is that of the first."""
    merged: Merged = []
    for index, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if merged and merged[-1][1] == message["role"]:
            merged[-1][2].extend(blocks)
        else:
            merged.append((index, message["role"], blocks))
    return merged


def _has(message: dict[str, Any], kind: str) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(b.get("type") == kind for b in content)


def _takes_prefill(model: str) -> bool:
    return any(
        model.startswith(p) for p in ("claude-haiku-4", "claude-sonnet-4-5", "claude-opus-4-5", "claude-3")
    )
