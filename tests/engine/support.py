"""Words of a scripted model, and what it was sent."""

from __future__ import annotations

import json
import random
from typing import Any

from worldline.rehearsal.events import Call, Reply


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, arguments)


def reply(text: str = "", *calls: Call, **more: Any) -> Reply:
    return Reply(text=text, calls=list(calls), **more)


def prose(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(words))


def sent(b: Any, number: int = -1) -> str:
    return json.dumps(b.sent(number)["messages"], ensure_ascii=False)
