"""How high a row of the chat probably is, before it has been seen and measured."""

from __future__ import annotations

from worldline.viewmodel.chat_rows import ChatRow, RowKind

_FIXED = {
    RowKind.TOOL: 40,
    RowKind.DIVIDER: 36,
    RowKind.STOP: 96,
    RowKind.APPROVAL: 200,
    RowKind.QUESTION: 160,
}
_MOST_CHARS = 200_000


def guessed_height(row: ChatRow, column: int) -> int:
    """In pixels, in a column of this width."""
    fixed = _FIXED.get(row.kind)
    if fixed is not None:
        return fixed
    per_line = max(20, column // 7)
    return 52 + 19 * (1 + min(row.estimated_chars(), _MOST_CHARS) // per_line)
