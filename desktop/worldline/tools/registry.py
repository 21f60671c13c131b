"""Which tools there are.

A new tool is one file and one test:

1. `tools/my_tool.py`: a `ToolInput` subclass (field descriptions are what the model reads; required fields without
   defaults) and a `BaseTool` subclass with `name`, `description`, `Input`, `access` and `run`. Add `aliases` for names
   that models use instead of yours, `parallel = True` if it only reads, and `prepare` if it touches paths, commands or
   addresses: it checks without effect and fills the `AccessRequest` that the policy decides about. Everything that can
   go wrong in the world is raised with `model.fail(...)`; any other exception counts as a defect of ours and ends the
   run.
2. Add the class to `TOOLS` below.
3. `tests/tools/test_my_tool.py`: run it through the pipeline (`tests/toolbench.py` has one ready), once where it
   works and once for each failure.
"""

from __future__ import annotations

from collections.abc import Iterable

from worldline.tools.ask_user import AskUser
from worldline.tools.base import BaseTool
from worldline.tools.bash import Bash, Processes
from worldline.tools.edit import Edit, MultiEdit
from worldline.tools.memory import Memory
from worldline.tools.model import Tool
from worldline.tools.plan import Plan
from worldline.tools.read import Read
from worldline.tools.request_access import RequestAccess
from worldline.tools.schema import legal_name
from worldline.tools.search import Glob, Grep, ListDir
from worldline.tools.task import Task
from worldline.tools.web_fetch import WebFetch
from worldline.tools.write import Write

TOOLS: tuple[type[BaseTool], ...] = (
    Read, Write, Edit, MultiEdit, Glob, Grep, ListDir, Bash, Processes, Plan, AskUser, WebFetch, Memory, Task,
    RequestAccess,
)  # fmt: skip


def default_tools(more: Iterable[Tool] = (), without: Iterable[str] = ()) -> dict[str, Tool]:
    """All tools by name, `more` (such as those of MCP servers) added. A name is never given twice."""
    left_out = set(without)
    tools: dict[str, Tool] = {}
    for tool in [cls() for cls in TOOLS] + list(more):
        name = legal_name(tool.name)
        if name in left_out:
            continue
        if name in tools:
            raise ValueError(f"two tools are named {name}")
        tools[name] = tool
    return tools
