"""The engine process, spoken to in raw lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests_support import wait_until
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer
from worldline_engine import Engine


@pytest.fixture
def engine() -> Iterator[type[Engine]]:
    made: list[Engine] = []

    class Kept(Engine):
        def __init__(self, *arguments: str | Path) -> None:
            super().__init__(*arguments)
            made.append(self)

    yield Kept
    for one in made:
        if one.child.poll() is None:
            one.kill()


@pytest.mark.slow
def test_a_session_over_the_wire(engine: Any, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    scenario = Scenario.of(
        Reply(text="I write.", calls=[Call("write", {"path": "f.txt", "content": "x\n"})]), "Done."
    )
    with RehearsalServer(scenario) as server:
        one = engine(
            "--workspace", folder, "--session", tmp_path / "s.worldline", "--base-url", server.base_url
        )
        one.raw(b"this is no json\n")
        assert one.read()["error"]["code"] == -32700
        hello = one.ask("hello", protocol=1)["result"]
        assert hello["session"]["workspace_mode"] == "in_place"
        assert one.ask("nonsense")["error"]["code"] == -32601
        assert one.ask("prompt", images=3)["error"]["code"] == -32602
        assert one.ask("bodies", nodes=["ffff"])["error"]["code"] == 1
        # The SDK may not be there yet: the prompt waits for it.
        started = one.ask("prompt", text="go", mode="work")["result"]
        assert started["run"] and started["node"]
        one.until("run_ended")
        names = [name for name, _ in one.events]
        assert names.index("run_started") < names.index("node_ended") < names.index("run_ended")
        headers = one.ask("headers")["result"]
        assert [h["kind"] for h in headers["headers"]] == ["root", "user", "assistant", "tool", "assistant"]
        assert (folder / "f.txt").read_text() == "x\n"
        # A person is there: a command waits for them, and only the right digest lets it run.
        server.scenario.queue = [Reply()] * 2 + [
            Reply(calls=[Call("bash", {"command": "touch allowed"})]), Reply(text="Ran.")
        ]  # fmt: skip
        one.events.clear()
        one.ask("prompt", text="run it", mode="ask")
        asked = one.until("approval_asked")["approval"]
        assert asked["command"] == "touch allowed"
        wrong = one.ask("answer_approval", id=asked["id"], digest="other", decision="allow")
        assert wrong["error"]["data"]["kind"] == "digest"
        assert not (folder / "allowed").exists()
        one.ask("answer_approval", id=asked["id"], digest=asked["digest"], decision="allow")
        one.until("run_ended")
        assert (folder / "allowed").exists()
        assert one.ask("shutdown")["result"] == {}
        assert one.end() == 0


@pytest.mark.slow
def test_killed_while_it_streams(engine: Any, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    with RehearsalServer(Scenario.of(Reply(text="word " * 30_000, pace=0.01))) as server:
        one = engine("--workspace", folder, "--session", session, "--base-url", server.base_url)
        one.ask("hello", protocol=1)
        one.ask("prompt", text="a long one", mode="work")
        one.until("delta")
        one.ask("prompt", text="and later this", when="next_step")
        one.kill()
        server.scenario.queue = [Reply(text="Here again.")]
        two = engine("--session", session, "--base-url", server.base_url)
        hello = two.ask("hello", protocol=1)["result"]
        assert hello["recovered"]
        assert [i["text"] for i in two.until("queue_changed")["items"]] == ["and later this"]
        runs = two.ask("runs")["result"]["runs"]
        assert [r["stop_reason"] for r in runs] == ["interrupted"]
        two.events.clear()
        two.ask("prompt", text="go on", mode="work")
        assert two.until("run_ended")["run"]["stop_reason"] == "completed"
        assert two.end() == 0


@pytest.mark.slow
def test_killed_while_it_waits_for_the_person(engine: Any, tmp_path: Path) -> None:
    """What waited was not run: nobody has to look what it did."""
    folder = tmp_path / "work"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    waits = Reply(calls=[Call("bash", {"command": "touch one; sleep 1000"})])
    with RehearsalServer(Scenario.of(waits)) as server:
        one = engine("--workspace", folder, "--session", session, "--base-url", server.base_url)
        one.ask("hello", protocol=1)
        one.ask("prompt", text="go", mode="ask")
        one.until("approval_asked")
        one.kill()
        two = engine("--session", session, "--base-url", server.base_url)
        said = two.ask("hello", protocol=1)["result"]["recovered"]
        assert (
            said
            == "The program ended while 1 step waited for your answer (bash touch one; sleep 1000). It was not run."
        )
        # One that was allowed has begun: what it did is not known.
        server.scenario.queue = [Reply()] * len(server.message_requests) + [waits]
        two.ask("prompt", text="again", mode="ask")
        asked = two.until("approval_asked")["approval"]
        two.ask("answer_approval", id=asked["id"], digest=asked["digest"], decision="allow")
        wait_until((folder / "one").exists)
        two.kill()
        three = engine("--session", session, "--base-url", server.base_url)
        said = three.ask("hello", protocol=1)["result"]["recovered"]
        assert said.startswith("The program ended in the middle of 1 step (") and "waited" not in said
        assert "What it did by then" in said
        assert three.end() == 0
        # Told once, not at each opening until something else is done.
        four = engine("--session", session, "--base-url", server.base_url)
        assert not four.ask("hello", protocol=1)["result"]["recovered"]
        assert four.end() == 0


@pytest.mark.slow
def test_the_end_of_input_ends_a_run_in_order(engine: Any, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    session = tmp_path / "s.worldline"
    with RehearsalServer(Scenario.of(Reply(calls=[Call("bash", {"command": "sleep 60"})]))) as server:
        one = engine("--workspace", folder, "--session", session, "--base-url", server.base_url)
        one.ask("hello", protocol=1)
        one.ask("prompt", text="sleep", mode="ask")
        one.until("approval_asked")
        assert one.end() == 0
        two = engine("--session", session, "--base-url", server.base_url)
        hello = two.ask("hello", protocol=1)["result"]
        assert hello["status"]["last_stop"] == "waiting_for_user"
        header = two.ask("headers")["result"]["headers"][-1]
        # What nobody allowed has not been run: it neither waits nor was it interrupted.
        assert header["outcome"] == "aborted" and header["preview"].endswith("not run")


def test_a_session_that_cannot_be_opened_says_why(engine: Any, tmp_path: Path) -> None:
    bad = tmp_path / "s.worldline"
    bad.write_text("no session at all")
    one = engine("--session", bad)
    answer = one.ask("hello", protocol=1)
    assert answer["error"]["data"]["kind"] == "not_a_session"
    assert one.end() == 1
