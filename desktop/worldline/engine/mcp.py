"""MCP servers of one session: which there are, which may be started, what they offer on a branch.

Servers come from the person's settings (`mcpServers`) and from the project (`.worldline/settings.json`, `.mcp.json`).
One of the project runs code that came with the files: it is asked about before it starts, unless the person has marked
the project as trusted, and runs in the sandbox of the session unless its entry says `"confined": false`. One of the
person is a program like any other that they chose: it is confined where its entry says `"confined": true` or names what
is opened for it (`access`), and else the status of the sandbox names it as not confined. Nothing here ends a session: whatever a server does is a diagnostic, and the work goes on
without it.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from worldline.agent.confined_server import ConfinedServer
from worldline.agent.journal import Journal
from worldline.core.access import Access, AccessRequest
from worldline.core.errors import BadInput, ErrorClass
from worldline.engine.approvals import Approvals
from worldline.engine.frozen import freeze_tools
from worldline.engine.settings import project_file, read_file
from worldline.engine.shared import Shared
from worldline.policy.approvals import digest_of
from worldline.policy.openings import grants_of
from worldline.tools.arguments import check_schema
from worldline.tools.base import BaseTool
from worldline.tools.mcp_client import McpServer, McpTool
from worldline.tools.mcp_config import ServerConfig, parse_servers
from worldline.tools.model import AccessRequest as ToolAccess
from worldline.tools.model import ToolContext, ToolResult, fail
from worldline.tools.registry import TOOLS
from worldline.tools.schema import legal_name, schema_problem


class OfferedTool(BaseTool):
    """A tool as the branch was told about it, whether its server is there or not."""

    access: Access = "execute"

    def __init__(self, entry: dict[str, Any], live: McpTool | None) -> None:
        self.name = str(entry["name"])
        self.description = str(entry["description"])
        self._server = str(entry["server"])
        self._tool = str(entry["tool"])
        self._schema = dict(entry["schema"])
        self._live = live

    def schema(self) -> dict[str, Any]:
        return self._schema

    def validate(self, value: dict[str, Any]) -> Any:
        check_schema(value, self._schema, self.name)
        return value

    def prepare(self, args: Any, ctx: ToolContext) -> ToolAccess:
        if self._live is None:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "server_gone",
                f"The MCP server {self._server} is not running.",
                next_="Work without it, or tell the person.",
            )
        return self.request(args, ctx, summary=f"{self._tool} of {self._server}")

    async def run(self, args: Any, ctx: ToolContext) -> ToolResult:
        assert self._live is not None
        return await self._live.run(args, ctx)


class McpDesk:
    """Started with the first run that could use them, ended with the session. Used on the loop only."""

    def __init__(self, shared: Shared, approvals: Approvals) -> None:
        self._shared = shared
        self._approvals = approvals
        self._servers: dict[ServerConfigKey, McpServer] = {}
        self._settled: set[ServerConfigKey] = set()
        """Denied, or failed: not tried again until the configuration changes or the session is opened again."""
        self._told: set[str] = set()

    async def tools(self, journal: Journal) -> list[OfferedTool]:
        """The tools from outside for a run at the cursor. Cancelling ends what was about to start."""
        configs = self._configs(journal)
        wanted = {key_of(config): config for config in configs}
        for key in [key for key in self._servers if key not in wanted]:
            await self._servers.pop(key).stop()
            self._say_outside()
        new = [c for k, c in wanted.items() if k not in self._servers and k not in self._settled]
        await self._start([c for c in new if await self._may_start(c, journal)], journal)
        live: dict[str, McpTool] = {}
        offered: list[dict[str, Any]] = []
        taken = {legal_name(tool.name) for tool in TOOLS}
        for server in self._servers.values():
            for tool in server.tools:
                if why := schema_problem(tool.schema()):
                    # The API refuses a request with it, and with that every request of this session.
                    self._tell(journal, f"The tool {tool.name} is left out: {why}.")
                    continue
                if tool.name in taken:
                    self._tell(
                        journal,
                        f"Two tools are named {tool.name}; the one of {server.config.name} is left out.",
                    )
                    continue
                taken.add(tool.name)
                live[tool.name] = tool
                offered.append(
                    {
                        "name": tool.name, "server": server.config.name, "tool": tool.remote_name,
                        "description": tool.description, "schema": tool.schema(),
                    }
                )  # fmt: skip
        tools, joined = freeze_tools(self._shared, offered)
        if joined:
            self._tell(journal, f"New tools joined this branch: {', '.join(joined)}.")
        return [OfferedTool(entry, live.get(entry["name"])) for entry in tools]

    async def close(self) -> None:
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.stop() for server in servers), return_exceptions=True)

    # -- which there are --------------------------------------------------------------------------------------------

    def _configs(self, journal: Journal) -> list[ServerConfig]:
        """The person's come first: a project cannot put another server in their place."""
        found, problems = parse_servers(self._shared.settings.get("mcpServers"), "user")
        names = {config.name for config in found}
        for path in (project_file(self._shared.root), self._shared.root / ".mcp.json"):
            try:
                values = _inside(path, self._shared.root)
            except BadInput as error:
                problems.append(f"MCP servers (project): {error}")
                continue
            configs, wrong = parse_servers(values.get("mcpServers"), "project")
            problems += wrong
            for config in configs:
                if config.name in names:
                    continue
                names.add(config.name)
                found.append(config)
        for problem in problems:
            self._tell(journal, problem)
        return found

    def _tell(self, journal: Journal, sentence: str) -> None:
        """Once for a session: the configuration is looked at again with every run."""
        if sentence not in self._told:
            self._told.add(sentence)
            journal.diagnose("mcp", sentence, node=journal.tip)

    def _tell_now(self, sentence: str) -> None:
        """What happens to a server while it is used, each time."""
        self._shared.journal().diagnose("mcp", sentence, node=self._shared.doc.cursor)

    # -- starting ---------------------------------------------------------------------------------------------------

    async def _may_start(self, config: ServerConfig, journal: Journal) -> bool:
        settings = self._shared.settings
        if not config.needs_approval or settings.for_folder(self._shared.info.root).get("trusted") is True:
            return True
        value: dict[str, Any] = (
            {"url": config.url}
            if config.url
            else {"command": config.command, "args": list(config.args), "env": dict(config.env)}
        )
        await self._approvals.ready()
        if not config.url and not self._confines(config):
            value["confined"] = False
        elif config.access:
            value["access"] = list(config.access)
        mark = digest_of(config.name, value)[:10]
        answer = await self._approvals.policy.decide(
            AccessRequest(
                call_id="", tool=legal_name(f"mcp_server_{config.name}_{mark}"), access="execute",
                input={"name": config.name, **value}, root=self._shared.root, target=f"mcp:{config.shown}",
                summary=f"start the MCP server {config.name} of this project",
                agent_says=f"The project asks for the MCP server {config.name!r}. {self._how(config)}",
            )
        )  # fmt: skip
        if answer.error is None and answer.edited_input is None:
            return True
        if answer.by_person:
            self._settled.add(key_of(config))
        why = (
            answer.error.message
            if answer.error
            else "Change it in its file: what was edited here is not started."
        )
        self._tell(journal, f"The MCP server {config.name!r} of this project was not started: {why}")
        return False

    def _confines(self, config: ServerConfig) -> bool:
        return config.wants_walls and self._approvals.gate.sandbox != "none"

    def _how(self, config: ServerConfig) -> str:
        """How far it is confined, for the person who decides about it."""
        if config.url:
            return "It runs elsewhere: what is sent to it cannot be taken back."
        if not self._confines(config):
            return "It is NOT confined: everything you may do, it may do."
        opened = f"Open to it beside that: {', '.join(config.access)}." if config.access else ""
        return f"It is confined like the commands of the agent: hosts are asked about when it wants one. {opened}".rstrip()

    def _walls(self, config: ServerConfig, journal: Journal) -> ConfinedServer | None:
        if not self._confines(config):
            return None
        desk = self._approvals.sandbox

        async def ask_host(host: str, port: int, method: str, command: str) -> str:
            return await desk.ask_host(host, port, method, command, "", [])

        argv = [config.command, *config.args]
        grants = grants_of(config.access, "", self._shared.root)
        return ConfinedServer(config.name, argv, config.env, desk.place(), grants, ask_host, journal.tip)

    async def _start(self, configs: list[ServerConfig], journal: Journal) -> None:
        if not configs:
            return
        self._shared.status.set(sentence=f"Starting {', '.join(c.name for c in configs)}.")
        await self._approvals.ready()
        servers = [McpServer(c, self._shared.root, self._walls(c, journal), self._tell_now) for c in configs]
        try:
            await asyncio.gather(*(server.start() for server in servers))
        except BaseException:
            await asyncio.gather(*(server.stop() for server in servers), return_exceptions=True)
            raise
        for server in servers:
            key = key_of(server.config)
            if server.problem:
                self._settled.add(key)
                self._tell(journal, f"MCP server {server.config.name!r} {server.problem}")
            else:
                self._servers[key] = server
        self._say_outside()

    def _say_outside(self) -> None:
        """Whoever asks how far the agent is confined is told which programs beside its commands are not."""
        outside = [s.config.name for s in self._servers.values() if not (s.config.url or s.confined)]
        self._approvals.say_outside(outside)


ServerConfigKey = str


def key_of(config: ServerConfig) -> ServerConfigKey:
    return json.dumps(
        [
            config.name,
            config.where,
            config.command,
            config.args,
            sorted(config.env.items()),
            config.url,
            config.confined,
            config.access,
        ]
    )


def _inside(path: Path, root: Path) -> dict[str, Any]:
    """Values of a file of the project; a link that leads out of it counts as no file."""
    if path.exists() and not path.resolve().is_relative_to(root.resolve()):
        raise BadInput(f"{path.name} leads out of the project.", "Put a real file there.")
    return read_file(path)
