"""`python -m tests.crash [--kills N] [--seed S] [NAME …]`: run the crash campaigns and print what came of them.

Exits with 1 when anything was lost, invented or left broken.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from typing import Any

CAMPAIGNS = {
    "session": "tests.crash.session_campaign",
    "workspace": "tests.crash.workspace_campaign",
    "jumps": "tests.crash.jump_campaign",
}
"""Name → module with `run(kills, seed) -> {"kills": int, "failures": [str], …}`."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="crash-campaign", description="Kill the program at every write point."
    )
    parser.add_argument("names", nargs="*", choices=[[], *CAMPAIGNS], help="which campaigns; all by default")
    parser.add_argument("--kills", type=int, default=400, help="of each campaign (of jumps: sequences)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for name in options.names or CAMPAIGNS:
        try:
            campaign: Any = importlib.import_module(CAMPAIGNS[name])
        except ModuleNotFoundError as missing:
            if missing.name != CAMPAIGNS[name]:
                raise
            print(f"{name}: there is no such campaign here")
            continue
        begin = time.monotonic()
        report = campaign.run(options.kills, options.seed)
        failures = report.pop("failures")
        print(
            f"{name}: {report.pop('kills')} {report.pop('unit', 'kills')} in {time.monotonic() - begin:.0f} s, {len(failures)} failures"
        )
        for what, value in report.items():
            print(f"  {what}: {dict(value) if isinstance(value, dict) else value}")
        for failure in failures:
            print(f"  FAILED {failure}")
        failed |= bool(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
