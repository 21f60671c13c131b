"""Ids of nodes, runs and requests."""

from __future__ import annotations

import re

_HEX = "0123456789abcdef"
_NODE_ID = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}"


def new_uid() -> str:
    """16 hex digits, random: a short prefix is enough to name a node on the command line."""
    import secrets  # brings OpenSSL along: the window, which makes no ids, starts without it

    return secrets.token_hex(8)


def is_uid(text: str) -> bool:
    """An id of our own making."""
    return len(text) == 16 and not text.strip(_HEX)


def is_node_id(text: str) -> bool:
    """What can be the id of a node: one of ours, or one that an imported session brought along. Letters, digits and
    `._+-`, at most 128, so that it can be typed, quoted and be part of a file name."""
    return re.fullmatch(_NODE_ID, text) is not None
