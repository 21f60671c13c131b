"""Render every view of the window with its demo into resources/screenshots, in both themes and languages.

    python3 packaging/dev.py screenshots [VIEW ...] [--large]

Each picture is the real window on the real engine, painted without a display. `--large` adds 2560×1440 at scale 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "resources" / "screenshots"
VIEWS = (
    "main",
    "compare",
    "approval",
    "jump-plan",
    "effects",
    "first-start",
    "new-session",
    "settings",
    "sessions",
    "palette",
    "as-model-sees",
)
THEMES = ("light", "dark")
LANGUAGES = {"en": "en", "zh": "zh_CN"}
SIZES = {"": "1280x800", "-large": "2560x1440"}


def picture(view: str, theme: str, lang: str, size: str) -> str:
    """Take one picture; returns what went wrong, "" = nothing."""
    name = f"{view}-{theme}-{lang}{size}.png"
    command = [
        sys.executable, "-m", "worldline", "demo", "--screenshot", str(OUT / name), "--view", view, "--theme", theme,
        "--lang", LANGUAGES[lang], "--size", SIZES[size],
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=300)
    if done.returncode == 0 and (OUT / name).exists():
        return ""
    return f"{name}: {done.stderr.strip()[-300:] or 'no picture'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="screenshots", description=__doc__)
    parser.add_argument("views", nargs="*", choices=[*VIEWS, []], metavar="VIEW")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = [
        (view, theme, lang, size)
        for view in options.views or VIEWS
        for theme in THEMES
        for lang in LANGUAGES
        for size in (SIZES if options.large else [""])
    ]
    started = time.monotonic()
    # Two at a time: each opens an engine and the model client of its own.
    with ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(lambda job: picture(*job), wanted) if p]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(
        f"{len(wanted) - len(problems)} of {len(wanted)} pictures in {time.monotonic() - started:.0f} s: {OUT}"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
