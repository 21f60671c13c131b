"""Finding the folders in which nothing happened, with more than one processor.

A walk that nobody tells what changed has to ask for every file, and that is nearly all it costs. The folders that are
known are shared out here between this process and helpers (`looker`), in portions, so that whoever is quick does more. A
helper is only asked what stat says; what that means is decided here. One that is lost costs time, nothing else.
"""

from __future__ import annotations

import logging
import marshal
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from worldline.workspace import helpers, looker
from worldline.workspace.folders import IGNORED, Dir
from worldline.workspace.helpers import Helper, Lost
from worldline.workspace.looker import OPEN_DIR
from worldline.workspace.messages import FORMAT

log = logging.getLogger(__name__)

_PORTION = 400
"""Files and folders of one request: about a millisecond."""
_AHEAD = 2
"""Requests that wait at a helper, so that it need not wait for us."""
_WORTH = 4_000
"""Fewer files than this are looked at sooner than a helper has started."""
_EACH = 20_000
"""Files for which one more helper is worth its memory (about 10 MB)."""
_PATIENCE_S = 2
"""So long may a helper be silent when nothing else is left to do. Then its portions are looked at here."""

Piece = tuple[str, Dir]
"""A known folder, with its prefix."""


def known_folders(top: Dir) -> list[Piece]:
    """Those of which a look can tell that nothing happened."""
    found: list[Piece] = []
    left: list[Piece] = [("", top)]
    while left:
        prefix, node = left.pop()
        # One that ignores its own rules has them in no file that is looked at.
        plain = ".gitignore" not in node.skipped and all(why == IGNORED for why in node.skipped.values())
        if node.tree and node.sig is not None and plain:
            found.append((prefix, node))
        left += [(f"{prefix}{name}/", child) for name, child in node.dirs.items()]
    return found


def is_as_known(root: int, device: int, prefix: str, node: Dir) -> bool:
    """Whether stat data says that a folder has the same names and its files are as they were."""
    lstat = os.lstat
    try:
        fd = os.open(prefix or ".", OPEN_DIR, dir_fd=root)
        try:
            here = os.fstat(fd)
            if here.st_dev != device or node.sig != (
                here.st_mtime_ns,
                here.st_ctime_ns,
                here.st_ino,
                here.st_mode,
            ):
                return False
            for name, known in node.files.items():
                now = lstat(name, dir_fd=fd)
                if (
                    now.st_ctime_ns != known[1]
                    or now.st_mtime_ns != known[0]
                    or now.st_size != known[2]
                    or now.st_ino != known[3]
                ):
                    return False
        finally:
            os.close(fd)
    except OSError:
        return False
    return True


def _expected(node: Dir) -> bytes:
    """What a helper says of a folder in which nothing happened."""
    return marshal.dumps([node.sig, *[known[:4] for known in node.files.values()]], FORMAT)


class Looker:
    """Keeps the helpers between walks. Used from one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._helpers: list[Helper[list[Piece]]] = []
        self._may_start = True

    def unchanged(
        self, root: int, device: int, pieces: list[Piece], tick: Callable[[], None] | None = None,
        before: Callable[[str], None] | None = None,
    ) -> set[str]:  # fmt: skip
        """The prefixes of the pieces in which nothing happened; `root` is the open workspace. `before` is called for
        each prefix before it is looked at. What `tick` and `before` raise passes through."""
        same: set[str] = set()
        left = _portions(pieces)
        self._start(sum(len(node.files) for _, node in pieces))
        try:
            while left or any(helper.asked for helper in self._helpers):
                self._share(device, left, same, before)
                if not left:
                    self._wait(left)
                    continue
                for prefix, node in left.popleft():
                    if tick is not None:
                        tick()
                    if before is not None:
                        before(prefix)
                    if is_as_known(root, device, prefix, node):
                        same.add(prefix)
        except BaseException:
            self.close()  # they would answer to what nobody asks any more
            raise
        return same

    def close(self) -> None:
        for helper in self._helpers:
            helper.close()
        self._helpers = []

    def _start(self, files: int) -> None:
        wanted = min(helpers.processors() - 1, helpers.MOST, 1 + files // _EACH) if files >= _WORTH else 0
        try:
            while self._may_start and len(self._helpers) < wanted:
                self._helpers.append(Helper.start(looker, os.fspath(self._root)))
        except OSError as error:
            self._may_start = False
            log.warning("no helper could be started for the walk over %s: %s", self._root, error)

    def _share(
        self, device: int, left: deque[list[Piece]], same: set[str], before: Callable[[str], None] | None
    ) -> None:
        """Take what the helpers have found, and keep them busy."""
        for helper in list(self._helpers):
            try:
                for portion, said in helper.answers():
                    if not isinstance(said, list) or len(said) != len(portion):
                        raise Lost
                    same |= {
                        prefix
                        for (prefix, node), seen in zip(portion, said, strict=True)
                        if seen is not None and seen == _expected(node)
                    }
                helper.push()
                while left and len(helper.asked) < _AHEAD:
                    portion = left.pop()
                    for prefix, _ in portion if before is not None else ():
                        before(prefix)  # type: ignore[misc]
                    names = [(prefix, list(node.files)) for prefix, node in portion]
                    helper.ask((device, names), portion)
            except Lost:
                self._lose(helper, left)

    def _lose(self, helper: Helper[list[Piece]], left: deque[list[Piece]]) -> None:
        left += helper.asked
        helper.close()
        self._helpers.remove(helper)
        self._may_start = False  # what ended one would end the next

    def _wait(self, left: deque[list[Piece]]) -> None:
        """Nothing is left to do here: wait for what is being done elsewhere."""
        for helper in helpers.silent(self._helpers, _PATIENCE_S):
            self._lose(helper, left)


def _portions(pieces: list[Piece]) -> deque[list[Piece]]:
    portions: deque[list[Piece]] = deque()
    size = _PORTION
    for piece in pieces:
        if size >= _PORTION:
            portions.append([])
            size = 0
        portions[-1].append(piece)
        size += 1 + len(piece[1].files)
    return portions
