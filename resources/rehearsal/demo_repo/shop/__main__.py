"""Print the stock report of a price list."""

import sys

from shop.catalog import read_catalog
from shop.report import stock_report

if __name__ == "__main__":
    print(stock_report(read_catalog(sys.argv[1] if len(sys.argv) > 1 else "data/products.csv")))
