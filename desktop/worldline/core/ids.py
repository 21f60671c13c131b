"""Ids of nodes, runs and requests."""

from __future__ import annotations

import re
import secrets

_UID = re.compile(r"[0-9a-f]{16}")


def new_uid() -> str:
    """16 hex digits, random: a short prefix is enough to name a node on the command line."""
    return secrets.token_hex(8)


def is_uid(text: str) -> bool:
    return _UID.fullmatch(text) is not None
