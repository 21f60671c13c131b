"""Import files and folders, one after the other; one bad file does not stop the rest."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.session.export import jsonl
from worldline.session.importers.read import read_session
from worldline.session.importers.tree import ImportedTree
from worldline.session.importers.write import report_of, write_session
from worldline.session.reader import SessionReader

ProgressCall = Callable[[str, int, int], None]
"""(file, done, total). Raises to cancel."""


def session_files(sources: Iterable[Path]) -> Iterator[Path]:
    """The session files that `sources` (files and folders) name, folders searched through and through."""
    for source in sources:
        if source.is_dir():
            yield from sorted(p for p in source.rglob("*.jsonl") if p.is_file())
        else:
            yield source


def import_all(
    sources: list[Path], out_dir: Path | None = None, progress: ProgressCall | None = None
) -> list[dict[str, Any]]:
    """Import every file; returns the report of each. A file that cannot be imported has `error` in its report."""
    target = out_dir or paths.sessions_dir()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{target} cannot be made: {error.strerror}.", "Name another folder with --out."
        ) from error
    files = list(session_files(sources))
    reports = []
    for number, file in enumerate(files):
        if progress is not None:
            progress(file.name, number, len(files))
        reports.append(import_one(file, target))
    return reports


def import_one(file: Path, target: Path) -> dict[str, Any]:
    """Import one file into the folder `target`; never overwrites what is there."""
    try:
        if _is_own_export(file):
            return _import_own(file, target)
        tree = read_session(file)
        with _new_file(target, file) as (part, out):
            nodes = write_session(tree, part)
        return report_of(tree, out, nodes)
    except WorldlineError as error:
        return {"error": str(error)} | report_of(ImportedTree("", str(file)), None, 0)


def _is_own_export(file: Path) -> bool:
    try:
        with file.open("rb") as source:
            first = json.loads(source.readline(1000))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and jsonl.looks_like(first)


def _import_own(file: Path, target: Path) -> dict[str, Any]:
    with _new_file(target, file) as (part, out):
        nodes = jsonl.read_back(file, part)
    with SessionReader(out) as session:
        tree = session.tree
        report = report_of(ImportedTree("worldline", str(file)), out, nodes)
        return report | {"records": nodes, "branches": len(tree.leaves())}


@contextlib.contextmanager
def _new_file(folder: Path, source: Path) -> Iterator[tuple[Path, Path]]:
    """(passing name to write, final name): the file appears whole or not at all."""
    out = _free_name(folder, source)
    part = out.with_name(f".{out.name}.part")
    _remove(part)
    try:
        yield part, out
        part.rename(out)
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    for path in part.parent.glob(f"{part.name}*"):
        path.unlink(missing_ok=True)


def _free_name(folder: Path, file: Path) -> Path:
    stem = re.sub(r"[^\w.-]+", "-", file.stem).strip("-.") or "session"
    candidate = folder / f"{stem}{paths.SESSION_SUFFIX}"
    number = 2
    while candidate.exists():
        candidate = folder / f"{stem}-{number}{paths.SESSION_SUFFIX}"
        number += 1
    return candidate
