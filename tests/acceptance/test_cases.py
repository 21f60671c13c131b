"""Failures reported against other tools, each a line of `cases.jsonl`, run through the command line in both modes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests_support import check_files
from worldline.engine import opening  # noqa: F401 - loaded once, before a test measures its own time

from .conftest import FULL, MODES, StartSession
from .driver import Driver, shell, worldline

_FILES = [Path(__file__).with_name("cases.jsonl"), Path(__file__).parents[1] / "workspace" / "cases.jsonl"]
CASES = [json.loads(line) for file in _FILES for line in file.read_text("utf-8").splitlines() if line]
_OWN_BRANCH = re.compile(r"worldline/[\w-]+/\w+")


def _facts(driver: Driver) -> dict[str, str]:
    """What belongs to the person's repository and must not move."""
    return {
        "index": shell("git ls-files -s", driver.source, check=False),
        "head": shell("git rev-parse HEAD; git symbolic-ref -q HEAD", driver.source, check=False),
        "main": shell("git rev-parse -q --verify main", driver.source, check=False),
    }


def _pairs() -> list[Any]:
    """Cases and the modes that they make sense in; not every one without `FULL`, to keep the daily run short."""
    pairs = []
    for number, case in enumerate(CASES):
        modes = case["payload"].get("modes", MODES)
        chosen = modes if FULL else [modes[number % len(modes)]] if number % 2 == 0 else []
        pairs += [pytest.param(case, mode, id=f"{case['id']}-{mode}") for mode in chosen]
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), _pairs())
def test_case(case: dict[str, Any], mode: str, begin: StartSession) -> None:
    payload = case["payload"]
    # `echo 1>a` would redirect descriptor 1 and write an empty line; what is meant is the text "1".
    driver = begin(re.sub(r"echo (\d)>", r"echo \1 >", payload["setup"]), mode)
    before = _facts(driver)
    action, expect = payload["action"], payload["expect"]
    getattr(_Actions(driver, expect), action["op"])(action)
    _judge(driver, expect, before)
    assert worldline("verify", driver.session, "--json").json["sound"] is True


class _Actions:
    def __init__(self, driver: Driver, expect: dict[str, Any]) -> None:
        self.driver, self.expect = driver, expect

    def checkpoint(self, action: dict[str, Any]) -> None:
        self.driver.checkpoint("c1")

    def sequence(self, action: dict[str, Any]) -> None:
        for op, *words in action["steps"]:
            getattr(self.driver, op)(*words)

    def kill_during(self, action: dict[str, Any]) -> None:
        for at in (150, 400, 700):
            self.driver.kill_during(action["what"], at)
        self.driver.checkpoint("next")

    def diff(self, action: dict[str, Any]) -> None:
        """What is dirty in the repository, as the difference of a clean and a dirty node."""
        driver = self.driver
        driver.checkpoint("dirty")
        driver.agent_sh("git stash -q -u")
        driver.checkpoint("clean")
        text = driver.diff("clean", "dirty")
        for path in self.expect["changed"]:
            assert f"+++ b/{path}" in text, text
        assert text.count("\n+++ ") == len(self.expect["changed"])

    def restore(self, action: dict[str, Any]) -> None:
        driver = self.driver
        driver.checkpoint("c1")
        driver.sh("echo later > later.txt")
        driver.checkpoint("c2")
        before = driver.sh("git status --porcelain; cat * 2>/dev/null")
        done = worldline("jump", driver.session, driver.points["c1"], "--json")
        assert done.code == 1 and done.json["error"]["kind"] == self.expect["error_type"]
        assert done.json["error"]["hint"]
        assert driver.sh("git status --porcelain; cat * 2>/dev/null") == before

    def select_node(self, action: dict[str, Any]) -> None:
        driver = self.driver
        driver.agent_sh(f"git checkout -q --detach {action['commit']}")
        driver.checkpoint("there")
        driver.agent_sh("git checkout -q -")
        driver.checkpoint("back")
        jumped = driver.restore("there")
        branch = driver.sh("git branch --show-current").strip()
        assert branch == jumped["branch"] and _OWN_BRANCH.fullmatch(branch)


def _judge(driver: Driver, expect: dict[str, Any], before: dict[str, str]) -> None:
    work, said = driver.work, driver.said
    check_files(work, expect)
    for path, action in expect.get("actions", {}).items():
        assert driver.action(path) == action, driver.last
    for path in expect.get("excluded_reported", []):
        assert any(line.startswith(path) for line in said), said
    if "warning" in expect:
        assert any(expect["warning"] in line for line in said), said
    after = _facts(driver)
    if expect.get("user_index_unchanged"):
        assert after["index"] == before["index"]
    if expect.get("head_unchanged"):
        assert after["head"] == before["head"]
    if expect.get("main_unchanged"):
        assert after["main"] == before["main"]
    for command, text in expect.get("prints", {}).items():
        assert shell(command, work).strip() == text, command
