"""Seccomp filters as bytes (x86_64 and aarch64), made without libseccomp.

`hardening` refuses what no tool needs and what would get round the other walls. `observer` sends the write-intent and
connect calls to a supervisor outside; reads never leave the fast path. Both are plain classic BPF: see seccomp(2).
"""

from __future__ import annotations

import os
import struct

ALLOW, ERRNO, KILL, NOTIFY = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
EPERM, EACCES, ENOSYS, EAFNOSUPPORT = 1, 13, 38, 97
MACHINE = os.uname().machine
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_X86_64 = {
    "open": 2, "openat": 257, "openat2": 437, "creat": 85, "unlink": 87, "unlinkat": 263, "rename": 82,
    "renameat": 264, "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86, "linkat": 265,
    "symlink": 88, "symlinkat": 266, "truncate": 76, "chmod": 90, "fchmodat": 268, "fchmodat2": 452, "chown": 92,
    "lchown": 94, "fchownat": 260, "utimensat": 280, "mknod": 133, "mknodat": 259, "setxattr": 188, "lsetxattr": 189,
    "removexattr": 197, "lremovexattr": 198, "socket": 41, "connect": 42, "bind": 49, "sendto": 44, "sendmsg": 46,
    "sendmmsg": 307, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "bpf": 321,
    "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "add_key": 248, "request_key": 249, "mount": 165,
    "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "kexec_load": 246, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "reboot": 169, "swapon": 167, "swapoff": 168, "ioctl": 16,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
    "mount_setattr": 442, "fsconfig": 431, "fsmount": 432, "fspick": 433, "open_by_handle_at": 304, "acct": 163,
    "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip
_AARCH64 = {
    "openat": 56, "openat2": 437, "unlinkat": 35, "renameat": 38, "renameat2": 276, "mkdirat": 34, "linkat": 37,
    "symlinkat": 36, "truncate": 45, "fchmodat": 53, "fchmodat2": 452, "fchownat": 54, "utimensat": 88, "mknodat": 33,
    "setxattr": 5, "lsetxattr": 6, "removexattr": 14, "lremovexattr": 15, "socket": 198, "connect": 203, "bind": 200,
    "sendto": 206, "sendmsg": 211, "sendmmsg": 269, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217,
    "request_key": 218, "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "kexec_load": 104,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "reboot": 142, "swapon": 224, "swapoff": 225,
    "ioctl": 29, "open_tree": 428, "move_mount": 429, "fsopen": 430, "ptrace": 117, "process_vm_readv": 270,
    "process_vm_writev": 271, "mount_setattr": 442, "fsconfig": 431, "fsmount": 432, "fspick": 433, "open_by_handle_at": 265,
    "acct": 89, "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip
NUMBERS = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(MACHINE, {})

_REFUSED = (
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "keyctl",
    "add_key", "request_key", "kexec_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
    "swapoff", "mount", "umount2", "pivot_root", "setns", "move_mount", "fsopen", "open_tree", "mount_setattr", "fsconfig",
    "fsmount", "fspick", "open_by_handle_at", "acct",
)  # fmt: skip
# ax25 ipx appletalk x25 key packet rds can bluetooth alg vsock xdp. A network namespace does not cover vsock.
_FAMILIES = (3, 4, 5, 9, 15, 17, 21, 29, 31, 38, 40, 44)
_WATCHED = (
    "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink",
    "symlinkat", "truncate", "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "creat", "mknod",
    "mknodat", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "utimensat", "setxattrat", "removexattrat",
)  # fmt: skip
_O_WRITE = 0x1 | 0x2 | 0x40 | 0x200  # O_WRONLY | O_RDWR | O_CREAT | O_TRUNC
_MSG_FASTOPEN = 0x20000000
_CLONE_NEWUSER = 0x10000000

_LD, _JEQ, _JSET, _JGE, _RET, _AND, _JA = 0x20, 0x15, 0x45, 0x35, 0x06, 0x54, 0x05


def supported() -> bool:
    return bool(NUMBERS)


def _ins(code: int, jump_true: int, jump_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF)


def _load_nr() -> bytes:
    return _ins(_LD, 0, 0, 0)


def _load_arg(index: int) -> bytes:
    return _ins(_LD, 0, 0, 16 + 8 * index)  # low 32 bits of the argument, little endian


def _prologue() -> list[bytes]:
    code = [
        _ins(_LD, 0, 0, 4),
        _ins(_JEQ, 1, 0, _AUDIT_ARCH[MACHINE]),
        _ins(_RET, 0, 0, KILL),
        _load_nr(),
    ]
    if MACHINE == "x86_64":  # the x32 ABI reaches the same calls by other numbers
        code += [_ins(_JGE, 0, 1, 0x40000000), _ins(_RET, 0, 0, ERRNO | ENOSYS)]
    return code


def _always(name: str, action: int) -> list[bytes]:
    if name not in NUMBERS:
        return []
    return [_ins(_JEQ, 0, 1, NUMBERS[name]), _ins(_RET, 0, 0, action)]


def _when(name: str, argument: int, test: int, value: int, action: int) -> list[bytes]:
    """If the argument passes the test (`_JEQ`, `_JSET`); the accumulator holds the call number again afterwards."""
    if name not in NUMBERS:
        return []
    return [
        _ins(_JEQ, 0, 4, NUMBERS[name]),
        _load_arg(argument),
        _ins(test, 0, 1, value),
        _ins(_RET, 0, 0, action),
        _load_nr(),
    ]


def _unless_equal(name: str, argument: int, value: int, action: int) -> list[bytes]:
    if name not in NUMBERS:
        return []
    return [
        _ins(_JEQ, 0, 4, NUMBERS[name]),
        _load_arg(argument),
        _ins(_JEQ, 1, 0, value),
        _ins(_RET, 0, 0, action),
        _load_nr(),
    ]


def hardening(own_network: bool) -> bytes:
    """What is refused in any case. `own_network`: there is a network namespace; without one only plain TCP sockets are
    left, and TCP fast open is refused because Landlock's connect rule does not see it."""
    code = _prologue()
    for name in _REFUSED:
        code += _always(name, ERRNO | EPERM)
    code += _when("unshare", 0, _JSET, _CLONE_NEWUSER, ERRNO | EPERM)
    code += _when("ioctl", 1, _JEQ, 0x5412, ERRNO | EPERM)  # TIOCSTI
    code += _when("ioctl", 1, _JEQ, 0x541C, ERRNO | EPERM)  # TIOCLINUX
    if own_network:
        # The first process in there waits for the others. It is hardened in the same way, but nobody watches it.
        code += _when("ptrace", 1, _JEQ, 1, ERRNO | EPERM)
        code += _when("process_vm_readv", 0, _JEQ, 1, ERRNO | EPERM)
        code += _when("process_vm_writev", 0, _JEQ, 1, ERRNO | EPERM)
    for family in _FAMILIES:
        code += _when("socket", 0, _JEQ, family, ERRNO | EAFNOSUPPORT)
    if not own_network:
        for family in (2, 10):  # AF_INET, AF_INET6: only SOCK_STREAM with protocol 0 or 6
            code += [
                _ins(_JEQ, 0, 11, NUMBERS["socket"]),
                _load_arg(0),
                _ins(_JEQ, 0, 8, family),
                _load_arg(1),
                _ins(_AND, 0, 0, 0xF),
                _ins(_JEQ, 0, 4, 1),
                _load_arg(2),
                _ins(_JEQ, 3, 0, 0),
                _ins(_JEQ, 2, 0, 6),
                _ins(_JA, 0, 0, 0),
                _ins(_RET, 0, 0, ERRNO | EACCES),
                _load_nr(),
            ]
        for name, argument in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
            code += _when(name, argument, _JSET, _MSG_FASTOPEN, ERRNO | EACCES)
    return b"".join([*code, _ins(_RET, 0, 0, ALLOW)])


def observer() -> bytes:
    """Write-intent path calls and connects ask the supervisor outside, which always lets the kernel decide."""
    code = _prologue()
    code += _when("openat", 2, _JSET, _O_WRITE, NOTIFY) + _when("open", 1, _JSET, _O_WRITE, NOTIFY)
    code += _always("openat2", ERRNO | ENOSYS)  # its flags are behind a pointer; programs fall back to openat
    for name in _WATCHED:
        code += _always(name, NOTIFY)
    code += _always("connect", NOTIFY)
    code += _unless_equal("sendto", 4, 0, NOTIFY)  # with a destination: UDP
    return b"".join([*code, _ins(_RET, 0, 0, ALLOW)])
