"""Everything of one open session, behind the commands of the protocol. Used by the server and by the command line."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldline import __version__
from worldline.agent.stops import RunEnd
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.stop import StopReason
from worldline.engine.approvals import Approvals
from worldline.engine.background import Background
from worldline.engine.backtrack import Backtracking
from worldline.engine.compacting import Compacting
from worldline.engine.comparing import LineCounts
from worldline.engine.edits import Edits
from worldline.engine.effect_desk import EffectDesk
from worldline.engine.effects import EffectList
from worldline.engine.files import Files
from worldline.engine.home import find_head, return_home
from worldline.engine.jumps import Jumps
from worldline.engine.marks import Marks
from worldline.engine.models import ModelDesk
from worldline.engine.opening import Opened, OpenRequest, open_session, plant_root
from worldline.engine.ports import PortDesk
from worldline.engine.queries import Queries
from worldline.engine.questions import Questions
from worldline.engine.ready import ReadyDesk
from worldline.engine.recovery import recover_workspace, sentence_about_crash
from worldline.engine.runs import Runs
from worldline.engine.settings import Settings
from worldline.engine.settings_desk import SettingsDesk
from worldline.engine.shared import Emit, Shared, now_ms
from worldline.engine.soundness import Soundness
from worldline.engine.standing import show_context, show_standing
from worldline.engine.status import StatusBoard
from worldline.engine.storage import StorageDesk
from worldline.protocol import commands as c
from worldline.protocol.wire import PROTOCOL_VERSION, Message
from worldline.session.model import RunRecord
from worldline.tools.process_table import ProcessTable

if TYPE_CHECKING:
    from worldline.agent.loop import RunLoop
    from worldline.engine.factory import LoopMaker

logger = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[Message] | Message]


@dataclass(slots=True)
class ActorOptions:
    attended: bool = True
    """A person is there to answer. Without one, questions fail at once and approvals follow `approve`."""
    approve: str = "ask"
    """ask | deny | allow | rules: what becomes of a call that needs an approval."""
    drill: Callable[[str], None] | None = None
    """Demo: make the rehearsal server fail in this way."""


class SessionActor:
    """One session, one loop, one run at a time. Build it, `await start()`, use `handle` (or the parts), `await close()`.

    Everything of the document happens on the loop's thread; everything of the workspace on its own thread.
    """

    def __init__(self, request: OpenRequest, emit: Emit, options: ActorOptions | None = None) -> None:
        """Open or make the session. Raises BadInput, SessionError, WorkspaceError; then nothing is left open."""
        self.options = options or ActorOptions()
        self._opened: Opened = open_session(request)
        try:
            opened = self._opened
            status = StatusBoard(emit, now_ms)
            root = opened.work.work_path if opened.work else None
            self.shared = Shared(
                doc=opened.doc, work=opened.work, info=opened.info, slug=opened.slug,
                settings=Settings(root, request.settings, folder=opened.info.root), status=status, emit=emit, branch=opened.branch,
            )  # fmt: skip
            self._build()
        except BaseException:
            self._opened.close()
            raise

    def _build(self) -> None:
        shared = self.shared
        self.effects = EffectList(shared)
        self.processes = ProcessTable(lambda process: self.ports.changed(process))
        shared.meanwhile.table = self.processes
        self.questions = Questions(shared, self._nobody_answered, attended=self.options.attended)
        self.models = ModelDesk(shared)
        self.approvals = Approvals(
            shared, self.effects, attended=self.options.attended, approve=self.options.approve
        )
        self.effect_desk = EffectDesk(shared, self.effects, self.processes, self.approvals.sandbox)
        self.preferences = SettingsDesk(shared, self.models, self.approvals)
        self.marks = Marks(shared)
        self.ports = PortDesk(shared, self.processes, self.approvals.sandbox)
        self._maker: LoopMaker | None = None
        self.runs = Runs(shared, self._make_loop, self.effects.sentences_elsewhere)
        self.jumps = Jumps(shared, self.runs, self.effects, self.processes, self.models)
        self.back = Backtracking(shared, self.runs, self.jumps)
        self.runs.after_end, self.runs.offers = self.back.after, self.back.offers
        self.queries = Queries(shared, lambda: self.approvals.nodes() | self.questions.nodes())
        self.files = Files(shared)
        self.lines = LineCounts(shared)
        shared.status.after_files = self.lines.wake
        self.edits = Edits(shared, self.files, self.models, lambda: self.runs.busy)
        self.storage = StorageDesk(shared, lambda: self.runs.busy)
        self.soundness = Soundness(shared, self.runs.stop)
        self.ready = ReadyDesk(shared, lambda: self.runs.busy or shared.turnstile.locked())
        self.recovered = ""
        self._background = Background(shared.status)
        self.compacting = Compacting(shared, lambda: self.runs.busy, self._run_compaction)
        self._closed = False
        self._after_hello: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._handlers = self._table()

    # -- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make a new session's first node, or recover what a crash left. The model client loads in the background."""
        shared = self.shared
        if not len(shared.doc.tree) and shared.work is not None and not shared.info.read_only:
            # New, or the program ended before it had looked at the files for the first time.
            await plant_root(self._opened)
        else:
            self.recovered = sentence_about_crash(shared)
            if not shared.info.read_only and shared.work is not None:
                self.recovered = " ".join(t for t in (self.recovered, await recover_workspace(shared)) if t)
        show_standing(shared)
        await find_head(shared)
        self.models.describe()
        show_context(shared)
        self.approvals.describe()
        self._background.begin(self.approvals.check_sandbox(), "sandbox check")
        if not self.options.attended:
            # Nobody would see it later. With a window it follows the hello: opening does not wait for it.
            await self.soundness.look()
        self.effects.count()
        self.runs.queue.restore()
        for problem in shared.settings.problems:
            logger.warning(problem)

    def greeted(self) -> None:
        """The client has its hello: now what costs time may begin."""
        self.runs.queue.announce()
        self.lines.wake()
        self._background.begin(self.soundness.look(), "file check")
        self.ready.begin()
        self._background.begin(self._warm_up(), "model client")
        for work in self._after_hello:
            self._background.begin(work(), "after the hello")
        self._after_hello.clear()

    def when_greeted(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this after the hello, in the background."""
        self._after_hello.append(work)

    async def close(self) -> None:
        """End in order: stop the run, end processes, write everything, release the session."""
        if self._closed:
            return
        self._closed = True
        self.runs.closing = True
        self.compacting.cancel()
        waiting = bool(self.questions.open) or self.approvals.waiting()
        reason = StopReason.WAITING_FOR_USER if waiting else StopReason.ABORTED
        why = (
            "It waited for your answer when the session was closed." if waiting else "The session was closed."
        )
        async with AsyncExitStack() as left:
            # Last in, first out. Each is done whatever the ones before it raised: the lease and the file are always
            # given back, and the file last of all.
            left.callback(self._opened.close)
            left.callback(self.runs.ends.save_at_last)
            if self.shared.work is not None:
                left.push_async_callback(self.shared.work.close)
            left.push_async_callback(self.models.close)
            left.callback(self.approvals.sandbox.close)
            if self._maker is not None:
                left.push_async_callback(self._maker.close)
            left.push_async_callback(self._background.end)
            left.push_async_callback(self.files.close)
            left.push_async_callback(self.lines.close)
            left.push_async_callback(self.ready.close)
            left.push_async_callback(self.approvals.sandbox.settle)
            left.push_async_callback(self.processes.stop_all)
            left.push_async_callback(self.runs.stop_and_settle, RunEnd(reason, why, offers=["retry"]))

    async def maker(self) -> LoopMaker:
        """What builds runs, loaded on a thread when it is first needed."""
        if self._maker is None:
            module = await asyncio.to_thread(importlib.import_module, "worldline.engine.factory")
            if self._maker is None:
                self._maker = module.LoopMaker(
                    self.shared,
                    self.models,
                    self.approvals,
                    self.questions,
                    self.effects,
                    self.processes,
                    self.runs,
                )
        return self._maker

    def _nobody_answered(self, sentence: str) -> None:
        self.runs.stop(RunEnd(StopReason.WAITING_FOR_USER, sentence, offers=["retry"]))

    async def _make_loop(self, run: RunRecord, prompt: c.Prompt, turns: int) -> RunLoop:
        return await (await self.maker()).make(run, prompt, turns)

    async def _run_compaction(self, instructions: str, how: str) -> None:
        await (await self.maker()).compact(instructions, how)

    async def _warm_up(self) -> None:
        maker = await self.maker()
        await self.models.load()
        await maker.build_ahead(lambda: not (self.runs.busy or self.runs.closing))

    # -- commands ---------------------------------------------------------------------------------------------------

    async def handle(self, method: str, params: Message) -> Message:
        """Answer one command. Raises WorldlineError with a sentence when it is refused."""
        handler = self._handlers.get(method)
        if handler is None:
            raise WorldlineError(f"{method} is not available in this version.", "", kind="unavailable")
        self.ready.noticed(method)
        result = handler(params)
        return result if isinstance(result, Message) else await result

    def _table(self) -> dict[str, Handler]:
        q, f, e = self.queries, self.files, self.edits
        return {
            "hello": self._hello,
            "prompt": self.runs.prompt,
            "stop": self._stop,
            "retry_now": lambda _: _done(self.runs.retry_now.set),
            "pause": lambda p: _done(lambda: self.runs.pause(p.on)),
            "go_on": self.runs.go_on,
            "backtrack": lambda _: self.backtrack(),
            "queue_edit": lambda p: _done(lambda: self.runs.queue_edit(p)),
            "jump_plan": self.jumps.plan,
            "jump": self.jumps.jump,
            "answer_approval": lambda p: _done(lambda: self.approvals.answer(p)),
            "answer_question": lambda p: _done(lambda: self.questions.answer(p)),
            "headers": q.headers,
            "bodies": q.bodies,
            "blob": q.blob,
            "view": self._view,
            "changes": f.changes,
            "file_diff": f.file_diff,
            "line_counts": f.line_counts,
            "node_lines": lambda _: c.NodeLines(nodes=self.lines.known()),
            "search": q.search,
            "set_label": self.marks.set_label,
            "labels": lambda _: q.labels(),
            "set_title": self.marks.set_title,
            "effects": self.effect_desk.effects,
            "undo_effect": self.effect_desk.undo,
            "stop_process": self.effect_desk.stop_process,
            "show_port": self.ports.show,
            "compare": e.compare,
            "bring_home": e.bring_home,
            "return_home": self._return_home,
            "storage": lambda _: self.storage.storage(),
            "prune": self.storage.prune,
            "retention": lambda _: self.storage.retention(),
            "take_file": e.take_file,
            "patch": f.patch,
            "compact": self.compacting.command,
            "context_edit": lambda p: _done(lambda: e.context_edit(p)),
            "expand": lambda _: _done(e.expand),
            "settings": lambda _: self.preferences.settings(),
            "set_settings": self.preferences.change,
            "set_credential": self.models.set_credential,
            "credential": lambda _: self.models.credential(),
            "test_connection": self.models.test,
            "models": lambda _: self.models.models(),
            "test_rule": self.approvals.test_rule,
            "grants": lambda _: self.approvals.grants.grants(),
            "remove_grant": self.approvals.grants.remove,
            "complete": f.complete,
            "export": q.export,
            "diagnostics": q.diagnostics,
            "runs": lambda _: q.runs(),
            "branches": lambda _: q.branches(),
            "usage": q.usage,
            "drill": self._drill,
            "shutdown": lambda _: c.Nothing(),
        }

    def _hello(self, _: c.Hello) -> c.HelloResult:
        return c.HelloResult(
            protocol=PROTOCOL_VERSION,
            version=__version__,
            session=self.shared.info,
            cursor=self.shared.doc.cursor,
            status=self.shared.status.now,
            run=self.runs.current,
            approvals=self.approvals.open(),
            questions=[q for q, _ in self.questions.open.values()],
            recovered=self.recovered,
            note=self._opened.said,
            problems=self.preferences.problems(),
        )

    async def _return_home(self, p: c.ReturnHome) -> c.JumpAnswer:
        end = RunEnd(StopReason.ABORTED, "You returned to your own branch.", offers=["retry"])
        return await return_home(self.shared, self.jumps, lambda: self.runs.stop_and_settle(end), p)

    def _stop(self, _: c.Stop) -> c.Nothing:
        self.runs.stop()
        self.jumps.summaries.cancel()
        self.compacting.cancel()
        return c.Nothing()

    async def backtrack(self) -> c.JumpAnswer:
        """Go back to the last node that can be trusted, with a short note of what failed on the way."""
        return await self.back.command()

    async def _view(self, p: c.NodeRef) -> c.View:
        return (await self.maker()).view(p.node)

    def _drill(self, p: c.Drill) -> c.Nothing:
        if self.options.drill is None:
            raise BadInput("Faults can be rehearsed in the demo only.", "Start `worldline demo`.")
        self.options.drill(p.fault)
        return c.Nothing()


def _done(action: Callable[[], Any]) -> c.Nothing:
    action()
    return c.Nothing()
