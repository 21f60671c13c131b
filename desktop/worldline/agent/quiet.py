"""Telling the person that a model is silent for long, while the connection is alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

QUIET_S = 20.0


@dataclass(slots=True)
class QuietWatch:
    """Tells how long nothing readable has come. `run` it beside the request; feed it with what comes in."""

    tell: Callable[[str], None]
    after_s: float = QUIET_S
    paused: bool = False
    """A wait between tries tells of itself."""
    _heard: float = field(default=0.0)
    _thought: bool = False
    _told: bool = False

    def heard(self, *, thinking: bool) -> None:
        """A piece of the reply came in."""
        self.paused = False
        self._thought = thinking
        if thinking:
            return
        self._heard = asyncio.get_running_loop().time()
        if self._told:
            self._told = False
            self.tell("The model is working.")

    async def run(self) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        self._heard = clock()
        while True:
            await asyncio.sleep(self.after_s / 4)
            if self.paused:
                self._heard = clock()
                continue
            silent = clock() - self._heard
            if silent >= self.after_s:
                self._told = True
                what = "The model has been thinking" if self._thought else "Nothing has come from the model"
                self.tell(f"{what} for {silent:.0f} s. You can stop it and ask in another way.")
