"""Keys of services: from the system's keyring or the environment, bound to the address they belong to, never logged
and never written to a file of ours."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import keyring
import keyring.errors

from worldline.core.errors import ProviderError
from worldline.provider.address import FIRST_PARTY, is_first_party, normalise

SERVICE = "worldline"
LOCAL_KEY = "local"
"""What local servers get: they want something, and must never get a real key."""
_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@dataclass(frozen=True, slots=True)
class Credential:
    """`str` and `repr` never show the secret."""

    secret: str
    source: Literal["keyring", "environment", "given", "local", "none"]

    def __repr__(self) -> str:
        return f"Credential({self.source})"


def find(base_url: str = "", *, local: bool = False) -> Credential:
    """The credential for an address. A server of the person's own gets no real key; a key from the environment goes
    only to the first-party API, or to the address that the environment itself names beside it."""
    if local:
        return Credential(LOCAL_KEY, "local")
    stored = _stored(_account(base_url))
    if stored:
        return Credential(stored, "keyring")
    if is_first_party(base_url) or _same(base_url, os.environ.get("ANTHROPIC_BASE_URL", "")):
        for name in _VARIABLES:
            value = os.environ.get(name, "").strip()
            if value:
                return Credential(value, "environment")
    return Credential("", "none")


def is_needed(base_url: str) -> bool:
    """Whether nothing answers there without a key. A server of the person's own may do."""
    return is_first_party(base_url)


def store(secret: str, base_url: str = "") -> None:
    """Keep a key in the keyring. Raises ProviderError, with what to do, when there is none."""
    secret = secret.strip()
    if not secret or any(ord(c) < 33 or ord(c) > 126 for c in secret):
        raise ProviderError(
            "This is no key: it is empty or holds spaces or unusual characters.",
            "Copy it again.",
            kind="bad_key",
        )
    try:
        keyring.set_password(SERVICE, _account(base_url), secret)
    except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
        raise ProviderError(
            "This system has no keyring that could hold the key.",
            "Set ANTHROPIC_API_KEY in the environment instead, or install a secret service.",
            kind="no_keyring",
        ) from error
    if _stored(_account(base_url)) != secret:
        raise ProviderError(
            "The keyring did not keep the key.",
            "Set ANTHROPIC_API_KEY in the environment instead.",
            kind="no_keyring",
        )


def forget(base_url: str = "") -> bool:
    """Remove a stored key; False when there was none or there is no keyring."""
    try:
        keyring.delete_password(SERVICE, _account(base_url))
    except (keyring.errors.KeyringError, OSError, RuntimeError):
        return False
    return True


def _stored(account: str) -> str:
    try:
        return keyring.get_password(SERVICE, account) or ""
    except (keyring.errors.KeyringError, OSError, RuntimeError):
        # No backend, or a locked one that nobody unlocks: as if nothing were stored.
        return ""


def _account(base_url: str) -> str:
    return FIRST_PARTY if is_first_party(base_url) else normalise(base_url)


def _same(base_url: str, named: str) -> bool:
    return bool(named) and normalise(base_url) == normalise(named)
