"""Grouping writes into commits that hold or leave no trace, in the file and in memory."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.session import bodies, connect, lock
from worldline.session.reader import SessionReader


class TransactionalSession(SessionReader):
    """An open session with the lock of its writer, or without one for reading only."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writer: lock.WriterLock | None) -> None:
        self._lock = writer
        self._depth = 0
        self._doomed: BaseException | None = None
        self._wrote = False
        """Whether it is on record that the file was opened. It comes with the first write, not with the opening: a file
        that is found damaged beside the work, or that was only looked at, keeps its bytes."""
        self._undo: list[Callable[[], None]] = []
        self._recent = bodies.Recent()
        self._file, self._log = str(path), f"{path}-wal"
        self._places: dict[str, tuple[int, int]] = {}
        # A writer reads with `live` too: whatever is unfinished since the last opening is listed first, then marked.
        self._start(path, connection, live=writer is not None or lock.writer_lives(path))

    @property
    def read_only(self) -> bool:
        return self._lock is None

    def close(self) -> None:
        """Idempotent; gives the lock back."""
        if self._closed:
            return
        super().close()
        if self._lock is not None:
            self._lock.release()

    def _let_go(self, *, as_found: bool) -> None:
        if as_found and self._lock is not None:
            connect.close_as_found(self._db, self.path)
        else:
            super()._let_go(as_found=as_found)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several writes, one commit. Inner ones join the outer one. If anything in it fails, nothing of it stays, neither in
        the file nor in memory."""
        self._check()
        if self._lock is None:
            raise SessionError(
                "This session is open for reading only.", self._why_read_only(), kind="read_only"
            )
        if self._depth:
            self._depth += 1
            try:
                yield
            except sqlite3.Error as problem:
                self._doomed = problem
                raise
            finally:
                self._depth -= 1
            return
        self._undo = []
        self._doomed = None
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._depth = 1
            if not self._wrote:
                self._first_write()
            yield
            if self._doomed is not None:
                raise self._doomed
            self._check_in_place()
            self._db.execute("COMMIT")
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            self._roll_back()
            raise
        except sqlite3.DatabaseError as problem:
            self._roll_back()
            raise connect.translate(problem, self.path, saving=True) from problem
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._depth = 0
        self._wrote = True
        self._undo = []

    def _first_write(self) -> None:
        """Part of the first transaction that holds: what belongs before everything else that is written."""

    def _check_writable(self) -> None:
        """Raises SessionError `not_saved` for a file that cannot be written at all. Writes nothing."""
        with connect.told(self.path, saving=True):
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("ROLLBACK")

    def _roll_back(self) -> None:
        # On some errors (disk full) SQLite has rolled back by itself already.
        if self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
        self._recent.forget()
        for back in reversed(self._undo):
            back()
        self._undo = []

    def _check_in_place(self) -> None:
        """The file and its log must still be where we opened them: writes to deleted files succeed and are lost."""
        for path in (self._file, self._log):
            try:
                found = os.stat(path)  # noqa: PTH116 - twice in every commit: strings are quicker than Path here
            except FileNotFoundError:
                if path == self._log and path not in self._places:
                    continue  # it appears with the first write
                raise SessionError(
                    f"The session could not be saved: {Path(path).name} is gone from {self.path.parent}.",
                    "Put it back, or save a copy of the session elsewhere; it is still in memory.",
                    kind="not_saved",
                ) from None
            except OSError as problem:
                raise connect.translate(problem, self.path, saving=True) from problem
            place = (found.st_dev, found.st_ino)
            if self._places.setdefault(path, place) != place:
                raise SessionError(
                    f"The session could not be saved: another file is now at {path}.",
                    "Save a copy of the session elsewhere, then open the file that is there now.",
                    kind="not_saved",
                )

    def save_copy(self, out: Path) -> None:
        """Write the whole session, as it is known here, into a new file; also when its own file was deleted meanwhile."""
        self._check()
        if out.exists():
            raise SessionError(f"{out} is already there.", "Choose another name.", kind="exists")
        with connect.told(out, saving=True):
            os.close(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(out)) as target:
                self._db.backup(target)
            connect.sync_folder(out.parent)
