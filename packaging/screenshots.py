"""Render every view of the window with its demo into resources/screenshots: themes, languages, sizes.

    python3 packaging/dev.py screenshots [VIEW ...]

Each picture is the real window on the real engine, painted without a display. All views in light and dark and in both
languages at 1280×800; the main views also in high contrast, at 2560×1440, and at 125, 150 and 200 %. The pictures are written
with a palette of 256 colours, which nobody can tell from the original and which takes a third of the room.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "resources" / "screenshots"
VIEWS = (
    "main", "compare", "compare-three", "approval", "approval-change", "jump-plan", "effects", "question", "recovery",
    "bring-home", "first-start", "new-session", "settings", "settings-rules", "settings-grants", "sessions", "storage", "diagnostics",
    "as-model-sees", "status", "palette", "start", "folders",
)  # fmt: skip
MAIN = ("main", "compare-three", "approval-change", "storage")
LANGUAGES = {"en": "en", "zh": "zh_CN"}
EXACT = 96
"""The most common colours, kept to the bit."""
Round = tuple[tuple[str, ...], str, str, list[str], str]
ROUNDS: tuple[Round, ...] = (
    (VIEWS, "light,dark", "en", [], ""),
    (VIEWS, "light,dark", "zh", [], ""),
    (MAIN, "contrast,contrast-dark", "en", [], ""),
    (("main", "compare"), "light", "en", ["--size", "2560x1440"], "-large"),
    (("main", "approval-change"), "light", "en", ["--scale", "1.25"], "-125"),
    (("main", "compare-three"), "dark", "zh", ["--scale", "1.5"], "-150"),
    (("main", "settings"), "light", "zh", ["--scale", "2"], "-200"),
)
"""Views, themes, language, more options, end of the names. Each is one demo."""


def take(round_: Round, wanted: set[str]) -> list[Path]:
    """Take the pictures of one round. Raises RuntimeError with what went wrong."""
    views, themes, lang, more, end = round_
    names = [view for view in views if view in wanted]
    if not names:
        return []
    command = [
        sys.executable, "-m", "worldline", "demo", "--screenshot", str(OUT / f"{{view}}-{{theme}}-{lang}{end}.png"),
        "--view", ",".join(names), "--theme", themes, "--lang", LANGUAGES[lang], *more,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-600:] or "no pictures")
    return [OUT / f"{view}-{theme}-{lang}{end}.png" for view in names for theme in themes.split(",")]


def palette(pixels: memoryview) -> list[int]:
    """256 colours for a picture: the grounds exactly as they are, the rest (edges of letters) by what is most common."""
    counted = Counter(pixels)
    exact = [color for color, _ in counted.most_common(EXACT)]
    groups: dict[int, Counter[int]] = {}
    for color, count in counted.items():
        groups.setdefault(color & 0xF0F0F0, Counter())[color] += count
    common = sorted(groups.values(), key=lambda group: -group.total())
    rest = [group.most_common(1)[0][0] for group in common]
    return list(dict.fromkeys([*exact, *rest]))[:256]


def shrink(files: list[Path]) -> None:
    """Write the pictures again with a palette. Qt does it, as it is there anyway."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QImageWriter

    for file in files:
        image = QImage(str(file)).convertToFormat(QImage.Format.Format_RGB32)
        table = palette(memoryview(image.constBits()).cast("B").cast("I"))
        small = image.convertToFormat(
            QImage.Format.Format_Indexed8, table, Qt.ImageConversionFlag.ThresholdDither
        )
        writer = QImageWriter(str(file), b"png")
        writer.setCompression(100)
        if not writer.write(small):
            raise RuntimeError(f"{file}: {writer.errorString()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="screenshots", description=__doc__)
    parser.add_argument("views", nargs="*", choices=[*VIEWS, []], metavar="VIEW")
    wanted = set(parser.parse_args().views or VIEWS)
    OUT.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    made: list[Path] = []
    try:
        for round_ in ROUNDS:
            files = take(round_, wanted)
            shrink(files)
            made += files
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    if wanted == set(VIEWS):
        for old in set(OUT.glob("*.png")) - set(made):
            old.unlink()
    size = sum(file.stat().st_size for file in made) / 1e6
    print(f"{len(made)} pictures, {size:.1f} MB, in {time.monotonic() - started:.0f} s: {OUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
