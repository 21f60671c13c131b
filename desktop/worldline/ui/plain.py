"""Text that is shown as it is, where Qt would guess whether it is markup."""

from __future__ import annotations


def as_tip(text: str) -> str:
    """A tooltip that says `text`. Qt draws one that holds something like a tag as rich text: what comes from models,
    files and servers would lose words, look like something else, or load pictures."""
    if "<" not in text:
        return text
    import html

    return f'<p style="white-space: pre-wrap">{html.escape(text)}</p>'


def as_label(text: str) -> str:
    """The text of a button or a menu entry that says `text`: a single & would be taken for the mark of a key and left out."""
    return text.replace("&", "&&")


def of_label(text: str) -> str:
    """What a button or a menu entry with this text says."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")
