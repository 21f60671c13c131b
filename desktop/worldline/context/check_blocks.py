"""The blocks of one message, judged as the API judges them."""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Callable
from typing import Any

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
THINKING = ("thinking", "redacted_thinking")
_USER_BLOCKS = frozenset(
    {"text", "image", "document", "search_result", "tool_result", "container_upload", "tool_reference"}
)
_ASSISTANT_BLOCKS = frozenset(
    {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "mcp_tool_result",
     "fallback", "compaction"}
)  # fmt: skip
MAX_IMAGES = 100
MAX_IMAGE_BYTES = 5_242_880
MANY_IMAGES = 20


class BlockJudge:
    """Collects faults, images and the ids of calls while it walks the blocks."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.faults: list[str] = []
        self.images: list[tuple[str, dict[str, Any]]] = []
        self.use_ids: set[str] = set()

    def fault(self, where: str, text: str) -> None:
        self.faults.append(f"{where}: {text}" if where else text)

    def message(self, index: int, message: Any, *, last: bool) -> bool:
        """Whether the message is well formed, so that its place among the others can be judged."""
        where = f"messages.{index}"
        if not isinstance(message, dict):
            self.fault(where, "Input should be a valid dictionary")
            return False
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant", "system"):
            self.fault(f"{where}.role", "Input should be 'user', 'assistant' or 'system'")
            return False
        extra = set(message) - {"role", "content"}
        if extra:
            self.fault(f"{where}.{sorted(extra)[0]}", "Extra inputs are not permitted")
            return False
        if content is None:
            self.fault(f"{where}.content", "Field required")
            return False
        if isinstance(content, str):
            if not content and not (last and role == "assistant"):
                self._empty(where)
            elif content and not content.strip():
                self.fault("messages", "text content blocks must contain non-whitespace text")
            return True
        if not isinstance(content, list):
            self.fault(f"{where}.content", "Input should be a valid list")
            return False
        if not content and not (last and role == "assistant"):
            self._empty(where)
        return all(self._block(f"{where}.content.{i}", role, block) for i, block in enumerate(content))

    def _empty(self, where: str) -> None:
        self.fault(
            where, "all messages must have non-empty content except for the optional final assistant message"
        )

    def text(self, where: str, text: str) -> None:
        if not text:
            self.fault(where, "text content blocks must be non-empty")
        elif not text.strip():
            self.fault(where, "text content blocks must contain non-whitespace text")

    def _block(self, where: str, role: str, block: Any) -> bool:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            self.fault(
                where,
                "Input should be a valid dictionary"
                if not isinstance(block, dict)
                else "type: Field required",
            )
            return False
        kind = block["type"]
        allowed = _ASSISTANT_BLOCKS if role == "assistant" else _USER_BLOCKS
        if kind not in allowed and not (role == "assistant" and kind.endswith("_tool_result")):
            self.fault(
                where, f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
            return False
        judge: Callable[[str, dict[str, Any]], bool] | None = getattr(self, f"_b_{kind}", None)
        return judge(where, block) if judge is not None else True

    def _extra(self, where: str, block: dict[str, Any], allowed: tuple[str, ...]) -> None:
        for name in block:
            if name not in allowed and name not in ("type", "cache_control"):
                self.fault(f"{where}.{block['type']}.{name}", "Extra inputs are not permitted")

    def _b_text(self, where: str, block: dict[str, Any]) -> bool:
        self._extra(where, block, ("text", "citations"))
        if not isinstance(block.get("text"), str):
            self.fault(f"{where}.text.text", "Input should be a valid string")
            return False
        self.text("messages", block["text"])
        return True

    def _b_image(self, where: str, block: dict[str, Any]) -> bool:
        self._extra(where, block, ("source",))
        self.images.append((where, block))
        return True

    def _b_tool_use(self, where: str, block: dict[str, Any]) -> bool:
        self._extra(where, block, ("id", "name", "input", "caller"))
        use_id = block.get("id")
        if not isinstance(use_id, str) or not _ID.match(use_id):
            self.fault(f"{where}.tool_use.id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
        elif use_id in self.use_ids:
            self.fault(where, "`tool_use` ids must be unique")
        else:
            self.use_ids.add(use_id)
        name = block.get("name")
        if not isinstance(name, str) or not NAME.match(name):
            self.fault(f"{where}.tool_use.name", "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
        if not isinstance(block.get("input"), dict):
            self.fault(f"{where}.tool_use.input", "Input should be a valid dictionary")
        return isinstance(use_id, str)

    def _b_tool_result(self, where: str, block: dict[str, Any]) -> bool:
        self._extra(where, block, ("tool_use_id", "content", "is_error"))
        if not isinstance(block.get("tool_use_id"), str):
            self.fault(f"{where}.tool_result.tool_use_id", "Field required")
            return False
        content = block.get("content")
        if content is not None and not isinstance(content, (str, list)):
            self.fault(f"{where}.tool_result.content", "Input should be a valid list")
        elif isinstance(content, list):
            for index, item in enumerate(content):
                inner = f"{where}.tool_result.content.{index}"
                kind = item.get("type") if isinstance(item, dict) else None
                if kind not in ("text", "image", "document", "search_result", "tool_reference"):
                    self.fault(
                        inner,
                        f"Input tag '{kind}' found using 'type' does not match any of the expected tags",
                    )
                else:
                    self._block(inner, "user", item)
        if block.get("is_error") is True:
            items = (
                content
                if isinstance(content, list)
                else [{"type": "text", "text": content}]
                if content
                else []
            )
            if not items:
                self.fault(f"{where}.tool_result", "content cannot be empty if `is_error` is true")
            elif any(i.get("type") != "text" for i in items if isinstance(i, dict)):
                self.fault(f"{where}.tool_result", 'all content must be type "text" if `is_error` is true')
        return True

    def _b_thinking(self, where: str, block: dict[str, Any]) -> bool:
        if not isinstance(block.get("signature"), str) or not isinstance(block.get("thinking"), str):
            self.fault(f"{where}.thinking.signature", "Field required")
        elif not block["signature"]:
            self.fault(where, "Invalid `signature` in `thinking` block")
        return True

    def _b_redacted_thinking(self, where: str, block: dict[str, Any]) -> bool:
        if not isinstance(block.get("data"), str) or not block["data"]:
            self.fault(f"{where}.redacted_thinking.data", "Field required")
        return True

    def image_limits(self) -> None:
        if len(self.images) > MAX_IMAGES:
            self.fault("messages", f"Too many images: {len(self.images)} > {MAX_IMAGES}")
        side_limit = 2000 if len(self.images) > MANY_IMAGES else 8000
        for where, block in self.images:
            source = block.get("source")
            if not isinstance(source, dict):
                self.fault(f"{where}.image.source", "Field required")
            elif source.get("type") == "base64":
                self._image(where, source, side_limit)

    def _image(self, where: str, source: dict[str, Any], side_limit: int) -> None:
        data, media = source.get("data"), source.get("media_type")
        base = f"{where}.image.source.base64"
        if media not in ("image/jpeg", "image/png", "image/gif", "image/webp"):
            self.fault(
                f"{base}.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            )
            return
        if not isinstance(data, str) or not data:
            self.fault(f"{base}.data", "Field required")
            return
        if len(data) > MAX_IMAGE_BYTES:
            self.fault(base, f"image exceeds 5 MB maximum: {len(data)} bytes > {MAX_IMAGE_BYTES} bytes")
            return
        size = _image_size(data)
        if size is None:
            self.fault(where, "Could not process image")
        elif max(size) > side_limit:
            many = " for many-image requests" if side_limit == 2000 else ""
            self.fault(
                f"{base}.data",
                f"At least one of the image dimensions exceed max allowed size{many}: {side_limit} pixels",
            )


def _image_size(data: str) -> tuple[int, int] | None:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as image:
            return int(image.size[0]), int(image.size[1])
    except (binascii.Error, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
