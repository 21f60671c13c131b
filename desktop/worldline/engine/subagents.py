"""Sub-agents: a call of `task` runs a loop of its own in a side branch.

Where it works: in the *same* workspace, not in a worktree of its own. `task` never runs beside another call, so
nobody else writes meanwhile; the parent goes on with the files as they are then, without a merge that could fail; and
what was really changed is known all the same, because the files are captured before and after, and the difference of the
two states comes back beside the report. Each step of the sub-agent has its own state, so the person can go back to any
of them.

What it knows: the task it was given, the project's instructions and the grants of the branch. Nothing of the parent's
conversation, plan or known file versions; and nothing of what it learns becomes the parent's but the report and the
difference. What the person has denied stays denied.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from worldline.agent.conversation import conversation_bodies, last_words
from worldline.agent.deps import RunDeps, RunSettings
from worldline.agent.limits import Limits, Meter
from worldline.agent.side import SideJournal, SideLoop, SideWatcher
from worldline.agent.stops import RunEnd
from worldline.core.errors import SandboxError, SessionError, WorkspaceError
from worldline.core.kinds import NodeKind
from worldline.core.secrets import mask
from worldline.core.stop import StopReason
from worldline.engine.shared import Shared
from worldline.session.model import NodeDraft
from worldline.tools.model import TaskState
from worldline.tools.task import TaskReport
from worldline.workspace.model import NOT_CAPTURED

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace

logger = logging.getLogger(__name__)

ROLE = """\
# You are a sub-agent
Another agent gave you the task below; you see nothing of its conversation with the person. Do exactly this task, in \
the same workspace, and nothing beyond it. End with a short report: what you changed and where, what you checked, what is \
open. The files are compared before and after, so report what is true."""
DEFAULT_LIMITS = {"turns": 40, "tool_calls": 120}
_DIFF_BYTES = 400_000
"""More of a difference is not kept with the call: the states have it."""


@dataclass(slots=True)
class Parent:
    """What a sub-agent takes from the run that started it."""

    run: str
    settings: RunSettings
    deps: RunDeps
    meter: Meter
    task: TaskState


BuildSide = Callable[[SideJournal, RunSettings, RunDeps, Meter, TaskState, str], SideLoop]
"""(journal, settings, surroundings, meter, task state, addition to the system text) → a loop ready to run."""


class SubAgents:
    """The service behind `task` for one run."""

    def __init__(self, shared: Shared, parent: Parent, build: BuildSide) -> None:
        self._shared = shared
        self._parent = parent
        self._build = build
        self.outer_end: Callable[[], RunEnd | None] = lambda: None
        """What the run that starts them was asked to end with, if it was."""

    async def run(self, node: str, prompt: str, title: str, seconds: float) -> TaskReport:
        """Work on `prompt` for at most `seconds`. `node` is the call's node. Raises CancelledError after everything
        is settled; raises RuntimeError when a defect of ours ended it, SessionError when it could not be saved."""
        shared, parent = self._shared, self._parent
        prompt, _ = mask(prompt)  # as the call is stored; a task needs no secret of the conversation
        before = await self._state("before a task")
        journal = SideJournal(
            shared.doc, shared.emit, parent=self._reply_of(node), run=parent.run, branch=shared.branch
        )
        task = self._task_state()
        start = journal.append(
            NodeDraft(
                kind=NodeKind.USER,
                parent=journal.tip,
                message={"role": "user", "content": [{"type": "text", "text": prompt}]},
                detail={"text": prompt, "notes": [], "by_engine": True, "task_of": node, "title": title},
                preview=f"task: {title}",
                state=before,
                task_state=task.to_json(),
                search_text=prompt,
            )
        )
        meter = Meter(self._limits(seconds), shared.doc.usage_total(), parent.meter.clock)
        deps = replace(
            parent.deps,
            watcher=SideWatcher(parent.deps.watcher, title[:40]),
            deliveries=list,
            session_starts=False,
            prompt="",
            note="",
        )
        settings = replace(parent.settings, limits=meter.limits)
        loop = self._build(journal, settings, deps, meter, task, ROLE)
        loop.outer_end = self.outer_end
        end = await loop.run()
        parent.meter.add(meter.usage)
        shared.doc.add_record(
            "side_run",
            {
                "prompt": start.uid, "leaf": journal.tip, "title": title, "stop_reason": end.reason.value,
                "detail": end.detail, "usage": end.usage.model_dump(mode="json"),
            },
            node=node,
            run=parent.run,
        )  # fmt: skip
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            # The loop settles before it returns; who stopped it is told now.
            raise asyncio.CancelledError
        if end.reason is StopReason.INTERNAL_ERROR:
            raise RuntimeError(end.detail)
        if end.reason is StopReason.SANDBOX_ERROR:
            raise SandboxError(end.detail)
        if end.reason is StopReason.STORE_ERROR:
            raise SessionError(end.detail, "", kind="not_saved")
        files, diff = await self._changed(before)
        return TaskReport(
            report=last_words(conversation_bodies(shared.doc, journal.tip)),
            stop_reason=end.reason.value,
            detail=end.detail,
            diff=diff,
            files=files,
            node=journal.tip,
        )

    def _reply_of(self, node: str) -> str:
        """The reply that the call belongs to: the side branch begins there, beside the branch of the calls."""
        tree, doc = self._shared.doc.tree, self._shared.doc
        path = tree.path(doc.seq(node))
        return next((doc.uid(s) for s in reversed(path) if tree.kind(s) is NodeKind.ASSISTANT), node)

    def _task_state(self) -> TaskState:
        """A mind of its own; what the person granted to or denied this branch holds in it too."""
        state = self._parent.task
        denied = list(state.breaker.get("denied", []))
        return TaskState(
            grants=[dict(grant) for grant in state.grants], breaker={"denied": denied} if denied else {}
        )

    def _limits(self, seconds: float) -> Limits:
        """Its own, and never more than what the run that started it has left."""
        outer, used = self._parent.settings.limits, self._parent.meter.usage
        configured = self._shared.settings.get("sub_agents")
        limits = Limits.from_settings(
            {**DEFAULT_LIMITS, **(configured if isinstance(configured, dict) else {}), "seconds": seconds}
        )
        limits.session_tokens, limits.session_cost = outer.session_tokens, outer.session_cost
        if outer.tokens:
            left = max(1, outer.tokens - used.context_tokens - used.output_tokens)
            limits.tokens = min(limits.tokens or left, left)
        if outer.cost:
            money = max(1e-6, outer.cost - self._parent.meter.spent)
            limits.cost = min(limits.cost or money, money)
        return limits

    async def _state(self, label: str) -> str:
        shared = self._shared
        if shared.work is None:
            return ""
        result = await shared.work.capture(shared.good_state(shared.doc.cursor) or None, label)
        return result.state

    async def _changed(self, before: str) -> tuple[list[str], str]:
        """(paths, unified diff) of what is different on disk since `before`."""
        shared = self._shared
        if shared.work is None or before in ("", NOT_CAPTURED):
            return [], ""
        after = await self._state("after a task")
        if after == NOT_CAPTURED:
            return [], ""

        def compare(workspace: Workspace) -> tuple[list[str], str]:
            files = [change.path for change in workspace.changes(before, after)]
            return files, workspace.patch(before, after)[:_DIFF_BYTES] if files else ""

        try:
            return await shared.work.call(compare)
        except WorkspaceError as error:
            logger.warning("what a sub-agent changed could not be compared", exc_info=error)
            return [], ""


def services_for(agents: SubAgents, node: str) -> dict[str, Any]:
    """The service of one call: it knows the node it belongs to."""

    async def service(prompt: str, title: str, seconds: float) -> TaskReport:
        return await agents.run(node, prompt, title, seconds)

    return {"task": service}
