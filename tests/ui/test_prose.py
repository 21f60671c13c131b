"""How the text of a message is laid out: lists in lists, long numbers, quotes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from PySide6.QtGui import QTextBlock

from worldline.ui.markdown.prose import QUOTE, Prose
from worldline.viewmodel.chat_markdown import pieces


def prose_of(text: str, qtbot: Any, width: int = 300) -> Prose:
    (piece,) = pieces(text)
    prose = Prose()
    qtbot.addWidget(prose)
    prose.set_html(piece.text)
    prose.resize(width, prose.heightForWidth(width))
    return prose


def left_of(prose: Prose, words: str) -> float:
    """Where a paragraph begins, in pixels from the left."""
    laid_out = block(prose, words).layout()
    return laid_out.position().x() + laid_out.lineAt(0).x()


def block(prose: Prose, words: str) -> QTextBlock:
    found = prose._document.begin()
    while words not in found.text():
        found = found.next()
        assert found.isValid(), words
    return found


def test_a_list_in_a_list_is_further_in(qtbot: Any) -> None:
    prose = prose_of("- one\n  - two\n    1. three\n- four\n", qtbot)
    one, two, three, four = (left_of(prose, words) for words in ("one", "two", "three", "four"))
    assert 0 < one < two < three and one == four
    assert two - one == three - two == one


def test_long_numbers_of_a_list_are_not_cut_off_at_the_edge(qtbot: Any) -> None:
    prose = prose_of("998. a\n999. b\n1000. c\n", qtbot)
    number = prose.fontMetrics().horizontalAdvance("1000.")
    assert left_of(prose, "c") > number
    assert left_of(prose_of("- a\n", qtbot), "a") < number, "only where they need it"


def test_a_bar_stands_beside_a_quote_and_nothing_else(qtbot: Any) -> None:
    prose = prose_of(
        "> first\n>\n> > inner, with words that go on in a second line of it\n>\n> - last\n", qtbot, 120
    )
    outer = [bar for bar in prose.bars() if bar.left() == 0]
    inner = [bar for bar in prose.bars() if bar.left() == QUOTE]
    layout = prose._document.documentLayout()
    area = layout.blockBoundingRect(block(prose, "inner"))
    assert [(bar.top(), bar.bottom()) for bar in inner] == [(area.top(), area.bottom())]
    assert outer[0].top() == layout.blockBoundingRect(block(prose, "first")).top()
    assert outer[-1].bottom() == layout.blockBoundingRect(block(prose, "last")).bottom()
    assert all(upper.bottom() == lower.top() for upper, lower in pairwise(outer)), "without a gap"
    assert prose_of("plain\n", qtbot).bars() == prose_of("- item\n", qtbot).bars() == []
