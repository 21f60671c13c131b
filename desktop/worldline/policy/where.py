"""Patterns of paths: what they mean, and from where one would have to look for it."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from worldline.policy.shell import has_glob


def meant_names(pattern: str, root: Path) -> list[str]:
    """The pattern as a whole path, as it is written, and with links followed in what stands before its first wildcard, as
    they are in the paths it is held against. The last one is that."""
    full = os.path.normpath(root / Path(pattern).expanduser())
    base, rest = split_pattern(full)
    return list(dict.fromkeys((full, str(Path(os.path.realpath(base), *rest)))))


def split_pattern(full: str) -> tuple[Path, tuple[str, ...]]:
    """The folders before the first wildcard, and the parts from there."""
    parts = Path(full).parts
    plain = next((at for at, part in enumerate(parts) if has_glob(part)), len(parts))
    return Path(*parts[:plain]), parts[plain:]


@lru_cache(maxsize=512)
def meant(full: str) -> re.Pattern[str]:
    """`**` is any number of folders, none as well; `*` stays within a name."""
    if full.endswith("/**"):
        return re.compile(meant(full[:-3]).pattern + "(?:/.*)?" if full != "/**" else "/.*", re.DOTALL)
    said = {"/**/": "/(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(/\*\*/|\*\*|\*|\?)", full)
    return re.compile("".join(said.get(part) or re.escape(part) for part in parts), re.DOTALL)
