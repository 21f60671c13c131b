"""Contents made ready for a diff on the screen."""

from __future__ import annotations

import base64
import codecs
import re

MAX_IMAGE = 4 << 20
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM")


def is_image(data: bytes) -> bool:
    return data.startswith(_SIGNATURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def image_text(data: bytes | None) -> str:
    """Base64 of an image that is small enough to be shown, else ""."""
    if data is None or len(data) > MAX_IMAGE or not is_image(data):
        return ""
    return base64.b64encode(data).decode("ascii")


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:8000]


def as_lines_of_text(data: bytes) -> bytes:
    """UTF-16 and UTF-32 with a mark become UTF-8, so that they have lines; everything else stays."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    ):  # fmt: skip
        if data.startswith(mark):
            try:
                return data.decode(name).encode("utf-8")
            except UnicodeError:
                return data
    return data


def encoding_of(data: bytes) -> str:
    """ "utf-8", or the encoding by which the bytes are shown."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1" if not any(0x80 <= b < 0xA0 for b in data) else "cp1252"
    return "utf-8"


def shown(line: bytes, encoding: str, *, mark_cr: bool) -> str:
    """One line for the screen: without its line end; a carriage return is visible where it matters."""
    line = line.removesuffix(b"\n")
    if line.endswith(b"\r"):
        line = line[:-1] + (b"\xe2\x90\x8d" if mark_cr and encoding == "utf-8" else b"")
    return line.decode(encoding, "backslashreplace")


def line_ends(data: bytes) -> str:
    """ "lf", "crlf", "mixed" or "" (no line end at all)."""
    all_ends, crlf = data.count(b"\n"), data.count(b"\r\n")
    if all_ends == 0:
        return ""
    return "lf" if crlf == 0 else "crlf" if crlf == all_ends else "mixed"


def plain_names(patch: bytes) -> bytes:
    """The header of one file's patch with its names as they are. libgit2 writes every byte beyond ASCII as an octal
    escape; only what would break the line (quotes, backslashes, control characters, bytes that are no text) needs it."""
    end = min(
        (at for at in (patch.find(b"\n@@"), patch.find(b"\nGIT binary")) if at >= 0), default=len(patch)
    )
    return _QUOTED.sub(_unquote, patch[:end]) + patch[end:]


def _unquote(found: re.Match[bytes]) -> bytes:
    body = found[1]
    if re.search(rb"\\[^0-7]", body):
        return found[0]
    raw = re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), body)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return found[0]
    return raw if text.isprintable() else found[0]


def path_text(raw: bytes) -> tuple[str, str]:
    """A path for people, and its bytes in base64 if they are not UTF-8."""
    try:
        return raw.decode("utf-8"), ""
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace"), base64.b64encode(raw).decode("ascii")
