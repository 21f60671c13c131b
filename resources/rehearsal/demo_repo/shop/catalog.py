"""The price list."""

import csv
from dataclasses import dataclass
from decimal import Decimal

from shop.prices import parse_price


@dataclass(frozen=True)
class Product:
    name: str
    price: Decimal
    stock: int


def read_catalog(path: str) -> list[Product]:
    """The products of a CSV file with the columns name, price and stock."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Product(row["name"], parse_price(row["price"]), int(row["stock"]))
            for row in csv.DictReader(file)
        ]
