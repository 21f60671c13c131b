"""Names that came since the kernel was asked last, and whether one of them has gone again.

A name that is made may be another name of a file that is known. Of a write by it nothing is told where the file has its known
name, and once it is gone nobody can say which file it was: then only a look at all of them tells.
"""

from __future__ import annotations

MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200


class Arrivals:
    """Told of each event that makes or takes away a name, in the order of the kernel."""

    def __init__(self) -> None:
        self._came: set[tuple[int, str]] = set()
        self._moving = 0
        """The cookie of a name that came and went elsewhere, as long as nothing says where to."""
        self._lost = False

    def take(self, folder: int, name: str, mask: int, cookie: int) -> None:
        """`folder`: the number of its watch."""
        key = (folder, name)
        goes_on = bool(self._moving) and mask & MOVED_TO and cookie == self._moving
        if self._moving and not goes_on:
            self._lost = True  # to where nothing is told of
        self._moving = 0
        if mask & MOVED_TO and key in self._came:
            self._lost = True  # what had the name has it no more
        # What comes from where nothing is told of, as all that a jump puts down, is no name that was made here.
        if mask & CREATE or goes_on:
            self._came.add(key)
        elif key in self._came:
            self._came.remove(key)
            if mask & MOVED_FROM:
                self._moving = cookie
            elif mask & DELETE:
                self._lost = True

    def end(self) -> bool:
        """Whether a name came and went since the last call."""
        lost, self._lost = self._lost or bool(self._moving), False
        self._came.clear()
        self._moving = 0
        return lost
