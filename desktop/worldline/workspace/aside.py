"""What a jump has moved out of its place and no state holds: it gets a name beside that place before it would be removed.

A program may write to a file in the very moment in which it is replaced, by its name or because it had it open. What
lies in a staging folder then is neither what was to be replaced nor what was to be put down, and is nowhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence

from worldline.workspace.durable import is_hollow
from worldline.workspace.filesig import FileSig, read_file
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import SafeTree, content_id, is_occupied, rename_new, short_name, split
from worldline.workspace.store import Store


def save(
    tree: SafeTree,
    staging: int,
    items: Sequence[PlanItem],
    store: Store,
    known: Mapping[str, FileSig],
    *,
    half_written: bool = False,
    power_lost: bool = False,
    names: Sequence[str] | None = None,
) -> dict[str, str]:
    """Move what is somebody's out of a staging folder (open as `staging`). Returns names in it → paths of the copies.

    `known`: what the names were seen to hold, where `sig[1]` is not -1 by stat data that another write would change.
    `half_written`: what was to be put down may lie there in part. `power_lost`: files may have lost content that was not
    synced. `names`: all that lie there, where they were just listed. Can be killed and repeated. Raises OSError: then the rest
    still lies there.
    """
    saved: dict[str, str] = {}
    for name in os.listdir(staging) if names is None else names:
        sig = known.get(name)
        if sig is not None and sig[1] >= 0:
            now = os.stat(name, dir_fd=staging, follow_symlinks=False)
            if (now.st_mtime_ns, now.st_size, now.st_ino) == (sig[0], sig[2], sig[3]):
                continue
        number = name.partition(".")[0]
        if not number.isdecimal() or int(number) >= len(items):
            continue
        item = items[int(number)]
        if not _is_stored(name, staging, item, sig, store, half_written, power_lost):
            saved[name] = _put_beside(tree, staging, name, item.path)
    return saved


def note_of(saved: Mapping[str, str]) -> str:
    """For people; "" = nothing was saved."""
    if not saved:
        return ""
    return f"Written by somebody while the files were put back, and saved as: {', '.join(sorted(saved.values())[:20])}."


def _is_stored(
    name: str, staging: int, item: PlanItem, sig: FileSig | None, store: Store, half_written: bool, power_lost: bool
) -> bool:  # fmt: skip
    """Whether a state has all that it holds. `sig`: what was seen of it here, where it was looked at."""
    mode = sig[4] if sig is not None else os.stat(name, dir_fd=staging, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode):
        return not is_occupied(name, staging)
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return True  # nothing can be in it
    try:
        oid = content_id(name, staging)[0]
        if oid in (item.expect, item.blob):
            return True
        if not oid and sig is not None:  # it is no file any more
            return _is_stored(name, staging, item, None, store, half_written, power_lost)
        got = read_file(name, staging, 1 << 40) if stat.S_ISREG(mode) else None
    except PermissionError:
        return False
    if got is None:
        return False
    if half_written and item.blob and store.read(bytes.fromhex(item.blob)).startswith(got[0]):
        return True
    return power_lost and any(
        is_hollow(got[0], store.read(bytes.fromhex(blob))) for blob in (item.expect, item.blob) if blob
    )


def give_back(tree: SafeTree, staging: int, name: str, path: str) -> None:
    """Put what was moved out of its place back there; where something else is by now, beside it. Raises OSError."""
    folder, base = split(path)
    try:
        rename_new(name, staging, base, tree.folder(folder))
    except OSError:
        _put_beside(tree, staging, name, path)


def _put_beside(tree: SafeTree, staging: int, name: str, path: str) -> str:
    folder, base = split(path)
    base = short_name(base)
    try:
        tree.make_folder(folder, 0o755)
        return _rename(tree, staging, name, folder, base)
    except OSError:  # a file is in the place of the folder by now, or the folder is closed to us
        return _rename(tree, staging, name, "", base)


def _rename(tree: SafeTree, staging: int, name: str, folder: str, base: str) -> str:
    number = 1
    while True:
        beside = f"{base}.during-jump-{number}"
        try:
            rename_new(name, staging, beside, tree.folder(folder))
        except FileExistsError:
            number += 1
            continue
        return f"{folder}/{beside}" if folder else beside
