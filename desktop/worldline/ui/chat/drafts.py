"""Keeps what is being written, beside the window: a paste of megabytes is neither masked nor written in its thread."""

from __future__ import annotations

import base64
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from PySide6.QtCore import QObject, QTimer, Signal

from worldline.core import paths
from worldline.ui import preferences
from worldline.viewmodel.drafts import Draft, DraftFolder, prune

WAIT_MS = 400


class _Messenger(QObject):
    """Speaks for the thread: the composer may be gone by then, and Qt drops what nobody waits for."""

    looked = Signal(object)
    kept = Signal(int)
    failed = Signal(str)
    broke = Signal(Exception)


@cache
def _thread() -> ThreadPoolExecutor:
    """One for all: what is written later must not be overtaken, also when two windows follow one another on a session.
    The interpreter waits for it at its end."""
    return ThreadPoolExecutor(1, thread_name_prefix="drafts")


class Drafts(QObject):
    """The draft of one session. `read` says what there is; nothing is kept before `open`."""

    found = Signal(object)
    """A `Draft` of an earlier window."""
    left_out = Signal(int)
    """So many pastes and pictures are too large to be kept."""
    failed = Signal(str)
    """It cannot be kept; why."""

    def __init__(self, read: Callable[[], Draft], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._read = read
        self._folder: DraftFolder | None = None
        self._last: Future[None] | None = None
        self._kept = Draft()
        """What was given to the thread last."""
        self._looking = False
        self._taken_over = False
        self._failing = False
        self._earlier = ""
        """Where the settings of the window have a draft of an older version, until it is kept here; "" = nowhere."""
        self._timer = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._timer.timeout.connect(self.flush)
        self._said = _Messenger()
        self._said.looked.connect(self._on_looked)
        self._said.kept.connect(self._on_kept)
        self._said.failed.connect(self._on_failed)
        self._said.broke.connect(self._on_broken)

    def open(self, session: str) -> None:
        """Begin to keep the draft of `session`, and look for what there is of it. Again for the same: nothing."""
        if self._folder is not None and self._folder.session == session:
            return
        home = paths.data_home() / "drafts"
        folder = self._folder = DraftFolder(home, session)
        said = self._said
        # Until then nothing is written: it would take the place of what has not been read yet.
        self._looking = True

        def look() -> None:
            found = None
            try:
                found = folder.load()
            finally:
                said.looked.emit(found)
            prune(home)

        self._do(look)

    def take_over(self, draft: Draft) -> None:
        """`draft` is what there is: what was kept of it is not looked for any more."""
        self._looking, self._kept = False, draft
        self._taken_over = True

    def changed(self) -> None:
        """Something was written, pasted or taken away. What is empty goes at once: it was sent."""
        if not self._read():
            self.flush()
        elif self._folder is not None:
            self._timer.start()

    def flush(self) -> None:
        """Keep what there is now."""
        self._timer.stop()
        draft, folder, said = self._read(), self._folder, self._said
        if folder is not None and not self._looking and draft != self._kept:
            self._kept = draft
            self._do(lambda: said.kept.emit(folder.save(draft)))

    def settled(self, limit_s: float = 60.0) -> None:
        """Return when all is on disk (the end of the window, tests)."""
        if self._last is not None:
            self._last.result(limit_s)

    def _do(self, call: Callable[[], None]) -> None:
        said = self._said

        def guarded() -> None:
            try:
                call()
            except OSError as error:
                said.failed.emit(error.strerror or str(error))
            except Exception as error:  # noqa: BLE001 - raised in the window's thread
                said.broke.emit(error)

        self._last = _thread().submit(guarded)

    def _on_looked(self, found: Draft | None) -> None:
        self._looking = False
        if not self._taken_over:
            if found is not None:
                self._kept = found
            else:
                found = self._of_an_older_version()
            if found is not None:
                self.found.emit(found)
        self.changed()

    def _of_an_older_version(self) -> Draft | None:
        """That one kept the text alone, beside the sizes and places of the window."""
        session = self._folder.session if self._folder is not None else ""
        key = f"drafts/{base64.urlsafe_b64encode(session.encode(errors='surrogateescape')).decode('ascii')}"
        text = str(preferences.settings().value(key, ""))
        if not text:
            return None
        self._earlier = key
        return Draft(text)

    def _on_kept(self, left_out: int) -> None:
        if self._earlier:
            preferences.settings().remove(self._earlier)
            self._earlier = ""
        self._failing = False
        self.left_out.emit(left_out)

    def _on_failed(self, why: str) -> None:
        # Once: a full disk would say it at every pause in writing.
        if not self._failing:
            self._failing = True
            self.failed.emit(why)

    def _on_broken(self, error: Exception) -> None:
        """A defect: in the window's thread it is logged and shown, in the other one nobody would hear of it."""
        raise error
