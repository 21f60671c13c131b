"""Which MCP servers the person or the project has configured.

`{"name": {"command": "…", "args": […], "env": {…}}}` or `{"name": {"url": "https://…"}}`, also below `mcpServers`. A
server of a *project* runs code that came with the files: `ServerConfig.needs_approval` is set and the engine asks before
it starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

_ACCESS = re.compile(r"(?:Net|Write|Read|Socket)\([^()]+\)")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    name: str
    where: Literal["user", "project"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    url: str = ""
    confined: bool | None = None
    """Whether it runs in the sandbox of the session; None = as it is usual for where it comes from."""
    access: tuple[str, ...] = ()
    """What is opened for it there: rules like `Net(api.example.org:443)` or `Write(~/notes)`."""

    @property
    def wants_walls(self) -> bool:
        """One that came with the files of a project runs as confined as the agent's commands. One that the person chose
        is a program like any other of theirs, unless its entry says otherwise."""
        if self.url:
            return False
        return self.confined if self.confined is not None else self.where == "project" or bool(self.access)

    @property
    def needs_approval(self) -> bool:
        return self.where == "project"

    @property
    def shown(self) -> str:
        """For the dialog: exactly what would be started or contacted."""
        return self.url or " ".join([self.command, *self.args])


def parse_servers(config: Any, where: Literal["user", "project"]) -> tuple[list[ServerConfig], list[str]]:
    """Servers of a configuration, and what was wrong in it."""
    servers: list[ServerConfig] = []
    problems: list[str] = []
    if config is None:
        return servers, problems
    if isinstance(config, dict) and isinstance(config.get("mcpServers"), dict):
        config = config["mcpServers"]
    if not isinstance(config, dict):
        return servers, [f"MCP servers ({where}): must be an object of servers by name"]
    for name, entry in config.items():
        problem = ""
        command, url = (
            (entry.get("command", ""), entry.get("url", "")) if isinstance(entry, dict) else ("", "")
        )
        args, env = (entry.get("args", []), entry.get("env", {})) if isinstance(entry, dict) else ([], {})
        confined, access = (
            (entry.get("confined"), entry.get("access", [])) if isinstance(entry, dict) else (None, [])
        )
        if not isinstance(command, str) or not isinstance(url, str) or bool(command) == bool(url):
            problem = "needs either a command or a url"
        elif url and not url.startswith(("http://", "https://")):
            problem = "the url must begin with http:// or https://"
        elif not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            problem = "args must be a list of texts"
        elif not isinstance(confined, bool | None):
            problem = "confined must be true or false"
        elif not isinstance(access, list) or not all(
            isinstance(rule, str) and _ACCESS.fullmatch(rule) for rule in access
        ):
            problem = (
                "access must be a list of rules like Net(host:443), Write(path), Read(path) or Socket(path)"
            )
        elif not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            problem = "env must be an object of texts"
        if problem:
            problems.append(f"MCP server {name!r} ({where}): {problem}; it is left out")
            continue
        servers.append(
            ServerConfig(str(name), where, command, tuple(args), dict(env), url, confined, tuple(access))
        )
    return servers, problems
