"""Tools of MCP servers (stdio and HTTP). The package is imported in a thread when the first server starts, not before.

A server that dies is started again when it is used next: after a rest that grows with each time, and not for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import IO, Any, Protocol

from worldline.core.errors import ErrorClass, ToolError
from worldline.tools.arguments import check_schema
from worldline.tools.base import BaseTool, text
from worldline.tools.mcp_config import ServerConfig
from worldline.tools.model import AccessRequest, ToolContext, ToolResult, fail
from worldline.tools.process import clean_env
from worldline.tools.schema import legal_name

START_S = 30.0
CALL_S = 300.0
NAME_CHARS = 64
DESCRIPTION_CHARS = 2_000
RESTS_S = (0.0, 1.0, 5.0, 30.0, 120.0)
"""Rest before a server that died is started again: the first time, the second, … After the last it stays as it is."""
STEADY_S = 120.0
"""One that lived so long begins to count from the first again."""
_CONNECTION_CLOSED = -32000
_WAITED_S = 2.0
"""A rest that a call sits out; for a longer one the model gets its turn back."""


class Walls(Protocol):
    """What runs a server in a sandbox (`agent.confined_server`)."""

    def open(self) -> AbstractAsyncContextManager[tuple[Any, Any]]: ...

    def denied(self) -> list[str]: ...


class McpServer:
    """One connection. `start`, `call` and `stop` on the engine's loop; none raises but ToolFailure and cancellation."""

    def __init__(
        self,
        config: ServerConfig,
        root: Path,
        walls: Walls | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`tell`: a sentence for the person about what became of it."""
        self.config = config
        self._root = root
        self._walls = walls
        self._tell = tell
        self._dead = False
        """It was there and died; nobody has ended it."""
        self._deaths = 0
        """In a row."""
        self._since = 0.0
        """When it was started or, when it is dead, died."""
        self._turn = asyncio.Lock()
        self.clock: Callable[[], float] = time.monotonic
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.problem = ""
        """Why it cannot be used, for the person."""
        self.tools: list[McpTool] = []

    async def start(self, timeout_s: float = START_S) -> list[McpTool]:
        """Connect and list the tools. On failure there are none, and `problem` says why."""
        ready = asyncio.Event()
        self._stop.clear()
        self.problem = ""
        self._task = asyncio.create_task(self._serve(ready), name=f"mcp {self.config.name}")
        try:
            async with asyncio.timeout(timeout_s):
                await ready.wait()
        except TimeoutError:
            self.problem = f"did not answer within {timeout_s:g} s"
            await self._end()
        return self.tools

    async def _serve(self, ready: asyncio.Event) -> None:
        try:
            mcp = await asyncio.to_thread(importlib.import_module, "mcp")
            with _nowhere() as nowhere:
                async with mcp.Client(self._target(mcp, nowhere)) as client:
                    self.tools = [McpTool(self, tool) for tool in await _all_tools(client)]
                    self._client = client
                    self._since = self.clock()
                    ready.set()
                    await self._stop.wait()
        except Exception as error:  # noqa: BLE001  # whatever a foreign server does, it is not a defect of ours
            refused = await self.denied()
            because = f"; refused by the sandbox: {', '.join(refused[:5])}" if refused else ""
            self.problem = self.problem or f"could not be used: {_reason(error)}{because}"
        finally:
            if self._client is not None and not self._stop.is_set():
                self._died(self._client)
            self._client = None
            ready.set()

    def _target(self, mcp: Any, nowhere: Any) -> Any:
        config = self.config
        if config.url:
            return config.url
        if self._walls is not None:
            return self._walls.open()
        parameters = mcp.StdioServerParameters(
            command=config.command,
            args=list(config.args),
            env={**clean_env(), **config.env},
            cwd=str(self._root),
        )
        return mcp.stdio_client(parameters, errlog=nowhere)

    async def call(self, tool: str, value: dict[str, Any], timeout_s: float = CALL_S) -> Any:
        """The server's result. Raises ToolFailure when there is none. One that died is started again first."""
        if self._dead:
            async with self._turn:
                await self._again()
        client = self._client
        if client is None:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "server_gone",
                f"The MCP server {self.config.name} is not running: {self.problem or 'it was stopped'}.",
                next_="Work without it, or tell the person.",
            )
        try:
            async with asyncio.timeout(timeout_s):
                return await client.call_tool(tool, value)
        except TimeoutError:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "timeout",
                f"The MCP server {self.config.name} did not answer within {timeout_s:g} s.",
                next_="Ask for less at once, or work without it.",
            ) from None
        except Exception as error:  # as above: the failure of a foreign program
            if _is_closed(error):
                self._died(client)
                raise fail(
                    ErrorClass.ENVIRONMENT,
                    "server_died",
                    f"The MCP server {self.config.name} ended before it answered. What the call did by then is not known.",
                    hint="It is started again when it is used next." if self._deaths <= len(RESTS_S) else "",
                    next_="Check what is there before you call it again; if it ends again, work without it.",
                ) from error
            raise fail(
                ErrorClass.ENVIRONMENT,
                "mcp_error",
                f"The MCP server {self.config.name} failed: {_reason(error)}",
                next_="Check the arguments; if they are right, work without this tool.",
            ) from error

    def _died(self, client: Any) -> None:
        if self._dead or client is not self._client:
            return  # another call has seen it
        now = self.clock()
        self._deaths = 1 if now - self._since >= STEADY_S else self._deaths + 1
        self._dead, self._since = True, now
        end = "" if self._deaths <= len(RESTS_S) else " It is not started again in this session."
        self._tell(f"MCP server {self.config.name!r} ended by itself.{end}")

    async def _again(self) -> None:
        """Start what died, if it has rested. Raises ToolFailure when it is not there afterwards."""
        if not self._dead:
            return
        name = self.config.name
        if self._deaths > len(RESTS_S):
            raise fail(
                ErrorClass.ENVIRONMENT,
                "server_gone",
                f"The MCP server {name} ended {self._deaths} times in a row and is not started again.",
                next_="Work without it, or tell the person.",
            )
        rest = RESTS_S[self._deaths - 1] - (self.clock() - self._since)
        if rest > _WAITED_S:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "server_resting",
                f"The MCP server {name} ended {self._deaths} times in a row. It may be started again in {rest:.0f} s.",
                next_="Go on with something else, and call it after that; or work without it.",
            )
        await asyncio.sleep(max(0.0, rest))
        await self._end()
        await self.start()
        if self.problem:
            self._deaths += 1
            self._since = self.clock()
            self._tell(f"MCP server {name!r} could not be started again: {self.problem}")
            raise fail(
                ErrorClass.ENVIRONMENT,
                "server_gone",
                f"The MCP server {name} ended, and could not be started again: {self.problem}.",
                next_="Work without it, or tell the person.",
            )
        self._dead = False
        self._tell(f"MCP server {name!r} was started again.")

    @property
    def confined(self) -> bool:
        return self._walls is not None

    async def denied(self) -> list[str]:
        """What the sandbox refused it since the last time, in words."""
        return await asyncio.to_thread(self._walls.denied) if self._walls is not None else []

    async def stop(self) -> None:
        """For good."""
        self._dead = False
        await self._end()

    async def _end(self) -> None:
        self._stop.set()
        if self._task is None:
            return
        task, self._task = self._task, None
        done, _ = await asyncio.wait({task}, timeout=5)
        if not done:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _is_closed(error: BaseException) -> bool:
    """The other end of the connection is gone: nothing said to it now can arrive."""
    closed = (
        "ClosedResourceError", "BrokenResourceError", "EndOfStream", "BrokenPipeError", "ConnectionResetError",
        "ConnectError", "ReadError", "WriteError", "RemoteProtocolError",
    )  # fmt: skip
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return type(error).__name__ in closed or (
        getattr(error, "code", None) == _CONNECTION_CLOSED and "closed" in str(error).lower()
    )


