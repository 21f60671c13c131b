"""Characters that are not seen, or that change the order of what is: shown by a sign, one for one.

What a person agrees to or compares must look like what it is. A direction mark in a command turns `txt.exe` into
`exe.txt`, a zero-width space makes two names look the same.
"""

from __future__ import annotations

SIGN = "▯"
_LETTERS_JOINED = "\u200c\u200d"
"""Not these: Persian and Indian scripts are written with them, and emoji are put together."""


def _table() -> dict[int, str]:
    signs = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    signs[0x7F] = "␡"
    for first, last in (
        (0x80, 0x9F),  # controls
        (0xAD, 0xAD),  # soft hyphen
        (0x61C, 0x61C),
        (0x180E, 0x180E),
        (0x200B, 0x200F),  # zero width, direction
        (0x2028, 0x202E),  # separators, embeddings, overrides
        (0x2060, 0x206F),  # word joiner, isolates
        (0xFEFF, 0xFEFF),
        (0xFFF9, 0xFFFB),
    ):
        signs.update(dict.fromkeys(range(first, last + 1), SIGN))
    for joiner in _LETTERS_JOINED:
        del signs[ord(joiner)]
    # Tags lie above the first plane, as their sign must: offsets in Qt's texts stay the same.
    signs.update(dict.fromkeys(range(0xE0000, 0xE0080), "\U0001f3f7"))
    return signs


_SIGNS = _table()


def visible(text: str) -> str:
    """`text` with a sign in place of every hidden character; as long as it was. Tabs and line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_SIGNS)


_DIRECTIONS = {
    code: SIGN for first, last in ((0x202A, 0x202E), (0x2066, 0x2069)) for code in range(first, last + 1)
}


def settled(text: str) -> str:
    """`text` in the direction of its own letters: marks that turn what follows are seen instead of obeyed, since they would
    turn what stands behind it as well. For titles and messages; where one decides, `visible` shows all there is."""
    return text if text.isascii() else text.translate(_DIRECTIONS)
