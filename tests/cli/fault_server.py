"""A Messages server that fails at random, written from the wire up: plain sockets, its own events, its own books.

It knows which replies it delivered whole, and which calls it only began: what the client made of both is compared with
these books afterwards.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Any

FAULTS = (
    "reset_before", "cut_stream", "cut_call", "no_stop", "error_event", "error_event_after_call", "status_500",
    "status_529", "status_503_html", "status_429", "not_json", "bad_tool_json", "duplicate_keys", "empty_200",
    "html_200", "two_starts", "unknown_events", "null_stop", "pings_then_fine", "split_utf8", "empty_reply",
    "max_tokens_in_call", "pause_turn",
)  # fmt: skip
"""All but the last ones are failures of a reply; the others are odd, and fine."""


@dataclass
class Books:
    whole: list[str] = field(default_factory=list)
    """Ids of replies whose last byte was sent."""
    runnable: list[str] = field(default_factory=list)
    """Words that whole calls write to `ran.txt`."""
    forbidden: list[str] = field(default_factory=list)
    """Words of calls that were cut off, broken, or of replies that never ended."""
    faults: list[str] = field(default_factory=list)
    bad_requests: list[str] = field(default_factory=list)
    requests: int = 0


class FaultServer:
    """Serves until `close`. Every `turns` replies it says that it is done; a third of its answers fail."""

    def __init__(self, seed: int, turns: int) -> None:
        self.books = Books()
        self._rng = random.Random(seed)
        self._turns = turns
        self._lock = threading.Lock()
        self._number = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._open = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while self._open:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._client, args=(connection,), daemon=True).start()

    def _client(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    return
                head += more
            top, _, body = head.partition(b"\r\n\r\n")
            size = next(
                (
                    int(v)
                    for k, _, v in (line.partition(b":") for line in top.split(b"\r\n"))
                    if k.lower() == b"content-length"
                ),
                0,
            )
            while len(body) < size:
                body += connection.recv(65536)
            path = top.split(b" ", 2)[1].split(b"?")[0]
            if path != b"/v1/messages":
                connection.sendall(
                    _plain(404, b'{"type":"error","error":{"type":"not_found_error","message":"no"}}')
                )
                return
            with self._lock:
                self._answer(connection, json.loads(body))

    def _answer(self, connection: socket.socket, request: dict[str, Any]) -> None:
        books = self.books
        books.requests += 1
        problem = _unacceptable(request)
        if problem:
            books.bad_requests.append(problem)
        fault = self._rng.choice(FAULTS) if self._rng.random() < 0.35 else ""
        if fault:
            books.faults.append(fault)
        self._number += 1
        name = f"m{self._number}"
        if fault == "reset_before":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if fault.startswith("status_"):
            connection.sendall(_status(fault))
            return
        if fault in ("empty_200", "html_200"):
            connection.sendall(
                _plain(200, b"" if fault == "empty_200" else b"<html><body>Sign in</body></html>")
            )
            return
        done = self._number % self._turns == 0
        data, whole, runs = _stream(name, fault, done)
        word = f"word-{name}"
        if not done and fault not in ("empty_reply", "pause_turn", "null_stop"):
            (books.runnable if whole and runs else books.forbidden).append(word)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        step = 7 if fault == "split_utf8" else 4096
        for at in range(0, len(data), step):
            connection.sendall(data[at : at + step])
        if whole:
            books.whole.append(name)
        if fault == "cut_stream":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _plain(status: int, body: bytes, kind: str = "application/json") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
        + body
    )


def _status(fault: str) -> bytes:
    if fault == "status_503_html":
        return _plain(503, b"<html><h1>503 Service Unavailable</h1></html>", "text/html")
    status = int(fault.removeprefix("status_"))
    kind = {500: "api_error", 529: "overloaded_error", 429: "rate_limit_error"}[status]
    return _plain(status, json.dumps({"type": "error", "error": {"type": kind, "message": kind}}).encode())


def _event(name: str, **body: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **body}, ensure_ascii=False)}\n\n".encode()


def _stream(name: str, fault: str, done: bool) -> tuple[bytes, bool, bool]:
    """The bytes of a reply, whether it is whole, and whether its call may be run."""
    start = _event("message_start", message={
        "id": name, "type": "message", "role": "assistant", "model": "faulty", "content": [], "stop_reason": None,
        "usage": {"input_tokens": 500, "output_tokens": 1},
    })  # fmt: skip
    text = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    text += _event(
        "content_block_delta", index=0, delta={"type": "text_delta", "text": f"Step {name} — 步骤."}
    )
    text += _event("content_block_stop", index=0)
    raw = json.dumps({"command": f"echo word-{name} >> ran.txt"})
    if fault == "bad_tool_json":
        raw = raw[:-1] + ",,}"
    elif fault == "duplicate_keys":
        raw = raw[:-1] + ', "command": "echo other >> ran.txt"}'
    opened = _event("content_block_start", index=1,
                    content_block={"type": "tool_use", "id": f"toolu_{name}", "name": "bash", "input": {}})  # fmt: skip
    half = _event(
        "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": raw[:20]}
    )
    rest = _event(
        "content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": raw[20:]}
    )
    closed = _event("content_block_stop", index=1)

    def end(reason: str | None) -> bytes:
        return _event(
            "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 20}
        ) + _event("message_stop")

    call = opened + half + rest + closed
    failed = _event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    if fault == "cut_stream":
        return start + text + opened + half, False, False
    if fault == "cut_call":
        return start + text + opened + half, False, False
    if fault == "no_stop":
        return start + text + call, False, False
    if fault == "error_event":
        return start + text + failed, False, False
    if fault == "error_event_after_call":
        return start + text + call + failed, False, False
    if fault == "not_json":
        return start + text + b"event: content_block_delta\ndata: {oops\n\n", False, False
    if fault == "two_starts":
        return start + text + start + call + end("tool_use"), False, False
    if fault == "empty_reply":
        return start + end("end_turn"), True, False
    if fault == "null_stop":
        return start + text + end(None), True, False
    if fault == "pause_turn":
        return start + text + end("pause_turn"), True, False
    if fault == "max_tokens_in_call":
        return start + text + opened + half + end("max_tokens"), True, False
    pings = _event("ping") * 5 if fault == "pings_then_fine" else b""
    odd = _event("weather", sky="blue") if fault == "unknown_events" else b""
    if done:
        return start + pings + odd + text + end("end_turn"), True, False
    runs = fault not in ("bad_tool_json", "duplicate_keys")
    return start + pings + odd + text + call + end("tool_use"), True, runs


def _unacceptable(request: dict[str, Any]) -> str:
    """What the real API would refuse: roles, empty content, calls without exactly one result right after."""
    messages = request.get("messages") or []
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        return "first and last message must be the user's"
    for index, message in enumerate(messages):
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not content or any(b["type"] == "text" and not b["text"].strip() for b in content):
            return f"message {index} is empty"
        if index and messages[index - 1]["role"] == message["role"]:
            return f"message {index} has the role of the one before"
        uses = [b["id"] for b in content if b["type"] == "tool_use"]
        if uses:
            results = [
                b.get("tool_use_id") for b in messages[index + 1]["content"] if b["type"] == "tool_result"
            ]
            if sorted(results) != sorted(uses):
                return f"calls {uses} got results {results}"
    return ""
