"""The usual answers of a tool, so that a new one only says what is special about it."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, TypeVar

from pydantic import ValidationError

from worldline.tools.arguments import pydantic_failure
from worldline.tools.model import Access, AccessRequest, ToolContext, ToolInput, ToolResult

P = ParamSpec("P")
T = TypeVar("T")

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


async def to_the_end(function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Run something that writes on a thread. Cancelled, it is waited for before that passes on: a thread cannot be
    stopped, and nothing may be written behind the back of what follows a stop."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **more))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


def text(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}]
