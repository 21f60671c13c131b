"""Making a copy of a workspace that the next session can take, or bringing the one that is there up to date.

Meant for a process of its own at low priority. It may be killed at any time: what it leaves is removed by the next.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import durable, guard, isolate_ready, nogc
from worldline.workspace.filesig import size_text
from worldline.workspace.isolate import include_rules, root_of
from worldline.workspace.isolate_ready import Ready
from worldline.workspace.isolate_update import Doubt, Update
from worldline.workspace.repos import GitRoot

logger = logging.getLogger(__name__)

LEAST_FILES = 1_000
"""For fewer a new worktree is made at once."""
MAX_BYTES = 2 << 30
"""Of all copies together; one takes at most a tenth of what is free besides."""
SETTLED_NS = 5_000_000_000


@dataclass(slots=True, frozen=True)
class Made:
    path: Path | None
    """None: there is none now."""
    why_not: str = ""
    """A sentence for people."""
    files: int = 0
    bytes: int = 0
    reused: int = 0
    """Files that were there already."""


class _NotAllowed(Exception):
    """Says why."""


def make(
    source: Path, *, least_files: int = LEAST_FILES, max_bytes: int = MAX_BYTES, settled_ns: int = SETTLED_NS
) -> Made:
    """Have a copy of `source` ready that is as it is now. Raises `WorkspaceError` where no worktree of it could be made
    either."""
    isolate_ready.finish()
    folder = Path(source).expanduser().absolute()
    guard.refuse(folder)
    root, _ = root_of(folder)

    def allow(size: int) -> None:
        if len(root.entries) < least_files:
            raise _NotAllowed(f"It has fewer than {least_files:,} files: a new worktree is made at once.")
        limit = min(max_bytes, shutil.disk_usage(paths.ready_dir()).free // 10)
        if size > limit:
            raise _NotAllowed(f"It would take {size_text(size)}; {size_text(limit)} are allowed.")
        others = isolate_ready.found()
        while others and size + sum(other.bytes for other in others) > max_bytes:
            isolate_ready.remove(others.pop(0).path)

    try:
        ready = isolate_ready.claim(root.work)
        if ready is not None:
            try:
                return _update(root, ready, allow, settled_ns)
            except Doubt as doubt:
                logger.warning("the copy of %s is made anew: %s", root.work, doubt)
        return _update(root, isolate_ready.begin(root.work), allow, settled_ns)
    except (_NotAllowed, Doubt) as reason:
        return Made(None, f"No copy is kept ready. {reason}")
    except (OSError, pygit2.GitError, KeyError, ValueError) as error:
        raise WorkspaceError(
            f"No copy of {root.work} could be made ({error}).",
            "A new session makes its worktree as it starts.",
            kind="cannot_isolate",
        ) from error
    finally:
        isolate_ready.finish()


def _update(root: GitRoot, ready: Ready, allow: Callable[[int], None], settled_ns: int) -> Made:
    try:
        settled = time.time_ns() - settled_ns
        with nogc.paused():
            update = Update(root, ready.files, include_rules(root.work, None), None, ready.manifest, allow)
            update.run()
        shutil.rmtree(isolate_ready.gone_of(ready.files), ignore_errors=True)
        manifest = update.manifest(settled)
        # After a loss of power the files must be what the manifest says of them.
        durable.sync_filesystem(ready.folder)
        isolate_ready.write_manifest(ready.folder, manifest)
        isolate_ready.put_ready(ready.folder, root.work)
        durable.sync_path(paths.ready_dir())
    except BaseException:
        isolate_ready.discard(ready.folder)
        raise
    return Made(isolate_ready.place_of(root.work), "", len(manifest.files), manifest.bytes, update.reused)


def remove_all() -> None:
    """No copy is wanted any more."""
    isolate_ready.finish()
    for copy in isolate_ready.found():
        isolate_ready.remove(copy.path)


def _is_left() -> bool:
    """Standard input is held open by whoever started this, and nothing is written to it: its end alone can be read."""
    return bool(select.select([0], [], [], 0)[0])


def _end_with_parent() -> None:
    """When whoever started this is gone, so is the wish for a copy."""
    # Not by `sys.stdin`: a thread that waits in there at the end of the process makes a crash of that end.
    os.read(0, 1)
    os._exit(1)


def main(words: Sequence[str]) -> int:
    """`--remove-all`, `--tidy` (only what killed ones have left), or the folder to copy."""
    os.nice(19)
    if _is_left():
        return 1
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if list(words) == ["--remove-all"]:
        remove_all()
        return 0
    if list(words) == ["--tidy"]:
        isolate_ready.finish()
        return 0
    try:
        made = make(Path(words[0]))
    except WorkspaceError as error:
        sys.stdout.write(f"{error.message}\n")
        return 1
    facts = f"{made.files} files, {made.bytes} bytes; {made.reused} files were there already"
    sys.stdout.write(f"{made.why_not or facts}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
