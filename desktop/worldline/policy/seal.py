"""Grants that last are kept in the session file. Each bears a seal that only this machine can make: a file that came from
somebody else brings no permissions with it."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Any

from worldline.core.jsontext import dumps
from worldline.core.plainfile import read_plain

_BYTES = 32


class Seal:
    """Of one session. `key_file` is made when it is missing, for its owner alone; no command may read it."""

    def __init__(self, key_file: Path, session: str) -> None:
        self._session = session
        self._key = _key(key_file)

    def put(self, grant: dict[str, Any]) -> dict[str, Any]:
        return {**grant, "seal": self._of(grant)}

    def holds(self, grant: dict[str, Any]) -> bool:
        return hmac.compare_digest(str(grant.get("seal", "")).encode(), self._of(grant).encode())

    def _of(self, grant: dict[str, Any]) -> str:
        said = [self._session, *(str(grant.get(name, "")) for name in ("digest", "rule", "at"))]
        # Those of before had no words about them.
        said += [str(grant[name]) for name in ("tool", "what") if name in grant]
        return hmac.new(self._key, dumps(said), hashlib.sha256).hexdigest()


def _key(path: Path) -> bytes:
    """Where none can be kept (a full disk) nothing that lasts is remembered, and everything is asked again."""
    for _ in range(2):
        cut_off = False
        with contextlib.suppress(OSError):
            key = read_plain(path, 1000)
            if len(key) == _BYTES:
                return key
            cut_off = True
        with contextlib.suppress(OSError):
            _make(path, again=cut_off)
    return secrets.token_bytes(_BYTES)


def _make(path: Path, *, again: bool) -> None:
    """Give a new key its name when it is whole, so that of two processes both use the same. `again`: what is there was cut
    off by a full disk once. Raises OSError."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
        ) as out:
            out.write(secrets.token_bytes(_BYTES))
            out.flush()
            os.fsync(out.fileno())
        if again:
            part.replace(path)
            return
        try:
            path.hardlink_to(part)
        except FileExistsError:
            return
        except OSError:  # there are no links on this file system
            if not os.path.lexists(path):
                part.replace(path)
    finally:
        part.unlink(missing_ok=True)
