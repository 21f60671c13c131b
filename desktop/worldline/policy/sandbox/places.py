"""Which folders belong to a workspace although they lie elsewhere, and what in them must not change.

Read from files alone: a `git` command in the agent's workspace would run what the agent planted there.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from worldline.core.plainfile import read_plain
from worldline.policy.sandbox import below
from worldline.policy.sandbox.below import Below

CACHE_ENV = {
    "XDG_CACHE_HOME": "/tmp/cache",
    "PIP_CACHE_DIR": "/tmp/cache/pip",
    "npm_config_cache": "/tmp/cache/npm",
    "GOCACHE": "/tmp/cache/go-build",
}
"""Package managers find a cache that they may write, kept for the session in the private temp folder."""
_REF = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64}|ref: refs/[^\n]+)\n?")
_MOST_TEXT = 10_000
"""Of a file that says where a repository is."""
OBJECTS_MOUNT = "/run/worldline-objects"
"""Where a command sees the objects of the person's repository, to read."""


@dataclass(slots=True)
class GitPlaces:
    """Where git keeps what it knows of a workspace."""

    git_dir: Path | None = None
    common_dir: Path | None = None
    writable: list[Path] = field(default_factory=list)
    """Outside the workspace, for machines that cannot shield: the common folder of a worktree."""
    read_only: list[Path] = field(default_factory=list)

    @property
    def shared(self) -> bool:
        """The workspace is a worktree of a repository that lies elsewhere: that one is the person's own."""
        return self.common_dir is not None and self.common_dir != self.git_dir


def branch_of(workspace: Path) -> str:
    """Full name of the branch that is checked out, "" = none."""
    places = git_places(workspace)
    if places.git_dir is None:
        return ""
    try:
        text = os.fsdecode(read_small(places.git_dir / "HEAD", 10_000)).strip()
    except OSError:
        return ""
    return text.removeprefix("ref: ") if text.startswith("ref: refs/heads/") else ""


def moved(before: GitPlaces, now: GitPlaces, workspace: Path) -> bool:
    """Whether `.git` leads elsewhere than before. That a repository was made inside is no move."""
    if before.git_dir is None:
        return now.git_dir is not None and now.git_dir != workspace / ".git"
    return (now.git_dir, now.common_dir) != (before.git_dir, before.common_dir)


def inner_repository(folder: Path, workspace: Path) -> bool:
    """Whether git would find another repository from `folder` than that of the workspace."""
    folder = folder.resolve()
    while folder != workspace and folder.is_relative_to(workspace):
        if os.path.lexists(folder / ".git"):
            return True
        folder = folder.parent
    return folder != workspace


def git_places(workspace: Path) -> GitPlaces:
    """Resolve `.git`, a `gitdir:` file and `commondir`. An unreadable or looping one counts as no repository."""
    dot = workspace / ".git"
    try:
        if dot.is_dir():
            return GitPlaces(dot, dot, [], _code_of(dot))
        if not dot.is_file():
            return GitPlaces()
        text = os.fsdecode(read_plain(dot, _MOST_TEXT)).strip()
        if not text.startswith("gitdir:"):
            return GitPlaces()
        git_dir = (workspace / text.removeprefix("gitdir:").strip()).resolve()
        common_file = git_dir / "commondir"
        common = git_dir
        if common_file.is_file():
            common = (git_dir / os.fsdecode(read_plain(common_file, _MOST_TEXT)).strip()).resolve()
    except (OSError, ValueError):
        return GitPlaces()
    if not common.is_dir():
        return GitPlaces()
    outside = [] if common.is_relative_to(workspace) else [common]
    # The person's own checkout shares the common folder: its HEAD and index are not the agent's.
    own = [common / "HEAD", common / "index"] if common != git_dir else []
    return GitPlaces(git_dir, common, outside, [dot, *_code_of(common), *own])


def prepare_objects(common: Path, private: Path, control: Path) -> None:
    """Make a private object folder for commands: new objects go there, the person's are read through `alternates`.

    So no command can delete or damage an object of the repository. The new ones are taken over after each call.
    What steers git (`alternates`, an empty file) lies in `control`, where no command can write: whatever a command
    leaves in `private` (links to elsewhere, for instance) is never followed by us.
    """
    private.mkdir(parents=True, exist_ok=True, mode=0o700)
    control.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [OBJECTS_MOUNT]
    with contextlib.suppress(OSError):  # the repository borrows from nobody
        text = (common / "objects" / "info" / "alternates").read_text(errors="surrogateescape")
        lines += [
            str((common / "objects" / line).resolve())
            for line in text.splitlines()
            if line and not line.startswith("#")
        ]
    wanted = "\n".join(lines) + "\n"
    with contextlib.suppress(OSError):
        if (control / "empty").exists() and (control / "alternates").read_text(
            errors="surrogateescape"
        ) == wanted:
            return
    (control / "alternates").write_text(wanted, errors="surrogateescape")
    (control / "empty").touch()


