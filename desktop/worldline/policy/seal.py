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
        return hmac.new(self._key, dumps(said), hashlib.sha256).hexdigest()


def _key(path: Path) -> bytes:
    """Where none can be kept (a full disk) nothing that lasts is remembered, and everything is asked again."""
    for _ in range(2):
        with contextlib.suppress(OSError):
            key = read_plain(path, 1000)
            if len(key) == _BYTES:
                return key
            path.unlink()  # cut off by a full disk once
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "wb") as out:
                out.write(secrets.token_bytes(_BYTES))
    return secrets.token_bytes(_BYTES)
