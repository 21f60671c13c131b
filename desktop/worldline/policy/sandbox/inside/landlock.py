"""Landlock by ctypes: file writes only below the given paths, and no TCP. For machines without user namespaces."""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on x86_64 and aarch64
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_WRITE = _WRITE_FILE | sum(1 << i for i in range(4, 13))  # remove and make rights
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_BIND_TCP, _CONNECT_TCP = 1, 2


def abi() -> int:
    """Version of the interface, 0 = not available."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def apply(writable: list[str], ports: list[int]) -> dict[str, object]:
    """Confine this process for good. TCP may connect to `ports` of any host and be
    bound to none. Returns what is really enforced."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*args: object) -> int:
        result = int(libc.syscall(*args))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"landlock: {os.strerror(number)}")
        return result

    version = abi()
    if not version:
        raise OSError(38, "landlock is not available")
    # IOCTL_DEV is left alone: refusing it breaks terminals.
    rights = _WRITE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    tcp = (_BIND_TCP | _CONNECT_TCP) if version >= 4 else 0
    scope = 3 if version >= 6 else 0  # abstract unix sockets, signals
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", rights, tcp, scope), 24)
    ruleset = call(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in writable:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = rights if os.path.isdir(path) else rights & _FILE_ONLY
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, descriptor), 12)
        call(_ADD, ruleset, 1, rule, ctypes.c_uint32(0))
        os.close(descriptor)
    if tcp:
        for port in ports:
            call(
                _ADD,
                ruleset,
                2,
                ctypes.create_string_buffer(struct.pack("=QQ", _CONNECT_TCP, port), 16),
                ctypes.c_uint32(0),
            )
    libc.prctl(38, 1, 0, 0, 0)
    call(_RESTRICT, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
    return {"abi": version, "tcp": bool(tcp), "truncate": version >= 3}
