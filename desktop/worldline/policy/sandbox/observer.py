"""The supervisor of the observer filter: says which path, host or socket a confined command wanted.

It decides nothing. Every notification is answered with CONTINUE, and the kernel (mounts, namespaces, Landlock) allows or
refuses. What is read from the other process is a hint for people and for the model, never policy: it can be raced.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path

from worldline.policy.sandbox.inside import bpf
from worldline.policy.sandbox.model import Denial

# ioctl numbers and record sizes of seccomp_unotify(2).
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_AT_FDCWD = 0xFFFFFF9C
_MAX_ITEMS = 300
_NAMES = {number: name for name, number in bpf.NUMBERS.items()}
# call -> pairs of (argument with the folder descriptor or None, argument with the path)
_PATHS: dict[str, list[tuple[int | None, int]]] = {
    "open": [(None, 0)], "creat": [(None, 0)], "openat": [(0, 1)], "unlink": [(None, 0)], "unlinkat": [(0, 1)],
    "rename": [(None, 0), (None, 1)], "renameat": [(0, 1), (2, 3)], "renameat2": [(0, 1), (2, 3)],
    "mkdir": [(None, 0)], "mkdirat": [(0, 1)], "rmdir": [(None, 0)], "link": [(None, 1)], "linkat": [(2, 3)],
    "symlink": [(None, 1)], "symlinkat": [(1, 2)], "truncate": [(None, 0)], "chmod": [(None, 0)],
    "fchmodat": [(0, 1)], "fchmodat2": [(0, 1)], "chown": [(None, 0)], "lchown": [(None, 0)], "fchownat": [(0, 1)],
    "mknod": [(None, 0)], "mknodat": [(0, 1)], "setxattr": [(None, 0)], "lsetxattr": [(None, 0)],
    "removexattr": [(None, 0)], "lremovexattr": [(None, 0)], "utimensat": [(0, 1)],
    "setxattrat": [(0, 1)], "removexattrat": [(0, 1)],
}  # fmt: skip
_OWN = re.compile(r"/dev(?:/|$)|/proc/(?:\d+|self|thread-self)(?:/|$)|/proc$")
"""Devices of its own, and what belongs to a process: not of the rest of /proc, which is about the machine."""
_QUIET_SOCKETS = frozenset({"/var/run/nscd/socket", "/run/nscd/socket", "/dev/log"})


class Observer(threading.Thread):
    """Reads notifications until the last process with the filter is gone. `events` is complete after `join`."""

    def __init__(self, descriptor: int, writable: Sequence[Path], protected: Sequence[Path]) -> None:
        super().__init__(daemon=True, name="sandbox-observer")
        self._fd = descriptor
        self._writable = [os.path.realpath(p) for p in writable]
        self._protected = [os.path.realpath(p) for p in protected]
        self._seen: dict[tuple[str, str], Denial] = {}
        self._memory: dict[int, int] = {}
        self._real: dict[str, str] = {}
        self.defects = 0

    @property
    def events(self) -> list[Denial]:
        return list(self._seen.values())

    def run(self) -> None:
        import fcntl  # not on Windows, where this module is imported and never used

        request, answer = bytearray(80), bytearray(24)
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        try:
            while True:
                for _, event in poll.poll():
                    if not event & select.POLLIN:
                        return
                    request[:] = bytes(80)
                    try:
                        fcntl.ioctl(self._fd, _RECEIVE, request, True)
                    except OSError:
                        continue  # the process was killed meanwhile
                    try:
                        self._handle(bytes(request))
                    except (OSError, ValueError, IndexError, struct.error):
                        self.defects += 1  # a name is missed; the command must go on all the same
                    struct.pack_into(
                        "=QqiI", answer, 0, struct.unpack_from("=Q", request)[0], 0, 0, _CONTINUE
                    )
                    with contextlib.suppress(OSError):
                        fcntl.ioctl(self._fd, _SEND, answer, True)
        finally:
            for descriptor in (self._fd, *self._memory.values()):
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def _handle(self, raw: bytes) -> None:
        _id, pid, _flags, number = struct.unpack_from("=QIIi", raw, 0)
        args = struct.unpack_from("=6Q", raw, 32)
        name = _NAMES.get(number, str(number))
        if name in _PATHS:
            for folder, path in _PATHS[name]:
                text = self._text(pid, args[path])
                if not text and name != "utimensat":
                    continue
                target = self._absolute(pid, None if folder is None else args[folder], text)
                if not _OWN.match(target) and not self._may_write(target):
                    self._note(Denial("write", target, name), pid)
        elif name in ("connect", "sendto"):
            address, length = (1, 2) if name == "connect" else (4, 5)
            self._address(name, self._bytes(pid, args[address], min(args[length], 128)), pid)

    def _may_write(self, path: str) -> bool:
        """The longest root that the path lies below decides, as it does for mounts."""

        def longest(roots: list[str]) -> int:
            return max(
                (len(r) for r in roots if path == r or path.startswith(r.rstrip("/") + "/")), default=-1
            )

        return longest(self._writable) > longest(self._protected)

    def _note(self, denial: Denial, pid: int) -> None:
        key = (denial.kind, denial.target)
        known = self._seen.get(key)
        if known is not None:
            known.count += 1
        elif len(self._seen) < _MAX_ITEMS:
            with contextlib.suppress(OSError):
                denial.program = Path(f"/proc/{pid}/comm").read_text().strip()
            self._seen[key] = denial

    # --- reading the other process ------------------------------------------------------------------------

    def _memory_of(self, pid: int, fresh: bool = False) -> int:
        if fresh and pid in self._memory:
            os.close(self._memory.pop(pid))
        if pid not in self._memory:
            if len(self._memory) > 64:
                for descriptor in self._memory.values():
                    os.close(descriptor)
                self._memory.clear()
            self._memory[pid] = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        return self._memory[pid]

    def _bytes(self, pid: int, address: int, length: int) -> bytes:
        if not address or not length:
            return b""
        try:
            data = os.pread(self._memory_of(pid), length, address)
        except OSError:
            data = b""
        # After an exec, or with a recycled pid, the cached descriptor reads nothing.
        return data or os.pread(self._memory_of(pid, fresh=True), length, address)

    def _text(self, pid: int, address: int) -> str:
        out = b""
        while address and len(out) < 4096:
            chunk = self._bytes(pid, address, min(256, 4096 - (address & 4095)))  # never across a page
            if not chunk:
                break
            end = chunk.find(b"\0")
            if end >= 0:
                out += chunk[:end]
                break
            out += chunk
            address += len(chunk)
        return os.fsdecode(out)

    def _absolute(self, pid: int, folder: int | None, path: str) -> str:
        if not path.startswith("/"):
            where = _AT_FDCWD if folder is None else folder & 0xFFFFFFFF
            base = os.readlink(f"/proc/{pid}/cwd" if where == _AT_FDCWD else f"/proc/{pid}/fd/{where}")
            path = os.path.join(base, path)
        head, tail = os.path.split(os.path.normpath(path))
        real = self._real.get(head)
        if real is None:
            real = os.path.realpath(head)
            if len(self._real) < 5000:
                self._real[head] = real
        return os.path.join(real, tail) if tail else head

    def _address(self, call: str, raw: bytes, pid: int) -> None:
        if len(raw) < 2:
            return
        family = struct.unpack_from("=H", raw)[0]
        if family == socket.AF_INET and len(raw) >= 8:
            port, host = struct.unpack_from("!H", raw, 2)[0], socket.inet_ntop(socket.AF_INET, raw[4:8])
        elif family == socket.AF_INET6 and len(raw) >= 24:
            port, host = struct.unpack_from("!H", raw, 2)[0], socket.inet_ntop(socket.AF_INET6, raw[8:24])
        elif family == socket.AF_UNIX:
            name = raw[2:]
            abstract = name[:1] == b"\0"
            text = (
                ("@" + os.fsdecode(name[1:].split(b"\0")[0]))
                if abstract
                else os.fsdecode(name.split(b"\0")[0])
            )
            if text and text not in _QUIET_SOCKETS:
                if not abstract and not text.startswith("/"):
                    text = self._absolute(pid, None, text)
                if not self._may_write(text):
                    self._note(Denial("socket", text, call), pid)
            return
        else:
            return
        loopback = host.startswith("127.") or host in ("::1", "0.0.0.0", "::")
        if not loopback and port != 53:
            self._note(Denial("connect", f"{host}:{port}", call), pid)
