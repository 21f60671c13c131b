"""Text files, byte for byte: what is decoded here is encoded to the same bytes again."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import charset_normalizer

from worldline.core.errors import ErrorClass
from worldline.tools.model import FileVersion, TaskState, fail
from worldline.tools.places import Place, os_errors

MAX_EDIT_BYTES = 20_000_000
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF"), (b"PK\x03\x04", "a ZIP archive (or a document in one)"), (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program"), (b"SQLite format 3\x00", "an SQLite database"), (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"), (b"MZ", "a Windows program"), (b"\xca\xfe\xba\xbe", "a class file or Mach-O program"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextFile:
    text: str
    encoding: str
    """Python name; what the file is written back in."""
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError when the file's encoding has no such character."""
        return self.bom + text.encode(self.encoding)

    @property
    def newline(self) -> str:
        """The line end of the file: `\\r\\n` if most of its lines have it."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    @property
    def described(self) -> str:
        """What is special about it, for the model; "" for plain UTF-8."""
        name = self.encoding.upper() if self.encoding != "utf-8" else ""
        parts = [name] if name else []
        parts += ["with BOM"] if self.bom else []
        parts += ["CRLF line ends"] if self.newline == "\r\n" else []
        return ", ".join(parts)


def binary_kind(data: bytes) -> str:
    """What kind of binary file it is, "" for text. One NUL byte does not make a binary file."""
    if any(data.startswith(bom) for bom, _ in _BOMS):
        return ""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature) and (kind[2:4] != "Wi" or b"\0" in data[:512]):
            return kind
    sample = data[:65536]
    if sample.startswith(b"\0\0") or sample.count(0) > max(1, len(sample) // 200):
        return "binary data"
    controls = sum(byte < 32 and byte not in (7, 8, 9, 10, 12, 13, 27) for byte in sample)
    # Bytes that are even (compressed, encrypted) hold nearly a tenth of them; text of an older encoding hardly any.
    share = 10 if _is_utf8(sample) else 30
    return "binary data" if controls > max(2, len(sample) // share) else ""


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(sample) - 3  # cut within a character
    return True


def decode(data: bytes) -> TextFile:
    """Decode so that encoding gives the same bytes. UTF-8 if it can be, then what the statistics say, else Latin-1."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            if (text := _text_of(data[len(bom) :], encoding)) is not None:
                return TextFile(text, encoding, bom)
            break
    if (text := _text_of(data, "utf-8")) is not None:
        return TextFile(text, "utf-8")
    # A few bytes say nothing to the statistics; Western European is then by far the likeliest.
    if sum(byte > 127 for byte in data) >= 20:
        best = charset_normalizer.from_bytes(data).best()
        if best is not None and best.encoding not in ("ascii", "utf_8"):
            text = _text_of(data, best.encoding)
            if text is not None:
                return TextFile(text, best.encoding.replace("_", "-"))
    text = _text_of(data, "cp1252")
    if text is not None and any(128 <= byte < 160 for byte in data):
        return TextFile(text, "cp1252")
    return TextFile(data.decode("latin-1"), "latin-1")


def _text_of(data: bytes, encoding: str) -> str | None:
    """The text, if writing it in that encoding gives the same bytes again."""
    try:
        text = data.decode(encoding)
        return text if text.encode(encoding) == data else None
    except UnicodeError:
        return None


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class _Seen:
    """Texts that were read or written lately, by digest, so that a stale file can be compared with what was seen.

    Content-addressed: it says nothing about which branch has seen what; that is in `TaskState.files`."""

    def __init__(self, limit: int = 32_000_000) -> None:
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._limit = limit
        self._size = 0

    def put(self, key: str, data: bytes) -> None:
        if len(data) > 1_000_000 or key in self._texts:
            return
        self._texts[key] = data
        self._size += len(data)
        while self._size > self._limit:
            _, old = self._texts.popitem(last=False)
            self._size -= len(old)

    def get(self, key: str) -> bytes | None:
        return self._texts.get(key)


SEEN = _Seen()


