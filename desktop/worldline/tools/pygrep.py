"""Searching with Python's own regular expressions, for machines without ripgrep, in a process of its own.

Some patterns take for ever on some lines, and Python's matcher neither stops nor lets any other thread of its process
run meanwhile: in the engine it would stop everything. A process can be ended.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from worldline.tools.helper import Ended, Helper
from worldline.tools.textfile import binary_kind, decode

MAX_BYTES = 20_000_000


def search(
    pattern: str,
    names: Sequence[Path],
    *,
    ignore_case: bool,
    context: int,
    limit: int,
    seconds: float,
    helper: Helper,
) -> tuple[list[str], bool]:
    """Lines as ripgrep gives them, and whether there are more. Blocking. Raises TimeoutError, `Ended`."""
    order = {
        "pattern": pattern, "names": [str(name) for name in names], "ignore_case": ignore_case, "context": context,
        "limit": limit,
    }  # fmt: skip
    home = str(Path(__file__).resolve().parent.parent.parent)
    known = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    code, said = helper.run(
        [sys.executable, "-m", "worldline.tools.pygrep"],
        seconds=seconds,
        data=json.dumps(order).encode(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([home, *known])},
    )
    if code != 0:  # Python itself has ended it: there was no memory for what was found
        raise Ended("its program ended with an error")
    lines: list[str] = json.loads(said)
    return lines[:limit], len(lines) > limit


def matches(name: Path, pattern: re.Pattern[str], context: int) -> list[str]:
    try:
        info = name.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            return []
        data = name.read_bytes()
    except OSError:
        return []  # gone or not readable: it has no matches that could be shown
    if binary_kind(data):
        return []
    rows = decode(data).text.splitlines()
    hits = [index for index, row in enumerate(rows) if pattern.search(row)]
    shown = {near for hit in hits for near in range(max(0, hit - context), min(len(rows), hit + context + 1))}
    marks = set(hits)
    return [
        f"{name}{':' if i in marks else '-'}{i + 1}{':' if i in marks else '-'}{rows[i]}"
        for i in sorted(shown)
    ]


def main() -> None:
    order = json.load(sys.stdin)
    pattern = re.compile(order["pattern"], re.IGNORECASE if order["ignore_case"] else 0)
    lines: list[str] = []
    for name in order["names"]:
        lines += matches(Path(name), pattern, order["context"])
        if len(lines) > order["limit"]:
            break
    sys.stdout.write(json.dumps(lines[: order["limit"] + 1]))


if __name__ == "__main__":
    main()
