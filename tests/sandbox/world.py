"""Everything outside a workspace, as it can be compared before and after: the independent record of what happened."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def picture(*roots: Path, without: tuple[Path, ...] = ()) -> dict[str, tuple[object, ...]]:
    """Path → (type and mode, owner, links, contents or target). Times of files count as well, those of folders not."""
    found: dict[str, tuple[object, ...]] = {}
    for root in roots:
        for base, folders, files in os.walk(root):
            folders[:] = [f for f in folders if Path(base) / f not in without]
            for name in [*folders, *files]:
                path = Path(base) / name
                if path in without:
                    continue
                info = path.lstat()
                contents: object = ""
                if stat.S_ISREG(info.st_mode):
                    contents = (
                        hashlib.sha256(path.read_bytes()).hexdigest(),
                        info.st_mtime_ns,
                        info.st_nlink,
                    )
                elif stat.S_ISLNK(info.st_mode):
                    contents = str(path.readlink())
                found[str(path)] = (info.st_mode, info.st_uid, contents)
    return found


def changes(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


_SETTINGS = (
    "kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/poweroff_cmd", "kernel/panic", "kernel/sysrq",
    "kernel/hostname", "kernel/domainname", "kernel/randomize_va_space", "kernel/kptr_restrict", "kernel/dmesg_restrict",
    "kernel/pid_max", "kernel/threads-max", "kernel/shmmax", "kernel/yama/ptrace_scope", "fs/suid_dumpable", "fs/file-max",
    "fs/protected_symlinks", "fs/protected_hardlinks", "vm/overcommit_memory", "vm/mmap_min_addr", "user/max_user_namespaces",
    "net/ipv4/ip_forward", "net/ipv4/ip_unprivileged_port_start", "dev/tty/ldisc_autoload",
)  # fmt: skip


def settings() -> dict[str, tuple[object, ...]]:
    """Settings of the kernel that change what the machine does, and those that name a program."""
    found: dict[str, tuple[object, ...]] = {}
    for name in _SETTINGS:
        path = Path("/proc/sys") / name
        if os.access(path, os.R_OK):
            found[str(path)] = (path.read_text(),)
    return found
