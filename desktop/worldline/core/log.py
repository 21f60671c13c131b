"""Logging: one rotating file per process, and a filter that masks what looks like a credential."""

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


class _MaskFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = mask(record.getMessage())
        record.args = None
        return True


def setup(process: str) -> None:
    """Log to `logs/<process>.log` (1 MB × 3). `WORLDLINE_LOG` sets the level; warnings by default."""
    handler = logging.handlers.RotatingFileHandler(
        paths.logs_dir() / f"{process}.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
    )
    handler.addFilter(_MaskFilter())
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("worldline")
    root.addHandler(handler)
    root.setLevel(os.environ.get("WORLDLINE_LOG", "WARNING").upper())
    root.propagate = False
