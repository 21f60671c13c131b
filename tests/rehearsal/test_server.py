"""The rehearsal server over a plain HTTP client: routes, scripts, faults, checker."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core.errors import BadInput, WorldlineError
from worldline.rehearsal.catalog import DRILLS, FAULTS
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario, load, parse
from worldline.rehearsal.server import RehearsalServer


def body(*messages: Any, stream: bool = True, **more: Any) -> dict[str, Any]:
    made = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return {"model": "rehearsal", "max_tokens": 100, "stream": stream, "messages": made, **more}


def ask(
    server: RehearsalServer, data: Any, path: str = "/v1/messages", method: str = "POST"
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        connection.request(method, path, raw if method == "POST" else None)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def text_of(stream: str) -> str:
    return "".join(e["delta"].get("text", "") for e in events(stream) if e["type"] == "content_block_delta")


def test_streams_text_thinking_and_calls_in_small_pieces() -> None:
    reply = Reply(text="I look at it.", thinking="hm", calls=[Call("read", {"path": "a.py"})])
    with RehearsalServer(Scenario.of(reply, delta_chars=3)) as server:
        status, text = ask(server, body("hello"))
    kinds = [e["type"] for e in events(text)]
    assert status == 200
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert text_of(text) == "I look at it."
    raw = "".join(
        e["delta"].get("partial_json", "") for e in events(text) if e["type"] == "content_block_delta"
    )
    assert json.loads(raw) == {"path": "a.py"}
    assert events(text)[-2]["delta"]["stop_reason"] == "tool_use"


def test_answers_without_a_stream_count_and_models() -> None:
    with RehearsalServer(Scenario.of("hi")) as server:
        status, text = ask(server, body("hello", stream=False))
        assert status == 200 and json.loads(text)["content"] == [{"type": "text", "text": "hi"}]
        status, text = ask(server, body("hello"), "/v1/messages/count_tokens")
        assert json.loads(text)["input_tokens"] > 0
        status, text = ask(server, None, "/v1/models", "GET")
        assert json.loads(text)["data"][0]["max_input_tokens"] == 200_000
        assert ask(server, None, "/v1/models/nonesuch", "GET")[0] == 404
        assert ask(server, None, "/v2/else", "GET")[0] == 404
        assert [r.path for r in server.requests][:2] == ["/v1/messages", "/v1/messages/count_tokens"]


def test_refuses_what_the_api_refuses() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
    with RehearsalServer(Scenario.of("hi")) as server:
        status, text = ask(server, body("a", call, "b"))
        assert status == 400 and "`tool_use` ids were found without `tool_result`" in text
        assert server.requests[-1].refused
        assert ask(server, body())[0] == 400
        assert ask(server, b"{no json")[0] == 400
    with RehearsalServer(Scenario.of("hi"), checker=lambda _: ["messages: nope"]) as server:
        assert "messages: nope" in ask(server, body("a"))[1]


def test_keys_and_unknown_models() -> None:
    with RehearsalServer(Scenario.of("hi", key="secret")) as server:
        assert ask(server, body("a"))[0] == 401
    with RehearsalServer(Scenario.of("hi", known_models_only=True)) as server:
        assert ask(server, {**body("a"), "model": "other"})[0] == 404


def test_a_drill_hits_the_next_requests_only() -> None:
    with RehearsalServer(Scenario.of("hi")) as server:
        server.drill("overloaded", times=2)
        assert [ask(server, body("a"))[0] for _ in range(3)] == [529, 529, 200]
        assert [r.fault for r in server.requests] == ["overloaded", "overloaded", ""]
        with pytest.raises(BadInput, match="no fault named"):
            server.drill("overlaoded")
        server.drill("status:418")
        assert ask(server, body("a"))[0] == 418


def test_every_fault_plays_and_leaves_the_server_alive() -> None:
    reply = Reply(text="I will write it. ", calls=[Call("write", {"path": "a", "content": "hello world"})])
    with RehearsalServer(Scenario.of(reply), max_hang_s=0.1) as server:
        for name in FAULTS:
            server.drill(name)
            try:
                ask(server, body("a"))
            except (http.client.HTTPException, OSError, ValueError):
                continue
        assert server.defects == []
        assert ask(server, body("a"))[0] == 200
    assert {name for name, _, _ in DRILLS} <= set(FAULTS)
    assert len(FAULTS) > 110


SCRIPT = """
name: test
rules:
  - when: {prompt: "^fix"}
    steps:
      - {say: "I read.", call: {name: read, input: {path: a.py}}}
      - - {when: {denied: true}, say: "You said no."}
        - {when: {result: "ERROR"}, say: "It failed."}
        - {say: "Done with {model}."}
  - when: {chinese: true}
    say: 你好
