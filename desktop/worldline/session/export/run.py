"""Write an export to a file, never over another one by accident."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from worldline.core.errors import BadInput
from worldline.core.secrets import mask
from worldline.session import branches
from worldline.session.export import html, jsonl, markdown
from worldline.session.reader import SessionReader

Format = Literal["jsonl", "html", "markdown", "graphml"]
SUFFIXES: dict[str, str] = {
    "jsonl": ".jsonl",
    "html": ".html",
    "markdown": ".md",
    "graphml": ".graphml",
    "bundle": ".zip",
}


def export_session(source: Path, form: Format, out: Path | None = None, node: str = "") -> Path:
    """Export the session file `source`; `node` names the end of the branch for Markdown ("" = the cursor).

    Without `out` the file is put beside the session, under a free name. Raises BadInput when `out` exists or cannot be
    written, SessionError when the session cannot be read. A file appears whole or not at all.

    HTML and Markdown are made to be shown to others: what the person wrote is masked in them as all else is. JSON lines are the
    session itself. GraphML is the shape of the tree: where branches part and end, no words.
    """
    target = out or free(source.with_suffix(SUFFIXES[form]))
    if target.exists():
        raise BadInput(f"{target} is already there.", "Choose another name with --out.")
    if form == "jsonl":
        _write(target, (line + b"\n" for line in jsonl.lines(source)))
        return target
    with SessionReader(source) as session:
        if form == "html":
            _write(target, [mask(html.page(session))[0].encode()])
        elif form == "graphml":
            tree = session.tree
            uids = dict(enumerate(session.uids(range(1, len(tree) + 1)), 1))
            _write(target, [branches.graphml(branches.branch_graph(tree, uids=uids)).encode()])
        else:
            uid = session.resolve(node) if node else session.cursor
            _write(target, [mask(markdown.branch_text(session, uid))[0].encode()])
    return target


def free(wanted: Path) -> Path:
    """The name itself, or one with a number where something has that name."""
    candidate, number = wanted, 2
    while candidate.exists():
        candidate = wanted.with_stem(f"{wanted.stem}-{number}")
        number += 1
    return candidate


def _write(target: Path, parts: Iterable[bytes]) -> None:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            for piece in parts:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        part.rename(target)
    except OSError as problem:
        raise BadInput(
            f"{target} cannot be written: {problem.strerror}.", "Choose another place."
        ) from problem
    finally:
        part.unlink(missing_ok=True)
