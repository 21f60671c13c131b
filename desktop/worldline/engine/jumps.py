"""Going to a node: stop, save what is there, put the files back, fork, move the cursor."""

from __future__ import annotations

import asyncio
import os
import secrets
from typing import TYPE_CHECKING, Any, Literal

from worldline.agent.stops import RunEnd
from worldline.context.branch_summary import BranchSummary
from worldline.core.background import while_ran
from worldline.core.errors import BadInput, WorkspaceError
from worldline.core.kinds import NodeFlag
from worldline.core.stop import StopReason
from worldline.engine.branch_summaries import BranchSummaries
from worldline.engine.branches import drop_empty, next_branch, short
from worldline.engine.disk_node import save_disk
from worldline.engine.effects import EffectList, still_there
from worldline.engine.home import OWN, home_record
from worldline.engine.jump_commit import announce_jump, commit_jump
from worldline.engine.jump_target import Target, others_before, target_of
from worldline.engine.models import ModelDesk
from worldline.engine.runs import Runs
from worldline.engine.shared import Shared
from worldline.engine.views import lossy_note
from worldline.policy.sandbox.places import branch_of
from worldline.protocol.commands import Jump, JumpAnswer, JumpPlanFor
from worldline.protocol.model import JumpPlan, JumpResult, PlanEntry
from worldline.tools.process_table import ProcessTable
from worldline.workspace.model import NOT_CAPTURED, PlanItem, RestorePlan, RestoreReport

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace

_PUT_BACK = frozenset({"create", "overwrite", "delete", "chmod"})


