"""What the parts of one open session share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from worldline.agent.capture import last_good_state
from worldline.agent.journal import Journal
from worldline.agent.meanwhile import Meanwhile
from worldline.context.memory import ViewMemory
from worldline.core.errors import SessionError, WorldlineError
from worldline.engine.settings import Settings
from worldline.engine.status import StatusBoard
from worldline.engine.workthread import WorkThread
from worldline.protocol.model import SessionInfo
from worldline.protocol.wire import Message
from worldline.session.document import SessionDocument

Emit = Callable[[str, Message], None]


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(slots=True)
class Shared:
    """Used on the loop only."""

    doc: SessionDocument
    work: WorkThread | None
    """None: an imported session without files."""
    info: SessionInfo
    slug: str
    """Middle part of the names of its git branches."""
    settings: Settings
    status: StatusBoard
    emit: Emit
    branch: str = ""
    """Full name of the git branch that new nodes are made on."""
    turnstile: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a run is started or a jump is made, so that these never overlap."""
    memory: ViewMemory = field(init=False)
    meanwhile: Meanwhile = field(init=False)
    """What may have written beside the person since the last capture."""

    def __post_init__(self) -> None:
        self.memory = ViewMemory(self.doc)
        self.meanwhile = Meanwhile(self.doc)

    @property
    def root(self) -> Path:
        """The folder the agent works in."""
        return Path(self.info.work_path)

    def journal(self, run: str = "") -> Journal:
        return Journal(self.doc, self.emit, run=run, branch=self.branch)

    def workspace(self) -> WorkThread:
        if self.work is None:
            raise WorldlineError(
                "This session has no files of its own.",
                "It was imported; open its folder as a new session instead.",
            )
        return self.work

    def writable(self) -> None:
        """Raise SessionError when this session is only being read."""
        if self.info.read_only and self.doc.damage:
            raise SessionError(self.doc.damage[0], " ".join(self.doc.damage[1:]), kind="damaged")
        if self.info.read_only:
            raise SessionError(
                f"This session is open for reading only: {self.info.read_only_why}",
                "Close the other window that writes it, or fork it into a new session.",
                kind="read_only",
            )

    def state(self, uid: str) -> str:
        return self.doc.state(uid)

    def good_state(self, uid: str) -> str:
        return last_good_state(self.doc, uid)
