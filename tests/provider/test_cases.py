"""Failures others have had: each is played to the real client and must end as the case says."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from provider.cases import case, of_kind
from provider.conftest import FAST, PATIENT, SHORT, THINKING, Heard, request_for
from tests_support import measured
from worldline.core.stop import StopReason
from worldline.provider.arguments import parse_arguments
from worldline.provider.gateway import Gateway, ProviderSettings, failure_of
from worldline.provider.model import Endpoint, Exchange
from worldline.provider.transport import Limits
from worldline.rehearsal.faults import FAULTS, Fault, Scene
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer

STREAMS = [entry["id"] for entry in of_kind("stream")]


def player(events: list[dict[str, Any]]) -> Callable[[Scene], Coroutine[Any, Any, None]]:
    """A fault that plays the events of a case."""

    async def play(scene: Scene) -> None:
        wire = scene.wire
        await wire.stream_head()
        for event in events:
            if "fault" in event:
                await _broken(scene, event["fault"])
                return
            if "raw" in event:
                await wire.data(event["raw"].encode() + b"\n\n")
            elif "event" in event:
                await wire.event((event["event"], event["data"]))
            else:
                await wire.event((event["type"], event))
        await wire.end()

    return play


async def _broken(scene: Scene, fault: str) -> None:
    wire = scene.wire
    if fault == "connection_closed":
        await wire.reset()
    elif fault == "clean_eof":
        await wire.end()
    elif fault == "silence":
        await wire.gone(scene.max_hang_s)
        wire.hang_up()
    elif fault == "repeat_thinking_delta":
        delta = {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm "},
        }
        until = time.monotonic() + scene.max_hang_s
        while time.monotonic() < until:
            await wire.event(("content_block_delta", delta))
            if await wire.gone(0.02):
                return
        wire.hang_up()
    else:
        raise AssertionError(f"a fault nobody knows: {fault}")


async def play_case(entry: dict[str, Any], *, limits: Limits) -> tuple[Exchange, RehearsalServer, Gateway]:
    FAULTS["case"] = Fault("case", "case", entry["given"], player(entry["payload"]["events"]))
    gateway = Gateway(ProviderSettings(retry=FAST, local_limits=limits))
    try:
        with RehearsalServer(Scenario(faults=lambda _: "case"), max_hang_s=30) as server:
            answer = await gateway.ask(request_for(server), Heard())
            return answer.exchange, server, gateway
    finally:
        await gateway.close()
        del FAULTS["case"]


@pytest.mark.parametrize("uid", STREAMS)
async def test_stream(uid: str) -> None:
    entry = case(uid)
    expect = entry["payload"]["expect"]
    stalls = any("seconds" in event for event in entry["payload"]["events"])
    # Only streams that stop may meet a short watchdog: a slow machine must not fail the others.
    thinks = any(event.get("fault") == "repeat_thinking_delta" for event in entry["payload"]["events"])
    limits = THINKING if thinks else SHORT if stalls else PATIENT
    exchange, server, _ = await play_case(entry, limits=limits)
    failure = failure_of(exchange)
    if expect.get("stop_reason") == "error":
        assert failure is not None
        if "retryable" in expect:
            assert failure.retryable is expect["retryable"]
    if expect.get("stop_reason") == "refusal":
        assert failure is not None and failure.stop_reason is StopReason.REFUSAL
    if "error_class" in expect:
        assert failure is not None and failure.kind == expect["error_class"]
    if "identical_retries_max" in expect:
        assert len(server.message_requests) - 1 <= expect["identical_retries_max"]
    if expect.get("user_notified"):
        assert failure is not None and failure.sentence and failure.advice
    if expect.get("tool_executed") is False:
        assert not exchange.runnable
        assert all(not call.kept for call in exchange.tool_uses)
    if "history_has_invalid_json" in expect:
        assert all(isinstance(block.get("input", {}), dict) for block in exchange.blocks)
        assert not any(block["type"] == "tool_use" for block in exchange.blocks)
    if expect.get("continues"):
        assert failure is None and exchange.stop_reason == "pause_turn"
        assert exchange.blocks == [
            {"type": "server_tool_use", "id": "srvtoolu_p", "name": "web_search", "input": {"query": "x"}}
        ]


async def test_a_stall_can_be_stopped_at_once() -> None:
    entry = case("stl-001")
    gateway = Gateway(ProviderSettings(retry=FAST, local_limits=PATIENT))
    FAULTS["case"] = Fault("case", "case", "", player(entry["payload"]["events"]))
    with RehearsalServer(Scenario(faults=lambda _: "case"), max_hang_s=30) as server:
        heard = Heard()
        started = asyncio.Event()
        asking = asyncio.create_task(gateway.ask(request_for(server), lambda e: (heard(e), started.set())[0]))
        await asyncio.wait_for(started.wait(), 60)
        before = time.monotonic()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        latest = entry["payload"]["expect"]["cancel_latency_s_max"]
        measured("seconds until a stall was stopped", time.monotonic() - before, latest)
    await gateway.close()
    del FAULTS["case"]


@pytest.mark.parametrize("uid", [entry["id"] for entry in of_kind("http")])
async def test_http(gateway: Gateway, uid: str) -> None:
    payload = case(uid)["payload"]
    expect = payload["expect"]
    with RehearsalServer(Scenario.of("fine")) as server:
        for response in payload["responses"]:
            if response["status"] != 200:
                server.drill(f"status:{response['status']}")
        heard = Heard()
        chain = [Endpoint("stand-in", server.base_url, True)] if expect.get("fallback_used") else []
        answer = await gateway.ask(request_for(server, "primary"), heard, chain=chain)
        requests = server.message_requests
        if "requests" in expect:
            assert len(requests) == expect["requests"] and answer.failure is None
        if "max_requests_primary" in expect:
            assert sum(r.model == "primary" for r in requests) <= expect["max_requests_primary"]
            assert [event.to_model.split(" ")[0] for event in heard.fallbacks] == ["stand-in"]
            assert answer.failure is not None and answer.failure.stop_reason is StopReason.OVERLOADED
        # The session is usable: the next request is answered.
        server.clear_drills()
        assert (await gateway.ask(request_for(server, "primary"), Heard())).failure is None


def test_control_characters_in_arguments_are_read_as_they_are() -> None:
    payload = case("jsn-001")["payload"]
    value, error, repairs = parse_arguments(payload["raw"])
    assert value == payload["expect"]["repaired"] and not error and repairs


@pytest.mark.parametrize(
    "raw", ["{", '{"time": 2', '{"a":1}}', "[1]", '{"a":1,"a":1}', '{"a":NaN}', "{'a':1}"]
)
def test_nothing_else_is_repaired(raw: str) -> None:
    value, error, repairs = parse_arguments(raw)
    assert value is None and error and not repairs


def test_every_stream_case_is_used() -> None:
    assert len(STREAMS) >= 10
    assert json.dumps(STREAMS)
