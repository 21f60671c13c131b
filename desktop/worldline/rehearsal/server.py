"""A Messages API on the loopback address, with scripted answers and faults.

It speaks real HTTP and real event streams, so that the program's own client, unchanged, is what talks to it: in the
demo, in the tests, and in fault drills.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from worldline.core.errors import BadInput, WorldlineError
from worldline.rehearsal.catalog import find
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Reply, error_body, reply_events, reply_message
from worldline.rehearsal.faults import Scene
from worldline.rehearsal.pairing import check_pairing
from worldline.rehearsal.scenario import Scenario, load
from worldline.rehearsal.wire import HttpRequest, Wire, read_request

Checker = Callable[[dict[str, Any]], list[str]]
"""What is wrong with a request body, in the words of the API; [] = nothing."""


@dataclass(slots=True)
class Recorded:
    """One request as it arrived, and what became of it."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any] | None
    at: float
    fault: str = ""
    refused: str = ""
    """Text of the 400 it got."""
    client_gone: bool = False
    """The client closed the connection before the answer was complete."""
    done: bool = False

    @property
    def model(self) -> str:
        return str((self.body or {}).get("model", ""))


@dataclass
class _State:
    """Shared between the server's thread and its owner, under `changed`."""

    requests: list[Recorded] = field(default_factory=list)
    drills: deque[str] = field(default_factory=deque)
    changed: threading.Condition = field(default_factory=threading.Condition)


