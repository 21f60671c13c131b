"""Collect the texts of the window into `resources/i18n/*.ts` and compile them to `.qm`.

    python packaging/translations.py            collect and compile
    python packaging/translations.py --check    only say whether something is missing or stale (exit code 1)

English needs a file for its plurals only; every other language translates everything.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "desktop" / "worldline" / part for part in ("ui", "viewmodel")]
FOLDER = ROOT / "resources" / "i18n"
LANGUAGES = {"en": ["-pluralonly"], "zh_CN": []}


def _tool(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name) or name


def collect(language: str, file: Path) -> None:
    sources = sorted(str(path) for folder in SOURCES for path in folder.rglob("*.py"))
    command = [_tool("pyside6-lupdate"), "-no-obsolete", "-locations", "none", *LANGUAGES[language],
               "-target-language", language, *sources, "-ts", str(file)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)


def compile_file(file: Path, out: Path) -> None:
    subprocess.run(
        [_tool("pyside6-lrelease"), "-silent", str(file), "-qm", str(out)], check=True, capture_output=True
    )


def unfinished(file: Path) -> list[str]:
    """Source texts without a finished translation."""
    text = file.read_text("utf-8")
    messages = re.findall(r"<message.*?</message>", text, re.DOTALL)
    return [m for m in messages if 'type="unfinished"' in m or "<translation></translation>" in m]


def check() -> list[str]:
    """What is wrong, as sentences; empty = all is translated and compiled."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for language in LANGUAGES:
            file = FOLDER / f"worldline_{language}.ts"
            fresh = Path(folder) / file.name
            shutil.copyfile(file, fresh)
            collect(language, fresh)
            missing = unfinished(fresh)
            for message in missing[:10]:
                source = re.search(r"<source>(.*?)</source>", message, re.DOTALL)
                faults.append(f"{language}: not translated: {source.group(1) if source else message}")
            if len(missing) > 10:
                faults.append(f"{language}: and {len(missing) - 10} more")
            compiled = Path(folder) / f"{language}.qm"
            compile_file(file, compiled)
            shipped = FOLDER / f"worldline_{language}.qm"
            if not shipped.exists() or shipped.read_bytes() != compiled.read_bytes():
                faults.append(f"{language}: the .qm is not what the .ts gives; run packaging/translations.py")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Collect and compile the translations of the window.")
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        faults = check()
        sys.stdout.write("\n".join(faults) + "\n" if faults else "complete\n")
        return 1 if faults else 0
    for language in LANGUAGES:
        file = FOLDER / f"worldline_{language}.ts"
        collect(language, file)
        compile_file(file, FOLDER / f"worldline_{language}.qm")
        sys.stdout.write(f"{language}: {len(unfinished(file))} unfinished\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
