"""The demo: a small real repository, a scripted model over real HTTP, and a session with a failed and a good attempt
that the real loop has made."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.context.checker import check
from worldline.core.errors import BadInput
from worldline.engine.demo_folder import DemoFolder, sweep
from worldline.engine.opening import OpenRequest
from worldline.engine.server import EngineServer
from worldline.engine.session import ActorOptions, SessionActor
from worldline.engine.shared import Emit
from worldline.engine.stdio import StdioChannel
from worldline.protocol.commands import Jump, Prompt
from worldline.protocol.wire import Message
from worldline.rehearsal import demo_repo
from worldline.rehearsal.scenario import Scenario, load
from worldline.rehearsal.server import RehearsalServer

MODEL = "rehearsal-large"
FALLBACK = "rehearsal-small"
TITLE = "Prices"


@dataclass(slots=True)
class Seeded:
    session: Path
    repository: Path
    scenario: Path


def _server() -> tuple[RehearsalServer, Scenario]:
    scenario = load(demo_repo.scenario_file())
    return RehearsalServer(scenario, checker=check), scenario


def _request(server: RehearsalServer, session: Path, repository: Path | None) -> OpenRequest:
    settings: dict[str, Any] = {
        "base_url": server.base_url, "model": MODEL, "chain": [FALLBACK], "limits": {"turns": 40},
    }  # fmt: skip
    return OpenRequest(
        session=session,
        workspace=repository,
        title=TITLE if repository else "",
        scripted=True,
        settings=settings,
    )


async def play(actor: SessionActor, scenario: Scenario, *, chinese: bool = False) -> None:
    """Make both attempts: the first fails and stops, the person goes back to the prompt, the second passes."""
    failed = demo_repo.FAILED_PROMPT_ZH if chinese else demo_repo.FAILED_PROMPT
    good = demo_repo.GOOD_PROMPT_ZH if chinese else demo_repo.GOOD_PROMPT
    pace, scenario.pace = scenario.pace, 0.0
    try:
        with actor.approvals.all_allowed():
            first = await actor.runs.prompt(Prompt(text=failed, mode="work"))
            await actor.runs.idle()
            await actor.jumps.jump(Jump(node=first.node))
            await actor.runs.prompt(Prompt(text=good, mode="work"))
            await actor.runs.idle()
    finally:
        scenario.pace = pace


def seed_demo(out: Path, *, chinese: bool = False) -> Seeded:
    """Make the demo in `out`, which must be new or empty. Raises BadInput, WorldlineError."""
    try:
        if out.exists() and any(out.iterdir()):
            raise BadInput(f"{out} is not empty.", "Give a new folder for the demo.")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}.", "Choose another place.") from error
    seeded = Seeded(out / "demo.worldline", out / "shop", demo_repo.scenario_file())
    demo_repo.seed(seeded.repository, remote=out / "remote.git")
    server, scenario = _server()

    def ignore(method: str, message: Message) -> None:
        return None

    async def make() -> None:
        actor = SessionActor(
            _request(server, seeded.session, seeded.repository),
            ignore,
            ActorOptions(attended=False, approve="allow"),
        )
        try:
            await actor.start()
            await play(actor, scenario, chinese=chinese)
        finally:
            await actor.close()

    with server:
        asyncio.run(make())
    return seeded


def serve_demo(channel: StdioChannel, session: Path | None) -> int:
    """Serve the demo over standard streams, with the scripted model in this process. Without `session` the demo is
    made in a temporary folder, before the eyes of the person: the window has its answer at once and sees the tree
    grow. The folder goes when the client says that this is the end."""
    repository: Path | None = None
    if session is None:
        folder: DemoFolder | None = DemoFolder.create()
        assert folder is not None
        repository, session = folder.repository, folder.session
        demo_repo.seed(repository, remote=folder.remote)
    else:
        folder = DemoFolder.around(session)
    if folder is not None:
        os.environ["WORLDLINE_HOME"] = str(folder.data)
    server, scenario = _server()
    chosen, made_from = session, repository
    language = os.environ.get("WORLDLINE_LANG") or os.environ.get("LC_ALL") or os.environ.get("LANG", "")

    async def tidy_up() -> None:
        await asyncio.to_thread(sweep)

    def opened(emit: Emit) -> SessionActor:
        actor = SessionActor(_request(server, chosen, made_from), emit, ActorOptions(drill=server.drill))
        if made_from is not None:
            actor.when_greeted(lambda: play(actor, scenario, chinese=language.startswith("zh")))
        actor.when_greeted(tidy_up)
        return actor

    engine = EngineServer(channel, opened)
    with server:
        code = asyncio.run(engine.serve())
    if folder is not None and engine.told_to_end:
        folder.remove()
    return code