def _nowhere() -> IO[str]:
    """Takes the error output of servers: it is theirs, and there is no terminal to show it in."""
    return Path(os.devnull).open("w", encoding="utf-8")


async def _all_tools(client: Any) -> list[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(50):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def _reason(error: BaseException) -> str:
    """One line of what went wrong, through the groups that the transport wraps it in."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    said = " ".join(str(error).split())[:300]
    return f"{said} ({type(error).__name__})" if said else type(error).__name__


class McpTool(BaseTool):
    """A tool of a server. Its description comes from outside: it is shown to the model as the server's words."""

    access = "execute"

    def __init__(self, server: McpServer, tool: Any) -> None:
        self._server = server
        self.remote_name = str(tool.name)
        self.name = legal_name(f"{server.config.name}__{tool.name}")[:NAME_CHARS]
        said = str(tool.description or tool.title or "")[:DESCRIPTION_CHARS]
        self.description = f"[from the MCP server {server.config.name}] {said}".strip()
        schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
        self._schema: dict[str, Any] = {"type": "object", "properties": {}, **schema}

    def schema(self) -> dict[str, Any]:
        return self._schema

    def validate(self, value: dict[str, Any]) -> Any:
        check_schema(value, self._schema, self.name)
        return value

    def prepare(self, args: Any, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=f"{self.remote_name} of {self._server.config.name}")

    async def run(self, args: Any, ctx: ToolContext) -> ToolResult:
        result = await self._server.call(self.remote_name, args)
        content: list[dict[str, Any]] = []
        for part in result.content:
            kind = getattr(part, "type", "")
            if kind == "text":
                content += text(part.text)
            elif kind == "image" and part.mime_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
                content.append({"type": "image", "source": source})
            elif kind == "resource" and getattr(part.resource, "text", None) is not None:
                content += text(f"[{part.resource.uri}]\n{part.resource.text}")
            else:
                content += text(f"[{kind or 'unknown'} content that cannot be shown here]")
        if not content and result.structured_content is not None:
            content += text(str(result.structured_content))
        error = None
        if result.is_error:
            said = " ".join(part["text"] for part in content if part["type"] == "text")[:1000]
            error = ToolError(
                error_class=ErrorClass.ENVIRONMENT,
                type="mcp_error",
                message=said or "The server reports an error without saying which.",
                next="Correct the arguments, or reach the goal without this tool.",
            )
            content = []
        refused = await self._server.denied()
        if refused and error is not None:
            error = error.model_copy(update=_refused(self._server.config.name, refused, error.message))
        return ToolResult(content=content, error=error, summary="error" if error else "ok")


def _refused(name: str, refused: list[str], said: str) -> dict[str, Any]:
    named = ", ".join(refused[:5])
    return {
        "error_class": ErrorClass.PERMISSION,
        "type": "sandbox_denied",
        "message": f"Blocked by the sandbox: {named}. {said}",
        "hint": f"The MCP server {name} is confined. This is policy, not a fault of it or of the network.",
        "next": f"Work without it, or tell the person: `access` in the entry of {name} can open this.",
    }
