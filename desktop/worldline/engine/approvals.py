"""Calls that need the person's word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldline.core.access import AccessAnswer, AccessRequest, CommandRunner, Policy
from worldline.core.errors import ErrorClass, ToolError, WorldlineError
from worldline.engine.effects import EffectList
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import Approval
from worldline.tools.model import TaskState
from worldline.tools.process_table import ProcessTable


class Approvals:
    def __init__(self, shared: Shared, effects: EffectList, *, attended: bool, approve: str) -> None:
        self._shared = shared
        self._effects = effects
        self._attended = attended
        self._approve = approve
        self._mode = "ask"
        self.policy: Policy = self

    def begin_run(self, mode: str, task: TaskState) -> None:
        self._mode = mode

    @contextmanager
    def all_allowed(self) -> Iterator[None]:
        """While the demo plays its own script, nothing is asked."""
        before, self._approve = self._approve, "allow"
        try:
            yield
        finally:
            self._approve = before

    def describe(self) -> None:
        self._shared.status.set(sandbox="none")

    def open(self) -> list[Approval]:
        return []

    def waiting(self) -> bool:
        return False

    def runner(self, table: ProcessTable, node: str) -> CommandRunner:
        from worldline.tools.process import PlainRunner

        return PlainRunner(table)

    async def decide(self, request: AccessRequest) -> AccessAnswer:
        inside = all(self._inside(p) for p in request.writes)
        if request.access in ("read", "ask") or (
            request.access == "write" and inside and self._mode == "work"
        ):
            return AccessAnswer(why="mode")
        if self._mode == "plan":
            return AccessAnswer(error=self._denied("The mode is plan: nothing is changed."))
        if self._approve == "allow" or (request.access == "write" and inside):
            if request.access == "execute":
                self._effects.assume(request.node, request.command, "allowed on the command line")
            return AccessAnswer(why="allowed on the command line")
        return AccessAnswer(error=self._denied("Nobody is there to allow this."))

    def _inside(self, path: Path) -> bool:
        return path.is_relative_to(self._shared.root)

    def _denied(self, why: str) -> ToolError:
        return ToolError(
            error_class=ErrorClass.PERMISSION, type="permission_denied", message=why,
            next="Go on with what is allowed: reading and editing files of the workspace.",
        )  # fmt: skip

    def answer(self, p: c.AnswerApproval) -> None:
        raise WorldlineError(
            "This approval is not open any more.", "It was answered, or the run was stopped."
        )

    def test_rule(self, p: c.RuleTest) -> c.RuleVerdict:
        raise WorldlineError("Rules cannot be tried in this version.", kind="unavailable")
