"""Where a person keeps secrets. How they are masked in texts: `core.secrets`."""

from __future__ import annotations

import os
from pathlib import Path

SECRET_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    ".config/gcloud", ".config/gh", ".local/share/keyrings", ".password-store", ".bash_history", ".zsh_history",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/op",
)  # fmt: skip
"""Below the home folder: what holds keys, passwords or histories."""


def secret_place(path: Path) -> bool:
    """Keys, passwords and histories in the home folder. `path` is absolute, with links followed."""
    home = Path.home().resolve()
    return any(path.is_relative_to(home / place) for place in SECRET_PLACES)


def names_secret(word: str, root: Path) -> bool:
    """A word of a command may name such a place, or the home folder with all of them in it."""
    homes = {Path.home(), Path.home().resolve()}
    if any(f"{home / place}" in word for home in homes for place in SECRET_PLACES):
        return True
    plain = word
    for sign in "*?[{":
        plain = plain.partition(sign)[0]
    if plain != word:  # what stands before the wildcard, as far as it is a folder
        plain = plain.rpartition("/")[0] or ("/" if plain.startswith("/") else ".")
    if plain == "~" or plain.startswith("~/"):
        plain = f"{Path.home()}{plain[1:]}"
    path = Path(os.path.normpath(root / plain))
    return path in homes or secret_place(path) or secret_place(Path(os.path.realpath(path)))
