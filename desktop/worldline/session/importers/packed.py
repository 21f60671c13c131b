"""Session files as bytes, also those that their agent has packed."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

from worldline.core.errors import BadInput

SUFFIXES = (".jsonl", ".jsonl.zst", ".jsonl.gz")
BROKEN = (zstandard.ZstdError, gzip.BadGzipFile, zlib.error, EOFError)
"""What reading a packed file raises where it is damaged or cut off."""


@contextmanager
def open_source(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of `path`, which is only read. Raises OSError, and BadInput for what is no regular file: a pipe
    may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise BadInput(
            f"{path} is not a regular file.", "Save what comes out of it as a file, then import that."
        )
    with path.open("rb") as file:
        if path.suffix == ".zst":
            yield io.BufferedReader(_Unpacked(file))
        elif path.suffix == ".gz":
            yield cast(IO[bytes], gzip.GzipFile(fileobj=file))
        else:
            yield file


class _Unpacked(io.RawIOBase):
    """Zstandard frames, one behind the other. Unlike the library's reader it tells a file that is cut off."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = b""
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        while not self._waiting:
            packed = self._file.read(1 << 16)
            if not packed:
                if self._begun:
                    raise EOFError("the packed file is cut off")
                return 0
            self._feed(packed)
        taken = self._waiting[: len(target)]
        target[: len(taken)] = taken
        self._waiting = self._waiting[len(taken) :]
        return len(taken)

    def _feed(self, packed: bytes) -> None:
        parts = []
        while packed:
            self._begun = True
            parts.append(self._frame.decompress(packed))
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._begun = zstandard.ZstdDecompressor().decompressobj(), False
        self._waiting = b"".join(parts)
