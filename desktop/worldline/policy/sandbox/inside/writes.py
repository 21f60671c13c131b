"""Landlock beside the mounts: nothing but what is named may be opened for writing. A mount that is read only keeps files as
they are, but not what is written into a named pipe from reaching whoever reads it. Also: a process outside these walls (the
one that bubblewrap leaves in there) can neither be traced nor have its memory written.

Imports `_ctypes` and nothing more, see `seccomp`."""

import _ctypes
import os

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on x86_64 and aarch64
_WRITE_FILE, _REFER = 1 << 1, 1 << 13


def only_below(paths: list[str]) -> bool:
    """For good. False: this kernel cannot (before 5.19), and nothing was changed. Raises OSError."""
    library = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]  # None: this process
    syscall, prctl = _ctypes.dlsym(library, "syscall"), _ctypes.dlsym(library, "prctl")

    def call(*arguments: object) -> int:
        result: int = _ctypes.call_function(syscall, arguments)
        return result

    if call(_CREATE, None, 0, 1) < 2:
        return False
    handled = (_WRITE_FILE | _REFER).to_bytes(8, "little")
    ruleset = call(_CREATE, handled, 8, 0)
    if ruleset < 0:
        return False
    # Moving between folders is refused by any ruleset that does not allow it; here the mounts decide about that.
    for path, rights in (("/", _REFER), *((path, _WRITE_FILE) for path in paths)):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        # struct landlock_path_beneath_attr, packed
        rule = rights.to_bytes(8, "little") + descriptor.to_bytes(4, "little")
        if call(_ADD, ruleset, 1, rule, 0) < 0:
            raise OSError(f"the kernel refused a rule about {path}")
        os.close(descriptor)
    _ctypes.call_function(prctl, (38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
    if call(_RESTRICT, ruleset, 0) < 0:
        raise OSError("the kernel refused the rules about writing")
    os.close(ruleset)
    return True
