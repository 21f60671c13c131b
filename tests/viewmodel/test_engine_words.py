"""The engine's sentences in the language of the window."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests_support import calls_of, measured
from worldline.core.background import while_ran
from worldline.viewmodel import engine_words
from worldline.viewmodel.engine_catalogue import Catalogue
from worldline.viewmodel.engine_words import say


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    engine_words.use("zh_CN")
    yield
    engine_words.use("en")


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("The model is overloaded. Trying again in 8 s (2 of 5).", "模型过载，8 秒后重试（第 2 次，共 5 次）。"),
        ("The key was refused. Enter a valid key in the settings.", "密钥被拒绝。请在设置中输入有效的密钥。"),
        ("This step's files could not be captured: the disk is full.", "此步骤的文件未能保存：磁盘已满。"),
        (
            "From here the model knows the first 212 messages only as a summary.",
            "从这里开始，模型只通过摘要了解前 212 条消息。",
        ),
        ("opus-5-5 does not answer: The model is overloaded.", "opus-5-5 没有作答：模型过载。"),
        ("Running a. It can go on.", "正在运行 a. It can go on。"),
        (
            "The model refused the request as too long 3 times, compacted or not. Try again.",
            "无论是否压缩，模型已 3 次以过长为由拒绝请求。请重试。",
        ),
        ("Nothing has come from the model for 60 s. You can stop it and ask in another way.",
         "模型已 60 秒没有输出。你可以停止它并换一种方式提问。"),
        ("A turn of 200,000. Only reads.", "A turn of 200,000. 仅读取。"),
        ("it writes to /etc/x; commands are not confined on this machine", "它会写入 /etc/x；此机器上的命令不受限制"),
        ("no rule allows `git push a; b`; commands are not confined on this machine",
         "没有规则允许 `git push a; b`；此机器上的命令不受限制"),
        (
            "The key was refused. Also tried: haiku: The key was refused.; opus: not asked: opus cannot see images",
            "密钥被拒绝。也已尝试：haiku：密钥被拒绝。；opus：未请求：opus 无法查看图片",
        ),
    ],
)  # fmt: skip
def test_sentences_are_translated_and_names_and_numbers_pass_through(english: str, chinese: str) -> None:
    assert say(english) == chinese


def test_what_no_template_fits_stays_english_beside_what_is_known() -> None:
    assert say("Something new. Only reads. Another one.") == "Something new. 仅读取。 Another one."
    assert say("notes: hello world") == "notes: hello world"
    assert say("") == ""
    assert say("x" * 100_000) == "x" * 100_000


def test_english_needs_no_catalogue() -> None:
    engine_words.use("en")
    status = {"status": {"sentence": "The model is overloaded."}}
    assert engine_words.event("status", status) is status
    assert say("The model is overloaded.") == "The model is overloaded."


def test_a_catalogue_that_is_missing_is_reported_and_leaves_english(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    from pathlib import Path

    engine_words.use("zh_CN", Path(str(tmp_path)))
    assert say("Only reads.") == "Only reads."
    assert "stay English" in caplog.text
    caplog.clear()


def test_the_same_place_twice_must_hold_the_same() -> None:
    catalogue = Catalogue({"{a} and {a}": "{a} 和 {a}"})
    assert catalogue.text("x and x") == "x 和 x"
    assert catalogue.text("x and y") == "x and y"


def test_only_sentences_are_translated_where_messages_come_in() -> None:
    approval = {
        "id": "1", "title": "Allow this command?", "command": "Only reads.", "why": "it contacts a.example",
        "effect": "Only reads.", "marks": [(0, 4, "runs code")], "input": {"why": "Only reads."},
    }  # fmt: skip
    said = engine_words.event("approval_asked", {"approval": approval})["approval"]
    assert said["title"] == "允许此命令？"
    assert said["why"] == "它会联系 a.example"
    assert said["effect"] == "仅读取。"
    assert said["marks"] == [[0, 4, "运行代码"]]
    assert said["command"] == "Only reads."
    assert said["input"] == {"why": "Only reads."}
    assert approval["why"] == "it contacts a.example", "what came in is not changed"
    # Also where a sentence is all that an event carries.
    assert engine_words.event("writing_ended", {"why": "Only reads."}) == {"why": "仅读取。"}
    # What was said and done is never a sentence of the engine.
    bodies = {"bodies": [{"detail": "Only reads."}]}
    assert engine_words.result("bodies", bodies) is bodies
    refusal = {"message": "A run is going on.", "hint": "Stop it first, or wait.", "kind": "bad_input"}
    assert engine_words.error(refusal) == {
        "message": "有运行正在进行。",
        "hint": "请先停止，或等待。",
        "kind": "bad_input",
    }


def test_diagnostics_are_sentences_and_what_waits_in_a_queue_is_not() -> None:
    item = {"kind": "brake", "detail": "bash failed 5 times in the same way.", "data": {"note": "cache –"}}
    said = engine_words.result("diagnostics", {"items": [item]})["items"][0]
    assert "bash" in said["detail"] and "failed" not in said["detail"] and said["data"] == item["data"]
    queue = {"items": [{"id": 1, "detail": "bash failed 5 times in the same way."}]}
    assert engine_words.event("queue_changed", queue) == queue


def test_a_known_sentence_costs_next_to_nothing() -> None:
    text = "The model is overloaded. Try again in a few minutes, or choose another model."
    say(text)
    assert calls_of(lambda: say(text)) < 20, "it is taken apart once"


def test_the_result_of_a_step_is_said_in_the_tree() -> None:
    from worldline.viewmodel.tree_text import _result_said

    assert _result_said("python3 -m unittest 4 passed, 2 failed") == "python3 -m unittest 4 项通过，2 项失败"
    assert _result_said("shop/prices.py 1,204 lines") == "shop/prices.py 1,204 行"
    assert _result_said("make all exit 2") == "make all 退出码 2"
    assert _result_said("grep lines") == "grep lines"
    engine_words.use("en")
    assert _result_said("make all exit 2") == "make all exit 2"


def test_texts_that_somebody_else_wrote_take_no_time_and_break_nothing() -> None:
    """What a model, a hook or a server says may look like our sentences, thousands of times one in the other."""
    for piece in ("A hook of this project blocked it: ", " cannot be read: ", " is damaged: "):
        for size in (700, 4_000, 200_000):
            text = (piece * (size // len(piece)))[:size]
            began = time.perf_counter()
            said = engine_words.say(text)
            assert said == text or size < 4_000, "so long is no sentence of ours"
            assert said.count(":") + said.count("：") == text.count(":"), "nothing of it is lost"
            measured(f"seconds of {size} characters of {piece!r}", time.perf_counter() - began, 6)


@pytest.mark.parametrize("commands", [["npm run dev"], ["echo a: b", "make watch"]])
def test_what_a_command_in_the_background_may_have_done_is_said_in_every_sentence(
    commands: list[str],
) -> None:
    engine_words.use("zh_CN")
    try:
        who, also = while_ran(commands), while_ran(commands, mark=",")
        sentences = [
            f"it was {deed} {who}{rest}"
            for deed in ("changed", "deleted", "made")
            for rest in (
                "",
                ", and it differs at that node",
                "; what is there is kept in the node before the jump",
            )
        ]
        sentences += [
            who, f"its permissions were changed {who}", f"1 file changed {also}: a.txt", f"12 files changed {also}: a, b",
            f"the git repository was changed {also}", f"before the jump: 1 file changed {also}",
            f"before the jump: 12 files changed {also}",
        ]  # fmt: skip
        for sentence in sentences:
            said = engine_words.say(sentence)
            assert f"`{commands[0]}`" in said and "由你所为" in said, said
            assert " was " not in said and " changed " not in said and " ran " not in said, said
    finally:
        engine_words.use("en")
