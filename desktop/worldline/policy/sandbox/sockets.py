"""Unix sockets that somebody on this machine has bound, whichever network they live in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

Space = tuple[int, int]
"""A namespace: device and inode."""

_OF_ITS_OWNER = ("/proc/self/", "/proc/thread-self/")
"""Names that meant something to the process that bound them only. Here they are another folder, or one that is closed
while it is looked at."""


def bound_sockets(own: Space | None = None) -> list[str]:
    """Paths of the unix sockets that have one (streams and datagrams), from the list of each network namespace that this
    user can see: a program in a container can have its socket in a folder of the person. Those in `own`, the network of
    the session, are left out: the session's commands may talk to each other. A socket that was bound by a relative name
    stands there by that name: it is looked for in the folder of its owner."""
    found: set[str] = set()
    relative: dict[str, str] = {}
    for table in ("/proc/net/unix", *(f"/proc/{pid}/net/unix" for pid in _others(own))):
        try:
            text = Path(table).read_text(errors="surrogateescape")
        except OSError:  # ended meanwhile
            continue
        for line in text.splitlines()[1:]:
            fields = line.split(None, 7)
            if len(fields) < 8:
                continue
            name = fields[7]
            if name.startswith(_OF_ITS_OWNER):
                continue
            if name.startswith("/"):
                found.add(_real(name))
            elif not name.startswith("@"):
                relative[f"socket:[{fields[6]}]"] = name
    if relative:
        found |= _by_owner(relative)
    return sorted(found)


def _others(own: Space | None) -> list[int]:
    """A process of each network namespace but that of this process and `own`. Looked for before each command, some
    microseconds for each process: what was seen a second ago does not know a container that was started since."""
    spaces: dict[Space, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # of another user, or gone
                info = os.stat(f"/proc/{name}/ns/net")
                spaces.setdefault((info.st_dev, info.st_ino), int(name))
    here = os.stat("/proc/self/ns/net")
    for known in ((here.st_dev, here.st_ino), own):
        if known is not None:
            spaces.pop(known, None)
    return list(spaces.values())


def _real(name: str) -> str:
    """Where `name` leads, or `name` when a link on the way goes while it is followed: `realpath` looks and reads in two
    steps, and raises when somebody takes the link away in between."""
    try:
        return os.path.realpath(name)
    except OSError:
        return name


def _by_owner(names: dict[str, str]) -> set[str]:
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # of another user, or gone
            for descriptor in (process / "fd").iterdir():
                name = names.get(str(descriptor.readlink()))
                if name is not None:
                    found.add(_real(str((process / "cwd").readlink() / name)))
    return found
