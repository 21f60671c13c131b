"""The engine process: JSON-RPC over standard streams. One line is one message; standard output carries nothing else."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from worldline.core.errors import WorldlineError
from worldline.engine.following import follow
from worldline.engine.outbox import Outbox
from worldline.engine.session import SessionActor
from worldline.engine.shared import Shared
from worldline.engine.stdio import LineTooLong, StdioChannel
from worldline.protocol.commands import COMMANDS, Hello
from worldline.protocol.wire import PROTOCOL_VERSION, Message, Request, Response, RpcError, RpcErrorCode

logger = logging.getLogger(__name__)

_IN_ORDER = frozenset(
    {"prompt", "queue_edit", "go_on", "jump", "backtrack", "return_home", "set_settings", "set_title"}
)
"""Commands of which the next one waits until the one before it is answered."""


class EngineServer:
    """Serves one session to one client until its input ends or it says `shutdown`."""

    def __init__(
        self, channel: StdioChannel, open_actor: Callable[[Callable[[str, Message], None]], SessionActor]
    ) -> None:
        self._channel = channel
        self._open_actor = open_actor
        self._outbox = Outbox(channel.write)
        self._actor: SessionActor | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ordered = asyncio.Lock()
        self._over = asyncio.Event()
        self._greeted = False
        self.told_to_end = False
        """The client said that this is the end; without that its input ended because it died."""

    async def serve(self) -> int:
        """Return the exit code: 0 after an orderly end, 1 when the session could not be opened."""
        self._channel.start()
        self._outbox.start()
        refusal: WorldlineError | None = None
        try:
            self._actor = self._open_actor(self._notify)
            await self._actor.start()
        except WorldlineError as error:
            # The client's first request gets the reason; without one, standard error has it.
            logger.error("the session could not be opened: %s", error)
            refusal = error
        except (
            Exception
        ) as error:  # the edge of the engine: a start that breaks is told, and not tried again and again
            logger.error("the session could not be opened", exc_info=error)
            refusal = WorldlineError(
                f"A defect in Worldline kept the session from opening ({type(error).__name__}: {error}).",
                "The log has the details; `worldline verify` says whether the file is sound.",
                kind="defect",
            )
        reader = asyncio.get_running_loop().create_task(self._read(refusal), name="reader")
        over = asyncio.get_running_loop().create_task(self._over.wait(), name="over")
        await asyncio.wait([reader, over], return_when=asyncio.FIRST_COMPLETED)
        for task in (reader, over):
            task.cancel()
        if self._actor is not None:
            await self._actor.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(reader, over, *self._tasks, return_exceptions=True)
        await self._outbox.close()
        return 1 if refusal else 0

    def _notify(self, method: str, message: Message) -> None:
        if self._greeted:
            self._outbox.notify(method, message.model_dump(mode="json"))

    async def _read(self, refusal: WorldlineError | None) -> None:
        while True:
            try:
                line = await self._channel.read()
            except LineTooLong as error:
                logger.error("closing: %s", error)
                return
            if line is None:
                return
            if not line.strip():
                continue
            request = self._parse(line)
            if request is None:
                continue
            if request.method == "shutdown":
                self.told_to_end = True
            if refusal is not None:
                self._refuse(
                    request.id, RpcErrorCode.REFUSED, refusal.message, kind=refusal.kind, hint=refusal.hint
                )
                await self._outbox.drain()
                return
            task = asyncio.get_running_loop().create_task(self._serve(request), name=request.method)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _parse(self, line: bytes) -> Request | None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, RpcErrorCode.PARSE_ERROR, "This line is not JSON.")
            return None
        try:
            return Request.model_validate(value)
        except ValidationError:
            given = value.get("id") if isinstance(value, dict) else None
            known = given if isinstance(given, int) else None
            self._refuse(known, RpcErrorCode.INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.")
            return None

    async def _serve(self, request: Request) -> None:
        if request.method in _IN_ORDER:
            async with self._ordered:
                await self._answer(request)
        else:
            await self._answer(request)

    async def _answer(self, request: Request) -> None:
        assert self._actor is not None
        spec = COMMANDS.get(request.method)
        if spec is None:
            self._refuse(
                request.id, RpcErrorCode.METHOD_NOT_FOUND, f"There is no command {request.method!r}."
            )
            return
        try:
            params = spec[0].model_validate(request.params)
        except ValidationError as error:
            where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
            self._refuse(request.id, RpcErrorCode.INVALID_PARAMS, f"{request.method}: {where}")
            return
        try:
            if isinstance(params, Hello) and params.protocol != PROTOCOL_VERSION:
                raise WorldlineError(
                    f"The window speaks protocol {params.protocol}, the engine {PROTOCOL_VERSION}.",
                    "Install the same version of both.",
                    kind="protocol",
                )
            result = await self._actor.handle(request.method, params)
            self._outbox.answer(Response(id=request.id, result=result.model_dump(mode="json")))
        except WorldlineError as error:
            self._refuse(request.id, RpcErrorCode.REFUSED, error.message, kind=error.kind, hint=error.hint)
        except asyncio.CancelledError:
            self._refuse(request.id, RpcErrorCode.SHUTTING_DOWN, "The engine is ending.")
            raise
        except Exception as error:  # the edge of a command: a defect must not take the session with it
            logger.error("command %s failed", request.method, exc_info=error)
            self._refuse(
                request.id,
                RpcErrorCode.INTERNAL_ERROR,
                f"A defect in Worldline ({type(error).__name__}: {error}). The log has the details.",
            )
        else:
            if isinstance(params, Hello):
                first, self._greeted = not self._greeted, True
                self._actor.greeted()
                # A window that is made anew greets again.
                if first and self._actor.shared.info.read_only:
                    self._follow(self._actor.shared)
            elif request.method == "shutdown":
                self._over.set()

    def _follow(self, shared: Shared) -> None:
        task = asyncio.get_running_loop().create_task(follow(shared), name="follow")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refuse(self, request: int | None, code: RpcErrorCode, message: str, **data: Any) -> None:
        self._outbox.answer(
            Response(id=request, error=RpcError(code=int(code), message=message, data=data or None))
        )
