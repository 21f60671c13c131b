"""Models, prices, and what of a request is sent to whom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from worldline.core.errors import BadInput
from worldline.core.usage import Usage
from worldline.provider import prices
from worldline.provider.body import NOTHING, Features, arguments, features_for, without_thinking
from worldline.provider.catalog import DEFAULT_CHAIN, KNOWN, default_chain, facts, merge
from worldline.provider.fallback import adapt
from worldline.provider.model import Endpoint, ModelRequest

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000, answers=1)


def request(model: str = "claude-sonnet-5-5", **more: object) -> ModelRequest:
    made = ModelRequest(Endpoint(model), "sys", [{"role": "user", "content": "x"}], [{"name": "t"}])
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_costs() -> None:
    table = prices.load()
    assert table.cost("claude-sonnet-5-5", MILLION) == 12
    assert table.cost("claude-haiku-4-5-20251001", MILLION) == 6
    cached = Usage(cache_read_tokens=1_000_000, cache_write_tokens=1_000_000, answers=1)
    assert table.cost("claude-opus-5", cached) == pytest.approx(0.5 + 6.25)
    assert table.cost("some-local-model", MILLION) is None, "unknown is not free"
    assert table.label("claude-sonnet-5-5") == "$2 / $10" and table.label("x") == ""


def test_prices_can_be_overridden() -> None:
    prices.override_file().write_text(
        json.dumps({"as_of": "2027-01-01", "models": {"local": {"input": 0, "output": 0}, "claude-opus-5": {"input": 1, "output": 2, "cache_read": 0.5}}})
    )  # fmt: skip
    table = prices.load()
    assert table.as_of == "2027-01-01" and table.cost("local", MILLION) == 0
    assert table.cost("claude-opus-5", MILLION) == 3 and table.cost("claude-sonnet-5-5", MILLION) == 12
    price = table.price("claude-opus-5")
    assert price is not None and (price.cache_read, price.cache_write) == (0.5, 1.25)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"models": []}', '{"models": {"a": {"input": "2", "output": 1}}}', '{"models": {"a": {"input": 2}}}',
     '{"models": {"a": {"input": -1, "output": 1}}}', '{"models": {"a": 3}}', '{"models": {"a": {"input": true, "output": 1}}}'],
)  # fmt: skip
def test_wrong_prices_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(BadInput, match="price file"):
        prices.load(path)


def test_the_chain_has_one_window_and_no_gaps() -> None:
    assert {KNOWN[name].context for name in DEFAULT_CHAIN} == {1_000_000}
    assert default_chain("claude-sonnet-5-5") == ["claude-haiku-5-5", "claude-opus-5-5"]
    assert default_chain("claude-opus-5-5", "llama") == ["claude-sonnet-5-5", "claude-haiku-5-5", "llama"]
    assert default_chain("mine", "mine") == list(DEFAULT_CHAIN)


def test_facts_of_listed_known_and_unknown_models() -> None:
    listed = merge(
        [
            {"id": "claude-haiku-5-5", "display_name": "Haiku", "max_input_tokens": 500_000, "max_tokens": 9,
             "capabilities": {"effort": {"low": {"supported": True}, "high": True, "max": {"supported": False}},
                              "thinking": {"types": {"adaptive": {"supported": False}}}, "image_input": {"supported": False}}},
            {"id": "gguf", "object": "model", "meta": {"n_ctx": 8192}},
            {"id": "plain", "max_input_tokens": None, "capabilities": None},
            {"name": "no id"},
        ]
    )  # fmt: skip
    assert set(listed) == {"claude-haiku-5-5", "gguf", "plain"}
    haiku = facts("claude-haiku-5-5", listed)
    assert (haiku.context, haiku.max_output, haiku.efforts, haiku.thinking, haiku.images) == (
        500_000, 9, ("low", "high"), "", False,
    )  # fmt: skip
    assert facts("gguf", listed).context == 8192 and facts("plain", listed).context == 0
    assert facts("claude-haiku-4-5-20251001").context == 200_000 and facts("whatever").max_output == 0


def test_the_first_party_gets_all_features() -> None:
    made = arguments(
        request(effort="low", extra={"previous_message_id": "msg_1"}), facts("claude-sonnet-5-5"), Features()
    )
    assert made["cache_control"] == {"type": "ephemeral"}
    assert made["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert made["output_config"] == {"effort": "low"}
    assert made["extra_body"] == {"fallbacks": "default", "diagnostics": {"previous_message_id": "msg_1"}}
    assert made["extra_headers"]["anthropic-beta"].count(",") == 2


def test_others_get_none() -> None:
    for endpoint in (Endpoint("m", "http://localhost:1", True), Endpoint("m", "https://openrouter.ai/api")):
        assert features_for(endpoint) == NOTHING
    made = arguments(
        request(effort="low", extra={"temperature": 0.2, "tool_choice": {"type": "auto"}}),
        facts("m"),
        NOTHING,
    )
    assert set(made) == {"model", "max_tokens", "messages", "system", "tools", "extra_body", "tool_choice"}
    assert made["extra_body"] == {"temperature": 0.2}


def test_features_are_given_up_one_after_the_other() -> None:
    features: Features | None = Features()
    seen = []
    while features is not None:
        seen.append(str(features))
        features = features.less()
    assert seen == ["cache, thinking, betas", "cache, thinking", "cache", "no optional features"]
    assert "thinking" not in arguments(
        request(extra={"thinking": "off"}), facts("claude-opus-5-5"), Features()
    )


def test_thinking_and_foreign_blocks_are_left_out() -> None:
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}]},
        {"role": "assistant", "content": [{"type": "fallback"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": [{"type": "compaction", "content": "all so far", "signature": "s"}]},
    ]
    assert [m["content"] for m in without_thinking(messages)] == [
        "x",
        [{"type": "text", "text": "[thinking left out]"}],
        [{"type": "text", "text": "b"}],
        [{"type": "text", "text": "all so far"}],
    ]


def test_a_hop_is_checked_first() -> None:
    picture = [{"role": "user", "content": [{"type": "image", "source": {}}]}]
    blind = merge([{"id": "blind", "capabilities": {"image_input": {"supported": False}}}])["blind"]
    assert "cannot see" in str(adapt(request(messages=picture), Endpoint("blind"), blind))
    changed = adapt(
        request(effort="max", extra={"previous_message_id": "m"}),
        Endpoint("claude-haiku-4-5"),
        KNOWN["claude-haiku-4-5"],
    )
    assert (
        isinstance(changed, ModelRequest)
        and changed.extra == {}
        and changed.endpoint.model == "claude-haiku-4-5"
    )
