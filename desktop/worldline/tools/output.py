"""What a command writes: kept, bounded, and shown while it comes."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import tempfile
import threading
from typing import IO

from worldline.core.access import Emit
from worldline.core.live_mask import LiveMask

logger = logging.getLogger(__name__)

OUTPUT_LIMIT = 4_000_000
"""Bytes of one command that are at hand: half from its start, half from its end."""
KEEP_LIMIT = 32_000_000
"""Bytes of one command that are kept in the session, from its start; of more, the end is kept as well."""
_LIVE_LIMIT = 64_000
_BEAT_S = 0.016


class Output:
    """Bytes of a command: the first half and the last half of `limit` at hand, and when there are more, up to `keep` of
    them from the start in a file that has no name. Filled by the reader thread."""

    def __init__(self, limit: int, keep: int = 0) -> None:
        self._half = max(1, limit // 2)
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self.total = 0

    def add(self, chunk: bytes) -> None:
        with self._lock:
            self.total += len(chunk)
            if self._keep and self.total > 2 * self._half:
                self._write(chunk)
            room = self._half - len(self._head)
            if room > 0:
                self._head += chunk[:room]
                chunk = chunk[room:]
            self._tail += chunk
            if len(self._tail) > 2 * self._half:
                del self._tail[: -self._half]

    def _write(self, chunk: bytes) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="worldline-")  # noqa: SIM115 - it outlives this
                self._file.write(self._head + self._tail)  # nothing has been left out by now
            room = self._keep - self._file.tell()
            if room > 0:
                self._file.write(chunk[:room])
        except OSError as error:
            logger.warning("the whole output of a command cannot be kept: %s", error)
            self._drop()

    def drop(self) -> None:
        """Nobody wants more than what is at hand."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        self._keep = 0
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):  # what it held back cannot be written either
                file.close()

    def take_whole(self) -> IO[bytes] | None:
        """The file with all of it, or with as much from its start as may be kept, a mark, and the end; now the caller's to
        close. None = `get` has as much. What comes after this is not in it."""
        with self._lock:
            file, self._file, self._keep = self._file, None, 0
            if file is None:
                return None
            try:
                kept = file.tell()
                if self.total > kept:
                    tail = bytes(self._tail[-self._half :])[-(self.total - kept) :]
                    left_out = self.total - kept - len(tail)
                    mark = b"\n[... %d bytes left out here ...]\n" % left_out if left_out else b""
                    file.write(mark + tail)
                file.seek(0)
            except OSError as error:
                logger.warning("the whole output of a command is lost: %s", error)
                return None
        return file

    def get(self) -> bytes:
        with self._lock:
            tail = bytes(self._tail[-self._half :])
            left_out = self.total - len(self._head) - len(tail)
            mark = b"\n[... %d bytes left out here ...]\n" % left_out if left_out > 0 else b""
            return bytes(self._head) + mark + tail


class Live:
    """Hands text to the loop with secrets masked, at most one call waiting; a flood drops what nobody could read anyway."""

    def __init__(self, loop: asyncio.AbstractEventLoop, emit: Emit) -> None:
        self._loop = loop
        self._emit = emit
        self._lock = threading.Lock()
        self._text = ""
        self._dropped = ""
        """Of what is not shown: enough to know whether a key went on in it."""
        self._waiting = False
        self._over = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._mask = LiveMask()
        """Used on the loop only, as the next."""
        self._next = 0.0

    def add(self, chunk: bytes, *, last: bool = False) -> None:
        with self._lock:
            text = self._text + self._decoder.decode(chunk, last)
            self._over = last
            if len(text) > _LIVE_LIMIT:
                self._dropped = (self._dropped + text[:-_LIVE_LIMIT])[-_LIVE_LIMIT:]
            self._text = text[-_LIVE_LIMIT:]
            if (self._waiting or not self._text) and not last:
                return
            self._waiting = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody looks any more
            self._loop.call_soon_threadsafe(self._flush if last else self._soon)

    def _soon(self) -> None:
        """At once after a rest, else in the next beat: a flood shall not keep the loop busy with what nobody can read."""
        rest = self._next - self._loop.time()
        if rest <= 0:
            self._flush()
        else:
            self._loop.call_later(rest, self._flush)

    def _flush(self) -> None:
        self._next = self._loop.time() + _BEAT_S
        with self._lock:
            text, dropped = self._text, self._dropped
            self._text, self._dropped, self._waiting, over = "", "", False, self._over
        if dropped:
            self._mask.left_out(dropped)
        shown = self._mask.feed(text) + (self._mask.rest() if over else "")
        if shown:
            self._emit(shown, "out")
