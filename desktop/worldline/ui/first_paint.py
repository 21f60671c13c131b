"""What can wait until the first window of the process has been seen.

The first picture is the tree, the title and the status. Buttons, menus, shortcuts and pictures on buttons follow some
milliseconds later, before anybody can reach for them. A window that is opened later has all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from PySide6.QtCore import QObject
from shiboken6 import isValid

from worldline.ui.slices import in_slices

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


def done(window: QObject, then: Iterable[Callable[[], object]]) -> None:
    """The window has been seen: do what waits, in the order in which it came, in slices, and then these steps."""
    global _pending
    _pending = False
    waiting = list(_waiting)
    _waiting.clear()

    def do(owner: QObject, call: Callable[[], object]) -> None:
        if isValid(owner):
            call()

    in_slices(window, chain((partial(do, owner, call) for owner, call in waiting), then))
