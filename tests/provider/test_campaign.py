"""Many turns under random faults: each ends exactly once, nothing is lost, nothing salvaged is run."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter

import pytest

from provider.conftest import REPLY, Heard, request_for
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.model import Endpoint
from worldline.provider.retry import RetryPolicy
from worldline.provider.transport import Limits
from worldline.rehearsal.catalog import FAULTS
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer

SLOW = {
    "hang-before-headers",
    "mid-stall",
    "mid-pings",
    "pings-only",
    "headers-only",
    "thinking-forever",
    "slow-headers",
}
"""These wait for a watchdog; they are drawn seldom."""
VALID = {
    "tool-ok",
    "tools-interleaved",
    "tool-no-deltas",
    "tool-at-start",
    "tool-raw-newline",
    "tool-same-ids",
}


async def campaign(turns: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    quick = sorted(set(FAULTS) - SLOW - {"split-bytes", "tool-deep"})

    def fault(_: Conversation) -> str:
        draw = rng.random()
        if draw < 0.35:
            return ""
        return rng.choice(sorted(SLOW)) if draw < 0.37 else rng.choice(quick)

    limits = Limits(30, 1, 1, 1, 1)
    policy = RetryPolicy(attempts=4, fallback_attempts=2, base_s=0.0005, cap_s=0.002, retry_after_cap_s=0.002)
    settings = ProviderSettings(retry=policy, local_limits=limits, cool_down_s=0.01, seed=seed)
    gateway = Gateway(settings)
    ends: Counter[str] = Counter()
    try:
        with RehearsalServer(Scenario.of(REPLY, faults=fault), max_hang_s=3) as server:
            chain = [Endpoint("b", server.base_url, True)]
            for _ in range(turns):
                heard = Heard()
                answer = await gateway.ask(request_for(server, "a"), heard, chain=chain)
                exchange, failure = answer.exchange, answer.failure
                ends[failure.kind if failure else "reply"] += 1
                assert len(heard.retries) == len(answer.attempts)
                assert heard.fallbacks == answer.fallbacks
                if failure is not None:
                    assert failure.sentence and failure.stop_reason
                    assert not exchange.runnable
                    continue
                assert exchange.outcome == "complete"
                if exchange.model == "b":
                    assert answer.fallbacks, "a fallback is never silent"
                kept = {block["id"] for block in exchange.blocks if block["type"] == "tool_use"}
                for call in exchange.tool_uses:
                    if exchange.runnable and not call.error:
                        assert call.id in kept
                        assert call.name in ("write", "read")
            assert server.defects == []
    finally:
        await gateway.close()
    return ends


async def test_three_hundred_turns_under_random_faults() -> None:
    ends = await campaign(300, seed=7)
    assert sum(ends.values()) == 300
    assert ends["reply"] > 100 and len(ends) > 5


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("WORLDLINE_CAMPAIGN"), reason="set WORLDLINE_CAMPAIGN=1 for the long run"
)
@pytest.mark.timeout(900)
async def test_two_thousand_turns_under_random_faults() -> None:
    ends = await campaign(2000, seed=20261130)
    assert sum(ends.values()) == 2000


def test_nothing_but_the_loader_loads_the_sdk() -> None:
    """Importing it takes seconds, so no module of the package may do it on the way."""
    code = (
        "import sys, pkgutil, importlib, worldline.provider as p\n"
        "for m in pkgutil.iter_modules(p.__path__):\n"
        "    if m.name != 'sdk': importlib.import_module('worldline.provider.' + m.name)\n"
        "assert 'anthropic' not in sys.modules and 'httpx2' not in sys.modules\n"
        "import asyncio\n"
        "from worldline.provider.loader import Loader\n"
        "async def main():\n"
        "    loader = Loader()\n"
        "    one, two = await asyncio.gather(loader.load(), loader.load())\n"
        "    assert one is two and loader.seconds > 0 and 'anthropic' in sys.modules\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
