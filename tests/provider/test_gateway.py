"""Retries, fallback and cancelling, through the real client."""

from __future__ import annotations

import asyncio
import time
from itertools import groupby
from typing import Any

import pytest

from provider.conftest import FAST, PATIENT, REPLY, Heard, request_for
from tests_support import PATIENCE_S
from worldline.core.stop import StopReason
from worldline.provider.body import Features
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.model import Endpoint, Exchange, FallbackEvent, RetryEvent, StreamEvent
from worldline.provider.retry import RetryPolicy
from worldline.provider.transport import Limits
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer


def broken(*models: str, fault: str = "overloaded") -> Scenario:
    """Some models fail, the others answer."""

    def fault_for(talk: Conversation) -> str:
        return fault if talk.model in models else ""

    return Scenario.of(REPLY, faults=fault_for)


async def test_a_reply(gateway: Gateway, server: RehearsalServer) -> None:
    heard = Heard()
    answer = await gateway.ask(request_for(server, "some-llama"), heard)
    assert answer.failure is None and answer.exchange.runnable
    assert heard.text == "I will write it. "
    assert [c.input for c in answer.exchange.tool_uses] == [{"path": "a.txt", "content": "hello world"}]
    assert answer.exchange.usage.cost is None, "a local model has no known price"
    assert answer.exchange.usage.answers == 1


async def test_a_retry_is_told_before_the_wait(server: RehearsalServer) -> None:
    patient = RetryPolicy(attempts=5, base_s=30, cap_s=60)
    gateway = Gateway(ProviderSettings(retry=patient, local_limits=PATIENT))
    server.drill("overloaded")
    told = asyncio.Event()
    heard = Heard()

    def listen(event: StreamEvent | RetryEvent | FallbackEvent) -> None:
        heard(event)
        if isinstance(event, RetryEvent):
            told.set()

    retry_now = asyncio.Event()
    retry_now.set()  # left over from before: must not cut this wait short
    asking = asyncio.create_task(gateway.ask(request_for(server), listen, retry_now=retry_now))
    await asyncio.wait_for(told.wait(), PATIENCE_S)
    event = heard.retries[0]
    assert (event.attempt, event.of, event.kind) == (2, 5, "overloaded")
    assert 20 < event.wait_s < 40 and event.why == "The model is overloaded."
    assert not asking.done() and len(server.message_requests) == 1
    retry_now.set()
    answer = await asyncio.wait_for(asking, PATIENCE_S)
    assert answer.failure is None and len(server.message_requests) == 2
    await gateway.close()


async def test_a_wait_can_be_stopped_at_once(server: RehearsalServer) -> None:
    gateway = Gateway(ProviderSettings(retry=RetryPolicy(base_s=3_600, cap_s=3_600), local_limits=PATIENT))
    server.drill("overloaded")
    told = asyncio.Event()
    asking = asyncio.create_task(
        gateway.ask(request_for(server), lambda e: told.set() if isinstance(e, RetryEvent) else None)
    )
    await asyncio.wait_for(told.wait(), PATIENCE_S)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, PATIENCE_S)  # a part of the wait that was going on
    await gateway.close()


async def test_the_tries_are_bounded_and_grow(gateway: Gateway) -> None:
    with RehearsalServer(broken("m")) as server:
        heard = Heard()
        answer = await gateway.ask(request_for(server, "m"), heard)
        assert answer.failure is not None and answer.failure.stop_reason is StopReason.OVERLOADED
        assert len(server.message_requests) == 5
        waits = [event.wait_s for event in heard.retries]
        assert len(waits) == 4 and waits[0] < waits[1] < waits[2]


@pytest.mark.parametrize(
    "fault", ["unauthorized", "forbidden", "credit", "spend-limit", "no-model", "overflow", "refusal"]
)
async def test_what_trying_again_cannot_help_is_told_at_once(
    gateway: Gateway, server: RehearsalServer, fault: str
) -> None:
    server.drill(fault)
    heard = Heard()
    answer = await gateway.ask(request_for(server), heard, chain=[Endpoint("b", server.base_url, True)])
    assert answer.failure is not None and answer.failure.sentence
    assert heard.retries == [] and heard.fallbacks == []
    assert len(server.message_requests) == 1


