"""What the person writes on a session: its title, and labels, notes and bookmarks of nodes. The model is not told."""

from __future__ import annotations

from worldline.core.errors import BadInput
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.events import LabelChanged, TitleChanged


class Marks:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def set_label(self, p: c.SetLabel) -> c.Nothing:
        self._shared.writable()
        doc = self._shared.doc
        uid = doc.resolve(p.node)
        doc.set_mark(uid, p.what, p.text, p.color)
        m = doc.marks().get(uid)
        self._shared.emit(
            "label_changed",
            LabelChanged(node=uid, label=m.label, note=m.note, bookmark=m.bookmark, color=m.color)
            if m
            else LabelChanged(node=uid),
        )
        return c.Nothing()

    def set_title(self, p: c.SetTitle) -> c.Nothing:
        self._shared.writable()
        title = " ".join(p.title.split())
        if not title:
            raise BadInput("The title is empty.", "Write a few words.")
        self._shared.doc.set_title(title)
        self._shared.info.title = title
        self._shared.emit("title_changed", TitleChanged(title=title))
        return c.Nothing()
