"""What is on disk in the form in which git commits it: line ends, `$Id$` and encodings, as its attributes say.

Done by hand: libgit2 converts only what it reads from disk itself, and knows no encodings. No program is run.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import is_endless

_IDENT = re.compile(rb"\$Id:[^$\n]*\$")
_MARKS = {
    "UTF-16LE-BOM": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16BE-BOM": ("utf-16-be", codecs.BOM_UTF16_BE),
}
_BYTE_ORDERS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WITH_MARK = {f"UTF-{bits}{order}": not order for bits in (16, 32) for order in ("", "LE", "BE")}
_UTF8 = ("", "UTF-8", "UTF8")
_PRINTABLE = frozenset(b"\b\t\033\014")


class NotConvertible(Exception):
    """The file is not in the encoding that its attributes name; the reason is the message."""


class Form(NamedTuple):
    """How one path is committed."""

    filter: str = ""
    """Name of the program that it goes through."""
    ends: str = ""
    """ "text": as LF; "auto": as LF if it looks like text; "": as it is."""
    ident: bool = False
    encoding: str = ""
    """On disk; in a commit it is UTF-8 then."""

    def apply(self, data: bytes, committed: bytes | None) -> bytes:
        """`data` as it would be committed where `committed` is (None: nothing). Raises `NotConvertible`."""
        if self.encoding.upper() not in _UTF8:
            data = _decoded(data, self.encoding)
        if self.ends == "text" or (self.ends == "auto" and not _is_binary(data) and not _has_crlf(committed)):
            data = data.replace(b"\r\n", b"\n")
        return _IDENT.sub(b"$Id$", data) if self.ident else data


def form_of(repo: pygit2.Repository | None, path: str) -> Form:
    """Raises `WorkspaceError` (kind `bad_attributes`) where its attributes cannot be read."""
    if repo is None:
        return Form()
    _check(repo, path)
    names = ("filter", "text", "crlf", "eol", "ident", "working-tree-encoding")
    try:
        found = {name: repo.get_attr(path, name) for name in names}
    except (ValueError, UnicodeError, pygit2.GitError):  # a name that libgit2 cannot be asked for
        return Form()
    words = {name: value for name, value in found.items() if isinstance(value, str)}
    ends = _ends(repo, found["text"] if found["text"] is not None else found["crlf"], words.get("eol", ""))
    return Form(words.get("filter", ""), ends, found["ident"] is True, words.get("working-tree-encoding", ""))


def _ends(repo: pygit2.Repository, text: bool | str | None, eol: str) -> str:
    if text is False:
        return ""
    if text == "auto":
        return "auto"
    if text is True or text == "input" or eol in ("lf", "crlf"):
        return "text"
    config = repo.config
    if "core.autocrlf" not in config:
        return ""
    return "auto" if (config["core.autocrlf"] or "").lower() in ("true", "1", "yes", "on", "input") else ""


def _check(repo: pygit2.Repository, path: str) -> None:
    """libgit2 would wait for ever at a pipe in the place of rules."""
    places = [Path(repo.path, "info", "attributes")]
    if repo.workdir:
        parts = path.split("/")[:-1]
        tops = [Path(repo.workdir, *parts[:depth]) for depth in range(len(parts) + 1)]
        places += [top / ".gitattributes" for top in tops]
    for place in places:
        if is_endless(place):
            raise WorkspaceError(
                f"{place} is no file, so nobody can say how files are to be committed; nothing was changed.",
                "Remove it, or bring the work as uncommitted changes.",
                kind="bad_attributes",
            )


def _decoded(data: bytes, encoding: str) -> bytes:
    name, mark = _MARKS.get(encoding.upper(), (encoding, b""))
    try:
        # As for git: one must begin with a mark of its byte order, the others must not.
        marked = data.startswith(_BYTE_ORDERS)
        if not mark and _WITH_MARK.get(encoding.upper(), marked) is not marked:
            raise UnicodeError
        return data.removeprefix(mark).decode(name).encode("utf-8")
    except (LookupError, UnicodeError) as error:
        raise NotConvertible(
            f"it is not in the encoding {encoding} that .gitattributes names for it"
        ) from error


def _has_crlf(committed: bytes | None) -> bool:
    """Git leaves the line ends of a text alone that was committed with CRLF."""
    return committed is not None and b"\r\n" in committed and not _is_binary(committed)


def _is_binary(data: bytes) -> bool:
    """As git guesses it for line ends: not as it does for diffs."""
    if b"\0" in data or data.count(b"\r") != data.count(b"\r\n"):
        return True
    odd = sum(data.count(bytes([byte])) for byte in (*range(0x20), 0x7F) if byte not in _PRINTABLE | {10, 13})
    if data.endswith(b"\032"):
        odd -= 1
    printable = len(data) - odd - data.count(b"\r") - data.count(b"\n")
    return printable >> 7 < odd
