"""What happens in a workspace, at random."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

_NAMES = ["a", "b", "A", "x.log", ".gitignore", "d", "e", "link", ".env"]


def step(rng: random.Random, work: Path) -> None:
    """One small change, or none."""
    folders = [
        work,
        *(p for p in work.rglob("*") if p.is_dir() and not p.is_symlink() and ".git" not in p.parts),
    ]
    place = rng.choice(folders)
    path = place / rng.choice(_NAMES)
    there = path.exists() or path.is_symlink()
    match rng.randrange(9):
        case 0 | 1 | 2 if not path.is_dir():
            path.unlink(missing_ok=True) if path.is_symlink() else None
            path.write_text(rng.choice(["", "*.log\n", "b\n", "one", "two" * 50]))
        case 3 if there and (not path.is_dir() or path.is_symlink()):
            path.unlink()
        case 4 if there and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        case 5 if not there:
            path.mkdir()
        case 6 if there:
            to = rng.choice(folders) / rng.choice(_NAMES)
            inside = path.is_dir() and to.is_relative_to(path)
            if not (to.exists() or to.is_symlink()) and not inside:
                path.rename(to)
        case 7 if not there:
            path.symlink_to(rng.choice(["a", "b"]))
        case 8 if there and path.is_file() and not path.is_symlink():
            if rng.random() < 0.5:
                path.chmod(rng.choice([0o644, 0o755, 0o600]))
            else:  # as editors save: beside it, then over it
                temp = path.with_name("temp~")
                temp.write_text(rng.choice(["saved", "two" * 50]))
                temp.replace(path)
        case _:
            return
