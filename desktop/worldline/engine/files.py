"""Questions about files: what changed between two nodes, what is on disk, patches."""

from __future__ import annotations

import asyncio
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldline.core.errors import BadInput, WorldlineError
from worldline.engine.authors import Way, way
from worldline.engine.comparing import DiffProcess, packed
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.workspace.authorship import USER, Step
from worldline.workspace.model import DISK, NOT_CAPTURED

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace


@dataclass(slots=True, frozen=True)
class _Pair:
    """Two stored states."""

    a: str
    b: str
    large: bool
    """Comparing them would be felt: not in this process."""
    disk: bool
    """The second one is what is on disk."""


_Row = tuple[Any, ...]
"""A `DiffRow` by its fields. There may be hundreds of thousands, and as objects each collection of garbage would look
through all of them, 0.1 s; tuples of words and numbers it leaves alone."""
_FIELDS = tuple(DiffRow.model_fields)


def _as_row(raw: dict[str, Any]) -> _Row:
    return tuple(raw[name] for name in _FIELDS)


@dataclass(slots=True, frozen=True)
class _Difference:
    """Of one file: all but the lines, and the lines."""

    about: FileDiff
    rows: list[DiffRow] | list[_Row]

    def part(self, first: int = 0, end: int | None = None, **more: Any) -> FileDiff:
        rows = [row if isinstance(row, DiffRow) else DiffRow(**dict(zip(_FIELDS, row, strict=True)))
                for row in self.rows[first:end]]  # fmt: skip
        return self.about.model_copy(update={"rows": rows, **more})


