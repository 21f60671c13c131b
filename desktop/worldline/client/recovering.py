"""What is readable of a damaged session, saved into a new file by a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject

from worldline.client.jobs import JsonJob
from worldline.core import paths

MOST = 1_000
"""Names that are tried for the new file."""


class RecoverJob(JsonJob):
    """`worldline recover`. `done` carries its answer: {"out", "nodes", "losses": [sentence]}. The damaged file is only read,
    and no file that is there is ever written over: the command refuses that."""

    good_codes = (0, 1)
    """1: something was lost, which the answer names."""

    def __init__(self, source: Path, out: Path, parent: QObject | None = None) -> None:
        super().__init__(["recover", str(source), "--out", str(out), "--json"], parent)


def new_name(source: Path) -> Path:
    """A free name beside the damaged session, or among the sessions of the app where nothing can be written there."""
    folder = source.parent if os.access(source.parent, os.W_OK) else paths.sessions_dir()
    for number in range(1, MOST):
        ending = "-recovered" if number == 1 else f"-recovered-{number}"
        name = folder / f"{source.stem}{ending}{paths.SESSION_SUFFIX}"
        if not os.path.lexists(name):
            return name
    return folder / f"{source.stem}-recovered-{os.urandom(6).hex()}{paths.SESSION_SUFFIX}"
