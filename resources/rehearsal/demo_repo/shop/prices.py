"""Prices as the suppliers write them."""

from decimal import Decimal


def parse_price(text: str) -> Decimal:
    """The amount in a price like `12.50`, `12,50 €` or `$1,299.00`."""
    number = text.replace("€", "").replace("$", "").strip()
    return Decimal(number.replace(",", "."))


def format_price(amount: Decimal) -> str:
    """The amount as it is shown: `1,299.00`."""
    return f"{amount:,.2f}"