class Jumps:
    def __init__(
        self, shared: Shared, runs: Runs, effects: EffectList, processes: ProcessTable, models: ModelDesk
    ) -> None:
        self._shared = shared
        self._models = models
        self.summaries = BranchSummaries(shared, models)
        self._runs = runs
        self._effects = effects
        self._processes = processes
        self._kept: dict[str, tuple[str, str]] = {}
        """Plan id → what the attempt that is to be left has taught, and the branch that the person returns to: kept until
        the plan was seen."""
        self._shown: dict[str, tuple[str, str]] = {}
        """Plan id → (node, token of the disk contents it was made for)."""

    # -- commands ---------------------------------------------------------------------------------------------------

    async def plan(self, command: JumpPlanFor) -> JumpPlan:
        """What a jump would do. Changes nothing on disk and nothing in the tree."""
        target = target_of(self._shared, command.node)
        plan = await self._plan(target, dict(command.choices), command.default_choice)
        return self._show(target, plan)

    async def jump(self, command: Jump, *, lesson: str = "", home: str = "", at: str = "") -> JumpAnswer:
        """Go there, or return the plan that the person must see first. A run that goes on is stopped before. `home`: an
        existing branch to go on with, in place of a fork. `at`: where the session must still be, for what the person did not
        ask for; raises BadInput (kind `elsewhere`), and then nothing is stopped."""
        shared = self._shared
        shared.writable()
        kept_lesson, kept_home = self._kept.get(command.plan, ("", ""))
        lesson, home = lesson or kept_lesson, home or kept_home
        target_of(shared, command.node)  # refused before anything is stopped
        async with shared.turnstile:
            if at and shared.doc.cursor != at:
                raise BadInput("You have gone on elsewhere meanwhile.", "", kind="elsewhere")
            # Looked at in here: a message that was on its way has become a run by now.
            if self._runs.busy:
                await self._runs.stop_and_settle(
                    RunEnd(StopReason.ABORTED, "You went to another node.", offers=["retry"])
                )
            target = target_of(shared, command.node)
            shared.status.set(state="jumping", sentence="Putting the files back.")
            try:
                if command.plan and command.processes == "stop":
                    # The person has seen what runs. It ends before the files are looked at: it may still write.
                    await self._processes.stop_all()
                plan = await self._plan(target, dict(command.choices), command.default_choice)
                if self._must_show(command, target, plan):
                    shown = self._show(target, plan)
                    if lesson or home:
                        self._kept[shown.id] = (lesson, home)
                    return JumpAnswer(plan=shown)
                # Before anything is touched: when it is cancelled, nothing has changed.
                summary = await self.summaries.summarise(target.cursor, command.summary)
                shared.status.set(state="jumping", sentence="Putting the files back.")
                return JumpAnswer(result=await self._go(target, plan, command, lesson, summary, home))
            finally:
                shared.status.set(state="ready", sentence="")
                self._effects.count()

    def last_trusted(self, prompt: str) -> str:
        """The newest node below `prompt` whose checks passed, else the prompt."""
        doc = self._shared.doc
        top = doc.seq(prompt)
        path = [seq for seq in doc.tree.path(doc.seq(doc.cursor)) if seq > top]
        good = [seq for seq in path if doc.tree.flags(seq) & NodeFlag.CHECKS_PASSED]
        return doc.uid(good[-1]) if good else prompt

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _plan(self, target: Target, choices: dict[str, str], default: str) -> RestorePlan | None:
        """None: there are no files to put back."""
        shared = self._shared
        seen = await shared.meanwhile.look()  # also for what asks about processes below
        if shared.work is None or target.state in ("", NOT_CAPTURED):
            return None
        last = shared.good_state(shared.doc.cursor)
        others = others_before(shared, target)
        state = target.state
        choice: Literal["keep", "restore"] = "restore" if default == "restore" else "keep"

        def plan(workspace: Workspace) -> RestorePlan:
            from worldline.workspace.whose import changed_paths

            mine: set[str] = set()
            unsure: dict[str, str] = {}
            for one in others:
                paths = changed_paths(workspace.store, one.steps).union(one.paths)
                if one.commands:
                    unsure.update(dict.fromkeys(paths, while_ran(one.commands)))
                else:
                    mine |= paths
            unsure = {path: words for path, words in unsure.items() if path not in mine}
            return workspace.plan(
                state, last=last, users=mine | unsure.keys(), choices=choices, default_choice=choice,
                unsure=unsure, meanwhile=while_ran(seen.commands) if seen.commands else "",
            )  # fmt: skip

        return await shared.work.call(plan)

    def _must_show(self, command: Jump, target: Target, plan: RestorePlan | None) -> bool:
        if command.plan:
            seen = self._shown.get(command.plan)
            return seen is None or seen != (target.node, plan.token if plan else "")
        return self._asks(plan)

    def _asks(self, plan: RestorePlan | None) -> bool:
        """Whether the jump would touch something that is not the agent's, or something cannot follow."""
        if self._processes.running(look=False):
            return True
        return plan is not None and any(i.choice or i.action == "conflict" for i in plan.items)

    def _show(self, target: Target, plan: RestorePlan | None) -> JumpPlan:
        items = plan.items if plan else []
        here, elsewhere = self._effects.split(target.cursor)
        before, _ = self._effects.split(self._shared.doc.cursor)
        known = {e.id for e in here}
        plan_id = secrets.token_hex(8)
        self._shown[plan_id] = (target.node, plan.token if plan else "")
        while len(self._shown) > 20:
            oldest = next(iter(self._shown))
            del self._shown[oldest]
            self._kept.pop(oldest, None)
        return JumpPlan(
            id=plan_id,
            node=target.node,
            entries=[entry(i) for i in items],
            files_back=sum(i.action in _PUT_BACK for i in items),
            stays=sum(i.action in ("keep_mine", "keep_foreign") for i in items),
            not_captured=sum(i.action == "not_captured" for i in items),
            effects_left=[e for e in before if e.id not in known and still_there(e)],
            effects_unknown_there=[e for e in elsewhere if still_there(e)],
            processes=self._processes.running(look=False),
            lossy=lossy_note(self._shared.doc, target.cursor, self._models.window()),
            needs_confirmation=self._asks(plan),
            composer_text=target.composer_text,
            note=" ".join(t for t in (target.note, *(plan.notes if plan else ())) if t),
        )

    async def _go(
        self, target: Target, plan: RestorePlan | None, command: Jump, lesson: str, summary: BranchSummary,
        home: str = "",
    ) -> JumpResult:  # fmt: skip
        shared = self._shared
        doc = shared.doc
        left = doc.cursor
        left_branch = shared.branch
        nothing_to_do = plan is None or not any(i.action in _PUT_BACK for i in plan.items)
        stays = target.cursor == left and nothing_to_do and not lesson and not home
        if stays and summary.draft is None:
            return JumpResult(
                node=target.node, cursor=left, branch=short(left_branch), verified=0, of=0,
                composer_text=target.composer_text, note=target.note or "You are there already.",
            )  # fmt: skip
        safety = await self._keep_safe(plan)
        forks = command.fork and not home and plan is not None and (plan.branch_from or plan.unborn)
        name = next_branch(shared) if forks else ""
        facts: dict[str, Any] = {
            "from": left, "node": target.node, "cursor": target.cursor, "target": target.state, "safety": safety,
            "lesson": lesson, "commit": plan.branch_from if plan is not None else "", "summary": summary.draft,
            "home": await self._home(plan, safety or left), "returned": bool(home),
            "commands": [
                *shared.meanwhile.now().commands,
                *(line for others in others_before(shared, target) for line in others.commands),
            ],
        }  # fmt: skip
        report = RestoreReport(done=True, items=[])
        if plan is None:
            commit_jump(shared, facts, report)
        else:
            report = await self._restore(plan, name, facts, home)
        announce_jump(shared)
        stayed = await drop_empty(shared, left_branch)
        here, _ = self._effects.split(doc.cursor)
        known = {e.id for e in here}
        return JumpResult(
            node=target.node,
            cursor=doc.cursor,
            branch=short(shared.branch),
            verified=report.verified,
            of=report.of,
            entries=[entry(i) for i in report.items],
            effects_left=[e for e in self._effects.all() if e.id not in known and still_there(e)],
            safety_node=safety,
            composer_text=target.composer_text,
            note=" ".join(t for t in (target.note, report.note, summary.note, stayed) if t),
        )

    async def _home(self, plan: RestorePlan | None, node: str) -> dict[str, str] | None:
        """Where HEAD leaves from, when that is a place of the person in their own folder."""
        shared = self._shared
        if plan is None or shared.info.workspace_mode != "in_place" or not shared.info.is_git:
            return None
        ref = await asyncio.to_thread(branch_of, shared.root)
        return None if ref.startswith(OWN) else home_record(ref, plan.head, node)

    async def _restore(self, plan: RestorePlan, name: str, facts: dict[str, Any], home: str) -> RestoreReport:
        """Put the files back; the cursor moves when they are verified and can still be taken back, so that files and
        cursor never part."""
        shared = self._shared
        loop = asyncio.get_running_loop()

        async def commit(report: RestoreReport) -> None:
            commit_jump(shared, facts, report)

        def on_done(report: RestoreReport) -> None:
            # On the workspace thread; the document belongs to the loop.
            asyncio.run_coroutine_threadsafe(commit(report), loop).result()

        report = await shared.workspace().call(
            lambda w: w.apply(plan, new_branch=name or None, home=home, on_done=on_done)
        )
        if not report.done:
            raise WorkspaceError(
                report.note or "The files could not be put back; everything is as it was.",
                "; ".join(f"{f.path}: {f.reason}" for f in report.failed[:5]),
                kind="restore_failed",
            )
        return report

    async def _keep_safe(self, plan: RestorePlan | None) -> str:
        """What is on disk and in no node yet becomes a node of the path that is left."""
        if plan is None or not plan.safety_changed:
            return ""
        # Of a repository that goes with its files nothing else has what was stashed or tagged in it.
        return await save_disk(self._shared, "before the jump", safety=plan.safety if plan.drop_git else "")

    def announce(self) -> None:
        """Show where the session is now."""
        announce_jump(self._shared)


def shown_path(path: str) -> str:
    """A path for people; bytes that are no text are written out. Choices are taken by this name as well."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def entry(item: PlanItem) -> PlanEntry:
    return PlanEntry(
        path=shown_path(item.path),
        action=item.action,
        reason=item.reason,
        choice=item.choice,
        unsure=item.unsure,
    )
