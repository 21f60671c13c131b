"""Loads the SDK on a thread: importing it takes seconds, which neither the window nor the engine can spare."""

from __future__ import annotations

import asyncio
import importlib
import time
from dataclasses import dataclass
from types import ModuleType

from worldline.core.loading import without_collections
from worldline.provider.transport import ClientFactory

_MODULE = "worldline.provider.sdk"


def _import_sdk() -> ModuleType:
    with without_collections():
        return importlib.import_module(_MODULE)


@dataclass(slots=True)
class Loader:
    """One per engine. `load` may be awaited by many at once; the import happens once."""

    seconds: float = 0.0
    """How long it took; 0 while it is not loaded."""
    _task: asyncio.Task[ClientFactory] | None = None

    async def load(self) -> ClientFactory:
        if self._task is None:
            self._task = asyncio.create_task(self._import(), name="load-sdk")
        # Shielded: one caller that is cancelled must not cancel the import for the others.
        return await asyncio.shield(self._task)

    async def _import(self) -> ClientFactory:
        started = time.monotonic()
        module = await asyncio.to_thread(_import_sdk)
        self.seconds = time.monotonic() - started
        factory: ClientFactory = module.SdkClient
        return factory
