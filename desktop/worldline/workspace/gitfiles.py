"""Files of a git folder, reached without following a link and without waiting on a pipe.

Commands of an agent may write into a git folder. What they leave there (a link to the person's keys, a named pipe, a file
without end) must lead neither what we read nor what we write outside of it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from worldline.workspace.filesig import read_file
from worldline.workspace.safefs import SafeTree, split

MAX_BYTES = 1 << 30
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def _tree(folder: Path) -> Iterator[SafeTree]:
    tree = SafeTree(folder)
    try:
        yield tree
    finally:
        tree.close()


def read(folder: Path, name: str, limit: int = MAX_BYTES) -> bytes:
    """Content of a regular file below `folder`. Raises OSError for anything else there, and for one above the limit."""
    if "/" in name:
        with _tree(folder) as tree, tree.at(name) as (fd, last):
            got = read_file(last, fd, limit)
    else:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            got = read_file(name, fd, limit)
        finally:
            os.close(fd)
    if got is None:
        raise OSError(f"{folder / name} is larger than {limit} bytes")
    return got[0]


def is_file(folder: Path, name: str) -> bool:
    """Whether a regular file is there, reached without a link."""
    try:
        with _tree(folder) as tree:
            status = tree.lstat(name)
    except OSError:
        return False
    return status is not None and stat.S_ISREG(status.st_mode)


def files_below(folder: Path, name: str) -> list[str]:
    """Names (relative to `folder`) of the regular files below one of its folders, in order. Links are left out."""
    found: list[str] = []
    with _tree(folder) as tree:
        todo = [name]
        while todo:
            place = todo.pop()
            try:
                with os.scandir(tree.folder(place)) as entries:
                    rows = list(entries)
            except OSError:
                continue
            todo += [f"{place}/{e.name}" for e in rows if e.is_dir(follow_symlinks=False)]
            found += [f"{place}/{e.name}" for e in rows if e.is_file(follow_symlinks=False)]
    return sorted(found)


def write_new(path: Path, data: bytes) -> None:
    """Write a passing file and have it on the disk; whatever has its name goes first, and no link is followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace(folder: Path, name: str, data: bytes) -> None:
    """Put a file with this content at `name`, folders above it made where they are missing. Raises OSError where a link
    or something else than a folder is above it."""
    above, last = split(name)
    with _tree(folder) as tree:
        tree.make_folder(above, 0o777 & ~_usual_mask())
        fd = tree.folder(above)
        passing = f"{last}.worldline"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(passing, dir_fd=fd)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(passing, flags, 0o666, dir_fd=fd), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(passing, last, src_dir_fd=fd, dst_dir_fd=fd)


def remove(folder: Path, name: str, content: bytes) -> None:
    """Take a file away if it is what is expected, and its folder if that is empty then. What cannot be reached, or is
    something else, stays."""
    above, last = split(name)
    with contextlib.suppress(OSError), _tree(folder) as tree:
        fd = tree.folder(above)
        got = read_file(last, fd, len(content))
        if got is None or got[0] != content:
            return
        os.unlink(last, dir_fd=fd)
        if above:
            outer, name_of_it = split(above)
            os.rmdir(name_of_it, dir_fd=tree.folder(outer))


def append(folder: Path, name: str, line: str) -> None:
    """Add a line to a file that is there. Does nothing where there is none, or it cannot be written."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError), _tree(folder) as tree, tree.at(name) as (fd, last):
        file = os.open(last, flags, dir_fd=fd)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                os.write(file, line.encode("utf-8", "surrogateescape"))
        finally:
            os.close(file)


def strange_parts(gitdir: Path) -> str:
    """What in a git folder is neither a file nor a folder, where git itself would follow it or wait for it; "" = nothing.
    Looks at its top and its objects, and all the way down its refs and logs."""
    todo = ["", "objects", "objects/pack", "objects/info", "refs", "logs"]
    while todo:
        part = todo.pop()
        try:
            with os.scandir(os.path.join(gitdir, part)) as entries:  # noqa: PTH118 - asked for each capture
                rows = list(entries)
        except OSError:
            continue
        for row in rows:
            if row.is_dir(follow_symlinks=False):
                if part.startswith(("refs", "logs")):
                    todo.append(f"{part}/{row.name}")
            elif not row.is_file(follow_symlinks=False) and not row.name.startswith("fsmonitor--"):
                return f"{part}/{row.name}".lstrip("/")
    return ""


def _usual_mask() -> int:
    from worldline.workspace.capture import umask

    return umask()
