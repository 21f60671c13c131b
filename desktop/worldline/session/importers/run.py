"""Import files and folders, one after the other; one bad file does not stop the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.session.importers.read import read_session
from worldline.session.importers.write import report_of, write_session

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
    out: Path | None = None
    try:
        tree = read_session(file)
        out = _free_name(target, file)
        part = out.with_name(f".{out.name}.part")
        _remove(part)
        try:
            nodes = write_session(tree, part)
            part.rename(out)
        finally:
            _remove(part)
    except WorldlineError as error:
        return {"source": str(file), "format": "", "out": "", "records": 0, "nodes": 0, "branches": 0,
                "compactions": 0, "recovered": 0, "gaps": [], "orphan_calls": 0, "orphan_results": 0,
                "warnings": [], "error": str(error)}  # fmt: skip
    return report_of(tree, out, nodes)


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
