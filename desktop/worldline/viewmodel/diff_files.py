"""Changed files as a list or as a tree of folders."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter, le

from worldline.protocol.commands import Changes
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


def by_path(changes: Iterable[FileChange]) -> list[FileChange]:
    """All files, by their paths."""
    return _sorted(changes)[0]


def _sorted(changes: Iterable[FileChange]) -> tuple[list[FileChange], list[str]]:
    """The files by their paths, and the paths. The engine gives them in this order: then nothing is sorted."""
    files = list(changes)
    paths = [change.path for change in files]
    if all(map(le, paths, islice(paths, 1, None))):
        return files, paths
    order = sorted(range(len(paths)), key=paths.__getitem__)
    return [files[at] for at in order], [paths[at] for at in order]


def file_tree(changes: Iterable[FileChange]) -> Iterator[FileNode]:
    """Folders first, then files, both by name. Only what is looked into is made: of 100,000 files a list shows fifty."""
    files, paths = _sorted(changes)
    return _Files(files, paths).inside(0, len(files), 0)


@dataclass(frozen=True, slots=True)
class _Files:
    """Files by their paths: those of a folder stand together."""

    files: Sequence[FileChange]
    paths: Sequence[str]

    def inside(self, first: int, end: int, cut: int) -> Iterator[FileNode]:
        """What is in the folder of these files; `cut`: how much of their paths is above it."""
        folders = []
        names: list[int] = []
        at = first
        while at < end:
            slash = self.paths[at].find("/", cut)
            if slash < 0:
                names.append(at)
                at += 1
                continue
            # All that begins with this folder: "0" is the character after "/".
            after = bisect_left(self.paths, self.paths[at][:slash] + "0", at, end)
            folders.append(self._folder(at, after, cut, slash))
            at = after
        yield from sorted(folders, key=attrgetter("name"))
        for at in names:
            yield FileNode(self.paths[at][cut:], self.files[at])

    def _folder(self, first: int, end: int, cut: int, slash: int) -> FileNode:
        while True:
            # As long as the first and the last of them are in one folder below, all are.
            low, high = self.paths[first], self.paths[end - 1]
            deeper = low.find("/", slash + 1)
            if deeper < 0 or high[: deeper + 1] != low[: deeper + 1]:
                break
            slash = deeper
        return FileNode(low[cut:slash], None, partial(self.inside, first, end, slash + 1))


def totals(changes: Sequence[FileChange]) -> tuple[int, int, int]:
    """Files, lines added, lines removed."""
    return len(changes), sum(change.added for change in changes), sum(change.removed for change in changes)


def take_lines(changes: Changes, lines: Mapping[str, Sequence[int]]) -> None:
    """Enter lines that were counted later. Among so many files a renamed one is an equal one: it has none."""
    for change in changes.files:
        if change.status != "R":
            change.added, change.removed = lines.get(change.path, (0, 0))
    _, changes.added, changes.removed = totals(changes.files)
    changes.counted = True
