"""Import files and folders, one after the other; one bad file does not stop the rest."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.jsontext import loads
from worldline.session import connect
from worldline.session.export import jsonl
from worldline.session.importers.beside import owner_of
from worldline.session.importers.copies import Copies
from worldline.session.importers.packed import SUFFIXES, open_source
from worldline.session.importers.read import NoSession, read_session
from worldline.session.importers.tree import ImportedTree
from worldline.session.importers.write import report_of, write_session
from worldline.session.reader import SessionReader

ProgressCall = Callable[[str, int, int], None]
"""(file, done, total). Raises to cancel."""
NodesCall = Callable[[int, int], None]
"""(nodes written, nodes of the file). Raises to cancel."""
_log = logging.getLogger(__name__)


def session_files(sources: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """The session files that `sources` (files and folders) name, folders searched through and through, and whether each was
    only found. Files of sub-agents are read with their session, where that is there."""
    for source in sources:
        try:
            is_folder = source.is_dir()
        except OSError:  # no name at all; importing it says so
            is_folder = False
        if not is_folder:
            yield source, False
            continue
        found = sorted(p for p in source.rglob("*.jsonl*") if p.name.endswith(SUFFIXES) and p.is_file())
        stems = {p.name.split(".")[0] for p in found}
        for path in found:
            if not (
                path.name.startswith("agent-")
                and (owner_of(path) in stems or path.parent.name == "subagents")
            ):
                yield path, True


def import_all(
    sources: list[Path],
    out_dir: Path | None = None,
    progress: ProgressCall | None = None,
    nodes: NodesCall | None = None,
) -> list[dict[str, Any]]:
    """Import every file; returns the report of each. A file that cannot be imported has `error` in its report; one that was
    found in a folder and holds no session at all has `skipped`."""
    target = out_dir or paths.sessions_dir()
    try:
        target.mkdir(parents=True, exist_ok=True)
        _clear_left_over(target)
    except OSError as error:
        raise BadInput(
            f"{target} cannot be made or read: {error.strerror}.", "Name another folder with --out."
        ) from error
    files = list(session_files(sources))
    copies = Copies()
    reports = []
    for number, (file, only_found) in enumerate(files):
        if progress is not None:
            progress(file.name, number, len(files))
        reports.append(import_one(file, target, copies, nodes, only_found=only_found))
    return reports


def import_one(
    file: Path,
    target: Path,
    copies: Copies | None = None,
    nodes: NodesCall | None = None,
    *,
    only_found: bool = False,
) -> dict[str, Any]:
    """Import one file into the folder `target`; never overwrites what is there."""
    empty = report_of(ImportedTree("", str(file)), None, 0)
    try:
        if _is_own_export(file):
            return _import_own(file, target)
        tree = read_session(file)
        copied = (copies or Copies()).mark(tree)
        with _new_file(target, file) as new:
            count = write_session(tree, new.part, nodes)
        return report_of(tree, new.out, count) | {"copied": copied}
    except NoSession as error:
        return {"skipped" if only_found else "error": str(error), "error_kind": "no_session"} | empty
    except WorldlineError as error:
        return {"error": str(error), "error_kind": error.kind} | empty
    except OSError as error:
        return {"error": f"{file.name} could not be imported: {error.strerror or error}."} | empty
    except Exception as error:  # noqa: BLE001 - a defect of ours in one file must not cost the other files
        _log.exception("import of %s", file)
        return {"error": f"A defect of Worldline kept {file.name} from being imported: {error!r}."} | empty


def _is_own_export(file: Path) -> bool:
    try:
        with open_source(file) as source:
            first = loads(source.readline(1000))
    except (OSError, ValueError, RecursionError, EOFError):
        return False
    return isinstance(first, dict) and jsonl.looks_like(first)


def _import_own(file: Path, target: Path) -> dict[str, Any]:
    with _new_file(target, file) as new:
        nodes = jsonl.read_back(file, new.part)
    with SessionReader(new.out) as session:
        report = report_of(ImportedTree("worldline", str(file)), new.out, nodes)
        return report | {"records": nodes, "branches": len(session.tree.leaves())}


class _NewFile:
    """A passing name to write to, and the final one, known when the file is whole."""

    def __init__(self, part: Path) -> None:
        self.part = part
        self.out = part


@contextlib.contextmanager
def _new_file(folder: Path, source: Path) -> Iterator[_NewFile]:
    """The file appears under its name whole or not at all, and never in the place of another one."""
    # The process in the name keeps two importers apart, and tells the next one what nobody writes any more.
    new = _NewFile(folder / f".import-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield new
        for out in _free_names(folder, source):
            try:
                os.link(new.part, out)
            except FileExistsError:
                continue
            except OSError:
                # No hard links here (exFAT, some network drives).
                if out.exists():
                    continue
                new.part.rename(out)
            new.out = out
            return
    finally:
        connect.remove(new.part)


def _clear_left_over(folder: Path) -> None:
    """Remove what a killed import left."""
    # A file that is only being made has one dot more.
    for path in (*folder.glob(".import-*.part*"), *folder.glob("..import-*.part*")):
        pid = path.name.split("-")[1]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            path.unlink(missing_ok=True)


def _free_names(folder: Path, file: Path) -> Iterator[Path]:
    name = next((file.name.removesuffix(s) for s in sorted(SUFFIXES, key=len, reverse=True)
                 if file.name.endswith(s)), file.stem)  # fmt: skip
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "session"
    yield folder / f"{stem}{paths.SESSION_SUFFIX}"
    number = 2
    while True:
        yield folder / f"{stem}-{number}{paths.SESSION_SUFFIX}"
        number += 1
