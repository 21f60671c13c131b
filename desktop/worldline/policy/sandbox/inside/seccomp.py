"""Put ready-made filters on this process. Imports `_ctypes` and nothing more: the package `ctypes` costs more than the walls."""

import _ctypes
import os

_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
_BYTES_HEADER = bytes.__basicsize__ - 1
"""Where the contents of a bytes object begin, seen from its address (CPython)."""


def install(program: bytes, listener: bool = False) -> int:
    """Put a filter on this process for good. With `listener` the file descriptor of the notifications comes back."""
    library = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]  # None: this process
    syscall, prctl = _ctypes.dlsym(library, "syscall"), _ctypes.dlsym(library, "prctl")
    address = id(program) + _BYTES_HEADER
    # struct sock_fprog: number of instructions, padding, pointer to them
    descriptor = (len(program) // 8).to_bytes(2, "little") + bytes(6) + address.to_bytes(8, "little")
    _ctypes.call_function(prctl, (38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
    # SECCOMP_FILTER_FLAG_NEW_LISTENER, and WAIT_KILLABLE_RECV where the kernel has it (5.19).
    for flags in ((1 << 3) | (1 << 5), 1 << 3) if listener else (0,):
        result: int = _ctypes.call_function(syscall, (_SYS_SECCOMP[os.uname().machine], 1, flags, descriptor))
        if result >= 0:
            return result
    raise OSError("the kernel refused the seccomp filter")
