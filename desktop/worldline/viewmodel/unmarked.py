"""Markdown in one line, without its marks."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"[*`#|\[]")
_FENCE = re.compile(r"```[\w+-]*")
_TABLE = re.compile(r"\s*\|(?:[\s:|-]*\|)?\s*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_LEAD = re.compile(r"(?:(?<=^)|(?<=\s))(?:#{1,6}|[-*+](?=\s+[^\s\d]))\s+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*\*|\*\*|\*)(?=\S)(.+?)(?<=\S)\1(?![\w*])")


def unmarked(text: str) -> str:
    """A reply in one line without the marks of Markdown, which only mean something where it is laid out."""
    if not _MARKUP.search(text):
        return text
    plain = _TABLE.sub(" · ", _FENCE.sub(" ", text))
    plain = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", _LEAD.sub("", plain))))
    return " ".join(plain.replace("`", "").split()).strip(" ·") or text
