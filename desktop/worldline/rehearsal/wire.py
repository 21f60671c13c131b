"""HTTP/1.1 as the rehearsal server speaks it: requests in, plain bodies and event streams out, and honest ways to
break a connection."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from worldline.rehearsal.events import Event

MAX_BODY = 64 << 20


@dataclass(slots=True)
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    raw_body: bytes


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection; None when the client closed it. Raises ValueError for what is no HTTP."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise ValueError("the request head is too long") from error
    lines = head.decode("latin-1").split("\r\n")
    method, path, _version = lines[0].split(" ", 2)
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    size = int(headers.get("content-length", "0"))
    if size > MAX_BODY:
        raise ValueError("the request body is too long")
    body = await reader.readexactly(size)
    return HttpRequest(method, path.split("?", 1)[0], headers, body)


class Wire:
    """The answering side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._chunked = False
        self.closing = False
        """The connection is not to be used for another request."""
        self.client_gone = False

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def plain(
        self,
        status: int,
        body: Any,
        headers: Iterable[tuple[str, str]] = (),
        content_type: str = "application/json",
    ) -> None:
        """A whole answer. `body` may be bytes, text or something to send as JSON."""
        if isinstance(body, bytes):
            data = body
        elif isinstance(body, str):
            data = body.encode()
        else:
            data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        extra = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = (
            f"HTTP/1.1 {status} Answer\r\ncontent-type: {content_type}\r\ncontent-length: {len(data)}\r\n"
            f"request-id: req_rehearsal\r\n{extra}\r\n"
        )
        await self.send(head.encode("latin-1") + data)

    async def stream_head(
        self,
        *,
        chunked: bool = True,
        content_type: str = "text/event-stream; charset=utf-8",
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._chunked = chunked
        if not chunked:
            self.closing = True
        framing = "transfer-encoding: chunked" if chunked else "connection: close"
        extra = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nrequest-id: req_rehearsal\r\n"
            f"{framing}\r\n{extra}\r\n"
        )
        await self.send(head.encode("latin-1"))

    async def data(self, data: bytes) -> None:
        """Bytes of a started stream."""
        if self._chunked:
            data = b"%x\r\n%s\r\n" % (len(data), data)
        await self.send(data)

    async def event(self, event: Event) -> None:
        await self.data(encode(event))

    async def events(self, events: Iterable[Event], pace: float = 0.0) -> None:
        """Send events; `pace` seconds after each. Stops with ConnectionError when the client has gone."""
        if pace <= 0:
            # One chunk each, but one write for many: what a client sees of a fast server.
            for event in events:
                self._writer.write(self._framed(encode(event)))
            await self._writer.drain()
            return
        for event in events:
            await self.event(event)
            if await self.gone(pace):
                raise ConnectionResetError("the client closed the connection")

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data

    async def end(self) -> None:
        """End a stream properly."""
        if self._chunked:
            await self.send(b"0\r\n\r\n")
        else:
            self.closing = True

    async def reset(self) -> None:
        """Drop the connection with a TCP reset, after what was written has left."""
        await self._writer.drain()
        sock: socket.socket = self._writer.get_extra_info("socket")
        # The other side must have read what was sent, or the reset would overtake it.
        await asyncio.sleep(0.02)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        self.closing = True

    def hang_up(self) -> None:
        """Close the connection, whatever was promised before."""
        self.closing = True

    async def gone(self, seconds: float) -> bool:
        """Wait up to `seconds`; True as soon as the client has closed its side."""
        if self.client_gone:
            return True
        try:
            got = await asyncio.wait_for(self._reader.read(1), seconds)
        except TimeoutError:
            return False
        except ConnectionError:
            got = b""
        # A client of ours never sends a second request before it has the first answer.
        self.client_gone = True
        self.closing = True
        return got == b""


def encode(event: Event) -> bytes:
    name, body = event
    data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode("utf-8", "surrogatepass")
