"""The words of nodes."""

from __future__ import annotations

import pytest

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.protocol.model import Body
from worldline.tools.registry import default_tools
from worldline.ui.chat import words as chat_words
from worldline.viewmodel import tree_words
from worldline.viewmodel.chat_rows import links_in, notes_of, said_of, tool_call
from worldline.viewmodel.plan import summarised_on_the_way
from worldline.viewmodel.tree_items import TreeItems
from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.tree_paths import asked_for
from worldline.viewmodel.tree_text import (
    fold_text,
    marks_of,
    row_text,
    sentence,
    short_title,
    title,
    tool_words,
)
from worldline.viewmodel.unmarked import unmarked


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("I am a **scripted model**: I do not think", "I am a scripted model: I do not think"),
        (
            "Pass now: | price | read as | | --- | --- | | `12.50` | 12.50 |",
            "Pass now: · price · read as · 12.50 · 12.50",
        ),
        ("# Plan\n\n1. *look* at [the docs](https://x.y/z)", "Plan 1. look at the docs"),
        ("```python print(1) ```", "print(1)"),
        ("2 * 3 * 4 and snake_case_name stay", "2 * 3 * 4 and snake_case_name stay"),
        ("a_b and __init__ stay", "a_b and __init__ stay"),
        ("plain words", "plain words"),
        ("**", "**"),
        ("修改 **解析器**，然后测试", "修改 解析器，然后测试"),
    ],
)
def test_a_reply_in_one_line_has_no_marks(reply: str, shown: str) -> None:
    assert unmarked(reply) == shown


def tree() -> TreeModel:
    def row(seq: int, kind: NodeKind, text: str) -> NodeHeader:
        return NodeHeader(seq=seq, uid=f"{seq:016x}", parent=seq - 1, kind=kind, created=seq, preview=text)

    model = TreeModel()
    model.extend([
        row(1, NodeKind.ROOT, "Prices"),
        row(2, NodeKind.USER, "Fix **all** of it " * 9),
        row(3, NodeKind.ASSISTANT, "I **look**."),
    ])  # fmt: skip
    return model


def test_the_badge_of_a_push_that_was_countered_warns_of_nothing() -> None:
    model = tree()
    model.append(
        NodeHeader(
            seq=4, uid=f"{4:016x}", parent=3, kind=NodeKind.TOOL, created=4, preview="git push", tool="bash",
            outcome=Outcome.OK, flags=NodeFlag.EFFECT | NodeFlag.IRREVERSIBLE | NodeFlag.CODE_RUNS_LATER,
        )
    )  # fmt: skip
    assert row_text(model, 3).badges == [("⚠", "warn"), ("↯", "warn")]
    assert "did something that cannot be undone" in marks_of(model, 3)
    model.countered = {f"{4:016x}"}
    assert row_text(model, 3).badges == [("↶", "muted"), ("↯", "warn")]
    assert marks_of(model, 3) == [
        "did something outside, which was countered",
        "changed a file that runs later",
    ]
    assert "which was countered" in sentence(model, 3) and "cannot be undone" not in sentence(model, 3)


def test_what_the_person_wrote_is_shown_as_written() -> None:
    assert title(tree(), 1).startswith("Fix **all** of it") and title(tree(), 2) == "I look."


def test_a_title_in_a_sentence_is_cut_so_that_it_is_seen() -> None:
    short = short_title(tree(), 1)
    assert short.endswith("…") and len(short) <= 60
    assert short_title(tree(), 0) == "Start of the session"


@pytest.mark.parametrize(
    ("preview", "outcome", "words", "beside"),
    [
        ("bash git push origin HEAD permission_denied", Outcome.DENIED, "run git push origin HEAD", []),
        ("read src/my_file.py file_not_found", Outcome.FAILED, "read src/my_file.py", ["not there"]),
        ("grep parse_price 8 matches", Outcome.OK, "search parse_price", ["8 matches"]),
        ("grep parse_price 1 matches", Outcome.OK, "search parse_price", ["1 match"]),
        ("read one.txt 1 lines", Outcome.OK, "read one.txt", ["1 line"]),
        ("grep parse_price", Outcome.RUNNING, "search parse_price", []),
    ],
)
def test_a_kind_of_error_is_a_word_for_programs(
    preview: str, outcome: Outcome, words: str, beside: list[str]
) -> None:
    model = TreeModel()
    model.append(
        NodeHeader(1, "a" * 16, 0, NodeKind.TOOL, 1, preview, tool=preview.split()[0], outcome=outcome)
    )
    said = row_text(model, 0)
    assert said.text == words and [text for text, _ in said.side] == beside


