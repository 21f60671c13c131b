import unittest

from shop.catalog import read_catalog


class ReadCatalog(unittest.TestCase):
    def test_reads_every_line(self):
        products = read_catalog("data/products.csv")
        self.assertEqual([product.stock for product in products], [40, 12, 3, 5, 150])


if __name__ == "__main__":
    unittest.main()
