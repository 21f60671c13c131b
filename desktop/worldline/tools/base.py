"""The usual answers of a tool, so that a new one only says what is special about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import ValidationError

from worldline.tools.arguments import pydantic_failure
from worldline.tools.model import Access, AccessRequest, ToolContext, ToolInput, ToolResult

PATH_ALIASES = {
    "file_path": "path",
    "filepath": "path",
    "file": "path",
    "filename": "path",
    "file_name": "path",
    "target_file": "path",
    "notebook_path": "path",
}


class BaseTool(ABC):
    """Subclass it, set the class variables, write `run`; override `prepare` for anything that is not a plain read."""

    name: str = ""
    description: str = ""
    Input: ClassVar[type[ToolInput]] = ToolInput
    access: Access = "read"
    parallel: bool = False
    aliases: dict[str, str] = {}
    retry_safe: bool = False
    polling: bool = False
    changes_files: bool = False

    def schema(self) -> dict[str, Any]:
        return self.Input.model_json_schema()

    def validate(self, value: dict[str, Any]) -> Any:
        try:
            return self.Input.model_validate(value)
        except ValidationError as error:
            raise pydantic_failure(error, self.name, self.schema()) from None

    def request(self, args: Any, ctx: ToolContext, **more: Any) -> AccessRequest:
        """An `AccessRequest` with everything filled in that does not depend on the tool."""
        return AccessRequest(
            call_id=ctx.call_id,
            tool=self.name,
            access=self.access,
            input=args.model_dump(exclude_none=True) if isinstance(args, ToolInput) else dict(args),
            root=ctx.root,
            read_roots=ctx.read_roots,
            grants=ctx.state.grants,
            node=ctx.node,
            **more,
        )

    def prepare(self, args: Any, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=self.name)

    @abstractmethod
    async def run(self, args: Any, ctx: ToolContext) -> ToolResult:
        """Do it, with checked arguments, once it is allowed."""


def text(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}]