@pytest.mark.parametrize("fault", ["mid-reset", "cut-eof", "mid-overloaded", "bad-json", "mid-eof-chunked"])
async def test_a_failure_in_mid_reply_starts_again(
    gateway: Gateway, server: RehearsalServer, fault: str
) -> None:
    server.drill(fault)
    heard = Heard()
    answer = await gateway.ask(request_for(server), heard)
    assert answer.failure is None
    kinds = [e.kind for e in heard.events if isinstance(e, StreamEvent)]
    assert kinds.count("discard") == 1
    order = [type(e).__name__ + getattr(e, "kind", "") for e in heard.events]
    assert order.index("StreamEventdiscard") < order.index(next(o for o in order if o.startswith("Retry")))
    assert heard.text == "I will write it. ", "what was shown twice is shown once"
    assert answer.partial and answer.partial[0]["type"] == "text"


async def test_fallback_is_told_and_the_primary_comes_back(gateway: Gateway) -> None:
    failing = {"a"}
    scenario = Scenario.of(REPLY, faults=lambda talk: "overloaded" if talk.model in failing else "")
    with RehearsalServer(scenario) as server:
        chain = [Endpoint("b", server.base_url, True)]
        heard = Heard()
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.failure is None and answer.exchange.model == "b" and answer.asked_model == "a"
        assert len(heard.fallbacks) == 1 and "overloaded" in heard.fallbacks[0].why
        before = len(server.message_requests)

        # While it rests, the stand-in is asked at once, and that is told too.
        gateway._cool._resting[next(iter(gateway._cool._resting))].until = time.monotonic() + 60
        heard = Heard()
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.exchange.model == "b" and len(heard.fallbacks) == 1
        assert len(server.message_requests) == before + 1

        # The rest is over, but it still fails: one try, then the stand-in again.
        gateway._cool._resting[next(iter(gateway._cool._resting))].until = 0
        before = len(server.message_requests)
        answer = await gateway.ask(request_for(server, "a"), Heard(), chain=chain)
        assert answer.exchange.model == "b" and len(server.message_requests) == before + 2

        # It answers again, and that is told.
        failing.clear()
        gateway._cool._resting[next(iter(gateway._cool._resting))].until = 0
        heard = Heard()
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.exchange.model == "a"
        assert [event.back for event in heard.fallbacks] == [True]
        heard = Heard()
        await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert heard.fallbacks == []


async def test_the_error_at_the_end_is_the_primarys(gateway: Gateway) -> None:
    faults = {"a": "overloaded", "b": "mid-api-error", "c": "unauthorized"}
    with RehearsalServer(Scenario.of(REPLY, faults=lambda talk: faults.get(talk.model, ""))) as server:
        heard = Heard()
        chain = [Endpoint(name, server.base_url, True) for name in ("b", "c")]
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.failure is not None and answer.failure.kind == "overloaded"
        assert [r.model for r in server.message_requests] == ["a"] * 5 + ["b"] * 2 + ["c"]
        assert [(e.from_model.split(" ")[0], e.to_model.split(" ")[0]) for e in heard.fallbacks] == [
            ("a", "b"), ("b", "c"),
        ]  # fmt: skip
        assert heard.text == ""


async def test_when_the_stand_in_fails_the_primary_has_the_last_word(gateway: Gateway) -> None:
    faults = {"a": "overloaded"}
    with RehearsalServer(Scenario.of(REPLY, faults=lambda talk: faults.get(talk.model, ""))) as server:
        chain = [Endpoint("b", server.base_url, True)]
        await gateway.ask(request_for(server, "a"), Heard(), chain=chain)
        gateway._cool._resting[next(iter(gateway._cool._resting))].until = time.monotonic() + 60
        faults.clear()
        faults["b"] = "unauthorized"
        heard = Heard()
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.failure is None and answer.exchange.model == "a"


async def test_a_hop_rechecks_limits_and_drops_thinking(gateway: Gateway) -> None:
    with RehearsalServer(broken("a")) as server:
        request = request_for(server, "a")
        request.max_tokens = 100_000
        thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
        request.messages += [
            {"role": "assistant", "content": [thinking]},
            {"role": "user", "content": "more"},
        ]
        answer = await gateway.ask(
            request, Heard(), chain=[Endpoint("claude-haiku-4-5", server.base_url, True)]
        )
        assert answer.failure is None
        body = server.message_requests[-1].body
        assert body is not None and body["max_tokens"] == 64_000
        assert "signature" not in str(body["messages"])
        assert "signature" in str(request.messages), "the caller's messages are not touched"


