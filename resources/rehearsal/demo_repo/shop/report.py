"""What is in stock and what it is worth."""

from shop.catalog import Product
from shop.prices import format_price


def stock_report(products: list[Product]) -> str:
    lines = [f"{'product':<20}{'stock':>6}{'value':>14}"]
    total = 0
    for product in products:
        value = product.price * product.stock
        total += value
        lines.append(f"{product.name:<20}{product.stock:>6}{format_price(value):>14}")
    lines.append(f"{'total':<26}{format_price(total):>14}")
    return "\n".join(lines)
