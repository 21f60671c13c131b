"""`worldline engine` and `worldline seed-demo`."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from worldline.cli.output import print_json
from worldline.core.errors import BadInput
from worldline.engine.opening import OpenRequest
from worldline.engine.server import EngineServer
from worldline.engine.session import ActorOptions, SessionActor
from worldline.engine.shared import Emit
from worldline.engine.stdio import StdioChannel


def engine_command(options: Namespace) -> int:
    """Serve until standard input ends."""
    channel = StdioChannel.take_over()
    if options.demo:
        from worldline.engine.demo import serve_demo

        return serve_demo(channel, options.session)
    if options.session is None and options.workspace is None:
        raise BadInput("Neither a session nor a folder was named.", "Give --session FILE or --workspace DIR.")
    settings = {
        key: value
        for key, value in (("base_url", options.base_url), ("model", options.model), ("mode", options.mode))
        if value
    }
    request = OpenRequest(
        session=options.session, workspace=options.workspace, in_place=options.in_place, title=options.title,
        read_only=options.read_only, settings=settings, remake=options.remake_folder,
    )  # fmt: skip

    def opened(emit: Emit) -> SessionActor:
        return SessionActor(request, emit, ActorOptions())

    return asyncio.run(EngineServer(channel, opened).serve())


def seed_demo_command(options: Namespace) -> int:
    from worldline.engine.demo import seed_demo

    seeded = seed_demo(options.out)
    facts = {
        "schema": 1,
        "session": str(seeded.session),
        "workspace": str(seeded.repository),
        "scenario": str(seeded.scenario),
    }
    if options.json:
        print_json(facts)
    else:
        print(seeded.session)
    return 0
