"""What leaves the engine: notifications and answers in one order, merged while the other side reads slowly."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

from worldline.core.jsontext import dumps
from worldline.protocol.wire import Response

logger = logging.getLogger(__name__)

BEAT_S = 0.016
"""At most one write in this time; what is put in between travels together."""
_MERGED = {"delta": ("run", "turn", "block", "kind", "tool"), "tool_output": ("node", "stream")}
"""Notifications of running text → the fields that must agree for two neighbours to become one."""


class Outbox:
    """Belongs to the engine's loop. `write` sends bytes and returns when they are out: while it has not returned,
    everything waits here, so a reader that falls behind costs one growing text and not one object per token."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], beat_s: float = BEAT_S) -> None:
        self._write = write
        self._beat = beat_s
        self._items: list[tuple[str, dict[str, Any]] | Response] = []
        self._chunks: list[str] = []
        """Text of the notification at the tail that is not joined to it yet."""
        self._filled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self.broken = False
        """The other side is gone; nothing is kept for it any more."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._pump(), name="outbox")

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if self.broken:
            return
        if self._extends_tail(method, params):
            self._chunks.append(params["text"])
        else:
            self._join_tail()
            if method == "status":
                # The status is sent whole: an older one that has not left says nothing any more.
                self._items = [i for i in self._items if isinstance(i, Response) or i[0] != "status"]
            self._items.append((method, params))
        self._wake()

    def answer(self, response: Response) -> None:
        if self.broken:
            return
        self._join_tail()
        self._items.append(response)
        self._wake()

    async def drain(self) -> None:
        """Return when everything put so far is out (or the other side is gone)."""
        await self._idle.wait()

    async def close(self) -> None:
        await self.drain()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _wake(self) -> None:
        self._idle.clear()
        self._filled.set()

    def _extends_tail(self, method: str, params: dict[str, Any]) -> bool:
        same = _MERGED.get(method)
        tail = self._items[-1] if self._items else None
        if same is None or tail is None or isinstance(tail, Response) or tail[0] != method:
            return False
        return all(tail[1].get(name) == params.get(name) for name in same)

    def _join_tail(self) -> None:
        if not self._chunks:
            return
        tail = self._items[-1]
        assert not isinstance(tail, Response)
        self._items[-1] = (tail[0], tail[1] | {"text": tail[1]["text"] + "".join(self._chunks)})
        self._chunks.clear()

    async def _pump(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await self._filled.wait()
            started = clock()
            self._filled.clear()
            self._join_tail()
            items, self._items = self._items, []
            try:
                await self._write(encode(items))
            except Exception as error:  # the edge of the engine
                # Closed on either side, or a defect; whatever it is, nobody may wait here for an outbox that does not move.
                if not isinstance(error, OSError):
                    logger.error("what leaves the engine cannot be written", exc_info=error)
                self.broken = True
                self._items.clear()
                self._idle.set()
                return
            await asyncio.sleep(max(0.0, self._beat - (clock() - started)))
            if not self._items:
                self._idle.set()


def _finite(value: Any) -> Any:
    """The same, with the name of a number that JSON cannot hold in its place."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return value


def _line(value: dict[str, Any]) -> bytes:
    try:
        return dumps(value) + b"\n"
    except ValueError:
        # A model may write NaN into its arguments, and JSON has no such number.
        return dumps(_finite(value)) + b"\n"


def encode(items: list[tuple[str, dict[str, Any]] | Response]) -> bytes:
    """Lines of the protocol: neighbouring notifications share one `batch`, answers stand between them in order."""
    lines: list[bytes] = []
    pending: list[dict[str, Any]] = []

    def flush() -> None:
        if len(pending) == 1:
            lines.append(_line({"jsonrpc": "2.0", **pending[0]}))
        elif pending:
            lines.append(_line({"jsonrpc": "2.0", "method": "batch", "params": {"events": list(pending)}}))
        pending.clear()

    for item in items:
        if isinstance(item, Response):
            flush()
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": item.id}
            if item.error is not None:
                body["error"] = item.error.model_dump(mode="json", exclude_none=True)
            else:
                body["result"] = item.result
            lines.append(_line(body))
        else:
            pending.append({"method": item[0], "params": item[1]})
    flush()
    return b"".join(lines)
