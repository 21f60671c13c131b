"""`worldline run`: the engine without a window."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from worldline.agent.stops import RunEnd
from worldline.cli.jump import jump_through, refuse_reading_only
from worldline.cli.output import flag_names, print_line, say, told, usage_json
from worldline.core.errors import BadInput
from worldline.core.stop import StopReason
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol import events as ev
from worldline.protocol.commands import Prompt
from worldline.protocol.wire import Message
from worldline.provider.address import normalise

_DIAGNOSTICS = {"view_repair": "repair", "poisoned": "repair"}
"""Kinds of diagnostics that have another name in the output."""


def run_command(options: Namespace) -> int:
    if options.workspace is None and options.session is None:
        raise BadInput(
            "Neither a folder nor a session was named.", "Give --workspace DIR, --session FILE, or both."
        )
    if options.at and (options.session is None or not options.session.exists()):
        # Before anything is made: a new session has no node to begin at.
        raise BadInput(
            "A node is named, but no session that is there.", "Give --session FILE, or leave --at out."
        )
    if options.prompt == "-":
        options.prompt = sys.stdin.read()
    if not options.prompt.strip():
        raise BadInput("The prompt is empty.", "Write what you want done: --prompt TEXT.")
    return asyncio.run(_run(options))


def request_of(options: Namespace) -> OpenRequest:
    """What to open, with the options that stand above the settings files. Raises BadInput for what is no address."""
    normalise(getattr(options, "base_url", None) or "")
    settings: dict[str, Any] = {}
    for name, key in (("base_url", "base_url"), ("model", "model"), ("mode", "mode"), ("effort", "effort")):
        if value := getattr(options, name, None):
            settings[key] = value
    if turns := getattr(options, "max_turns", None):
        settings["limits"] = {"turns": turns}
    return OpenRequest(
        session=options.session,
        workspace=options.workspace,
        in_place=True if options.in_place else None,
        settings=settings,
    )


async def _run(options: Namespace) -> int:
    printer = Printer(as_json=options.json)
    actor = SessionActor(
        request_of(options), printer.event, ActorOptions(attended=False, approve=options.approve or "deny")
    )
    printer.actor = actor
    loop = asyncio.get_running_loop()
    try:
        await actor.start()
        refuse_reading_only(actor)
        _refuse_elsewhere(actor, options)
        if actor.recovered:
            say(actor.recovered)
        for problem in actor.shared.settings.problems:
            say(problem)
        if options.at:
            jumped = await jump_through(actor, options.at, "keep")
            say(
                f"At {jumped.cursor[:8]} on {jumped.branch}." if jumped.branch else f"At {jumped.cursor[:8]}."
            )
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, actor.runs.stop)
        started = await actor.runs.prompt(Prompt(text=options.prompt))
        await actor.runs.idle()
        return printer.result(started.run)
    finally:
        await actor.close()


def _refuse_elsewhere(actor: SessionActor, options: Namespace) -> None:
    """A session that was begun elsewhere works there, whatever folder is named beside it."""
    info = actor.shared.info
    if options.workspace is None or info.workspace_mode == "none":
        return
    named = options.workspace.resolve()
    if named not in (Path(info.root).resolve(), Path(info.work_path).resolve()):
        raise BadInput(
            f"This session works in {info.root}, not in {options.workspace}.",
            "Leave --workspace out, or give --session the name of a new file.",
        )


class Printer:
    """Events as JSON lines, or as text for people."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self.actor: SessionActor | None = None
        self._mid_line = False
        self._gone = False
        """The reader of standard output is gone."""

    def event(self, method: str, message: Message) -> None:
        shown = self._shape(message)
        if shown is None:
            return
        if self._gone:
            return
        try:
            if self._json:
                print_line(shown)
            else:
                self._tell(shown)
        except BrokenPipeError:
            # Nobody reads any more (`| head`). The run ends in order; what it has done is in the session.
            self._gone = True
            if self.actor is not None:
                self.actor.runs.stop(RunEnd(StopReason.ABORTED, "Nobody read the output any more."))

    def _shape(self, message: Message) -> dict[str, Any] | None:
        if isinstance(message, ev.NodeStored | ev.NodeEnded):
            row = message.header.row()
            doc = self.actor.shared.doc if self.actor else None
            parent = doc.uid(row.parent) if doc is not None and row.parent else None
            return {
                "event": "node_stored" if isinstance(message, ev.NodeStored) else "node_ended",
                "uid": row.uid, "parent": parent, "kind": message.header.kind, "outcome": row.outcome.value,
                "tool": row.tool, "preview": row.preview, "state": row.state, "branch": row.branch,
                "flags": flag_names(row.flags), "added": row.added, "removed": row.removed, "files": row.files,
            }  # fmt: skip
        if isinstance(message, ev.Delta):
            return {"event": "delta", "kind": message.kind, "block": message.block, "text": message.text}
        if isinstance(message, ev.Diagnosed):
            item = message.diagnostic
            return {
                "event": _DIAGNOSTICS.get(item.kind, item.kind), "node": item.node or None, "detail": item.detail,
                "data": item.data,
            }  # fmt: skip
        if isinstance(message, ev.ApprovalAsked):
            return {
                "event": "approval",
                **message.approval.model_dump(mode="json", include={"id", "tool", "command", "why"}),
            }
        if isinstance(message, ev.EffectChanged):
            return {"event": "effect", **message.effect.model_dump(mode="json")}
        if isinstance(message, ev.RunStarted):
            return {"event": "run_started", "run": message.run.uid, "prompt": message.run.prompt}
        if isinstance(message, ev.ReplyDiscarded):
            return {"event": "reply_discarded", "turn": message.turn, "why": message.why}
        return None

    def _tell(self, shown: dict[str, Any]) -> None:
        kind = shown["event"]
        if kind == "delta":
            if shown["kind"] == "text":
                sys.stdout.write(shown["text"].encode("utf-8", "replace").decode())
                sys.stdout.flush()
                self._mid_line = not shown["text"].endswith("\n")
            return
        if self._mid_line and kind != "effect":
            sys.stdout.write("\n")
            self._mid_line = False
        if kind == "node_ended":
            say(f"  {shown['outcome']:8} {shown['preview']}")
        elif kind in ("retry", "fallback", "compaction", "breaker", "engine", "hook"):
            say(f"  {kind}: {told(shown['detail'])}")
        elif kind == "effect":
            say(f"  {told('effect:')} {told(shown['summary'])}")

    def result(self, run: str) -> int:
        """The last line, and the exit code."""
        assert self.actor is not None
        doc = self.actor.shared.doc
        ended = next((r for r in doc.runs() if r.uid == run), None)
        unsaved = self.actor.runs.last
        reason = (
            ended.stop_reason
            if ended and ended.stop_reason
            else unsaved.reason
            if unsaved
            else StopReason.UNKNOWN
        )
        detail = ended.detail if ended and ended.stop_reason else unsaved.detail if unsaved else ""
        usage = ended.usage if ended else doc.usage_total()
        if self._json:
            print_line(
                {
                    "event": "result", "run": run, "stop_reason": reason.value, "detail": detail, "cursor": doc.cursor,
                    "session": str(doc.path), "workspace": self.actor.shared.info.work_path,
                    "branch": self.actor.shared.branch.removeprefix("refs/heads/"),
                    "usage": usage_json(usage), "cost": usage.cost,
                }
            )  # fmt: skip
        else:
            if self._mid_line:
                print()
            say(f"{reason.value}{': ' + told(detail) if detail else ''}")
            now, settings = self.actor.shared.status.now, self.actor.shared.settings
            if (problem := now.sandbox_problem) and problem not in detail:
                say(problem)
            elif now.sandbox in ("none", "partial") and settings.get("sandbox") != "off":
                # Why commands were denied, or what those that were allowed could do.
                say(f"The sandbox is not complete on this machine. {now.sandbox_why}")
            say(f"session {doc.path}")
        if reason is StopReason.COMPLETED:
            return 0
        return 130 if reason is StopReason.ABORTED else 1
