"""Retries, time limits and stand-ins as the person sets them; failures that are told at once."""

from __future__ import annotations

from typing import Any

import pytest

from worldline.context.checker import check
from worldline.core import paths
from worldline.core.errors import BadInput
from worldline.core.kinds import NodeFlag
from worldline.engine.provider_settings import chain_of, checked, provider_settings
from worldline.protocol import commands as c
from worldline.protocol.commands import Nothing, SetSettings
from worldline.provider.model import Endpoint
from worldline.rehearsal.events import Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"retry": {"attempts": 0}}, "retry.attempts cannot be 0"),
        ({"retry": {"attempts": 2.5}}, "whole number"),
        ({"retry": {"attempts": True}}, "cannot be True"),
        ({"retry": {"tries": 3}}, "retry.tries is not a setting"),
        ({"retry": [3]}, "must be an object"),
        ({"retry": {"base_s": 50, "cap_s": 1}}, "longer than retry.cap_s"),
        ({"timeouts": {"idle_s": "soon"}}, "from 1 to 7200"),
        ({"timeouts": {"idle_s": float("nan")}}, "cannot be nan"),
        ({"chain": "claude-haiku-5-5"}, "must be a list"),
        ({"chain": [3]}, "Entry 1 of the chain is no model"),
        ({"chain": [{"model": "m", "url": "http://x"}]}, "'url', which is not known"),
        ({"chain": [{"model": "m", "base_url": "ftp://x"}]}, "no address"),
        ({"base_url": 3}, "base_url cannot be 3"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_with_a_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as error:
        checked(values)
    assert said in str(error.value) and error.value.hint


def test_settings_are_taken_over() -> None:
    made = provider_settings(
        {"retry": {"attempts": 3, "cap_s": 7}, "timeouts": {"idle_s": 33, "progress_s": 44}}
    )
    assert (made.retry.attempts, made.retry.cap_s, made.retry.base_s) == (3, 7, 1.0)
    assert (made.limits.idle_s, made.local_limits.progress_s, made.limits.headers_s) == (33, 44, 180)


def test_a_chain_names_models_here_and_elsewhere() -> None:
    here = Endpoint("big", "https://gateway.example", False)
    assert chain_of(["small", {"model": "llama", "base_url": "localhost:11434/v1"}], here) == [
        Endpoint("small", "https://gateway.example", False),
        Endpoint("llama", "http://localhost:11434", True),
    ]
    assert chain_of([{"model": "m", "base_url": ""}], here) == [Endpoint("m", "", False)]


async def test_nothing_is_saved_that_is_refused(bench: Any) -> None:
    b = await bench()
    with pytest.raises(BadInput, match="attempts"):
        await b.actor.handle("set_settings", SetSettings(values={"retry": {"attempts": "many"}}))
    assert not paths.config_file().exists()
    await b.actor.handle("set_settings", SetSettings(values={"retry": {"attempts": 2, "base_s": 0.01}}))
    b.server.drill("overloaded", 9)
    asked = len(b.server.message_requests)
    assert await b.ask("go") == "overloaded"
    assert len(b.server.message_requests) - asked == 2


async def test_a_wrong_file_is_told_and_the_defaults_hold(bench: Any) -> None:
    paths.config_file().write_text('{"retry": {"attempts": -1}, "chain": [7]}')
    b = await bench()
    b.script("Fine.")
    assert await b.ask("go") == "completed"
    problems = b.actor.shared.settings.problems
    assert any("attempts" in p for p in problems) and any("Entry 1 of the chain" in p for p in problems)


async def test_another_server_stands_in_and_the_way_back_is_shown(bench: Any) -> None:
    with RehearsalServer(Scenario.of(Reply(text="From elsewhere.")), checker=check) as other:
        b = await bench(chain=[{"model": "rehearsal", "base_url": other.base_url}], retry={"attempts": 2})
        b.server.drill("overloaded", 2)
        assert await b.ask("go") == "completed"
        (node,) = b.nodes("assistant")
        assert node.flags & NodeFlag.FALLBACK and node.preview == "From elsewhere."
        assert "overloaded" in b.actor.shared.status.now.fallback_why
        (noted,) = b.diagnostics("fallback")
        assert other.base_url in noted.data["data"]["to"]
        b.script("Here again.")
        (rest,) = b.actor.models.gateway._cool._resting.values()
        rest.until = 0  # it has rested
        assert await b.ask("and now?") == "completed"
        assert b.actor.shared.status.now.fallback_why == ""
        assert b.diagnostics("fallback")[-1].data["data"]["back"] is True
        assert not b.nodes("assistant")[-1].flags & NodeFlag.FALLBACK
        assert all(r.headers.get("authorization") in (None, "Bearer local") for r in other.message_requests)


async def test_the_last_word_is_the_asked_for_models_with_what_was_tried(bench: Any) -> None:
    with RehearsalServer(Scenario(faults=lambda _: "overloaded")) as other:
        b = await bench(chain=[{"model": "second", "base_url": other.base_url}], retry={"attempts": 2})
        b.server.drill("server-error", 9)
        assert await b.ask("go") == "provider_error"
        detail = b.doc.runs()[-1].detail
        assert detail.startswith("The model's server failed.") and "Also tried: second" in detail


@pytest.mark.parametrize(
    ("fault", "reason", "offer"),
    [
        ("unauthorized", "auth_error", "login"),
        ("forbidden", "auth_error", "settings"),
        ("credit", "quota", "billing"),
        ("billing", "quota", "billing"),
        ("spend-limit", "quota", "billing"),
        ("no-model", "provider_error", "settings"),
    ],
)
async def test_what_only_the_person_can_mend_is_told_at_once(
    bench: Any, fault: str, reason: str, offer: str
) -> None:
    b = await bench()
    b.server.drill(fault, 9)
    asked = len(b.server.message_requests)
    assert await b.ask("go") == reason
    assert len(b.server.message_requests) - asked == 1
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    status = b.actor.shared.status.now
    assert ended.offers[0] == offer == status.offers[0]
    assert ended.run.detail.count(".") >= 2 and status.last_stop_detail == ended.run.detail


async def test_three_missed_caches_in_a_row_are_told(bench: Any) -> None:
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    missed = {"input_tokens": 9_000, "output_tokens": 5, "cache_read_input_tokens": 0}
    b.script(*[Reply(text=f"Answer {n}.", usage=missed) for n in range(6)])
    for n in range(5):
        await b.ask(f"question {n} " * 300)
    assert "missed" in b.actor.shared.status.now.cache_note
    (warning,) = b.diagnostics("cache_warning")
    assert "3 times in a row" in warning.data["detail"]


async def test_the_list_of_models_says_which_effort_the_settings_have(bench: Any) -> None:
    b = await bench()
    assert (await b.actor.handle("models", Nothing())).effort == ""
    await b.actor.handle("set_settings", c.SetSettings(values={"effort": "low"}))
    assert (await b.actor.handle("models", Nothing())).effort == "low"


async def test_a_server_without_a_list_of_models_works(bench: Any, server: Any) -> None:
    server.scenario.models = []
    b = await bench()
    listed = await b.actor.handle("models", Nothing())
    assert listed.models == [] and listed.default == "rehearsal"
    tested = await b.actor.handle(
        "test_connection", c.TestConnection(base_url=server.base_url, model="rehearsal")
    )
    assert tested.ok, tested.sentence
