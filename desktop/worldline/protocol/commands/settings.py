"""Settings, the credential and the models that they reach."""

from __future__ import annotations

from typing import Any, Literal

from worldline.protocol.wire import Message


class Settings(Message):
    values: dict[str, Any]
    problems: list[str] = []
    """As in the hello."""
    rules: dict[str, dict[str, list[str]]] = {}
    """Whose the rules in `values` are, which has them in one: "own", those of the person for all folders; "here", theirs
    for this folder alone ("always here" is written there); "project", those that came with the project."""
    folder: str = ""
    """Under which name "here" is kept in `projects`; "" = no folder."""


class SetSettings(Message):
    values: dict[str, Any]
    """Merged key by key; None takes a key out."""


class Credential(Message):
    service: str = "anthropic"
    secret: str
    """Kept in the OS keyring; "" removes it. Never logged, never echoed."""


class CredentialState(Message):
    service: str
    source: Literal["keyring", "environment", "none", "not_needed"]
    note: str = ""


class TestConnection(Message):
    base_url: str = ""
    model: str = ""
    secret: str = ""


class ConnectionResult(Message):
    ok: bool
    sentence: str
    models: list[str] = []


class ModelInfo(Message):
    id: str
    name: str
    context: int = 0
    max_output: int = 0
    efforts: list[str] = []
    price: str = ""
    available: bool = True


class Models(Message):
    models: list[ModelInfo]
    default: str
    chain: list[str] = []
    effort: str = ""
    """That of the settings, "" = none is said."""