class Files:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._process: DiffProcess | None = None
        self._counter: DiffProcess | None = None
        self._counting: asyncio.Task[None] | None = None
        self._paged: tuple[c.DiffFor, _Difference] | None = None
        """What is being handed over in pages."""

    def ends(self, a: str, b: str) -> tuple[Any, Any, str]:
        """States for two names of the protocol, and a note where one is not known."""
        doc = self._shared.doc
        note = ""
        if b == "disk":
            after: Any = DISK
            node = doc.cursor
        else:
            node = doc.resolve(b)
            after = self._shared.state(node)
        if a == "parent":
            parent = doc.header(node).parent
            before = self._shared.good_state(doc.uid(parent)) if parent else self._base()
            if b == "disk":
                before = self._shared.good_state(node)
        elif a == "base":
            before = self._base()
        else:
            before = self._shared.state(doc.resolve(a))
        if after == NOT_CAPTURED or before == NOT_CAPTURED:
            note = "The files of one of these steps could not be captured, so there is no comparison."
        elif not after or not before:
            note = "No files are recorded for one of these steps."
        return before, after, note

    def _base(self) -> str:
        return self._shared.good_state(self._shared.doc.resolve("root"))

    async def changes(self, p: c.DiffFor) -> c.Changes:
        before, after, note = self.ends(p.a, p.b)
        if note or self._shared.work is None:
            return c.Changes(
                a=p.a, b=p.b, files=[], added=0, removed=0, note=note or "There are no files here."
            )
        pair = await self._pair(before, after)
        steps = self._steps(p, pair)
        counted = True
        if pair.large:
            found: list[FileChange] = []
            params = {"a": pair.a, "b": pair.b, "steps": packed(steps.new)}
            done = await self.process().call(
                "changes", params, lambda rows: found.extend(map(FileChange.model_validate, rows))
            )
            counted = done["counted"]
        else:
            found = await self._shared.work.call(
                lambda w: w.changes(pair.a, pair.b, path_states=steps.new, disk_author=steps.disk_author)
            )
        return c.Changes(
            a=p.a,
            b=p.b,
            files=found,
            added=sum(f.added for f in found),
            removed=sum(f.removed for f in found),
            counted=counted,
        )

    def process(self) -> DiffProcess:
        if self._process is None:
            self._process = DiffProcess(self._shared.workspace().store_path)
        return self._process

    async def close(self) -> None:
        """End the processes for comparing."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.gather(self._counting, return_exceptions=True)
        for process in (self._process, self._counter):
            if process is not None:
                await process.close()

    async def _pair(self, before: Any, after: Any) -> _Pair:
        """Two stored states: what is on disk is captured first."""

        def look(workspace: Workspace) -> _Pair:
            # Loaded here, on the thread: a session can be shown without libgit2.
            from worldline.workspace.linecount import is_large
            from worldline.workspace.sources import load

            a = load(workspace, before)
            b = load(workspace, after, a.id)
            return _Pair(a.id, b.id, is_large(workspace.store, a.files, b.files), after is DISK)

        return await self._shared.workspace().call(look)

    def _steps(self, p: c.DiffFor, pair: _Pair) -> Way:
        steps = way(self._shared, p.a, p.b)
        if pair.disk and steps.new:
            last = Step(steps.disk_author, pair.b, steps.disk_author == USER)
            return Way([*steps.new, last], steps.old, steps.disk_author)
        return steps

    async def line_counts(self, p: c.DiffFor) -> c.LineCounts:
        """Lines of every changed file, however many. A question about another pair ends this one."""
        before, after, note = self.ends(p.a, p.b)
        if note or self._shared.work is None:
            return c.LineCounts(a=p.a, b=p.b, files={})
        if self._counting is not None and not self._counting.done():
            self._counting.cancel()
        pair = await self._pair(before, after)
        files: dict[str, tuple[int, int]] = {}

        async def count() -> None:
            if self._counter is None:
                self._counter = DiffProcess(self._shared.workspace().store_path)
            params = {"a": pair.a, "b": pair.b, "files": True}
            await self._counter.call(
                "lines",
                params,
                lambda rows: files.update((path, (plus, minus)) for path, plus, minus in rows),
            )

        counting = asyncio.get_running_loop().create_task(count(), name="line counts")
        self._counting = counting
        try:
            await asyncio.shield(counting)
        except asyncio.CancelledError:
            if not counting.cancelled():
                raise
            raise WorldlineError("Another comparison was asked for.", "", kind="cancelled") from None
        return c.LineCounts(a=p.a, b=p.b, files=files)

    async def file_diff(self, p: c.DiffFor) -> FileDiff:
        if not p.page:
            return (await self._file_diff(p)).part()
        asked = p.model_copy(update={"first_row": 0})
        kept, self._paged = self._paged, None
        if not p.first_row:
            whole = await self._file_diff(p)
        elif kept is not None and kept[0] == asked:
            whole = kept[1]
        else:
            raise BadInput(
                "The rest of this comparison is not there any more.",
                "Something else was compared meanwhile; ask again.",
            )
        end = p.first_row + p.page
        if end < len(whole.rows):
            self._paged = (asked, whole)
        page: dict[str, Any] = {"more": end < len(whole.rows)}
        if p.first_row:
            page |= {"old_image": "", "new_image": ""}
        return whole.part(p.first_row, end, **page)

    async def _file_diff(self, p: c.DiffFor) -> _Difference:
        before, after, note = self.ends(p.a, p.b)
        if not p.path:
            raise BadInput("No path was named.", "Name a file of the workspace.")
        if note or self._shared.work is None:
            none = FileDiff(
                change=FileChange(path=p.path, status="M"), note=note or "There are no files here."
            )
            return _Difference(none, [])
        pair = await self._pair(before, after)
        steps = self._steps(p, pair)
        if pair.large:
            rows: list[_Row] = []
            params = {
                "a": pair.a, "b": pair.b, "path": p.path, "context": p.context, "ignore_space": p.ignore_space,
                "max_rows": p.max_rows, "steps": packed(steps.new), "old_steps": packed(steps.old),
            }  # fmt: skip
            done = await self.process().call(
                "file_diff", params, lambda part: rows.extend(map(_as_row, part))
            )
            return _Difference(FileDiff.model_validate(done), rows)
        found = await self._shared.work.call(
            lambda w: w.file_diff(
                pair.a, pair.b, p.path, context=p.context, ignore_space=p.ignore_space, max_rows=p.max_rows,
                path_states=steps.new, old_states=steps.old, disk_author=steps.disk_author,
            )
        )  # fmt: skip
        return _Difference(found, found.rows)

    async def patch(self, p: c.Patch) -> c.PatchText:
        before, after, note = self.ends(p.a, p.b)
        if note:
            raise BadInput(note, "Choose another step.")
        pair = await self._pair(before, after)
        if pair.large:
            text = str(await self.process().call("patch", {"a": pair.a, "b": pair.b}))
        else:
            text = await self._shared.workspace().call(lambda w: w.patch(pair.a, pair.b))
        return c.PatchText(text=text)

    async def between(self, a: str, b: str) -> list[FileChange]:
        """What changed between two nodes, lines counted, whatever the number."""
        changes = await self.changes(c.DiffFor(a=a, b=b))
        if not changes.counted:
            lines = (await self.line_counts(c.DiffFor(a=a, b=b))).files
            for change in changes.files:
                if change.status != "R":
                    change.added, change.removed = lines.get(change.path, (0, 0))
        return changes.files

    async def complete(self, p: c.Complete) -> c.Completions:
        """Paths of the workspace that begin with, or hold, what was typed; large and small letters are the same, and so
        are the two ways to write an accent. A name that is no text cannot be typed and is not offered."""
        root = self._shared.root
        prefix = _typed(p.prefix.removeprefix("@").removeprefix('"'))

        def walk() -> list[str]:
            found: list[str] = []
            holds: list[str] = []
            folders = [root]
            seen = 0
            while folders and seen < 20_000 and len(found) < p.limit:
                folder = folders.pop(0)
                try:
                    entries = sorted(folder.iterdir(), key=lambda e: e.name)
                except OSError:  # it went meanwhile, or nobody may look into it: nothing there can be offered
                    continue
                for entry in entries:
                    seen += 1
                    if entry.name in (".git", "node_modules", "__pycache__"):
                        continue
                    relative = entry.relative_to(root).as_posix()
                    is_folder = (
                        not entry.is_symlink() and entry.is_dir()
                    )  # a link may name what no path can be
                    if is_folder:
                        folders.append(entry)
                    shown = relative + "/" if is_folder else relative
                    if not shown.isascii() and not _is_text(shown):
                        continue
                    key = _typed(shown)
                    if key.startswith(prefix):
                        found.append(shown)
                    elif prefix and prefix in key:
                        holds.append(shown)
            # What begins so by its own name before what holds it somewhere.
            holds.sort(key=lambda path: f"/{prefix}" not in f"/{_typed(path)}")
            return (found + holds)[: p.limit]

        paths = await self._shared.workspace().call(lambda _: walk())
        return c.Completions(paths=paths)


def _typed(text: str) -> str:
    """As it is compared with what was typed."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def _is_text(name: str) -> bool:
    """False: bytes that are not UTF-8."""
    return not any("\udc80" <= char <= "\udcff" for char in name)
