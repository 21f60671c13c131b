"""Finding the known names of files that were met by a new one: of what is written by that, nothing is told where they are."""

from __future__ import annotations

import contextlib
import os
import stat

from worldline.workspace.folders import Dir
from worldline.workspace.reading import Found
from worldline.workspace.watch import Dirty


class OtherNames:
    """For one walk. All known names of a file that has several are to be in `Dir.linked`, and are looked at in each walk from
    then on; what is not there yet when the file is met by a new name is found here by its inode."""

    def __init__(self) -> None:
        self._inodes: set[int] = set()

    def meet(self, node: Dir, found: Found) -> None:
        """What a walk has found in a folder, before `node` is told."""
        for name, inode in found.linked.items():
            known = node.files.get(name)
            if name not in node.linked or known is None or known[3] != inode:
                self._inodes.add(inode)

    def meet_status(self, status: os.stat_result) -> None:
        """A file that is not captured by the name where it was met."""
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            self._inodes.add(status.st_ino)

    def meet_ignored(self, fd: int, prefix: str, name: str, dirty: Dirty | None) -> None:
        """A file in a folder (open as `fd`) that is ignored there. `dirty`: what was told before this walk."""
        if dirty is None or ((told := dirty.get(prefix)) is not None and name not in told):
            return
        with contextlib.suppress(OSError):  # gone again, or closed to us
            self.meet_status(os.stat(name, dir_fd=fd, follow_symlinks=False))

    def names(self, top: Dir) -> Dirty:
        """The known names, by folder, that are to be looked at for what was met since the last call."""
        inodes, self._inodes = self._inodes, set()
        found: Dirty = {}
        left = [("", top)] if inodes else []
        while left:
            prefix, node = left.pop()
            names = {name for name, sig in node.files.items() if sig[3] in inodes} - node.linked
            if names:
                found[prefix] = names
            left += [(f"{prefix}{name}/", child) for name, child in node.dirs.items()]
        return found
