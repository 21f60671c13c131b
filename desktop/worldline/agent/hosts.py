"""Which hosts a confined command may reach: asked about while its connection waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any

from worldline.policy.sandbox.model import APPROVAL_TIMEOUT, Grant, HostPolicy

HOLD_S = 15.0
"""Seconds that a connection waits for the person before it is refused."""
AskHost = Callable[[str, int, str, str], Coroutine[Any, Any, str]]
"""(host, port, method, command) → "" allow, else why not. Awaited on the engine's loop."""


def hold_for_answer(
    loop: asyncio.AbstractEventLoop, ask_host: AskHost, command: str, grants: list[Grant]
) -> HostPolicy:
    """One answer holds for all connections of one command to a host; the first one waits for it."""
    answered: dict[tuple[str, int], str] = {}
    turn = threading.Lock()
    turns: dict[tuple[str, int], threading.Lock] = {}

    def policy(host: str, port: int, method: str) -> str:
        if any(g.kind == "net" and g.target == f"{host}:{port}" for g in grants):
            return ""
        with turn:
            own = turns.setdefault((host, port), threading.Lock())
        with own:  # each connection has a thread of its own; those to other hosts do not wait
            if (host, port) not in answered:
                answered[host, port] = ask(host, port, method)
            return answered[host, port]

    def ask(host: str, port: int, method: str) -> str:
        question = asyncio.run_coroutine_threadsafe(ask_host(host, port, method, command), loop)
        try:
            return question.result(HOLD_S)
        except TimeoutError:
            question.cancel()
            return APPROVAL_TIMEOUT
        except CancelledError:
            return "the run was stopped"

    return policy
