"""The demo's script played against its real repository: edits apply, the failed attempt fails, the good one passes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worldline.context import branch_summary, compact_text
from worldline.context.checker import check
from worldline.core.errors import WorldlineError
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.demo_repo import (
    FAILED_PROMPT,
    FAILED_PROMPT_ZH,
    GOOD_PROMPT,
    GOOD_PROMPT_ZH,
    scenario_file,
    seed,
)
from worldline.rehearsal.scenario import Scenario, load


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    seed(folder / "shop", remote=folder / "origin.git")
    return folder


@pytest.fixture
def repo(seeded: Path, tmp_path: Path) -> Path:
    shutil.copytree(seeded, tmp_path, dirs_exist_ok=True, symlinks=True)
    repo = tmp_path / "shop"
    subprocess.run(["git", "remote", "set-url", "origin", str(tmp_path / "origin.git")], cwd=repo, check=True)
    return repo


@pytest.fixture(scope="module")
def demo() -> Scenario:
    return load(scenario_file())


_ENDS: dict[tuple[str, str, str], tuple[str, bool]] = {}


def run_tool(repo: Path, name: str, given: dict[str, Any]) -> tuple[str, bool]:
    """A plain stand-in for the tools: what they do to the files, and whether they failed."""
    path = repo / given.get("path", "")
    if name == "read":
        return (path.read_text("utf-8"), False) if path.is_file() else ("file_not_found", True)
    if name == "edit":
        text = path.read_text("utf-8")
        if text.count(given["old"]) != 1:
            return "no_match", True
        path.write_text(text.replace(given["old"], given["new"]), "utf-8")
        return "edited", False
    if name == "write":
        path.write_text(given["content"], "utf-8")
        return "written", False
    if name == "bash" and not given.get("background") and "sleep" not in given["command"]:
        command = given["command"].replace("python3", sys.executable)
        # The same command on the same files has the same end: it need not be run again.
        key = (
            command,
            (repo / "shop/prices.py").read_text("utf-8"),
            (repo / "tests/test_prices.py").read_text("utf-8"),
        )
        if "unittest" not in command or key not in _ENDS:
            done = subprocess.run(command, shell=True, cwd=repo, capture_output=True, text=True)
            _ENDS[key] = (done.stdout + done.stderr or "done", done.returncode != 0)
        return _ENDS[key]
    return "As euros", False


def play(demo: Scenario, repo: Path, prompt: str, limit: int = 20) -> tuple[list[str], str, list[bool]]:
    """Run the script to its end: names of the tools called, the last text, failures of the test runs."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    called: list[str] = []
    failed: list[bool] = []
    for _ in range(limit):
        body = {"model": "rehearsal-small", "max_tokens": 1000, "messages": messages}
        assert check(body) == []
        reply = demo.answer(Conversation(body))
        content = reply.content()
        messages.append({"role": "assistant", "content": content})
        results = []
        for block in content:
            if block["type"] == "tool_use":
                called.append(block["name"])
                text, is_error = run_tool(repo, block["name"], block["input"])
                if "unittest" in str(block["input"].get("command")):
                    failed.append(is_error)
                results.append(
                    {"type": "tool_result", "tool_use_id": block["id"], "content": text, "is_error": is_error}
                )
        if not results:
            return called, reply.text, failed
        messages.append({"role": "user", "content": results})
    raise AssertionError("the script has no end")


@pytest.mark.parametrize(("prompt", "word"), [(GOOD_PROMPT, "pass now"), (GOOD_PROMPT_ZH, "全部通过")])
def test_the_good_attempt_repairs_the_parser(demo: Scenario, repo: Path, prompt: str, word: str) -> None:
    called, text, failed = play(demo, repo, prompt)
    assert called == ["read", "read", "grep", "edit", "bash", "write"]
    assert failed == [False]
    assert word in text
    assert (repo / "NOTES.md").is_file()


