"""The HTTP and CONNECT proxy of a confined command. Its listening socket was made inside the command's network namespace
and handed out, so nothing bridges the two sides but what is approved here."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import select
import socket
import threading
import time
from collections.abc import Callable

from worldline.policy.sandbox.model import Flow, HostPolicy

_TARGET = re.compile(r"http://(\[[^\]]+\]|[^/:]+)(?::(\d+))?(/.*)?$")
_IDLE_S = 300
_LEADS_BACK = "this name leads to this machine; ask for localhost, with its port, instead"


class Proxy(threading.Thread):
    """Accepts until closed; one short-lived thread a connection. All connections to one host wait on one question.

    `own` tells by the address of a client whether it is of the command itself: what was opened for that is not for
    another command on the same loopback."""

    def __init__(
        self, descriptor: int, policy: HostPolicy, own: Callable[[str, int], bool] | None = None
    ) -> None:
        super().__init__(daemon=True, name="sandbox-proxy")
        self._listener = socket.socket(fileno=descriptor)
        self._policy = policy
        self._own = own
        self._lock = threading.Lock()
        self._hosts: dict[tuple[str, int], threading.Lock] = {}
        self._closing = threading.Event()
        self._serving: list[threading.Thread] = []
        self.flows: list[Flow] = []

    def run(self) -> None:
        while not self._closing.is_set():
            ready, _, _ = select.select([self._listener], [], [], 0.1)
            if not ready:
                continue
            try:
                client, (host, port) = self._listener.accept()
            except OSError:
                break
            thread = threading.Thread(
                target=self._serve, args=(client, host, port), daemon=True, name="sandbox-flow"
            )
            self._serving = [t for t in self._serving if t.is_alive()] + [thread]
            thread.start()
        self._listener.close()

    def close(self) -> None:
        """Take no more, and let what is under way be counted: its clients are gone."""
        self._closing.set()
        deadline = time.monotonic() + 1
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits on it
        for thread in self._serving:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _serve(self, client: socket.socket, host: str, port: int) -> None:
        with contextlib.closing(client):
            try:
                self._one(client, host, port)
            except (OSError, ValueError):
                return  # a broken client; what it wanted is in `flows` if it got that far

    def _one(self, client: socket.socket, peer: str, peer_port: int) -> None:
        client.settimeout(30)
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 65536:
            chunk = client.recv(8192)
            if not chunk:
                return
            head += chunk
        if self._own is not None and not self._own(peer, peer_port):
            self._refuse(client, Flow("?", 0, "?"), "this proxy is that of another command")
            return
        line, _, rest = head.partition(b"\r\n")
        method, target, _version = line.decode("latin-1").split(" ", 2)
        if method == "CONNECT":
            host, _, port_text = target.rpartition(":")
            port, path = int(port_text), ""
        else:
            match = _TARGET.match(target)
            if match is None:
                self._refuse(client, Flow("?", 0, method), "not a proxy request")
                return
            host, port, path = match[1], int(match[2] or 80), match[3] or "/"
        flow = Flow(host.strip("[]").lower().rstrip("."), port, method, path)
        with self._lock:
            self.flows.append(flow)
            gate = self._hosts.setdefault((flow.host, flow.port), threading.Lock())
        # One at a time for each host: later connections find the answer of the first.
        with gate:
            flow.why = self._policy(flow.host, flow.port, method)
        flow.allowed = not flow.why
        if not flow.allowed:
            self._refuse(client, flow, flow.why)
            return
        try:
            server = _connect(flow)
            if server is None:
                flow.allowed, flow.why = False, _LEADS_BACK
                self._refuse(client, flow, flow.why)
                return
        except OSError as error:
            flow.error = str(error)
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with contextlib.closing(server):
            self._start(client, server, flow, head, rest)
            self._pump(client, server, flow)

    @staticmethod
    def _start(client: socket.socket, server: socket.socket, flow: Flow, head: bytes, rest: bytes) -> None:
        if flow.method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            early = head.split(b"\r\n\r\n", 1)[1]
        else:
            fields, _, body = rest.partition(b"\r\n\r\n")
            kept = [f for f in fields.split(b"\r\n") if not f.lower().startswith((b"proxy-", b"connection:"))]
            first = f"{flow.method} {flow.path} HTTP/1.1\r\n".encode("latin-1")
            early = first + b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body
            if body:
                _with_data(flow)
        if early:
            server.sendall(early)
            flow.sent += len(early)

    @staticmethod
    def _refuse(client: socket.socket, flow: Flow, why: str) -> None:
        body = f"Blocked by the sandbox: {flow.method} to {flow.host}:{flow.port} was not allowed ({why}).\n".encode()
        head = (
            "HTTP/1.1 403 Blocked by the sandbox\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"X-Worldline-Denied: 1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)

    def _pump(self, client: socket.socket, server: socket.socket, flow: Flow) -> None:
        client.settimeout(None)
        server.settimeout(None)
        while not self._closing.is_set():
            ready, _, _ = select.select([client, server], [], [], _IDLE_S)
            if not ready:
                return
            for source in ready:
                data = source.recv(65536)
                if not data:
                    return
                if source is client:
                    _with_data(flow)
                    server.sendall(data)
                    flow.sent += len(data)
                else:
                    client.sendall(data)
                    flow.received += len(data)


def _with_data(flow: Flow) -> None:
    """What follows the head of a request that reads is no part of it: something is sent, whatever it calls itself."""
    if flow.method in ("GET", "HEAD"):
        flow.method += " with data"


def _connect(flow: Flow) -> socket.socket | None:
    """To the host that was approved. None: it goes by another name than this machine and leads to it, which is not what
    the person was asked about. Raises OSError."""
    problem: OSError = OSError("the host has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(
        flow.host, flow.port, type=socket.SOCK_STREAM
    ):
        if _is_name(flow.host) and _of_this_machine(str(address[0])):
            return None
        server = socket.socket(family, kind, protocol)
        server.settimeout(15)
        try:
            server.connect(address)
            return server
        except OSError as error:
            server.close()
            problem = error
    raise problem


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
    return False


def _of_this_machine(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_link_local or found.is_unspecified