default: {say: "I know no answer to: {prompt}"}
"""


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[RehearsalServer]:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT, "utf-8")
    with RehearsalServer(path) as server:
        yield server


def call_and_result(result: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}
    return [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}]},
    ]


def test_the_same_conversation_gets_the_same_answer_on_every_branch(scripted: RehearsalServer) -> None:
    for _ in range(2):
        assert text_of(ask(scripted, body("fix it"))[1]) == "I read."
        assert text_of(ask(scripted, body("fix it", *call_and_result("fine")))[1]) == "Done with rehearsal."
        assert text_of(ask(scripted, body("fix it", *call_and_result("ERROR")))[1]) == "It failed."
    denied = '{"error": {"class": "permission", "type": "permission_denied"}}'
    assert text_of(ask(scripted, body("fix it", *call_and_result(denied)))[1]) == "You said no."
    assert text_of(ask(scripted, body("请修复"))[1]) == "你好"
    assert text_of(ask(scripted, body("dance"))[1]) == "I know no answer to: dance"


def test_reminders_beside_results_are_not_the_person() -> None:
    use, result = call_and_result("x")
    result["content"].append({"type": "text", "text": "<system-reminder>be brief</system-reminder>"})
    talk = Conversation(body("fix it", use, result))
    assert (talk.prompt, talk.step) == ("fix it", 1)
    result["content"].append({"type": "text", "text": "and hurry"})
    talk = Conversation(body("fix it", use, result))
    assert (talk.prompt, talk.step) == ("and hurry", 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1]", "mapping"),
        ("rules: [{wehn: {}, say: x}]", "unknown key wehn"),
        ("rules: [{when: {prompt: '('}, say: x}]", "no regular expression"),
        ("rules: [{say: x, fault: nope}]", "no fault named"),
        ("rules: [{call: {input: {}}}]", "name is needed"),
        ("rules: [{steps: []}]", "no answer"),
        ("a: [", "no YAML"),
    ],
)
def test_a_wrong_scenario_is_explained(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=says):
        load(path)
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "missing.yaml")


def test_repeated_prefixes_are_read_from_the_cache() -> None:
    with RehearsalServer(Scenario.of("hi")) as server:
        cached = {"cache_control": {"type": "ephemeral"}, "system": "long " * 200}
        first = events(ask(server, body("a", **cached))[1])[0]["message"]["usage"]
        second = events(ask(server, body("a", {"role": "assistant", "content": "hi"}, "b", **cached))[1])
        assert first["cache_read_input_tokens"] == 0 and first["cache_creation_input_tokens"] > 200
        assert second[0]["message"]["usage"]["cache_read_input_tokens"] > 200


def test_it_says_when_the_port_is_taken() -> None:
    with RehearsalServer() as server, pytest.raises(WorldlineError, match="cannot listen"):
        RehearsalServer(port=server.port).start()


def test_parse_takes_models_as_words() -> None:
    assert parse({"models": ["a", {"id": "b"}]}).models == [{"id": "a"}, {"id": "b"}]