def read_small(path: Path, limit: int = 64_000_000) -> bytes:
    """Contents of a regular file, never of what a link there points to. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > limit:
            raise OSError(f"{path} is no plain file of a sensible size")
        return file.read(limit)


@dataclass(slots=True)
class GitFiles:
    """HEAD and index of a worktree before a command: put back when the command deleted them, so that the repository
    stays one and a state can be restored into it."""

    contents: dict[Path, bytes] = field(default_factory=dict)

    @classmethod
    def read(cls, places: GitPlaces) -> GitFiles:
        found = cls()
        for name in ("HEAD", "index"):
            if places.git_dir is not None:
                with contextlib.suppress(OSError):
                    found.contents[places.git_dir / name] = read_small(places.git_dir / name)
        return found

    def put_back(self) -> list[Path]:
        """What had to be put back. A link or a pipe in the place of the file is taken away, not followed."""
        back = []
        for path, data in self.contents.items():
            with contextlib.suppress(OSError):
                if os.path.lexists(path):
                    if stat.S_ISREG(path.lstat().st_mode):
                        continue
                    path.unlink()
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
                    file.write(data)
                back.append(path)
        return back


def tidy_refs(common: Path) -> None:
    """The branches of the session lie in the person's repository: what is no ref there (a pipe, a link to `/dev/zero`)
    would make their own git hang, and is taken away."""
    for root in (common / "refs" / "heads" / "worldline", common / "logs" / "refs" / "heads" / "worldline"):
        for base, folders, files in os.walk(root):
            for name in [*folders, *files]:
                path = Path(base) / name
                with contextlib.suppress(OSError):
                    mode = path.lstat().st_mode
                    plain = stat.S_ISDIR(mode) or stat.S_ISREG(mode)
                    if not plain or (
                        root.parent.parent.parent.name != "logs" and name in files and not _is_ref(path)
                    ):
                        path.unlink()


def _is_ref(path: Path) -> bool:
    try:
        return path.suffix == ".lock" or _REF.fullmatch(read_small(path, 1000)) is not None
    except OSError:
        return False


def _code_of(git_dir: Path) -> list[Path]:
    """Files that run, or make git run, something later: of the repository, of its submodules, and what its
    configuration includes."""
    found: list[Path] = []
    modules = git_dir / "modules"
    owners = [git_dir, *(path.parent for path in sorted(modules.glob("**/config"))[:200])]
    for owner in owners:
        found += [owner / "hooks", owner / "config", owner / "config.worktree"]
        found += included_files(owner / "config")
    return found


def included_files(config: Path) -> list[Path]:
    """Files that a configuration takes in by `[include]` or `[includeIf]`."""
    try:
        text = read_small(config, 1_000_000).decode("utf-8", "replace")
    except OSError:
        return []
    found: list[Path] = []
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line.lower().startswith("[include")
            line = line.partition("]")[2].strip()
        key, _, value = line.partition("=")
        if inside and key.strip().lower() == "path":
            found.append((config.parent / Path(value.strip().strip('"')).expanduser()).resolve())
    return found


def configuration_of_person() -> list[Path]:
    """Files of git that belong to the person, not to a repository: who they are, what they ignore, and what those files
    include. Never their credentials."""
    home = Path.home()
    base = os.environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    named = [Path(given)] if (given := os.environ.get("GIT_CONFIG_GLOBAL")) else []
    named += [
        home / ".gitconfig",
        *(Path(base) / "git" / name for name in ("config", "ignore", "attributes")),
    ]
    found: dict[Path, None] = {}
    while named and len(found) < 50:
        path = named.pop(0)
        if path not in found and path.is_absolute() and path.is_file():
            found[path] = None
            named += included_files(path)
    return list(found)


def refs_of(common_dir: Path) -> dict[str, str]:
    """All refs of a repository (loose and packed) with what they point to, read from the files."""
    refs: dict[str, str] = {}
    with contextlib.suppress(OSError):  # no packed refs
        for line in read_small(common_dir / "packed-refs").decode("utf-8", "surrogateescape").splitlines():
            value, _, name = line.partition(" ")
            if name and not line.startswith(("#", "^")):
                refs[name] = value
    root = str(common_dir / "refs")
    folders = [root]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.name.endswith(".lock"):
                    with contextlib.suppress(OSError):
                        refs[f"refs{entry.path[len(root) :]}"] = _ref(entry)
    return refs


_known_refs: dict[str, tuple[below.Stamp, str]] = {}
_MOST_KNOWN = 100_000


def _ref(entry: os.DirEntry[str]) -> str:
    """Contents of a loose ref. A repository with thousands of them is looked at twice for each command."""
    stamp = below.settled(entry.stat(follow_symlinks=False))
    known = _known_refs.get(entry.path)
    if known is not None and stamp is not None and known[0] == stamp:
        return known[1]
    value = read_small(Path(entry.path), 10_000).decode("utf-8", "replace").strip()
    if stamp is not None:
        if len(_known_refs) >= _MOST_KNOWN:
            _known_refs.clear()
        _known_refs[entry.path] = (stamp, value)
    return value


def pipes_below(workspace: Path) -> list[Path]:
    """Named pipes in the workspace: somebody outside may be reading what is written into one. Looks at no more than
    `below.MOST_ENTRIES` entries and not into `.git`."""
    return _pipes.find(workspace)[0]


def _is_pipe(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False) or entry.is_symlink():
        return False
    return stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode)


_pipes = Below(_is_pipe)


def foreign_mounts(workspace: Path) -> list[Path]:
    """Mount points below the workspace: what is in them is not captured by a state."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    names = (re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split(" ", 5)[4]) for line in lines)
    below = f"{str(workspace).rstrip('/')}/"
    return [Path(name) for name in dict.fromkeys(names) if name.startswith(below)]
