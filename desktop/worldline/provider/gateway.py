"""The way to the models: retries and fallback around single exchanges, each step told before it is taken."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from worldline.provider import credentials, prices
from worldline.provider.address import normalise
from worldline.provider.asking import Asking
from worldline.provider.body import Features, arguments, features_for
from worldline.provider.cache_health import CacheHealth
from worldline.provider.catalog import KNOWN, ModelFacts, facts, merge
from worldline.provider.errors import classify, feature_refused
from worldline.provider.fallback import CoolDown, adapt, estimate_tokens, may_hop, name_of
from worldline.provider.loader import Loader
from worldline.provider.model import (
    Answer,
    Endpoint,
    Exchange,
    Failure,
    Listener,
    ModelRequest,
    RetryEvent,
)
from worldline.provider.retry import RetryPolicy, wait
from worldline.provider.transport import Client, Limits, OnCancel

LONGEST_REST_S = 3600.0
MIN_OUTPUT = 1024
"""Less output than this is not worth asking for."""


@dataclass(slots=True)
class ProviderSettings:
    """How the gateway behaves. Keys are not in it."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    limits: Limits = field(default_factory=Limits)
    local_limits: Limits = field(default_factory=Limits.for_local)
    cool_down_s: float = 90.0
    full_api: frozenset[str] = frozenset()
    """Addresses that speak all of the first-party API, optional features as well (a proxy in front of it)."""
    secrets: dict[str, str] = field(default_factory=dict)
    """Keys for this process only, by address ("" = first party); they come before keyring and environment."""
    seed: int | None = None
    """Of the jitter; None = random."""


@dataclass(slots=True)
class Tested:
    """Result of a connection test."""

    ok: bool
    sentence: str
    models: list[str] = field(default_factory=list)


