"""request_access: ask the person for one opening in the sandbox."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from worldline.core.errors import ErrorClass
from worldline.tools.base import BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import locate


class RequestAccessInput(ToolInput):
    kind: Literal["write", "read", "net", "socket", "unsandboxed"] = Field(
        description="write or read a path outside the workspace; net: a host; socket: a unix socket; "
        "unsandboxed: one command without the sandbox."
    )
    target: str = Field(description="The path, host:port, socket, or the exact command.", min_length=1)
    why: str = Field(description="What it is needed for, for the person who decides.", min_length=1)


class RequestAccess(BaseTool):
    name = "request_access"
    description = (
        "Ask the person to permit something that the sandbox or the policy refused. Ask for exactly one thing, with the "
        "reason. After it is granted, repeat the call that was refused."
    )
    Input = RequestAccessInput
    access = "ask"
    aliases = {"reason": "why", "path": "target", "host": "target", "type": "kind"}

    def prepare(self, args: RequestAccessInput, ctx: ToolContext) -> AccessRequest:
        target = args.target
        if args.kind in ("write", "read", "socket"):
            place = locate(ctx, target)
            if args.kind == "write" and place.inside:
                raise fail(
                    ErrorClass.USER,
                    "not_needed",
                    "That is inside the workspace and needs no access.",
                    next_="Use the write, edit or bash tool.",
                )
            target = str(place.real)
        request = self.request(args, ctx, summary=f"access: {args.kind} {args.target[:80]}")
        request.target = f"{args.kind}:{target}"
        request.agent_says = args.why
        return request

    async def run(self, args: RequestAccessInput, ctx: ToolContext) -> ToolResult:
        return ToolResult(
            content=text(
                f"Granted: {args.kind} {args.target}. Repeat the call that was refused; nothing was run again."
            ),
            summary="granted",
            detail={"kind": args.kind, "target": args.target},
        )
