"""Logging: a rotating file for each kind of process, without what looks like a credential."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys

from worldline.core import paths


def mask(text: str) -> str:
    """Without what looks like a credential."""
    # Some thirty patterns: compiled when something is logged, not at every start of a window.
    from worldline.core import secrets

    return secrets.mask(text)[0]


class _Masked(logging.Formatter):
    """Masks the whole entry: a traceback repeats what an error said."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


class _File(logging.handlers.RotatingFileHandler):
    """A log that cannot be written (the disk is full) says so once, in one line: what it was told is in the way of
    nobody."""

    _told = False

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._told:
            self._told = True
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(f"worldline: the log cannot be written ({error.strerror or error}).\n")


def setup(process: str) -> None:
    """Log to `logs/<process>.log` (1 MB × 3). `WORLDLINE_LOG` sets the level; warnings by default, and where it names none."""
    handler = _File(
        paths.logs_dir() / f"{process}.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
    )
    handler.setFormatter(_Masked("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("worldline")
    root.addHandler(handler)
    level = os.environ.get("WORLDLINE_LOG", "").upper()
    root.setLevel(level if level in logging.getLevelNamesMapping() else logging.WARNING)
    root.propagate = False
