"""Files that run when the person does something later: opens the folder, commits, installs, tests, pushes."""

from __future__ import annotations

import json
import re

from worldline.workspace.nested_code import in_config
from worldline.workspace.objects import MODE_DIR
from worldline.workspace.store import Store
from worldline.workspace.treediff import Difference

_NAMES = frozenset(
    {
        ".envrc", ".pre-commit-config.yaml", ".gitlab-ci.yml", "jenkinsfile", "makefile", "gnumakefile", "justfile",
        "rakefile", "taskfile.yml", "taskfile.yaml", "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py",
        "noxfile.py", "tox.ini", "build.rs", "gradlew", "build.gradle", "build.gradle.kts", "gulpfile.js", "gruntfile.js",
        ".gitattributes", ".gitmodules", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bashrc", ".bash_profile",
        ".profile", ".zshrc", ".zshenv", ".lldbinit", ".gdbinit", ".vimrc", ".exrc", ".nvimrc", "lefthook.yml",
        ".travis.yml", "azure-pipelines.yml", "dockerfile", "docker-compose.yml", "compose.yaml", "pytest.ini",
        ".mise.toml", "mise.toml", ".tool-versions", ".mcp.json",
    }
)  # fmt: skip
_PLACES = re.compile(
    r"(?:^|/)(?:\.git/config$|(?:\.git/hooks|\.githooks|\.husky)/(?!.*\.sample$)|\.github/(?:workflows|actions)/|"
    # In a folder that git takes for a repository without files of its own; git makes samples there that it never runs.
    r"hooks/(?!.*\.sample$)(?:(?:pre|post|prepare|commit|update)-|(?:applypatch-msg|fsmonitor-watchman|proc-receive|"
    r"push-to-checkout|reference-transaction|sendemail-validate|update)$)|"
    r"\.circleci/|\.vscode/(?:tasks|launch|settings)\.json$|\.idea/(?:runConfigurations/|workspace\.xml$)|"
    r"\.devcontainer/|\.cargo/config(?:\.toml)?$|\.claude/(?:settings[^/]*\.json$|hooks/)|\.worldline/hooks)|\.pth$"
)
_SCRIPT_KEYS = ("scripts", "bin", "husky", "lint-staged", "simple-git-hooks", "pre-commit")


_CONTENT = ("package.json", "pyproject.toml", "setup.cfg", "cargo.toml", "composer.json")
_GIT_CONFIG = ("config", "config.worktree")
"""In a folder that git takes for a repository without files of its own (one with `HEAD`, `objects` and `refs`), and it does so
in any folder that somebody changes into."""


_MOST_READ = 1 << 20
"""Bytes of a file whose content says whether it runs later."""


def asks_content(path: str) -> bool:
    """Whether both contents are needed to say it."""
    return path.rpartition("/")[2].lower() in (*_CONTENT, *_GIT_CONFIG)


def runs_later(path: str, old: bytes | None = None, new: bytes | None = None) -> bool:
    """Whether a change of this file is code that runs later. With both contents of a `package.json`, only if what
    runs in it has changed."""
    name = path.rpartition("/")[2].lower()
    if name == "package.json":
        return old is None or new is None or _scripts(old) != _scripts(new)
    if name in _GIT_CONFIG and new is not None:
        had = set(in_config(old or b""))
        return any(program not in had for program in in_config(new)) or _PLACES.search(path) is not None
    if name in _CONTENT:
        return old is None or new is None or _hooks(old) != _hooks(new)
    return name in _NAMES or _PLACES.search(path) is not None


def difference_runs_later(store: Store, difference: Difference) -> bool:
    """The same for a difference of two states."""
    old, new = difference.old, difference.new
    if new is None or new.mode == MODE_DIR:
        return False
    if not asks_content(difference.path):
        return runs_later(difference.path)
    if store.size_of(new.oid) > _MOST_READ:
        return True  # nobody writes such a file by hand; git would read it all the same
    before = store.read(old.oid) if old is not None and old.mode != MODE_DIR else None
    return runs_later(difference.path, before, store.read(new.oid))


def _scripts(data: bytes) -> object:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    return [value.get(key) for key in _SCRIPT_KEYS] if isinstance(value, dict) else data


_HOOK_SECTION = re.compile(
    rb"^\[+(?:build-system|tool\.(?:poetry\.)?(?:scripts|pytest|taskipy|poe)|project\.(?:gui-)?scripts|options\.entry_points|tool:pytest|package)[^\]]*\][^\[]*",
    re.MULTILINE,
)


def _hooks(data: bytes) -> list[bytes]:
    return _HOOK_SECTION.findall(data)