class RehearsalServer:
    """Serves a scenario from `start` (or entering the context) to `stop`. Safe to use from any thread.

    `scenario` is a `Scenario`, the path of a YAML file, or None for a server that only says that it is scripted.
    """

    def __init__(
        self,
        scenario: Scenario | Path | str | None = None,
        *,
        checker: Checker | None = None,
        port: int = 0,
        max_hang_s: float = 3600.0,
    ) -> None:
        if isinstance(scenario, str | Path):
            scenario = load(Path(scenario))
        self.scenario = scenario if scenario is not None else Scenario()
        self._checker = checker or check_pairing
        self._port = port
        self._max_hang_s = max_hang_s
        self._state = _State()
        self._cached: set[str] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: OSError | None = None
        self.connections = 0
        """How many were accepted."""
        self.defects: list[str] = []
        """What went wrong in the server itself. Tests look at it."""

    # ---- life -------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Raises WorldlineError when the port cannot be had."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(ready,), name="rehearsal", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise WorldlineError(
                f"The rehearsal server cannot listen on port {self._port}: {self._failure.strerror}.",
                "Give another port, or none.",
            )
        return self

    def stop(self) -> None:
        """Close all connections and wait for the thread. May be called twice."""
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def _main(self, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            server = await asyncio.start_server(self._accepted, "127.0.0.1", self._port, limit=1 << 22)
        except OSError as error:
            self._failure = error
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        server.close()
        open_connections = list(self._tasks)
        for task in open_connections:
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)

    # ---- what tests and the demo do with it -----------------------------------------------------------------------------

    def drill(self, fault: str, times: int = 1) -> None:
        """Fail in this way at the next `times` requests for a message. Raises BadInput for an unknown fault."""
        find(fault)
        with self._state.changed:
            self._state.drills.extend([fault] * times)

    def clear_drills(self) -> None:
        with self._state.changed:
            self._state.drills.clear()

    @property
    def requests(self) -> list[Recorded]:
        """Everything that was asked, in order."""
        with self._state.changed:
            return list(self._state.requests)

    @property
    def message_requests(self) -> list[Recorded]:
        return [r for r in self.requests if r.method == "POST" and r.path == "/v1/messages"]

    def wait_for(self, condition: Callable[[list[Recorded]], bool], timeout_s: float = 60.0) -> bool:
        """Wait until the condition holds for the requests so far; False when the time is up."""
        with self._state.changed:
            return self._state.changed.wait_for(lambda: condition(self._state.requests), timeout_s)

    # ---- connections ----------------------------------------------------------------------------------------------------

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        # A task of our own: one that asyncio makes reports being cancelled as an error.
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        try:
            while not wire.closing:
                request = await read_request(reader)
                if request is None:
                    break
                with self._recorded(request, wire) as record:
                    await self._answer(request, record, wire)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away: recorded, and nothing to answer any more
        except ValueError as error:
            self.defects.append(f"a request that is no HTTP: {error}")
        finally:
            writer.close()

    @contextmanager
    def _recorded(self, request: HttpRequest, wire: Wire) -> Iterator[Recorded]:
        record = Recorded(
            request.method, request.path, request.headers, _object(request.raw_body), time.time()
        )
        with self._state.changed:
            self._state.requests.append(record)
            self._state.changed.notify_all()
        try:
            yield record
        except ConnectionError:
            wire.client_gone = True
            raise
        finally:
            with self._state.changed:
                record.client_gone = wire.client_gone
                record.done = True
                self._state.changed.notify_all()

    async def _answer(self, request: HttpRequest, record: Recorded, wire: Wire) -> None:
        route = (request.method, request.path)
        if self.scenario.key and not self._has_key(request):
            await wire.plain(401, error_body("authentication_error", "invalid x-api-key"))
        elif route == ("POST", "/v1/messages"):
            await self._message(record, wire)
        elif route == ("POST", "/v1/messages/count_tokens"):
            await self._count(record, wire)
        elif route == ("GET", "/v1/models"):
            await wire.plain(
                200, {"data": self._models(), "has_more": False, "first_id": None, "last_id": None}
            )
        elif request.method == "GET" and request.path.startswith("/v1/models/"):
            found = [m for m in self._models() if m["id"] == request.path.removeprefix("/v1/models/")]
            if found:
                await wire.plain(200, found[0])
            else:
                await wire.plain(
                    404, error_body("not_found_error", f"model: {request.path.rsplit('/', 1)[1]}")
                )
        else:
            await wire.plain(
                404, error_body("not_found_error", f"no route for {request.method} {request.path}")
            )

    def _has_key(self, request: HttpRequest) -> bool:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        return self.scenario.key in (sent, request.headers.get("x-api-key", ""))

    def _models(self) -> list[dict[str, Any]]:
        filler = {"type": "model", "created_at": "2026-01-01T00:00:00Z"}
        return [{**filler, "display_name": m["id"], **m} for m in self.scenario.models]

    async def _count(self, record: Recorded, wire: Wire) -> None:
        if record.body is None:
            await wire.plain(400, error_body("invalid_request_error", "The request body is not valid JSON."))
            return
        await wire.plain(200, {"input_tokens": Conversation(record.body).input_tokens()})

    async def _message(self, record: Recorded, wire: Wire) -> None:
        body = record.body
        if body is None:
            await self._refuse(
                record, wire, 400, "invalid_request_error", "The request body is not valid JSON."
            )
            return
        if self.scenario.known_models_only and record.model not in {m["id"] for m in self.scenario.models}:
            await self._refuse(record, wire, 404, "not_found_error", f"model: {record.model}")
            return
        faults = self._checker(body)
        if faults:
            await self._refuse(record, wire, 400, "invalid_request_error", faults[0])
            return
        talk = Conversation(body, count=self._count_before(record))
        reply = self._reply(talk)
        usage = {**self._usage(talk, reply), **(reply.usage or {})}
        fault = (
            self._next_drill() or (self.scenario.faults(talk) if self.scenario.faults else "") or reply.fault
        )
        pace = self.scenario.pace if reply.pace is None else reply.pace
        if fault:
            record.fault = fault
            found, argument = find(fault)
            events = reply_events(reply, record.model, usage, self.scenario.delta_chars)
            await found.play(Scene(wire, events, argument, pace, self._max_hang_s, bool(body.get("stream"))))
        elif body.get("stream"):
            await wire.stream_head()
            await wire.events(reply_events(reply, record.model, usage, self.scenario.delta_chars), pace)
            await wire.end()
        else:
            await wire.plain(200, reply_message(reply, record.model, usage))

    def _reply(self, talk: Conversation) -> Reply:
        try:
            return self.scenario.answer(talk)
        except BadInput as error:
            self.defects.append(str(error))
            return Reply(text=f"The scenario is wrong: {error}")

    async def _refuse(self, record: Recorded, wire: Wire, status: int, kind: str, text: str) -> None:
        record.refused = text
        await wire.plain(status, error_body(kind, text))

    def _next_drill(self) -> str:
        with self._state.changed:
            return self._state.drills.popleft() if self._state.drills else ""

    def _count_before(self, record: Recorded) -> int:
        """How many messages were asked for before this one, refused ones apart."""
        count = 0
        with self._state.changed:
            for other in self._state.requests:
                if other is record:
                    return count
                count += other.path == "/v1/messages" and not other.refused
        return count

    def _usage(self, talk: Conversation, reply: Reply) -> dict[str, Any]:
        """Estimated counts; the part of the prompt that was sent before comes from the cache, if caching is on."""
        total = talk.input_tokens()
        output = max(1, sum(len(json.dumps(b, ensure_ascii=False)) for b in reply.content()) // 4)
        if not self.scenario.caching and "cache_control" not in json.dumps(talk.body):
            return {"input_tokens": total, "output_tokens": output}
        digest = hashlib.sha256()
        read = size = 0
        for text in talk.prefixes():
            digest.update(text.encode("utf-8", "replace"))
            size += len(text) // 4
            if digest.hexdigest() in self._cached:
                read = min(size, total)
            self._cached.add(digest.hexdigest())
        return {
            "input_tokens": 0,
            "output_tokens": output,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": total - read,
        }


def _object(raw: bytes) -> dict[str, Any] | None:
    """The body as an object; None when it is none."""
    try:
        value = json.loads(raw) if raw else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
