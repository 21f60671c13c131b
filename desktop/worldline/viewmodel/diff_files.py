"""Changed files as a list or as a tree of folders."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter, le

from worldline.protocol.model import FileChange


def _nothing() -> Iterator[FileNode]:
    return iter(())


@dataclass(slots=True)
class FileNode:
    """A folder (`change` None) or a changed file. Folders with one folder inside are joined (`a/b`)."""

    name: str
    change: FileChange | None = None
    inside: Callable[[], Iterator[FileNode]] = _nothing

    @property
    def children(self) -> Iterator[FileNode]:
        """Folders first, then files, both by name; made as they are asked for."""
        return self.inside()


def is_by_path(paths: Sequence[str], before: str = "") -> bool:
    """Whether these paths are in order, and come after `before`."""
    return not paths or (before <= paths[0] and all(map(le, paths, islice(paths, 1, None))))


def by_path(changes: Iterable[FileChange]) -> list[FileChange]:
    """All files, by their paths. Of very many this takes a while: the window is given them in this order by the engine."""
    return sorted(changes, key=_PATH)


def found(changes: Sequence[FileChange], path: str) -> FileChange | None:
    """The file of this path among files that are by their paths."""
    at = bisect_left(changes, path, key=_PATH)
    return changes[at] if at < len(changes) and changes[at].path == path else None


def file_tree(files: Sequence[FileChange]) -> Iterator[FileNode]:
    """Folders first, then files, both by name, of files that are by their paths. Only what is looked into is made: of
    100,000 files a list shows fifty."""
    return _Files(files).inside(0, len(files), 0)


_PATH: Callable[[FileChange], str] = attrgetter("path")


@dataclass(frozen=True, slots=True)
class _Files:
    """Files by their paths: those of a folder stand together."""

    files: Sequence[FileChange]

    def inside(self, first: int, end: int, cut: int) -> Iterator[FileNode]:
        """What is in the folder of these files; `cut`: how much of their paths is above it."""
        files, folders = self.files, []
        names: list[FileChange] = []
        at = first
        while at < end:
            file = files[at]
            slash = file.path.find("/", cut)
            if slash < 0:
                names.append(file)
                at += 1
                continue
            # All that begins with this folder: "0" is the character after "/".
            after = bisect_left(files, file.path[:slash] + "0", at, end, key=_PATH)
            folders.append(self._folder(at, after, cut, slash))
            at = after
        yield from sorted(folders, key=attrgetter("name"))
        for file in names:
            yield FileNode(file.path[cut:], file)

    def _folder(self, first: int, end: int, cut: int, slash: int) -> FileNode:
        while True:
            # As long as the first and the last of them are in one folder below, all are.
            low, high = self.files[first].path, self.files[end - 1].path
            deeper = low.find("/", slash + 1)
            if deeper < 0 or high[: deeper + 1] != low[: deeper + 1]:
                break
            slash = deeper
        return FileNode(low[cut:slash], None, partial(self.inside, first, end, slash + 1))


def take_lines(files: Iterable[FileChange], lines: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """Enter lines that were counted later; returns how many these files have added and removed. Among so many files a
    renamed one is an equal one: it has none."""
    added = removed = 0
    for change in files:
        if change.status != "R":
            change.added, change.removed = lines.get(change.path, (0, 0))
        added, removed = added + change.added, removed + change.removed
    return added, removed