def remember(state: TaskState, place: Place, data: bytes, mtime_ns: int, whole: bool = True) -> None:
    """This branch now knows this version of the file."""
    key = digest(data)
    SEEN.put(key, data)
    before = state.files.get(place.key)
    whole = whole or (before is not None and before.whole and before.digest == key)
    state.files[place.key] = FileVersion(key, mtime_ns, whole)


def check_stale(state: TaskState, place: Place, data: bytes) -> None:
    """Raise `stale_file` if the file is not what this branch last saw of it, and say what changed."""
    known = state.files.get(place.key)
    if known is None or known.digest == digest(data):
        return
    raise fail(
        ErrorClass.ENVIRONMENT,
        "stale_file",
        f"{place.shown} has changed since you last read it; nothing was written.",
        hint=_what_changed(SEEN.get(known.digest), data),
        next_="Read it again, then make your change on what is there now.",
    )


def check_gone(state: TaskState, place: Place) -> None:
    """Raise `stale_file` if this branch knows the file and it is not there any more."""
    if place.key in state.files:
        del state.files[place.key]
        raise fail(
            ErrorClass.ENVIRONMENT,
            "stale_file",
            f"{place.shown} was there when you last read it, and is gone now; nothing was written.",
            next_="Find out whether it was deleted or renamed (glob). To create it again, repeat the call.",
        )


def _what_changed(old: bytes | None, new: bytes) -> str:
    import difflib

    if old is None:
        return f"It now has {len(new):,} bytes; what it was is not known any more."
    before, after = decode(old).text.splitlines(), decode(new).text.splitlines()
    if len(before) + len(after) > 20_000:
        return f"It had {len(before):,} lines and now has {len(after):,}."
    lines = [
        line[:200]
        for line in difflib.unified_diff(before, after, "as you read it", "now", lineterm="", n=1)
        if not line.startswith(("---", "+++"))
    ]
    if not lines:
        return "Only line ends or other invisible characters changed."
    shown = lines[:30]
    return (
        "What changed:\n"
        + "\n".join(shown)
        + (f"\n… {len(lines) - 30} more lines" if len(lines) > 30 else "")
    )


def write_atomic(place: Place, data: bytes) -> tuple[os.stat_result, list[str]]:
    """Replace the file in one step (temporary file, rename), keeping its mode. Gives notes for the model.

    A reader sees the old file or the new one, never a half. A symbolic link stays and its target is replaced. Other
    hard links of the file keep the old content; the note says so.
    """
    target = place.real
    notes: list[str] = []
    with os_errors(place.shown):
        try:
            old = target.stat()
        except FileNotFoundError:
            old = None
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise fail(
                ErrorClass.USER,
                "is_a_directory" if stat.S_ISDIR(old.st_mode) else "not_a_regular_file",
                f"{place.shown} is no regular file.",
                next_="Name another path.",
            )
        if old is not None and not os.access(target, os.W_OK):
            raise PermissionError(13, "not writable", str(target))
        if old is not None and old.st_nlink > 1:
            others = old.st_nlink - 1
            notes.append(
                f"{place.shown} had {others} other hard link{'s' if others > 1 else ''}: "
                "they are separate files now and keep the old content."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        temp = target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}.tmp"
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if old is not None:
                    temp.chmod(stat.S_IMODE(old.st_mode))
                    if os.name == "posix" and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                        _keep_owner(temp, old)
            temp.replace(target)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        return target.stat(), notes


def _keep_owner(temp: Path, old: os.stat_result) -> None:
    try:
        os.chown(temp, old.st_uid, old.st_gid)
    except PermissionError:
        return  # only root may give files away; the content and the mode are what matters
    temp.chmod(stat.S_IMODE(old.st_mode))


def read_bytes(place: Place, limit: int = MAX_EDIT_BYTES) -> tuple[bytes, os.stat_result]:
    with os_errors(place.shown):
        info = place.real.stat()
        if info.st_size > limit:
            raise fail(
                ErrorClass.USER,
                "too_large",
                f"{place.shown} has {info.st_size:,} bytes; the limit here is {limit:,}.",
                next_="Work on a part of it with a command (grep, head, sed).",
            )
        return place.real.read_bytes(), info
