"""Logging: a rotating file for each kind of process, without what looks like a credential."""

from __future__ import annotations

import logging
import logging.handlers
import os
import re

from worldline.core import paths

_SECRET = re.compile(
    r"(sk-ant-[\w-]{8,}|(?:ghp|gho|ghs|github_pat)_\w{20,}|AKIA[0-9A-Z]{16}|(?i:bearer)\s+[\w.~+/=-]{16,})"
)


def mask(text: str) -> str:
    return _SECRET.sub("[masked]", text)


class _Masked(logging.Formatter):
    """Masks the whole entry: a traceback repeats what an error said."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


def setup(process: str) -> None:
    """Log to `logs/<process>.log` (1 MB × 3). `WORLDLINE_LOG` sets the level; warnings by default, and where it names none."""
    handler = logging.handlers.RotatingFileHandler(
        paths.logs_dir() / f"{process}.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
    )
    handler.setFormatter(_Masked("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("worldline")
    root.addHandler(handler)
    level = os.environ.get("WORLDLINE_LOG", "").upper()
    root.setLevel(level if level in logging.getLevelNamesMapping() else logging.WARNING)
    root.propagate = False