class Gateway:
    """One per engine; lives on the engine's loop. `close` it before the loop ends."""

    def __init__(self, settings: ProviderSettings | None = None, loader: Loader | None = None) -> None:
        self.settings = settings or ProviderSettings()
        self.loader = loader or Loader()
        self.prices = prices.load()
        self._rng = random.Random(self.settings.seed)
        self._cool = CoolDown(self.settings.cool_down_s, self._rng)
        self._clients: dict[tuple[str, str], Client] = {}
        self.cache = CacheHealth()
        self._retired: list[Client] = []
        self._features: dict[str, Features] = {}
        self._listed: dict[str, dict[str, ModelFacts]] = {}
        self._local_turn: dict[str, asyncio.Semaphore] = {}

    async def close(self) -> None:
        clients, self._clients, self._retired = [*self._clients.values(), *self._retired], {}, []
        for client in clients:
            await client.close()

    def forget_keys(self) -> None:
        """Take new keys from now on. Exchanges that are going on keep theirs."""
        self._retired += self._clients.values()
        self._clients = {}

    def set_up(self, settings: ProviderSettings) -> None:
        """Other settings from now on. Exchanges that are going on keep their time limits."""
        self.settings = settings
        self.forget_keys()

    def features(self, endpoint: Endpoint) -> Features:
        """Optional features that the server of an endpoint takes, as far as it has not refused them."""
        known = self._features.get(endpoint.base_url)
        if known is not None:
            return known
        return Features() if endpoint.base_url in self.settings.full_api else features_for(endpoint)

    def offers_compaction(self, endpoint: Endpoint) -> bool:
        """The server itself can summarise a conversation for this model."""
        return self.features(endpoint).betas and self.facts(endpoint).compaction

    def facts(self, endpoint: Endpoint) -> ModelFacts:
        """What is known of a model, by its server's own list where it was asked for."""
        return facts(endpoint.model, self._listed.get(endpoint.base_url))

    # ---- asking -------------------------------------------------------------------------------------------------------

    async def ask(
        self,
        request: ModelRequest,
        listener: Listener,
        *,
        chain: Sequence[Endpoint] = (),
        retry_now: asyncio.Event | None = None,
        on_cancel: OnCancel | None = None,
    ) -> Answer:
        """An answer, or the failure of the asked-for model. Raises nothing but CancelledError (and what the listener
        raises); on cancelling, `on_cancel` gets what had arrived."""
        asking = Asking(request, listener, retry_now or asyncio.Event(), on_cancel)
        primary = request.endpoint
        targets = [primary]
        targets += [target for target in chain if name_of(target) not in {name_of(t) for t in targets}]
        asking.has_stand_in = len(targets) > 1
        first, why = self._cool.start_at(targets, time.monotonic())
        order = targets[first:] + targets[:first]
        if first:
            asking.hop(primary, order[0], f"{why} (it is asked again in a while)")
        here = order[0]
        for number, target in enumerate(order):
            if number and not self._goes_on(asking, here, target):
                continue
            if target is not primary:
                await self._learn(primary, target)
            adapted = request if target is primary else adapt(request, target, self.facts(target))
            if isinstance(adapted, str):
                asking.skipped.append(adapted)
                continue
            if number:
                asking.hop(here, target, asking.reason())
            here = target
            exchange, failure = await self._attempts(adapted, asking, is_primary=target is primary)
            if failure is None:
                by = served_by(exchange)
                if by:
                    asking.served(by)
                self._settle(primary, target, asking)
                return asking.answer(exchange, None)
            asking.failed(target is primary, exchange, failure)
        return asking.give_up()

    async def _learn(self, primary: Endpoint, target: Endpoint) -> None:
        """Before a hop to another server: what it says of its models, once."""
        if target.base_url != primary.base_url and target.base_url not in self._listed:
            await self.list_models(target)

    @staticmethod
    def _goes_on(asking: Asking, here: Endpoint, target: Endpoint) -> bool:
        """Whether the next in the chain is asked after a failure. When a stand-in fails, for whatever reason, the
        asked-for model has the last word."""
        failure = asking.last_failure
        if failure is None or (target is asking.request.endpoint and asking.primary_failure is None):
            return True
        return may_hop(failure, here, target)

    def _settle(self, primary: Endpoint, target: Endpoint, asking: Asking) -> None:
        if target is not primary:
            why = asking.primary_failure.sentence if asking.primary_failure else asking.first_why
            if asking.primary_failure or not self._cool.was_away(primary):
                failed = asking.primary_exchange
                rest = min((failed.retry_after_s or 0.0) if failed else 0.0, LONGEST_REST_S)
                self._cool.failed(primary, target, why, time.monotonic(), rest)
            return
        substitute = self._cool.answered(primary)
        if substitute and not any(not event.back for event in asking.fallbacks):
            asking.back(substitute, primary)

    async def _attempts(
        self, request: ModelRequest, asking: Asking, *, is_primary: bool
    ) -> tuple[Exchange, Failure | None]:
        """Exchanges with one model until there is an answer or no sense in going on."""
        policy = self.settings.retry
        returning = is_primary and self._cool.was_away(request.endpoint)
        of = policy.attempts if is_primary else policy.fallback_attempts
        if returning and asking.has_stand_in:
            of = 1
        attempt = 1
        while True:
            exchange = await self._exchange(request, asking)
            failure = failure_of(exchange)
            if failure is None:
                return exchange, None
            asking.spent(exchange)
            changed = self._change(request, exchange, failure)
            if changed is not None:
                request, why = changed
                asking.retry(
                    RetryEvent(attempt, of, 0.0, why, failure.kind, request.endpoint.model), exchange
                )
                continue
            asks_for_long = (exchange.retry_after_s or 0) > policy.retry_after_cap_s
            if not policy.may_retry(failure, attempt, of) or (asks_for_long and asking.has_stand_in):
                # With a stand-in at hand nobody has to wait for an hour, or to ask before the hour is over.
                return exchange, failure
            seconds = policy.wait_s(attempt, exchange.retry_after_s, self._rng)
            attempt += 1
            asking.retry_now.clear()
            asking.retry(
                RetryEvent(attempt, of, seconds, failure.sentence, failure.kind, request.endpoint.model),
                exchange,
            )
            await wait(seconds, asking.retry_now)

    async def _exchange(self, request: ModelRequest, asking: Asking) -> Exchange:
        endpoint = request.endpoint
        features = self.features(endpoint)
        if credentials.is_needed(endpoint.base_url) and not await self._secret(endpoint):
            # The conversation is not sent only to be refused.
            return Exchange("http_error", error_code="no_key", model=endpoint.model)
        client = await self._client(endpoint)
        frame: dict[str, Any] = {
            "place": endpoint.base_url, "model": endpoint.model, "system": request.system,
            "tools": request.tools, "messages": request.messages,
        }  # fmt: skip
        if features.cache:
            request = replace(
                request,
                extra={"previous_message_id": self.cache.previous_message_id(**frame), **request.extra},
            )
        made = arguments(request, self.facts(endpoint), features)
        if endpoint.local:
            # A machine of the person's own answers one at a time; a second request would only look stalled.
            async with self._local_turn.setdefault(endpoint.base_url, asyncio.Semaphore(1)):
                exchange = await client.exchange(made, asking.listener, asking.on_cancel)
        else:
            exchange = await client.exchange(made, asking.listener, asking.on_cancel)
        if not exchange.model:
            exchange.model = endpoint.model
        exchange = self._priced(exchange, endpoint)
        if exchange.outcome == "complete" and (
            features.cache or exchange.usage.cache_read_tokens or exchange.usage.cache_write_tokens
        ):
            diagnosis = exchange.raw.get("diagnostics")
            asking.cache = self.cache.observe(
                **frame,
                usage=exchange.usage,
                now=time.monotonic(),
                message_id=exchange.message_id,
                diagnosis=diagnosis if isinstance(diagnosis, dict) else None,
            )
        return exchange

    def _priced(self, exchange: Exchange, endpoint: Endpoint) -> Exchange:
        if exchange.usage.answers:
            cost = self.prices.cost_of_rounds(exchange.raw.get("usage"), endpoint.model, local=endpoint.local)
            if cost is None:
                names = (served_by(exchange), exchange.model, endpoint.model)
                costs = (self.prices.cost(n, exchange.usage, local=endpoint.local) for n in names if n)
                cost = next((cost for cost in costs if cost is not None), None)
            exchange.usage = exchange.usage.model_copy(update={"cost": cost})
        return exchange

    def _change(
        self, request: ModelRequest, exchange: Exchange, failure: Failure
    ) -> tuple[ModelRequest, str] | None:
        """A request that avoids what the server refused, where that takes nothing from the person."""
        if failure.kind == "max_tokens_too_high" and failure.limit_tokens:
            room = failure.limit_tokens
            if (
                failure.used_tokens
                and failure.used_tokens < request.max_tokens + room
                and "context" in exchange.detail
            ):
                room -= failure.used_tokens
            if MIN_OUTPUT <= room < request.max_tokens:
                return replace(request, max_tokens=room), f"asked again for at most {room} tokens of output"
        if "compaction" in request.extra:
            return None  # the caller asks the model itself for a summary
        if failure.kind in ("invalid_request", "bad_thinking", "bad_block") and feature_refused(exchange):
            url = request.endpoint.base_url
            less = self.features(request.endpoint).less()
            if less is not None:
                self._features[url] = less
                return request, f"the server refused an optional feature; asked again with {less}"
        return None

    async def _client(self, endpoint: Endpoint) -> Client:
        secret = await self._secret(endpoint)
        key = (endpoint.base_url, secret)
        if key not in self._clients:
            make = await self.loader.load()
            limits = self.settings.local_limits if endpoint.local else self.settings.limits
            self._clients.setdefault(key, make(endpoint.base_url, secret, limits))
        return self._clients[key]

    async def _secret(self, endpoint: Endpoint) -> str:
        if endpoint.local:
            return credentials.LOCAL_KEY
        if endpoint.base_url in self.settings.secrets:
            return self.settings.secrets[endpoint.base_url]
        # A keyring may ask a service, and that service the person: not on the loop.
        found = await asyncio.to_thread(credentials.find, endpoint.base_url)
        return found.secret

    # ---- the small requests -------------------------------------------------------------------------------------------

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Tokens of the request as the server counts them; None when it cannot (the caller estimates)."""
        client = await self._client(request.endpoint)
        features = self.features(request.endpoint)
        counted = await client.count_tokens(arguments(request, self.facts(request.endpoint), features))
        return counted if isinstance(counted, int) else None

    def estimate_tokens(self, request: ModelRequest) -> int:
        return estimate_tokens(request)

    async def list_models(self, endpoint: Endpoint | None = None) -> list[ModelFacts]:
        """The models of a server; for the first-party API the known ones when it cannot be asked."""
        endpoint = endpoint or Endpoint("")
        client = await self._client(endpoint)
        listed = await client.list_models()
        if isinstance(listed, Exchange):
            return [] if endpoint.base_url else list(KNOWN.values())
        merged = merge(listed)
        self._listed[endpoint.base_url] = merged
        return list(merged.values())

    async def test(
        self, base_url: str = "", model: str = "", secret: str = "", *, local: bool = False
    ) -> Tested:
        """Try an address, a key and a model with the smallest request there is. Raises BadInput for what is no
        address."""
        url = normalise(base_url)
        endpoint = Endpoint(model, url, local)
        make = await self.loader.load()
        key = secret or await self._secret(endpoint)
        client = make(url, key, self.settings.limits)
        try:
            listed = await client.list_models()
            names = [] if isinstance(listed, Exchange) else list(merge(listed))
            if isinstance(listed, Exchange):
                failure = classify(listed)
                # A named model is asked all the same, where the list alone may be what the server does not have.
                hopeless = failure.kind in ("auth", "permission", "network", "quota")
                if hopeless or (not model and failure.kind not in ("invalid_request", "model_not_found")):
                    return Tested(False, f"{failure.sentence} {failure.advice}".strip())
            wanted = model or (names[0] if names else "")
            if not wanted:
                return Tested(
                    False,
                    "The server answers, but does not say which models it has. Name one in Settings, Model.",
                )
            request = ModelRequest(
                replace(endpoint, model=wanted), "", [{"role": "user", "content": "Hi"}], [], max_tokens=16
            )
            made = {"model": wanted, "max_tokens": 16, "messages": request.messages}
            exchange = await client.exchange(made, lambda _: None)
            failure_ = failure_of(exchange)
            if failure_ is not None and failure_.kind != "refusal":
                return Tested(False, f"{failure_.sentence} {failure_.advice}".strip(), names)
            return Tested(True, f"{wanted} answers.", names)
        finally:
            await client.close()


def served_by(exchange: Exchange) -> str:
    """The model that the server itself went on with after a refusal; "" = none."""
    usage = exchange.raw.get("usage")
    rounds = usage.get("iterations") if isinstance(usage, dict) else None
    for entry in reversed(rounds if isinstance(rounds, list) else []):
        if isinstance(entry, dict) and entry.get("type") == "fallback_message":
            return str(entry.get("model", ""))
    for block in reversed(exchange.blocks):
        if block.get("type") == "fallback" and isinstance(block.get("to"), dict):
            return str(block["to"].get("model", ""))
    return ""


def failure_of(exchange: Exchange) -> Failure | None:
    """The failure of an exchange; None when it is a reply. A refusal and a full window are failures; a reply that is
    empty or ends in an unknown way is for the caller to judge."""
    if exchange.outcome != "complete":
        return classify(exchange)
    if exchange.stop_reason in ("refusal", "model_context_window_exceeded"):
        return classify(exchange)
    return None
