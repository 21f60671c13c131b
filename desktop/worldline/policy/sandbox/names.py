"""A name service that answers nothing and remembers what was asked: glibc asks nscd for a host before DNS, so this tells
which host `ssh`, `git`, a database client or a raw socket wanted, without a port and without a capability."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import struct
import threading
from pathlib import Path

_BY_NAME, _BY_NAME6, _ADDRESSES = 4, 5, 14


_PLACE = re.compile(r"-names-[0-9a-f]{8}/socket$")


def folder_beside(private_tmp: Path) -> Path:
    """A folder for the service of one call."""
    return private_tmp.with_name(f"{private_tmp.name}-names-{os.urandom(4).hex()}")


def is_name_service(path: str) -> bool:
    """Whether a socket is that of such a service, of this session or of another. They come and go with every command,
    and answer nothing: to cover them would only make commands of two sessions stop each other from starting."""
    return _PLACE.search(path) is not None


class NameService(threading.Thread):
    """Listens on `folder`/socket (`folder` is its own, and goes with it), which the sandbox shows as /run/nscd/socket."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True, name="sandbox-names")
        folder.mkdir(mode=0o755, parents=True)
        self._folder = folder
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        try:
            # The path of a socket may have about 100 bytes; a data folder may lie deeper.
            self._listener.bind(f"/proc/self/fd/{place}/socket")
        finally:
            os.close(place)
        (folder / "socket").chmod(0o666)
        self._listener.listen(64)
        self._closing = threading.Event()
        self.names: dict[str, int] = {}

    def run(self) -> None:
        while not self._closing.is_set():
            ready, _, _ = select.select([self._listener], [], [], 0.1)
            if not ready:
                continue
            with contextlib.suppress(OSError, struct.error):
                client, _ = self._listener.accept()
                with contextlib.closing(client):
                    self._answer(client)
        self._tidy()

    def _tidy(self) -> None:
        self._listener.close()
        with contextlib.suppress(OSError):
            (self._folder / "socket").unlink(missing_ok=True)
            self._folder.rmdir()

    def close(self) -> None:
        self._closing.set()
        if self.ident is None:  # it never ran
            self._tidy()

    def _answer(self, client: socket.socket) -> None:
        client.settimeout(1)
        head = client.recv(12, socket.MSG_WAITALL)
        if len(head) < 12:
            return
        _version, kind, length = struct.unpack("=iii", head)
        key = client.recv(min(max(length, 0), 1024), socket.MSG_WAITALL) if length > 0 else b""
        name = key.rstrip(b"\0").decode("latin-1")
        if kind not in (_BY_NAME, _BY_NAME6, _ADDRESSES):
            return
        if name and name != "localhost":
            self.names[name] = self.names.get(name, 0) + 1
        # found = -1: no answer here, go on with files and DNS.
        fields = 4 if kind == _ADDRESSES else 6
        client.sendall(struct.pack(f"=ii{fields}i", 2, -1, *[0] * fields))
