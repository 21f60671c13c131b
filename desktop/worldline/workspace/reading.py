"""Reading the files of one folder: what stat data says of each, and the content of those that changed."""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from worldline.workspace.filesig import SPECIAL, FileSig, read_file, signature, size_text
from worldline.workspace.folders import Context
from worldline.workspace.objects import BLOB, object_id


class Found(NamedTuple):
    """What a folder was found to hold: signatures of files, and reasons of what is left out, by name; files that have
    other names, too, with their inodes."""

    fd: int
    files: dict[str, FileSig]
    skipped: dict[str, str]
    linked: dict[str, int]


def take_file(
    here: Found, name: str, limit: int, known: FileSig | None, now: os.stat_result, context: Context
) -> None:
    """Take one file or link into `here`, or the reason why it is left out. `known`: what it was, `now`: its stat data. Content
    that is new goes to the store."""
    if now.st_nlink > 1:
        here.linked[name] = now.st_ino
    learned = context.learned.get(now.st_ino)
    if learned is not None and learned[:5] == (
        now.st_mtime_ns,
        now.st_ctime_ns,
        now.st_size,
        now.st_ino,
        now.st_mode,
    ):
        here.files[name] = learned
        return
    before_ns = time.time_ns()
    try:
        if stat.S_ISLNK(now.st_mode):
            data = os.fsencode(os.readlink(name, dir_fd=here.fd))
        elif stat.S_ISREG(now.st_mode):
            got = read_file(name, here.fd, limit)
            if got is None:
                here.skipped[name] = f"is larger than {size_text(limit)}"
                return
            data, now = got
        else:
            here.skipped[name] = SPECIAL.get(stat.S_IFMT(now.st_mode), "is a special file")
            return
    except OSError as error:
        miss(here, name, error)
        return
    oid = object_id(BLOB, data)
    if known is None or known[5] != oid:
        context.store.put_known(oid, BLOB, data)
    here.files[name] = signature(now, oid, before_ns)


def miss(here: Found, name: str, error: OSError) -> None:
    """A file that went away meanwhile is none; any other that cannot be read is named with the reason."""
    if not isinstance(error, FileNotFoundError):
        here.skipped[name] = f"cannot be read ({error.strerror or error})"