def test_facts_for_the_model_are_not_the_persons_words() -> None:
    note = "[Worldline: this conversation was taken back to an earlier point.]"
    body = Body(
        uid="a",
        kind="user",
        message={
            "role": "user",
            "content": [{"type": "text", "text": note}, {"type": "text", "text": "hello"}],
        },
        detail={"text": "hello", "notes": [note]},
    )
    assert said_of(body) == "hello"
    assert notes_of(body) == ["This conversation was taken back to an earlier point."]
    own = body.model_copy(update={"detail": {"text": "hello", "notes": [note], "by_engine": True}})
    assert note in said_of(own) and notes_of(own) == []
    assert said_of(body.model_copy(update={"detail": {}})).endswith("hello")


def test_the_words_of_a_long_run_are_made_once_and_again_when_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = TreeModel()
    for seq in range(1, 1001):
        model.append(
            NodeHeader(
                seq, f"{seq:016x}", seq - 1, NodeKind.TOOL, 1, "read a", tool="read", outcome=Outcome.OK
            )
        )
    looked: list[int] = []
    tool = TreeModel.tool

    def counted(self: TreeModel, row: int) -> str:
        looked.append(row)
        return tool(self, row)

    monkeypatch.setattr(TreeModel, "tool", counted)
    rows = range(1, 1000)
    first = fold_text(model, rows)
    assert first.text == "999 steps: read 999" and looked
    looked.clear()
    for _ in range(20):
        assert fold_text(model, rows) is first
    assert looked == []
    assert model.set_lines(500, 7, 2)
    assert ("+7", "ok") in fold_text(model, rows).side


def test_whether_a_summary_lies_on_the_way_is_found_without_keeping_the_ways() -> None:
    model = TreeModel()
    kinds = [NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT, NodeKind.COMPACTION, NodeKind.USER]
    for seq, kind in enumerate(kinds, 1):
        model.append(NodeHeader(seq, f"{seq:016x}", seq - 1, kind, 1, "x"))
    model.append(NodeHeader(6, f"{6:016x}", 3, NodeKind.USER, 1, "another way"))
    assert summarised_on_the_way(model, 5, 4) and not summarised_on_the_way(model, 4, 5)
    assert not summarised_on_the_way(model, 4, 4) and not summarised_on_the_way(model, 4, 2)
    assert summarised_on_the_way(model, 0, 4)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "see https://a.example/x, and (https://b.example/y).",
            ["https://a.example/x", "https://b.example/y"],
        ),
        ("[words](https://a.example/wiki/X_(y))", ["https://a.example/wiki/X_(y)"]),
        ("file:///etc/passwd javascript:alert(1)", []),
        ("https://a.example https://a.example", ["https://a.example"]),
        ("`http://127.0.0.1:8000/`", ["http://127.0.0.1:8000/"]),
    ],
)
def test_the_addresses_in_a_message(text: str, links: list[str]) -> None:
    assert links_in(text) == links


def test_a_note_to_the_model_is_no_prompt_of_the_person() -> None:
    model = TreeModel()
    for seq, kind, text, flags in (
        (1, NodeKind.ROOT, "", NodeFlag.NONE),
        (2, NodeKind.USER, "go on", NodeFlag.NONE),
        (3, NodeKind.ASSISTANT, "All d", NodeFlag.INCOMPLETE),
        (4, NodeKind.USER, "[Worldline: your last reply was cut off. Go on.]", NodeFlag.HIDDEN),
        (5, NodeKind.ASSISTANT, "one.", NodeFlag.NONE),
    ):
        model.append(NodeHeader(seq, f"{seq:016x}", seq - 1, kind, seq, text, flags=flags))
    said = row_text(model, 3)
    assert said.text == "To the model: Your last reply was cut off. Go on."
    assert said.muted and not said.strong and said.glyph == "event"
    assert row_text(model, 1).strong
    assert model.prompts_between(0, 5) == 1
    assert asked_for(model, 4) == "go on" and asked_for(model, 0) == ""
    items = TreeItems(model)
    items.show(filter_name="prompts")
    assert [items.item(row) for row in range(5)] == [-1, 0, 0, 0, 0]
    model.append(NodeHeader(6, f"{6:016x}", 5, NodeKind.USER, 6, "[hook] note", flags=NodeFlag.HIDDEN))
    items.follow()
    assert len(items) == 1


def test_every_tool_has_a_word_in_the_tree_and_on_its_card() -> None:
    """Where it has none it is called by its technical name, in every language."""
    for name in default_tools():
        assert name in tree_words._VERBS, name
        assert tree_words._VERBS[name] in tree_words._verbs()
        word = tool_call(None, Body(uid="u", kind="tool", call={"name": name, "input": {}})).verb
        assert word in chat_words.TOOL_ICONS and chat_words.verb(word), name


def test_tools_of_other_programs_have_the_words_of_ours() -> None:
    assert [tree_words.verb(name) for name in ("Bash", "Read", "MultiEdit", "exec_command", "linear-server: create")] == [
        "run", "read", "edit", "run", "linear-server: create",
    ]  # fmt: skip
    assert tree_words.sign("Bash") == tree_words.sign("bash") and tree_words.sign("Grep") == "search"
    assert tool_words("Bash", "Bash make test") == "run make test"
