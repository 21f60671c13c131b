"""`python -m tests.acceptance`: every row and case in both modes, printed as a table. Exits with 1 when one is not kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


class Table:
    """Collects what the tests tell."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties).get("rows", [])
        if report.when == "call" and told:
            self.rows += [(str(row), str(mode), "yes" if good else "NO") for row, mode, good in told]  # type: ignore[attr-defined]
        elif report.when == "call" or report.failed:
            name = report.nodeid.rpartition("[")[2].rstrip("]")
            case, _, mode = name.rpartition("-")
            self.rows.append((case or name, mode, "yes" if report.passed else "NO"))


def main() -> int:
    os.environ["WORLDLINE_ACCEPTANCE"] = "full"
    table = Table()
    code = pytest.main(
        [str(Path(__file__).parent), "-q", "-p", "no:randomly", "--no-header", "--tb=short"], plugins=[table]
    )
    by_row: dict[str, dict[str, str]] = {}
    for row, mode, verdict in table.rows:
        by_row.setdefault(row, {})[mode] = verdict
    print(f"\n{'row':52} {'isolated':>9} {'in place':>9}")
    for row, verdicts in by_row.items():
        print(f"{row:52} {verdicts.get('isolated', '-'):>9} {verdicts.get('in place', '-'):>9}")
    good = sum(v == "yes" for verdicts in by_row.values() for v in verdicts.values())
    print(f"{good} of {sum(map(len, by_row.values()))} yes")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
