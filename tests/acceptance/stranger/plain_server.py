"""A Messages API of its own, in sixty lines of standard library: what a stranger's local model server looks like.

Written from the public description of the API, not from the rehearsal server, so that a mistake made on both sides of our
own code cannot hide. It keeps no state: a prompt carries what is to be done, `DO [[call, ...], ...]` as JSON with one list of
tool calls for each reply (`{"name", "input"}`, or `{"say"}`), and the number of answered replies says which one is next.
`SLOW` streams the last text in small pieces, `HANG` begins an answer and never ends it, `STATUS n` refuses with that status.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


class PlainServer(ThreadingHTTPServer):
    """`with PlainServer() as server:` serves at `server.base_url` and keeps what was asked in `requests`."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.closing = threading.Event()
        self.hanging = threading.Event()
        """Set once an answer hangs."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> PlainServer:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()


def script_of(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The newest prompt, and how many replies it has had."""
    prompt, replies = "", 0
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [b["text"] for b in blocks if b["type"] == "text"]
        if message["role"] == "user":
            for text in texts:
                if re.search(r"\b(DO|SLOW|HANG|STATUS|SAY)\b", text):
                    prompt, replies = text, 0
        else:
            replies += 1
    return prompt, replies


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def api(self) -> PlainServer:
        return cast(PlainServer, self.server)

    def log_message(self, format: str, *args: Any) -> None:
        return None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.split("?")[0] != "/v1/messages":
            self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})
            return
        self.api.requests.append(body)
        self.api.headers_seen.append({k.lower(): v for k, v in self.headers.items()})
        prompt, replies = script_of(body["messages"])
        if refused := re.search(r"STATUS (\d+)", prompt):
            status = int(refused[1])
            kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
            self._json(
                status, {"type": "error", "error": {"type": kind.get(status, "api_error"), "message": "no"}}
            )
            return
        steps = json.loads(prompt.split("DO ", 1)[1]) if "DO " in prompt else []
        blocks = steps[replies] if replies < len(steps) else [{"say": f"Reply {replies} to: {prompt[:40]}"}]
        self._stream(
            body["model"], blocks, slow="SLOW" in prompt, hang="HANG" in prompt and replies >= len(steps)
        )

    def _json(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, model: str, blocks: list[dict[str, Any]], *, slow: bool, hang: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        usage = {"input_tokens": 100, "output_tokens": 1}
        try:
            self._event("message_start", message={
                "id": f"msg_{time.monotonic_ns()}", "type": "message", "role": "assistant", "model": model,
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
            })  # fmt: skip
            for index, block in enumerate(blocks):
                self._block(index, block, slow)
            if hang:
                self.api.hanging.set()
                self.api.closing.wait(3_600)
                return
            reason = "tool_use" if any("name" in b for b in blocks) else "end_turn"
            self._event(
                "message_delta",
                delta={"stop_reason": reason, "stop_sequence": None},
                usage={"output_tokens": 20},
            )
            self._event("message_stop")
        except (BrokenPipeError, ConnectionResetError):
            return  # the client went away, as it may

    def _block(self, index: int, block: dict[str, Any], slow: bool) -> None:
        if "say" in block:
            start: dict[str, Any] = {"type": "text", "text": ""}
            text, key, kind = block["say"], "text", "text_delta"
        else:
            start = {
                "type": "tool_use",
                "id": f"toolu_{time.monotonic_ns()}_{index}",
                "name": block["name"],
                "input": {},
            }
            text, key, kind = json.dumps(block["input"]), "partial_json", "input_json_delta"
        self._event("content_block_start", index=index, content_block=start)
        pieces = [text[i : i + 9] for i in range(0, len(text), 9)] if slow or "name" in block else [text]
        for piece in pieces:
            self._event("content_block_delta", index=index, delta={"type": kind, key: piece})
            if slow:
                self.api.closing.wait(0.05)
        self._event("content_block_stop", index=index)

    def _event(self, name: str, **data: Any) -> None:
        self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())
        self.wfile.flush()


if __name__ == "__main__":
    import sys

    with PlainServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as running:
        print(running.base_url, flush=True)
        threading.Event().wait()
