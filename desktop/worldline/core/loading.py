"""Importing many modules without looking through them for garbage again and again: a tenth of the time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_on = True


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage collection inside, in any thread. What is there at the end stays for good (modules, classes,
    functions), so later collections do not go through it either. May be nested and used in several threads."""
    global _inside, _was_on
    with _lock:
        if not _inside:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _was_on:
                gc.freeze()
                gc.enable()
