"""Huge blocks of markdown are cut into parts; streamed or whole, the parts are the same."""

from __future__ import annotations

import re
from functools import partial

import pytest

from tests_support import calls_of
from worldline.viewmodel.chat_markdown import MarkdownStream, pieces

TABLE = "| a | b |\n|---|:-:|\n" + "".join(f"| cell {n} | **x{n}** |\n" for n in range(130)) + "\nafter\n"
ORDERED = "1. x\n" + "".join(f"{n}. item {n}\n   more\n" for n in range(2, 140)) + "\nafter **b**\n"
NESTED = "".join(f"- item {n}\n  - sub {n}\n" for n in range(140))
PARAGRAPH = "before\n\n" + "words that go on " * 1500 + "\n\nnext\n"
WORD = "z" * 20_000
HUGE = {"table": TABLE, "ordered": ORDERED, "nested": NESTED, "paragraph": PARAGRAPH, "word": WORD}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("step", [173, 1500])
def test_a_huge_block_streams_into_the_same_parts_as_it_has_whole(name: str, step: int) -> None:
    text = HUGE[name]
    stream = MarkdownStream()
    for end in range(step, len(text) + step, step):
        same = stream.set_text(text[:end])
        assert same == len(stream.frozen) or same < len(stream.frozen)
    assert stream.pieces == pieces(text)
    assert len(stream.pieces) > 2


def test_nothing_is_lost_or_doubled_by_the_cuts() -> None:
    table = pieces(TABLE)
    assert sum(piece.text.count("<tr>") for piece in table) == 131
    assert sum(piece.text.count("<th ") + piece.text.count("<th>") for piece in table) == 2
    assert len({piece.width for piece in table if piece.kind == "table"}) == 1
    ordered = pieces(ORDERED)
    assert [re.findall(r'start="(\d+)"', piece.text) for piece in ordered[:4]] == [
        [],
        ["41"],
        ["81"],
        ["121"],
    ]
    assert [int(n) for piece in ordered for n in re.findall(r"item (\d+)", piece.text)] == list(range(2, 140))
    words = " ".join(re.sub("<.*?>", " ", piece.text) for piece in pieces(PARAGRAPH)).split()
    assert words == PARAGRAPH.split()
    assert sum(piece.text.count("z") for piece in pieces(WORD)) == len(WORD)


def test_small_blocks_stay_whole() -> None:
    for text in (TABLE.split("| cell 20")[0], "- a\n- b\n", "words " * 500):
        assert [piece.width for piece in pieces(text)] == [0]


@pytest.mark.parametrize("name", ["table", "ordered", "paragraph"])
def test_the_last_delta_of_a_large_block_costs_what_an_early_one_costs(name: str) -> None:
    line = {"table": "| cell | cell |\n", "ordered": "1. an item\n", "paragraph": "words that go on and on "}[
        name
    ]
    stream = MarkdownStream()
    text = "| a | b |\n|---|---|\n" if name == "table" else ""

    def grown(lines: int) -> int:
        nonlocal text
        best = 1_000_000
        for _ in range(lines):
            text += line
            calls = calls_of(partial(stream.set_text, text))
            best = min(best, calls) if len(stream.frozen) else best
        return best

    early = grown(600)
    for _ in range(20):
        text += line * 200
        stream.set_text(text)
    late = grown(60)
    assert early < 1_000_000 and late < early * 1.5


def test_boxes_of_things_to_do_are_boxes() -> None:
    (piece,) = pieces("- [ ] open\n- [x] **done**\n- not [x] here\n\n  [ ] nor here\n")
    assert "☐ open" in piece.text and "☑ <strong>done</strong>" in piece.text
    assert "not [x] here" in piece.text and "[ ] nor here" in piece.text
