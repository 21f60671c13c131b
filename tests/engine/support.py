"""Words of a scripted model, and what it was sent."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from worldline.agent.gate import Gate
from worldline.agent.loop import RunLoop
from worldline.agent.stops import RunEnd
from worldline.rehearsal.events import Call, Reply


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, arguments)


def reply(text: str = "", *calls: Call, **more: Any) -> Reply:
    return Reply(text=text, calls=list(calls), **more)


def prose(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(words))


HOLD = "touch held; while [ -e held ]; do sleep 0.05; done"
"""A command that goes on until the test has done what it has to do meanwhile: see `holds` and `let_go`."""


async def holds(b: Any) -> None:
    while not (b.root / "held").exists():
        await asyncio.sleep(0.01)


def let_go(b: Any) -> None:
    (b.root / "held").unlink()


class Hand:
    """The hand on the clock of the runs: their time is over when the test says so, however long they took to get there."""

    def __init__(self, b: Any) -> None:
        self._loops: list[RunLoop] = []
        self._now = 100.0
        b.actor.runs.gate = Gate(lambda: self._now)

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> Hand:
        """Know all loops that run from here on, those of sub-agents as well."""
        run = RunLoop.run

        async def noted(loop: RunLoop) -> RunEnd:
            self._loops.append(loop)
            return await run(loop)

        monkeypatch.setattr(RunLoop, "run", noted)
        return self

    def ring(self, seconds: float) -> None:
        """So many seconds are over, and the timers of the runs ring that are at their end by then."""
        self._now += seconds
        for loop in reversed(self._loops):
            if loop._timer is not None:
                loop._time_up()


def sent(b: Any, number: int = -1) -> str:
    return json.dumps(b.sent(number)["messages"], ensure_ascii=False)
