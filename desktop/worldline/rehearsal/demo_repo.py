"""The repository that the demo works on: small, real, with a bug and a test that finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from worldline.core import paths
from worldline.core.errors import WorldlineError

FAILED_PROMPT = "Fix the failing price test."
GOOD_PROMPT = "Look first: read the parser and its tests, then fix the failing price test properly."
FAILED_PROMPT_ZH = "修复失败的价格测试。"
GOOD_PROMPT_ZH = "先仔细看解析函数和测试，再修复失败的价格测试。"

_HISTORY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("2026-03-02T09:00:00", "Read the price list", ("README.md", ".gitignore", "shop", "data")),
    ("2026-03-09T14:30:00", "Test the prices", ("tests",)),
    ("2026-03-16T11:15:00", "Start a changelog", ("CHANGELOG.md", "build")),
)


def scenario_file() -> Path:
    """The script that goes with it."""
    return paths.resources_dir() / "rehearsal" / "demo.yaml"


def seed(target: Path, *, remote: Path | None = None) -> None:
    """Make the repository at `target`, which must not exist or be empty, with three commits on `main`; with `remote`,
    also a bare repository there that it can push to. Raises WorldlineError."""
    if target.exists() and any(target.iterdir()):
        raise WorldlineError(f"{target} is not empty.", "Give a new folder for the demo.")
    source = paths.resources_dir() / "rehearsal" / "demo_repo"
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    # Under its own name it would rule the repository that these files come from.
    (target / "gitignore").rename(target / ".gitignore")
    _git(target, "init", "-q", "-b", "main")
    for date, message, names in _HISTORY:
        _git(target, "add", "-f", "--", *names)
        _git(target, "commit", "-q", "--no-gpg-sign", "-m", message, date=date)
    if remote is not None:
        remote.parent.mkdir(parents=True, exist_ok=True)
        _git(target, "init", "-q", "--bare", "-b", "main", str(remote))
        _git(target, "remote", "add", "origin", str(remote))
        _git(target, "push", "-q", "-u", "origin", "main")


def _git(cwd: Path, *arguments: str, date: str = "") -> None:
    who = {"NAME": "Shop", "EMAIL": "shop@example.org"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_{key}": value for key, value in who.items()}
        if date:
            environment[f"GIT_{role}_DATE"] = f"{date}+0000"
    # Neither hooks nor filters of the person's own configuration belong into the demo.
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        subprocess.run(
            ["git", *arguments], cwd=cwd, env=environment, check=True, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise WorldlineError(
            "git is not installed.", "Install git; the demo makes a real repository."
        ) from error
    except subprocess.CalledProcessError as error:
        raise WorldlineError(
            f"git {arguments[0]} failed: {error.stderr.strip()}", "See the message of git."
        ) from error