async def test_a_model_that_cannot_take_the_conversation_is_passed_over(gateway: Gateway) -> None:
    with RehearsalServer(broken("a")) as server:
        request = request_for(server, "a", text="word " * 200_000)
        chain = [Endpoint("claude-haiku-4-5", server.base_url, True), Endpoint("c", server.base_url, True)]
        answer = await gateway.ask(request, Heard(), chain=chain)
        assert answer.exchange.model == "c"
        assert any("does not fit" in note for note in answer.exchange.notes)


async def test_a_broken_network_is_no_reason_to_try_the_same_host(gateway: Gateway) -> None:
    with (
        RehearsalServer(broken("a", "b", fault="reset-before-headers")) as server,
        RehearsalServer() as other,
    ):
        chain = [Endpoint("b", server.base_url, True), Endpoint("c", other.base_url, True)]
        answer = await gateway.ask(request_for(server, "a"), Heard(), chain=chain)
        assert answer.failure is None and answer.exchange.model == "c"
        assert {r.model for r in server.message_requests} == {"a"}


async def test_less_output_is_asked_for_where_the_server_wants_less(
    gateway: Gateway, server: RehearsalServer
) -> None:
    server.drill("overflow-max-tokens")
    request = request_for(server)
    request.max_tokens = 64_000
    heard = Heard()
    answer = await gateway.ask(request, heard)
    assert answer.failure is None and heard.retries[0].wait_s == 0
    body = server.message_requests[-1].body
    assert body is not None and body["max_tokens"] == 200_000 - 178_959


async def test_cancelling_is_immediate_and_closes_the_connection(gateway: Gateway) -> None:
    with RehearsalServer(Scenario.of(Reply(text="word " * 5000), pace=0.01)) as server:
        started = asyncio.Event()
        kept: list[Exchange] = []
        asking = asyncio.create_task(
            gateway.ask(request_for(server), lambda _: started.set(), on_cancel=kept.append)
        )
        await asyncio.wait_for(started.wait(), PATIENCE_S)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert kept[0].outcome == "cancelled" and kept[0].blocks[0]["text"].startswith("word")
        gone = await asyncio.to_thread(server.wait_for, lambda seen: seen[-1].client_gone)
        assert gone


async def test_a_local_server_answers_one_at_a_time(gateway: Gateway) -> None:
    with RehearsalServer(Scenario.of(Reply(text="word " * 20), pace=0.005)) as server:
        heard: list[int] = []
        asking = [gateway.ask(request_for(server), lambda _, n=n: heard.append(n)) for n in range(3)]
        await asyncio.gather(*asking)
        assert [number for number, _ in groupby(heard)] == [0, 1, 2] and len(heard) > 9


async def test_what_cannot_be_sent_is_an_outcome_too(gateway: Gateway, server: RehearsalServer) -> None:
    for text in (float("nan"), b"bytes", "half \ud800"):
        request = request_for(server)
        request.messages = [{"role": "user", "content": text}]
        answer = await gateway.ask(request, Heard())
        assert answer.failure is not None and not answer.failure.retryable
        assert answer.exchange.error_type == "unsendable"
    assert server.requests == []


async def test_a_defect_of_the_listener_is_not_swallowed(gateway: Gateway, server: RehearsalServer) -> None:
    def defect(_: Any) -> None:
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        await gateway.ask(request_for(server), defect)
    assert len(server.message_requests) == 1


async def test_count_list_and_test(gateway: Gateway, server: RehearsalServer) -> None:
    assert (await gateway.count_tokens(request_for(server)) or 0) > 0
    listed = await gateway.list_models(Endpoint("", server.base_url, True))
    assert [(m.id, m.context) for m in listed] == [("rehearsal", 200_000)]
    assert gateway.facts(Endpoint("rehearsal", server.base_url)).max_output == 32_000
    tested = await gateway.test(f"{server.base_url}/v1/", local=True)
    assert tested.ok and tested.models == ["rehearsal"]
    server.drill("unauthorized")
    tested = await gateway.test(server.base_url, "rehearsal", "wrong")
    assert not tested.ok and "key was refused" in tested.sentence


