"""Which model answers, where it is reached, and what is known of it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from worldline.core.errors import BadInput, WorldlineError
from worldline.core.usage import Usage
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.events import EngineReady
from worldline.provider import catalog
from worldline.provider.address import is_loopback, normalise
from worldline.provider.catalog import ModelFacts
from worldline.provider.model import Answer, Endpoint, Listener, ModelRequest

if TYPE_CHECKING:
    from worldline.provider.gateway import Gateway, ProviderSettings
    from worldline.provider.transport import OnCancel

UNKNOWN_WINDOW = 200_000
LIST_S = 5.0
"""A server that takes longer to list its models is not waited for."""
logger = logging.getLogger(__name__)


class ModelDesk:
    """The gateway of one session, with the choices of the settings. Implements `agent.deps.ModelPort`."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._gateway: Gateway | None = None
        self._base: ProviderSettings | None = None
        """What the gateway came with, without the person's settings."""
        self._chosen: dict[str, str] = {}
        """Server of the person's own → what it offers, when no model was named."""
        self._asked: set[str] = set()
        """Servers that were asked for their models."""
        self._learnt: dict[tuple[str, str], int] = {}
        """(server, model) → what the server said that it reads. Kept with the session: known after a restart too."""
        self._choices: dict[str, str] = {}
        """Server → the model that was taken there when nobody had named one."""
        for record in shared.doc.records("model"):
            data = record.data
            self._learn(str(data["server"]), str(data["model"]), int(data["context"]), bool(data["chosen"]))

    @property
    def gateway(self) -> Gateway:
        if self._gateway is None:
            # Loaded late, like the credentials below: keyrings are slow to import.
            from worldline.provider.gateway import Gateway

            self._gateway = Gateway()
            self._base = self._gateway.settings
            self.set_up()
        return self._gateway

    def use(self, gateway: Gateway) -> None:
        """Take a gateway that is set up already; the settings go on top."""
        self._gateway = gateway
        self._base = gateway.settings
        self.set_up()

    def set_up(self) -> None:
        """Bring the gateway up to date with the settings. What cannot be used is told, and the defaults hold."""
        if self._gateway is None or self._base is None:
            return
        from worldline.engine.provider_settings import provider_settings

        try:
            wanted = provider_settings(self._shared.settings.values, self._base)
        except BadInput as error:
            self._tell(str(error))
            wanted = self._base
        if wanted != self._gateway.settings:
            self._gateway.set_up(wanted)

    def _tell(self, problem: str) -> None:
        if problem not in self._shared.settings.problems:
            self._shared.settings.problems.append(problem)
            logger.warning(problem)

    # -- choices ----------------------------------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        given = self._shared.settings.text("base_url") or os.environ.get("ANTHROPIC_BASE_URL", "")
        return normalise(given)

    def place(self, model: str = "") -> Endpoint:
        """Where the next answer comes from."""
        url = self.base_url
        offered = self._chosen.get(url) or self._choices.get(url, "")
        named = model or self._shared.settings.text("model") or offered or catalog.DEFAULT_MODEL
        return Endpoint(named, url, local=bool(url) and is_loopback(url) and not self._full_api)

    @property
    def _full_api(self) -> bool:
        """The server at `base_url` speaks all of the first-party API."""
        return self._shared.settings.get("full_api") is True

    def chain(self, model: str) -> list[Endpoint]:
        """Models to fall back to, on this server or others. On a server of the person's own only those that the
        settings name."""
        from worldline.engine.provider_settings import chain_of

        place = self.place(model)
        try:
            named = chain_of(self._shared.settings.get("chain"), place)
        except BadInput as error:
            self._tell(str(error))
            named = []
        if not named and not place.base_url:
            named = [Endpoint(n) for n in catalog.default_chain(place.model)]
        return [e for e in named if (e.model, e.base_url) != (place.model, place.base_url)]

    def window(self) -> int:
        """Tokens that the model in use can read; what nothing is known of counts as 200,000."""
        return self.facts(self.place().model).context or UNKNOWN_WINDOW

    def _known(self, place: Endpoint) -> ModelFacts:
        """What is known without loading anything."""
        return catalog.facts(place.model) if self._gateway is None else self._gateway.facts(place)

    def facts(self, model: str) -> ModelFacts:
        return self.gateway.facts(self.place(model))

    async def choose(self) -> None:
        """Find out what a server of the person's own offers: what its models can read, and which one to take when
        nobody named one. Costs one small request, once; a server that does not answer it is used all the same."""
        shared = self._shared
        url = self.base_url
        if not url or url in self._asked:
            return
        if not self.gateway.loader.seconds:
            shared.status.set(sentence="The model client is being loaded.")
            await self.load()
            shared.status.set(sentence="")
        self._asked.add(url)
        try:
            async with asyncio.timeout(LIST_S):
                listed = await self.gateway.list_models(Endpoint("", url, self.place().local))
        except TimeoutError:
            listed = []
        self._settle(url, [m.id for m in listed])

    def _settle(self, url: str, names: list[str]) -> None:
        """The server at `url` offers these models; none = it does not say."""
        self._asked.add(url)
        self._chosen[url] = catalog.DEFAULT_MODEL if catalog.DEFAULT_MODEL in names or not names else names[0]
        if names:
            self._remember()
        self.describe()

    def _learn(self, server: str, model: str, context: int, chosen: bool) -> None:
        self._learnt[(server, model)] = context
        if chosen:
            self._choices[server] = model

    def _remember(self) -> None:
        """Keep what the server said of the model in use, for the next start."""
        place = self.place()
        context = self._known(place).context
        server, model = place.base_url, place.model
        chosen = model == self._chosen.get(server) and not self._shared.settings.text("model")
        known = self._learnt.get((server, model)) == context
        settled = not chosen or self._choices.get(server) == model
        if not (known and settled) and not self._shared.info.read_only:
            data = {"server": server, "model": model, "context": context, "chosen": chosen}
            self._shared.doc.add_record("model", data)
            self._learn(server, model, context, chosen)

    def describe(self) -> None:
        """Bring the status up to date with the settings. Which model a server of the person's own takes when nobody named
        one is not known before it was asked: to name ours would be wrong."""
        place = self.place()
        if place.base_url and place.base_url not in self._asked and not self._is_named(place.base_url):
            self._shared.status.set(asked_model="", model="", context_limit=0)
            return
        limit = self._known(place).context or self._learnt.get((place.base_url, place.model), 0)
        self._shared.status.set(asked_model=place.model, model=place.model, context_limit=limit)

    def _is_named(self, url: str) -> bool:
        """The person, or the server before, said which model it is."""
        return bool(self._shared.settings.text("model") or self._choices.get(url))

    def price(self, usage: Usage, model: str) -> Usage:
        """The cost of what the gateway did not see the end of: replies that were cut off."""
        cost = self.gateway.prices.cost(model, usage, local=self.place(model).local)
        return usage.model_copy(update={"cost": cost})

    def offers_compaction(self, endpoint: Endpoint) -> bool:
        return self.gateway.offers_compaction(endpoint)

    # -- asking -----------------------------------------------------------------------------------------------------

    async def ask(
        self,
        request: ModelRequest,
        listener: Listener,
        *,
        chain: Sequence[Endpoint],
        retry_now: asyncio.Event,
        on_cancel: OnCancel | None = None,
    ) -> Answer:
        if not self.gateway.loader.seconds:
            self._shared.status.set(
                sentence="The model client is being loaded; your message is saved and waits."
            )
            await self.load()
            self._shared.status.set(sentence="")
        return await self.gateway.ask(
            request, listener, chain=chain, retry_now=retry_now, on_cancel=on_cancel
        )

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return await self.gateway.count_tokens(request)

    async def load(self) -> None:
        """Import the SDK on a thread; announced once."""
        before = self.gateway.loader.seconds
        await self.gateway.loader.load()
        if not before:
            self._shared.emit("engine_ready", EngineReady(seconds=self.gateway.loader.seconds))

    async def close(self) -> None:
        if self._gateway is not None:
            await self._gateway.close()

    # -- commands ---------------------------------------------------------------------------------------------------

    async def models(self) -> c.Models:
        place = self.place()
        listed = await self.gateway.list_models(Endpoint("", place.base_url, place.local))
        if listed and place.base_url and place.base_url not in self._asked:
            self._settle(place.base_url, [m.id for m in listed])
            place = self.place()
        return c.Models(
            models=[
                c.ModelInfo(
                    id=m.id, name=m.name or m.id, context=m.context, max_output=m.max_output,
                    efforts=list(m.efforts), price=self.gateway.prices.label(m.id),
                )
                for m in listed
            ],
            default=place.model,
            chain=[e.model for e in self.chain(place.model)],
            effort=self._shared.settings.text("effort"),
        )  # fmt: skip

    async def credential(self) -> c.CredentialState:
        place = self.place()
        if place.local:
            return c.CredentialState(
                service="anthropic", source="not_needed", note="A server on this machine needs no key."
            )
        from worldline.provider import credentials

        found = await asyncio.to_thread(credentials.find, place.base_url)
        source: Any = found.source if found.source in ("keyring", "environment", "none") else "none"
        return c.CredentialState(service="anthropic", source=source)

    async def set_credential(self, p: c.Credential) -> c.CredentialState:
        if p.service != "anthropic":
            raise BadInput(f"There is no service {p.service!r}.", "There is anthropic.")
        from worldline.provider import credentials

        if p.secret:
            await asyncio.to_thread(credentials.store, p.secret, self.base_url)
        else:
            await asyncio.to_thread(credentials.forget, self.base_url)
        self.gateway.forget_keys()
        return await self.credential()

    async def test(self, p: c.TestConnection) -> c.ConnectionResult:
        url = normalise(p.base_url) or self.base_url
        try:
            tested = await self.gateway.test(url, p.model, p.secret, local=bool(url) and is_loopback(url))
        except WorldlineError as error:
            return c.ConnectionResult(ok=False, sentence=str(error))
        return c.ConnectionResult(ok=tested.ok, sentence=tested.sentence, models=tested.models)
