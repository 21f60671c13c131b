"""Where a person keeps secrets. How they are masked in texts: `core.secrets`."""

from __future__ import annotations

SECRET_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    ".config/gcloud", ".config/gh", ".local/share/keyrings", ".password-store", ".bash_history", ".zsh_history",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/op",
)  # fmt: skip
"""Below the home folder: what holds keys, passwords or histories."""