async def test_a_server_that_is_not_there(gateway: Gateway) -> None:
    with RehearsalServer() as server:
        url = server.base_url
    tested = await gateway.test(url, "m", local=True)
    assert not tested.ok and "No server answers at this address" in tested.sentence
    assert await gateway.count_tokens(request_for(server)) is None
    assert await gateway.list_models(Endpoint("", url, True)) == []
    answer = await gateway.ask(request_for(server), Heard())
    assert answer.failure is not None and answer.failure.stop_reason is StopReason.NETWORK_ERROR
    assert len(answer.attempts) == FAST.attempts - 1


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "takes the request, but does not answer"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>",
            "not a valid answer",
        ),
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "server failed"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "does not say which models it has"),
    ],
)
async def test_a_server_that_cannot_be_used_is_not_said_to_answer(sent: bytes, said: str) -> None:
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        await done.wait()
        writer.close()

    limits = PATIENT if sent else Limits(headers_s=0.3)
    gateway = Gateway(ProviderSettings(limits=limits, local_limits=limits))
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        tested = await gateway.test(f"http://127.0.0.1:{port}", local=True)
        done.set()
    assert not tested.ok and said in tested.sentence


async def test_the_servers_own_fallback_is_told(gateway: Gateway) -> None:
    switch = {
        "type": "fallback",
        "from": {"model": "a"},
        "to": {"model": "b-20260101"},
        "trigger": {"type": "refusal"},
    }
    reply = Reply(blocks=[switch, {"type": "text", "text": "hello"}], stop="end_turn")
    with RehearsalServer(Scenario.of(reply)) as server:
        heard = Heard()
        answer = await gateway.ask(request_for(server, "a"), heard)
        assert [(e.from_model, e.to_model) for e in heard.fallbacks] == [("a", "b-20260101")]
        assert answer.fallbacks == heard.fallbacks


async def test_cache_misses_are_judged_where_a_server_caches(gateway: Gateway) -> None:
    with RehearsalServer(Scenario.of("hi", caching=True)) as server:
        verdicts = []
        for system in ("long " * 2000, "long " * 2000, "other " * 2000):
            request = request_for(server)
            request.system = system
            answer = await gateway.ask(request, Heard())
            verdicts.append(answer.cache)
        assert verdicts[1] is not None and verdicts[1].hit is not None and verdicts[1].hit > 0.9


async def test_nobody_waits_an_hour_when_there_is_a_stand_in(gateway: Gateway) -> None:
    with RehearsalServer(broken("a", fault="rate-limit-hour")) as server:
        heard = Heard()
        chain = [Endpoint("b", server.base_url, True)]
        answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
        assert answer.failure is None and answer.exchange.model == "b"
        assert [r.model for r in server.message_requests] == ["a", "b"]
        rest = next(iter(gateway._cool._resting.values()))
        assert 3500 < rest.until - time.monotonic() < 4400, (
            "and it is not asked again before the hour is over"
        )
        alone = await gateway.ask(request_for(server, "a"), Heard())
        assert alone.failure is not None and "60 min" in alone.failure.advice
        assert len(alone.attempts) == FAST.attempts - 1


async def test_optional_features_are_given_up_when_a_server_refuses_them(gateway: Gateway) -> None:
    def checker(body: dict[str, Any]) -> list[str]:
        if "fallbacks" in body:
            return ["fallbacks: Extra inputs are not permitted"]
        if "thinking" in body:
            return ['"thinking.type.adaptive" is not supported for this model.']
        return []

    with RehearsalServer(Scenario.of("hi"), checker=checker) as server:
        request = request_for(server, "claude-opus-5-5")
        request.endpoint.local = False
        gateway.settings.secrets[server.base_url] = "k"
        gateway._features[server.base_url] = Features()
        heard = Heard()
        answer = await gateway.ask(request, heard)
        assert answer.failure is None
        assert [event.wait_s for event in heard.retries] == [0, 0], "told, and without a wait"
        sent = [record.body or {} for record in server.message_requests]
        assert ["fallbacks" in body for body in sent] == [True, False, False]
        assert ["thinking" in body for body in sent] == [True, True, False]
        assert "cache_control" in sent[-1]
        await gateway.ask(request, Heard())
        assert len(server.message_requests) == 4, "it is remembered"
