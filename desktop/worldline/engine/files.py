"""Questions about files: what changed between two nodes, what is on disk, patches."""

from __future__ import annotations

import unicodedata
from typing import Any

from worldline.core.errors import BadInput
from worldline.engine.authors import way
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import FileChange, FileDiff
from worldline.workspace.model import DISK, NOT_CAPTURED


class Files:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared

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
        steps = way(self._shared, p.a, p.b)
        found = await self._shared.work.call(
            lambda w: w.changes(before, after, path_states=steps.new, disk_author=steps.disk_author)
        )
        return c.Changes(
            a=p.a,
            b=p.b,
            files=found,
            added=sum(f.added for f in found),
            removed=sum(f.removed for f in found),
        )

    async def file_diff(self, p: c.DiffFor) -> FileDiff:
        before, after, note = self.ends(p.a, p.b)
        if not p.path:
            raise BadInput("No path was named.", "Name a file of the workspace.")
        if note or self._shared.work is None:
            return FileDiff(
                change=FileChange(path=p.path, status="M"), note=note or "There are no files here."
            )
        steps = way(self._shared, p.a, p.b)
        return await self._shared.work.call(
            lambda w: w.file_diff(
                before, after, p.path, context=p.context, ignore_space=p.ignore_space, max_rows=p.max_rows,
                path_states=steps.new, old_states=steps.old, disk_author=steps.disk_author,
            )
        )  # fmt: skip

    async def patch(self, p: c.Patch) -> c.PatchText:
        before, after, note = self.ends(p.a, p.b)
        if note:
            raise BadInput(note, "Choose another step.")
        return c.PatchText(text=await self._shared.workspace().call(lambda w: w.patch(before, after)))

    async def between(self, a: str, b: str) -> list[FileChange]:
        before, after, note = self.ends(a, b)
        if note or self._shared.work is None:
            return []
        return await self._shared.work.call(lambda w: w.changes(before, after))

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
                except OSError:
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
