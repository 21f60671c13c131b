"""A session actor in this process, on real folders and repositories, against a scripted model over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S, repository_with_own_work
from worldline.context.checker import check
from worldline.engine import models
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol.commands import AnswerApproval, Prompt
from worldline.protocol.wire import Message
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.retry import RetryPolicy
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer
from worldline.tools.mcp_client import McpServer


@dataclass
class Bench:
    """What a test holds: the actor, the server, and everything that was announced."""

    actor: SessionActor
    server: RehearsalServer
    events: list[tuple[str, Message]] = field(default_factory=list)

    def script(self, *replies: Reply | str) -> None:
        """These answers from now on, one for each request."""
        done = len(self.server.message_requests)
        self.server.scenario.queue = [Reply(text="(before)")] * done + [
            r if isinstance(r, Reply) else Reply(text=r) for r in replies
        ]

    async def ask(self, text: str, **more: Any) -> str:
        """Prompt, wait for the end, return the stop reason."""
        started = await self.actor.runs.prompt(Prompt(text=text, **more))
        await self.actor.runs.idle()
        return self.reason(started.run)

    async def approval(self) -> Any:
        """Wait for a question; the oldest that is open."""
        while not self.actor.approvals.open():
            await asyncio.sleep(0.01)
        return self.actor.approvals.open()[0]

    async def answer(self, decision: str, **more: Any) -> None:
        """Wait for a question, answer it, and wait for the end of the run."""
        asked = await self.approval()
        self.actor.approvals.answer(
            AnswerApproval(id=asked.id, digest=asked.digest, decision=decision, **more)
        )
        await self.actor.runs.idle()

    def reason(self, run: str = "") -> str:
        runs = [r for r in self.doc.runs() if not run or r.uid == run]
        assert runs[-1].stop_reason is not None
        return runs[-1].stop_reason.value

    @property
    def doc(self) -> Any:
        return self.actor.shared.doc

    @property
    def root(self) -> Path:
        return self.actor.shared.root

    def nodes(self, kind: str = "") -> list[Any]:
        return [h for h in self.doc.headers() if not kind or h.kind.value == kind]

    def diagnostics(self, kind: str) -> list[Any]:
        return [r for r in self.doc.records("diagnostic") if r.data["kind"] == kind]

    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def sent(self, number: int = -1) -> dict[str, Any]:
        body = self.server.message_requests[number].body
        assert body is not None
        return body


@pytest.fixture
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(Scenario(), checker=check) as running:
        yield running
    assert running.defects == []


@pytest.fixture
def in_large_pieces(server: RehearsalServer) -> None:
    """Replies come in few pieces: for tests that only need them long."""
    server.scenario.delta_chars = 2_000


Open = Callable[..., Awaitable[Bench]]


@pytest.fixture
async def bench(
    server: RehearsalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Open]:
    """`await bench(workspace=…)` opens one; every one is closed at the end."""
    # What is asked of servers is waited for, however busy the machine is.
    monkeypatch.setattr(models, "LIST_S", PATIENCE_S)
    monkeypatch.setattr(McpServer.start, "__defaults__", (PATIENCE_S,))
    open_ones: list[SessionActor] = []

    async def make(
        workspace: Path | None = None, session: Path | None = None, *, attended: bool = False, approve: str = "allow",
        in_place: bool | None = None, **settings: Any,
    ) -> Bench:  # fmt: skip
        if workspace is None and session is None:
            workspace = tmp_path / "work"
            workspace.mkdir(exist_ok=True)
        events: list[tuple[str, Message]] = []
        actor = SessionActor(
            OpenRequest(
                session=session or tmp_path / f"s{len(open_ones)}.worldline",
                workspace=workspace,
                in_place=in_place,
                settings={"base_url": server.base_url, "model": "rehearsal", "mode": "work", **settings},
            ),
            lambda name, message: events.append((name, message)),
            ActorOptions(attended=attended, approve=approve),
        )
        # The waits between tries are what they are; a test does not sit through them.
        actor.models.use(Gateway(ProviderSettings(retry=RetryPolicy(base_s=0.01, cap_s=0.05))))
        open_ones.append(actor)
        await actor.start()
        return Bench(actor, server, events)

    yield make
    for actor in open_ones:
        await actor.close()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository_with_own_work(tmp_path / "project")


@pytest.fixture
def written(bench: Callable[..., Any], repo: Path) -> Callable[..., Any]:
    """A session in that repository whose agent has written `one.txt` twice."""

    async def make(**options: Any) -> Bench:
        b: Bench = await bench(workspace=repo, **options)
        b.script(
            Reply(text="One.", calls=[Call("write", {"path": "one.txt", "content": "1\n"})]),
            Reply(text="Two.", calls=[Call("write", {"path": "one.txt", "content": "2\n"})]),
            "Done.",
        )
        assert await b.ask("make it") == "completed"
        return b

    return make
