"""Judge the body of a request as the Messages API does, with the texts it answers with.

Used by the rehearsal server, so that the whole suite talks to something that refuses what the API refuses. Pure; needs
no other part of the product.
"""

from __future__ import annotations

import json
from typing import Any

from worldline.context.check_blocks import NAME, THINKING
from worldline.context.check_order import OrderJudge

_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
MAX_BYTES = 32_000_000
MAX_MESSAGES = 100_000


def check(body: dict[str, Any]) -> list[str]:
    """What the API would refuse about `body`, in its words; empty = accepted."""
    return _Checker(body).run()


class _Checker(OrderJudge):
    def run(self) -> list[str]:
        self._encodable()
        if self.faults:
            return self.faults
        self._parameters()
        self._tools()
        self._system()
        messages = self.body.get("messages")
        if not isinstance(messages, list):
            self.fault("messages", "Field required" if messages is None else "Input should be a valid list")
            return self.faults
        if not messages:
            self.fault("messages", "at least one message is required")
            return self.faults
        if len(messages) > MAX_MESSAGES:
            self.fault("messages", f"List should have at most {MAX_MESSAGES} items")
        legal = [self.message(i, m, last=i == len(messages) - 1) for i, m in enumerate(messages)]
        if all(legal):
            self.order(messages)
        self.image_limits()
        self._cache_marks()
        return self.faults

    def _encodable(self) -> None:
        try:
            data = json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except UnicodeEncodeError:
            self.fault("", "The request body is not valid JSON: no low surrogate in string")
        except (ValueError, TypeError) as error:
            self.fault("", f"The request body is not valid JSON: {error}")
        else:
            if len(data) > MAX_BYTES:
                self.fault("", "Request exceeds the maximum size")

    # -- parameters

    def _parameters(self) -> None:
        body = self.body
        if not isinstance(body.get("model"), str) or not body["model"]:
            self.fault("model", "Field required")
        limit = body.get("max_tokens")
        if limit is None:
            self.fault("max_tokens", "Field required")
        elif isinstance(limit, bool) or not isinstance(limit, int):
            self.fault("max_tokens", "Input should be a valid integer")
        elif limit < 0:
            self.fault("max_tokens", "Input should be greater than or equal to 1")
        for name in ("temperature", "top_p", "top_k"):
            if name in body:
                self.fault(name, "Extra inputs are not permitted")
        thinking = body.get("thinking")
        if isinstance(thinking, dict):
            self._thinking_parameter(thinking)
        effort = (
            (body.get("output_config") or {}).get("effort")
            if isinstance(body.get("output_config"), dict)
            else None
        )
        if effort is not None and effort not in _EFFORTS:
            self.fault("output_config.effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")

    def _thinking_parameter(self, thinking: dict[str, Any]) -> None:
        kind = thinking.get("type")
        if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
            self.fault(
                "thinking.type", "Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'"
            )
        if kind != "enabled":
            return
        if not _old_thinking(str(self.body.get("model", ""))):
            self.fault(
                "",
                '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.',
            )
        budget, limit = thinking.get("budget_tokens"), self.body.get("max_tokens")
        if isinstance(budget, int) and isinstance(limit, int) and limit <= budget:
            self.fault("", "`max_tokens` must be greater than `thinking.budget_tokens`.")

    def _tools(self) -> None:
        tools = self.body.get("tools")
        if tools is None:
            return
        if not isinstance(tools, list):
            self.fault("tools", "Input should be a valid list")
            return
        names: set[str] = set()
        for index, tool in enumerate(tools):
            if not isinstance(tool, dict):
                self.fault(f"tools.{index}", "Input should be a valid dictionary")
                continue
            name = tool.get("name")
            if not isinstance(name, str) or not NAME.match(name):
                self.fault(
                    f"tools.{index}.custom.name", "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
                )
            elif name in names:
                self.fault("tools", "Tool names must be unique.")
            else:
                names.add(name)
            if tool.get("type") in (None, "custom"):
                self._schema(index, tool.get("input_schema"))

    def _schema(self, index: int, schema: Any) -> None:
        if schema is None:
            self.fault(f"tools.{index}.custom.input_schema", "Field required")
        elif not isinstance(schema, dict) or schema.get("type") != "object":
            self.fault(f"tools.{index}.custom.input_schema.type", "Input should be 'object'")
        elif not _valid_schema(schema):
            self.fault(
                f"tools.{index}.custom.input_schema",
                "JSON schema is invalid. It must match JSON Schema draft 2020-12",
            )

    def _system(self) -> None:
        system = self.body.get("system")
        if system is None or isinstance(system, str):
            return
        if not isinstance(system, list):
            self.fault("system", "Input should be a valid list")
            return
        for index, block in enumerate(system):
            text = block.get("text") if isinstance(block, dict) else None
            if not isinstance(text, str):
                self.fault(f"system.{index}.text", "Field required")
            else:
                self.text("system", text)

    def _cache_marks(self) -> None:
        count = 0
        for part in ("system", "tools"):
            value = self.body.get(part)
            count += (
                sum(1 for b in value if isinstance(b, dict) and "cache_control" in b)
                if isinstance(value, list)
                else 0
            )
        for index, message in enumerate(self.body["messages"]):
            content = message.get("content") if isinstance(message, dict) else None
            for j, block in enumerate(content if isinstance(content, list) else []):
                if not isinstance(block, dict) or "cache_control" not in block:
                    continue
                count += 1
                if block.get("type") == "text" and not str(block.get("text", "")).strip():
                    self.fault(
                        f"messages.{index}.content.{j}.text",
                        "cache_control cannot be set for empty text blocks",
                    )
                if block.get("type") in THINKING:
                    self.fault(
                        f"messages.{index}.content.{j}", "cache_control cannot be set for thinking blocks"
                    )
        if count > 4:
            self.fault("", f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _old_thinking(model: str) -> bool:
    return not model.startswith("claude-") or any(
        model.startswith(p) for p in ("claude-haiku-4", "claude-sonnet-4", "claude-opus-4", "claude-3")
    )


def _valid_schema(schema: dict[str, Any]) -> bool:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True
