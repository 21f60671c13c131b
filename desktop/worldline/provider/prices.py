"""What tokens cost. The table is dated, can be overridden by a file, and knows that it does not know everything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import BadInput
from worldline.core.usage import Usage

AS_OF = "2026-11-01"
CACHE_WRITE = 1.25
"""Times the input price, for five minutes."""
CACHE_READ = 0.1

_TABLE: dict[str, tuple[float, float]] = {
    "claude-fable-5-2": (8, 40),
    "claude-fable-5-1": (10, 50),
    "claude-opus-5-5": (4, 20),
    "claude-opus-5": (5, 25),
    "claude-sonnet-5-5": (2, 10),
    "claude-haiku-5-5": (0.10, 0.50),
    "claude-haiku-4-5": (1, 5),
}
"""US dollars for a million tokens, in and out."""
_FREE = frozenset({"rehearsal", "rehearsal-large", "rehearsal-small"})
"""Scripts, not models: these are known to cost nothing."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float


class PriceTable:
    """Prices by model id. An unknown model has no price: never 0. `own` are those that hold on a server of the
    person's own as well: there a model may bear the name of one that costs something elsewhere."""

    def __init__(self, prices: dict[str, Price], as_of: str, own: frozenset[str] = frozenset()) -> None:
        self._prices = prices
        self._own = own
        self.as_of = as_of

    def price(self, model: str) -> Price | None:
        """Dated ids (`…-20251001`) cost what their undated name costs."""
        found = self._prices.get(model)
        if found is None:
            head, _, tail = model.rpartition("-")
            if len(tail) == 8 and tail.isdigit():
                found = self._prices.get(head)
        return found

    def cost(self, model: str, usage: Usage, *, local: bool = False) -> float | None:
        """Dollars for these tokens; None when the price is not known."""
        if local and model not in self._own:
            return None
        price = self.price(model)
        if price is None:
            return None
        return (
            usage.input_tokens * price.input
            + usage.output_tokens * price.output
            + usage.cache_write_tokens * price.cache_write
            + usage.cache_read_tokens * price.cache_read
        ) / 1_000_000

    def cost_of_rounds(self, usage: Any, model: str, *, local: bool = False) -> float | None:
        """The cost of a reply that several models had a part in, each part at its own price: `usage` as the API sent
        it. None where it does not say, or the price of one is not known."""
        rounds = usage.get("iterations") if isinstance(usage, dict) else None
        parts = [r for r in rounds if isinstance(r, dict)] if isinstance(rounds, list) else []
        if not any(part.get("type") == "fallback_message" for part in parts):
            return None
        costs = [
            self.cost(str(part.get("model") or model), Usage.from_api(part), local=local) for part in parts
        ]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def label(self, model: str) -> str:
        """`$2 / $10` for a million tokens in and out; "" when not known."""
        price = self.price(model)
        return f"${price.input:g} / ${price.output:g}" if price else ""


def override_file() -> Path:
    """`prices.json` in the data folder: {"as_of": "…", "models": {id: {"input": 2, "output": 10}}}."""
    return paths.data_home() / "prices.json"


def load(override: Path | None = None) -> PriceTable:
    """The built-in table with the entries of the override file on top. Raises BadInput for a file that is wrong:
    wrong prices are worse than none."""
    table = {name: _price(given, out) for name, (given, out) in _TABLE.items()}
    table |= {name: _price(0, 0) for name in _FREE}
    path = override if override is not None else override_file()
    if not path.is_file():
        return PriceTable(table, AS_OF, _FREE)
    try:
        data = json.loads(path.read_text("utf-8"))
        models = data["models"]
        for name, raw in models.items():
            table[str(name)] = _from_json(raw)
        as_of = str(data.get("as_of", AS_OF))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"The price file {path} cannot be used: {error}.",
            'It must look like {"as_of": "2026-11-01", "models": {"some-model": {"input": 2, "output": 10}}}.',
        ) from error
    return PriceTable(table, as_of, _FREE | frozenset(map(str, models)))


def _price(given: float, out: float, write: float | None = None, read: float | None = None) -> Price:
    return Price(
        given,
        out,
        given * CACHE_WRITE if write is None else write,
        given * CACHE_READ if read is None else read,
    )


def _from_json(raw: dict[str, Any]) -> Price:
    numbers = {}
    for key in ("input", "output", "cache_write", "cache_read"):
        value = raw.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 100_000:
            raise ValueError(f"{key} is no price: {value!r}")
        numbers[key] = float(value)
    return _price(numbers["input"], numbers["output"], numbers.get("cache_write"), numbers.get("cache_read"))
