"""`worldline worktrees`: the folders of sessions, what would be lost with each, and removing one."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from worldline.cli.output import SCHEMA, print_json, print_line, say, told
from worldline.core.errors import SessionError, WorkspaceError
from worldline.protocol.folders import SessionFolder

_SHOWN = 20
"""Lines of a loss on screen; `--json` has more."""


def worktrees_command(options: Namespace) -> int:
    from worldline.workspace import guard

    guard.platform()
    return _remove(options) if options.action == "remove" else _list(options)


def _list(options: Namespace) -> int:
    folders = []
    for folder in _listed(options):
        if options.lines:
            print_line(folder.model_dump(mode="json"))
        elif not options.json:
            _tell(folder)
        folders.append(folder)
    if options.json and not options.lines:
        print_json(
            {
                "schema": SCHEMA,
                "folders": [folder.model_dump(mode="json") for folder in folders],
                "total_bytes": sum(folder.bytes for folder in folders),
            }
        )
    elif not folders:
        say("There is no folder of a session.")
    return 0


def _listed(options: Namespace) -> Iterator[SessionFolder]:
    from worldline.engine import folders, stores

    if options.only is not None:
        part = stores if stores.is_store(options.only) else folders
        yield from part.listing(options.only, quick_first=options.lines)
        return
    yield from folders.listing(quick_first=options.lines)
    if options.stores:
        yield from stores.listing(quick_first=options.lines)


def _remove(options: Namespace) -> int:
    from worldline.engine import folders, stores

    part = stores if stores.is_store(options.path) else folders
    try:
        removed = part.remove(options.path, options.yes_lose)
    except WorkspaceError as error:
        if error.kind == "changed" and not options.json:
            for folder in part.listing(options.path):
                _tell(folder)
        raise
    except SessionError as error:
        if error.kind == "locked":
            raise SessionError(error.message, "Close the session first.", kind="leased") from error
        raise
    if options.json:
        print_json({"schema": SCHEMA, **removed.model_dump(mode="json")})
    else:
        print(told(f"{removed.path} is removed; about {_size(removed.bytes)} are free again."))
    return 0


def _tell(folder: SessionFolder) -> None:
    print(folder.path)
    where = {
        "there": f"session: {folder.title}",
        "trash": f"session: {folder.title} (in the trash)",
        "none": "no session file is known any more",
        "ready": "kept ready for the next session",
    }[folder.session]
    print("  " + told(where))
    if folder.kind == "store":
        print("  " + told("The files of its steps."))
    if folder.repository:
        repository = f"from {folder.repository}, branch {folder.branch or '—'}"
        print("  " + told(f"copy of {folder.repository}" if folder.session == "ready" else repository))
    print("  " + told(_size(folder.bytes) if folder.bytes_complete else f"more than {_size(folder.bytes)}"))
    for text in (folder.in_use, folder.problem, folder.note):
        if text:
            print("  " + told(text))
    if folder.problem:
        return
    if not folder.lose:
        print("  " + told("Nothing would be lost."))
        return
    print("  " + told(f"Would be lost (confirm with --yes-lose {folder.lose_id}):"))
    for line in folder.lose[:_SHOWN]:
        print("    " + told(line).encode("utf-8", "replace").decode())
    more = len(folder.lose) - _SHOWN + folder.lose_more
    if more > 0:
        print("    " + told(f"and {more} more"))


def _size(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB" if number >= 100_000 else f"{number} bytes"
