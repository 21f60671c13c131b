"""`worldline jump`: go to a node, or show what going there would do."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path
from typing import Any

from worldline.cli.output import SCHEMA, print_json, say, told
from worldline.core.errors import SessionError
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol.commands import Jump, JumpAnswer, JumpPlanFor, ReturnHome
from worldline.protocol.model import EffectInfo, JumpResult, PlanEntry
from worldline.protocol.wire import Message
from worldline.session.lock import writer_lives


def jump_command(options: Namespace) -> int:
    return asyncio.run(_jump(options))


async def _jump(options: Namespace) -> int:
    def ignore(method: str, message: Message) -> None:
        return None

    actor = SessionActor(
        OpenRequest(session=options.file), ignore, ActorOptions(attended=False, approve="deny")
    )
    try:
        await actor.start()
        if not options.dry_run:
            refuse_reading_only(actor)
        plan = await actor.jumps.plan(JumpPlanFor(node=options.node, default_choice=options.yours))
        if options.dry_run:
            _print(options.json, plan.entries, plan.effects_left, actor.shared.doc.cursor, None, plan.note)
            return 0
        result = await jump_through(actor, options.node, options.yours)
        _print(options.json, result.entries, result.effects_left, result.cursor, result, result.note)
        return 0 if result.verified == result.of else 1
    finally:
        await actor.close()


def refuse_reading_only(actor: SessionActor) -> None:
    """Raise SessionError, with the way out, where the session could be opened for reading alone."""
    info = actor.shared.info
    if not info.read_only:
        return
    if actor.shared.doc.damage:
        actor.shared.writable()
    if writer_lives(Path(info.path)):
        raise SessionError(
            f"{info.path} cannot be written: {info.read_only_why}", "Close it there first.", kind="locked"
        )
    raise SessionError(f"{info.path} cannot be written: {info.read_only_why}", kind="read_only")


def return_command(options: Namespace) -> int:
    return asyncio.run(_return(options))


async def _return(options: Namespace) -> int:
    actor = SessionActor(
        OpenRequest(session=options.file), lambda *_: None, ActorOptions(attended=False, approve="deny")
    )
    try:
        await actor.start()
        answer = await actor.handle("return_home", ReturnHome(files=options.files))
        assert isinstance(answer, JumpAnswer)
        result = answer.result
        if result is None:
            assert answer.plan is not None
            result = await jump_through(actor, answer.plan.node, options.yours, answer.plan.id, fork=False)
        _print(options.json, result.entries, result.effects_left, result.cursor, result, result.note)
        return 0 if result.verified == result.of else 1
    finally:
        await actor.close()


async def jump_through(
    actor: SessionActor, node: str, yours: str, plan_id: str = "", *, fork: bool = True
) -> JumpResult:
    """Jump with the choices given beforehand: nobody is there to look at a plan. A plan that stops fitting the disk
    is made anew; when that happens again and again, somebody else is writing and the jump is refused."""
    choice: Any = yours
    for _ in range(5):
        answer = await actor.jumps.jump(Jump(node=node, plan=plan_id, default_choice=choice, fork=fork))
        if answer.result is not None:
            return answer.result
        assert answer.plan is not None
        plan_id = answer.plan.id
    raise SessionError(
        "The files keep changing while the jump is planned.",
        "Stop what writes there, then try again.",
        kind="busy",
    )


def _print(
    as_json: bool,
    entries: list[PlanEntry],
    effects: list[EffectInfo],
    cursor: str,
    result: JumpResult | None,
    note: str,
) -> None:
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "plan": [e.model_dump(mode="json") for e in entries],
                "branch": result.branch if result else "",
                "verified": {"files": result.verified if result else 0, "of": result.of if result else 0},
                "effects_left": [e.model_dump(mode="json") for e in effects],
                "cursor": cursor,
                "composer_text": result.composer_text if result else "",
                "safety_node": result.safety_node if result else "",
                "done": result is not None,
                "note": note,
            }
        )
        return
    for entry in entries:
        print(f"{entry.action:12} {entry.path}{'  (' + told(entry.reason) + ')' if entry.reason else ''}")
    for effect in effects:
        print(f"{told('stays'):12} {told(effect.summary)}")
    if result is not None and result.branch:
        say(f"At {result.cursor[:8]} on {result.branch}: {result.verified} of {result.of} files verified.")
    elif result is not None and result.of:
        say(f"At {result.cursor[:8]}: {result.verified} of {result.of} files verified.")
    if note:
        say(note)
