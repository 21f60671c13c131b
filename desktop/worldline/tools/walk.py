"""Files of a folder as a person would list them: ignored ones left out, by ripgrep when it is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pathspec

from worldline.tools.helper import Helper

FILE_LIMIT = 200_000
LIST_SECONDS = 60


def ripgrep() -> str | None:
    return shutil.which("rg")


def files_below(folder: Path, helper: Helper) -> list[str]:
    """Relative paths of all files that git would not ignore, hidden ones too, `.git` never. Links are not followed.
    Blocking. Raises TimeoutError, `Ended`."""
    program = ripgrep()
    if program is not None:
        argv = [
            program,
            "--files",
            "--hidden",
            "--no-messages",
            "--no-config",
            "--no-require-git",
            "--glob",
            "!.git",
            "-0",
        ]
        code, said = helper.run(argv, seconds=LIST_SECONDS, cwd=folder)
        if code in (0, 1) or said:
            return [os.fsdecode(name).removeprefix("./") for name in said.split(b"\0") if name][:FILE_LIMIT]
    return _walk(folder)


def _walk(folder: Path) -> list[str]:
    found: list[str] = []
    specs: dict[str, pathspec.GitIgnoreSpec] = {}
    for current, folders, files in os.walk(folder):
        base = os.path.relpath(current, folder)
        base = "" if base == "." else base + "/"
        if ".gitignore" in files:
            try:
                lines = (Path(current) / ".gitignore").read_text("utf-8", "replace").splitlines()
                specs[base] = pathspec.GitIgnoreSpec.from_lines(lines)
            except OSError:
                pass  # unreadable: nothing is ignored by it

        def ignored(name: str, base: str = base) -> bool:
            path = base + name
            return any(path.startswith(at) and spec.match_file(path[len(at) :]) for at, spec in specs.items())

        folders[:] = sorted(name for name in folders if name != ".git" and not ignored(name + "/"))
        found += [base + name for name in sorted(files) if not ignored(name)]
        if len(found) >= FILE_LIMIT:
            break
    return found[:FILE_LIMIT]
