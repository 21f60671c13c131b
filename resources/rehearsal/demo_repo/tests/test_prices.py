import unittest
from decimal import Decimal

from shop.prices import format_price, parse_price


class ParsePrice(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(parse_price("12.50"), Decimal("12.50"))

    def test_comma_for_decimals(self):
        self.assertEqual(parse_price("24,90 €"), Decimal("24.90"))

    def test_thousands_with_points(self):
        self.assertEqual(parse_price("1.299,00 €"), Decimal("1299.00"))

    def test_thousands_with_commas(self):
        self.assertEqual(parse_price("$1,149.00"), Decimal("1149.00"))


class FormatPrice(unittest.TestCase):
    def test_thousands(self):
        self.assertEqual(format_price(Decimal("1299")), "1,299.00")


if __name__ == "__main__":
    unittest.main()
