"""A bundle: one file with a session and everything its states need, for somebody else to open and jump in.

A zip with `bundle.json` {"format": "worldline-bundle", "version": 1, "states": [ids]}, `session.worldline`, and one file
`objects/<type>-<id>` for each object. Files travel (those that git ignores and that states hold, like `.env`, as well), and
the names of what is tracked; commits, hooks and configuration do not: at the other end the files stand in a folder of
their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from worldline.core import paths
from worldline.core.errors import BadInput
from worldline.core.jsontext import dumps, loads
from worldline.session import connect
from worldline.session.document import SessionDocument
from worldline.session.reader import SessionReader
from worldline.workspace.model import NOT_CAPTURED

FORMAT = "worldline-bundle"
_OBJECT = re.compile(r"objects/(blob|tree|commit)-([0-9a-f]{40})")
_MAX_OBJECT = 1 << 30
_MAX_FACTS = 64 << 20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, OSError, RuntimeError)
"""What a damaged bundle makes its readers raise; RuntimeError is for entries with a password or an unknown packing."""


def write_bundle(source: Path, out: Path) -> int:
    """Bundle the session `source` into the new file `out`; returns how many states it holds.

    Raises BadInput when `out` exists, WorldlineError when the session or its store cannot be read.
    """
    from worldline.workspace.bundle import objects_of

    if out.exists():
        raise BadInput(f"{out} is already there.", "Choose another name with --out.")
    with SessionReader(source) as session:
        place = session.info()["workspace"]
        headers = session.headers()
    states = sorted({h.state for h in headers if h.state not in ("", NOT_CAPTURED)})
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="worldline-") as folder:
            copy = Path(folder) / "session.worldline"
            with contextlib.closing(SessionDocument.open(source, mode="read")) as document:
                document.save_copy(copy)
            with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED) as bundle:
                bundle.writestr("bundle.json", dumps({"format": FORMAT, "version": 1, "states": states}))
                bundle.write(copy, "session.worldline")
                if states:
                    for oid, kind, data in objects_of(Path(place["store"]), states):
                        bundle.writestr(f"objects/{kind}-{oid}", data)
        part.rename(out)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}.", "Choose another place.") from error
    finally:
        part.unlink(missing_ok=True)
    return len(states)


def export(
    source: Path,
    form: Literal["jsonl", "html", "markdown", "graphml", "bundle"],
    out: Path | None = None,
    node: str = "",
) -> Path:
    """Write the session in any form, a bundle too; returns where it is. Raises as `export_session` does."""
    from worldline.session.export.run import SUFFIXES, export_session, free

    if form != "bundle":
        return export_session(source, form, out, node)
    target = out or free(source.with_suffix(SUFFIXES[form]))
    write_bundle(source, target)
    return target


def is_bundle(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as bundle:
        return "bundle.json" in bundle.namelist()


def read_bundle(source: Path, out_dir: Path | None = None) -> dict[str, Any]:
    """Unpack a bundle: the session into `out_dir`, its states into a store, its files (as at the cursor) into
    a folder of their own. Returns a report like that of an import. Raises BadInput for a damaged bundle; nothing is
    left behind then."""
    from worldline.workspace import worktrees
    from worldline.workspace.bundle import take_objects

    target = out_dir or paths.sessions_dir()
    target.mkdir(parents=True, exist_ok=True)
    slug = f"{re.sub(r'[^a-z0-9]+', '-', source.stem.lower()).strip('-')[:32] or 'bundle'}-{secrets.token_hex(2)}"
    store, folder, session = (
        paths.stores_dir() / slug,
        paths.worktrees_dir() / slug / worktrees.BUNDLED,
        target / f"{slug}.worldline",
    )
    try:
        with zipfile.ZipFile(source) as bundle:
            _check_sizes(bundle, target)
            facts = loads(bundle.read("bundle.json"))
            if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != 1:
                raise BadInput(
                    "This is no bundle that this version can open.", "Update Worldline, or export it again."
                )
            states = [str(s) for s in facts["states"]]
            count = take_objects(store, _objects(bundle), states) if states else 0
            folder.mkdir(parents=True)
            with bundle.open("session.worldline") as packed, session.open("xb") as file:
                while chunk := packed.read(1 << 20):
                    file.write(chunk)
        nodes, state = _point_to(session, slug, store, folder)
        if state not in ("", NOT_CAPTURED):
            _put_files(folder, store, state)
    except _BROKEN as error:
        _remove(session, store, folder.parent)
        raise BadInput(
            f"{source.name} is damaged: {error}.", "Ask for it again; nothing was kept."
        ) from error
    except BaseException:  # also when the person stops it: nothing half done stays
        _remove(session, store, folder.parent)
        raise
    worktrees.note_session(folder.parent, session.absolute())
    with SessionReader(session) as reader:
        branches = len(reader.tree.leaves())
    return {"source": str(source), "format": FORMAT, "out": str(session), "records": count, "nodes": nodes,
            "branches": branches, "compactions": 0, "recovered": 0, "gaps": [], "orphan_calls": 0, "orphan_results": 0,
            "warnings": []}  # fmt: skip


def _check_sizes(bundle: zipfile.ZipFile, target: Path) -> None:
    """Refuse what cannot be unpacked here, before it fills the disk. An entry never gives more than it claims."""
    if bundle.getinfo("bundle.json").file_size > _MAX_FACTS:
        raise ValueError("its list of states is too large")
    claimed = sum(entry.file_size for entry in bundle.infolist())
    if claimed > min(shutil.disk_usage(place).free for place in (target, _there(paths.stores_dir()))):
        raise BadInput(
            f"Unpacked, {bundle.filename} claims {claimed >> 20} MB, more than is free on the disk.",
            "Make room first, if you know where it comes from.",
        )


def _there(folder: Path) -> Path:
    """The nearest folder above that is there already."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _objects(bundle: zipfile.ZipFile) -> Iterator[tuple[str, str, bytes]]:
    for entry in bundle.infolist():
        match = _OBJECT.fullmatch(entry.filename)
        if match is not None:
            if entry.file_size > _MAX_OBJECT:
                raise ValueError(f"{entry.filename} is too large")
            yield match[2], match[1], bundle.read(entry)


def _point_to(session: Path, slug: str, store: Path, folder: Path) -> tuple[int, str]:
    """Say in the session where it works now; what it said before stays in its history. Returns the number of nodes and the
    state at the cursor."""
    with contextlib.closing(SessionDocument.open(session)) as document:
        place = document.info()["workspace"]
        moved = {"mode": "in_place", "path": str(folder), "root": str(folder), "store": str(store), "slug": slug,
                 "is_git": False, "branch": "", "base_branch": "", "worktree": "", "bundled_from": place.get("root", "")}  # fmt: skip
        document.set_meta("workspace", dumps({**place, **moved}).decode())
        return len(document.tree), document.state(document.cursor)


def _put_files(folder: Path, store: Path, state: str) -> None:
    from worldline.workspace.engine import Workspace

    workspace = Workspace(folder, store)
    try:
        plan = workspace.plan(state, last=state, users=set(), choices={}, default_choice="restore")
        report = workspace.apply(plan, new_branch=None)
        if not report.done:
            raise BadInput("The files of the bundle could not be put in place.", report.note)
    finally:
        workspace.close()


def _remove(session: Path, *folders: Path) -> None:
    connect.remove(session)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