@pytest.mark.parametrize(
    ("prompt", "word"), [(FAILED_PROMPT, "did not get it right"), (FAILED_PROMPT_ZH, "没能修好")]
)
def test_the_failed_attempt_fails_and_repeats_itself(
    demo: Scenario, repo: Path, prompt: str, word: str
) -> None:
    called, text, failed = play(demo, repo, prompt)
    assert called[:4] == ["read", "edit", "bash", "edit"]
    assert failed == [True] * 8
    assert word in text


def test_the_good_attempt_works_on_top_of_the_failed_one(demo: Scenario, repo: Path) -> None:
    play(demo, repo, FAILED_PROMPT)
    called, text, failed = play(demo, repo, GOOD_PROMPT)
    assert "pass now" in text and failed == [False]
    assert called == ["read", "read", "grep", "edit", "write", "bash"]


@pytest.mark.parametrize(
    "prompt",
    ["add a test", "write the changelog", "push the branch", "delete the build folder", "ask me something",
     "show me an error", "make a plan", "start a server", "something slow", "a long answer", "overload",
     "加一个测试", "写更新日志", "推送分支", "删除 build 目录", "问我一个问题", "显示一个错误", "过载", "慢一点"],
)  # fmt: skip
def test_everything_on_offer_has_an_end(demo: Scenario, repo: Path, prompt: str) -> None:
    _, text, _ = play(demo, repo, prompt)
    assert text
    assert "scripted model" not in text and "按脚本" not in text
    if "push" in prompt:
        pushed = subprocess.run(
            ["git", "log", "--oneline"], cwd=repo.parent / "origin.git", capture_output=True
        )
        assert pushed.stdout.count(b"\n") == 3


def test_a_denied_call_is_not_tried_again(demo: Scenario) -> None:
    messages = [
        {"role": "user", "content": "push the branch"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True,
         "content": '{"error": {"class": "permission", "type": "permission_denied"}}'}]},
    ]  # fmt: skip
    reply = demo.answer(Conversation({"model": "m", "messages": messages}))
    assert "not allowed" in reply.text and not reply.calls


def test_it_reports_and_summarises_for_the_program(demo: Scenario) -> None:
    for system, word in ((branch_summary.SYSTEM, "Do not repeat"), (compact_text.SYSTEM, "## Decisions")):
        body = {
            "model": "m",
            "system": system,
            "messages": [{"role": "user", "content": "===== fix the tests"}],
        }
        assert word in demo.answer(Conversation(body)).text


def test_a_summary_before_the_prompt_does_not_answer_for_it(demo: Scenario) -> None:
    content = [
        {"type": "text", "text": "Another attempt tried to fix the failing price test."},
        {"type": "text", "text": "write the changelog"},
        {"type": "text", "text": "<reminder>be brief</reminder>"},
    ]
    talk = Conversation({"model": "m", "messages": [{"role": "user", "content": content}]})
    assert demo.answer(talk).calls[0].input == {"path": "CHANGELOG.md"}


def test_other_words_get_an_offer_in_their_language(demo: Scenario) -> None:
    def said(prompt: str) -> str:
        return demo.answer(
            Conversation({"model": "m", "messages": [{"role": "user", "content": prompt}]})
        ).text

    assert "scripted model" in said("What is the meaning of life?")
    assert "按脚本演示" in said("生命的意义是什么？")
    assert (
        demo.answer(
            Conversation({"model": "rehearsal-large", "messages": [{"role": "user", "content": "overload"}]})
        ).fault
        == "overloaded"
    )


def test_the_repository_is_sound_and_its_test_fails(repo: Path) -> None:
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repo, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""
    tests = subprocess.run([sys.executable, "-m", "unittest"], cwd=repo, capture_output=True, text=True)
    assert tests.returncode != 0 and "test_thousands" in tests.stderr
    with pytest.raises(WorldlineError, match="not empty"):
        seed(repo)


def test_a_picture_is_counted_as_the_service_does_and_not_by_its_bytes() -> None:
    """A pasted screenshot filled the context of the demo, and all that was said before was summarised."""
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    picture = {"type": "image", "source": source}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [picture]}
    messages = [{"role": "user", "content": [picture, {"type": "text", "text": "look"}, result]}]
    assert 3_200 <= Conversation({"model": "m", "messages": messages}).input_tokens() < 3_500
