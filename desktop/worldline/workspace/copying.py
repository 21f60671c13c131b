"""Copying many files into a new folder with more than one processor.

The folders that come are shared out between this process and helpers (`copier`), in portions, so that whoever is quick does
more. Both copy with the same code. Where a helper could not do what it was asked, and where one is lost, that is done again
here: what it left is removed first. What is wrong then shows here as it would have without helpers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from worldline.workspace import copier, helpers
from worldline.workspace.copier import GONE, TOO_LARGE, Copier, Result
from worldline.workspace.helpers import Helper, Lost
from worldline.workspace.safefs import SafeTree

log = logging.getLogger(__name__)

_PORTION = 50
"""Files of one request: about a millisecond."""
_AHEAD = 2
"""Requests that wait at a helper, so that it need not wait for us."""
WORTH = 800
"""Fewer files than this are nearly copied by the time a helper has started."""
_EACH = 20_000
"""Files for which one more helper is worth its memory (about 10 MB)."""
_PATIENCE_S = 5
"""So long may a helper be silent when nothing else is left to do: a disk may be busy."""


class Piece(NamedTuple):
    """Files of one folder."""

    number: int
    """They are told apart, and put in order, by it."""
    prefix: str
    """Of their paths: "", or it ends with a `/`."""
    names: list[str]


Portion = list[Piece]
Took = Callable[[Piece, list[Result]], None]


class Copying:
    """One job, of one thread. `took` is told of each piece once it is copied, with one result for each name; what it raises
    passes through. Close it in any case: no helper writes any more then."""

    def __init__(self, source: SafeTree, dest: SafeTree, usual: int, took: Took) -> None:
        self._source, self._dest, self._usual, self._took = source, dest, usual, took
        self._copier = Copier(usual)
        self._helpers: list[Helper[Portion]] = []
        self._next: Portion = []
        """For a helper, once it is a whole portion."""
        self._size = 0
        self._again: deque[Piece] = deque()
        """Asked of a helper, and not done."""

    def start(self, files: int) -> None:
        """Have helpers for about so many files, where they are worth it."""
        wanted = min(helpers.processors() - 1, helpers.MOST, 1 + files // _EACH) if files >= WORTH else 0
        if sys.getfilesystemencoding() != "utf-8":
            return  # names would not be the same to them
        source, dest = self._source.root_fd, self._dest.root_fd
        words = (str(source), str(dest), str(self._usual), str(os.getpid()))
        try:
            while len(self._helpers) < wanted:
                self._helpers.append(Helper.start(copier, *words, fds=(source, dest)))
        except OSError as error:
            log.warning("no helper could be started to copy %s: %s", self._source.root, error)

    def add(self, number: int, prefix: str, names: list[str], source: int, dest: int) -> None:
        """Files of a folder that is open here and there. Raises OSError."""
        for at in range(0, len(names), _PORTION):
            piece = Piece(number, prefix, names[at : at + _PORTION])
            if not self._hand_over(piece):
                self._took(piece, [self._copier.file(name, source, dest) for name in piece.names])

    def finish(self) -> None:
        """Copy what is left, and wait for what is being copied elsewhere. Raises OSError."""
        self._again += self._next
        self._next = []
        while True:
            self._receive()
            while self._again:
                self._repeat(self._again.popleft())
            if not any(helper.asked for helper in self._helpers):
                return
            self._wait()

    def close(self) -> None:
        for helper in self._helpers:
            helper.close()
        self._helpers = []

    def _hand_over(self, piece: Piece) -> bool:
        """Whether a helper copies it."""
        self._receive()
        for helper in self._helpers:
            if len(helper.asked) < _AHEAD:
                break
        else:
            return False
        self._next.append(piece)
        self._size += len(piece.names)
        if self._size >= _PORTION:
            portion, self._next, self._size = self._next, [], 0
            try:
                helper.ask([(prefix, names) for _, prefix, names in portion], portion)
            except Lost:
                self._lose(helper)
        return True

    def _receive(self) -> None:
        """Take what the helpers have done."""
        for helper in list(self._helpers):
            try:
                for portion, said in helper.answers():
                    for piece, results in zip(portion, _checked(portion, said), strict=True):
                        if results is None:
                            self._again.append(piece)
                        else:
                            self._take(piece, results)
                helper.push()
            except Lost:
                self._lose(helper)

    def _take(self, piece: Piece, results: list[Result]) -> None:
        """Done by a helper, but for what was too large."""
        if TOO_LARGE in results:
            number, prefix, names = piece
            large = [name for name, result in zip(names, results, strict=True) if result == TOO_LARGE]
            done = [
                (name, result) for name, result in zip(names, results, strict=True) if result != TOO_LARGE
            ]
            self._again.append(Piece(number, prefix, large))
            piece = Piece(number, prefix, [name for name, _ in done])
            results = [result for _, result in done]
        self._took(piece, results)

    def _lose(self, helper: Helper[Portion]) -> None:
        helper.close()
        self._helpers.remove(helper)
        for portion in helper.asked:
            self._again += portion
        log.warning("a helper that copied %s was lost; its part is copied again", self._source.root)

    def _repeat(self, piece: Piece) -> None:
        dest = self._dest.folder(piece.prefix[:-1])
        for name in piece.names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=dest)
        try:
            source = self._source.folder(piece.prefix[:-1])
        except FileNotFoundError:  # the folder was deleted, with all of them
            self._took(piece, [GONE] * len(piece.names))
            return
        self._took(piece, [self._copier.file(name, source, dest) for name in piece.names])

    def _wait(self) -> None:
        for helper in helpers.silent(self._helpers, _PATIENCE_S):
            self._lose(helper)


def _checked(portion: Portion, said: Any) -> list[list[Result] | None]:
    """What a helper said, if it makes sense. Raises `Lost`."""
    if not isinstance(said, list) or len(said) != len(portion):
        raise Lost
    for piece, results in zip(portion, said, strict=True):
        if results is not None and not (
            isinstance(results, list)
            and len(results) == len(piece.names)
            and all(isinstance(result, str) or _is_copied(result) for result in results)
        ):
            raise Lost
    return said


def _is_copied(result: Any) -> bool:
    return isinstance(result, tuple) and len(result) == 12 and {*map(type, result)} == {int}
