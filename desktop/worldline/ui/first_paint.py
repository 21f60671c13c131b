"""What can wait until the first window of the process has been seen.

The first picture is the tree, the title and the status. Buttons, menus, shortcuts and pictures on buttons follow some
milliseconds later, before anybody can reach for them. A window that is opened later has all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from shiboken6 import isValid

_pending = False
_waiting: list[tuple[QObject, Callable[[], object]]] = []


def hold() -> None:
    """A first window is about to be made: what is given to `after` waits from now on."""
    global _pending
    _pending = True


def pending() -> bool:
    return _pending


def after(owner: QObject, call: Callable[[], object]) -> None:
    """Call when the first window has been painted, at once when that has happened; never when `owner` is gone."""
    if _pending:
        _waiting.append((owner, call))
    else:
        call()


def done() -> None:
    """The window has been seen: do what waits, in the order in which it came."""
    global _pending
    _pending = False
    while _waiting:
        owner, call = _waiting.pop(0)
        if isValid(owner):
            call()
