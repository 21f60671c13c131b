"""Which folders belong to a workspace although they lie elsewhere, and what in them must not change.

Read from files alone: a `git` command in the agent's workspace would run what the agent planted there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

CACHE_ENV = {
    "XDG_CACHE_HOME": "/tmp/cache",
    "PIP_CACHE_DIR": "/tmp/cache/pip",
    "npm_config_cache": "/tmp/cache/npm",
    "GOCACHE": "/tmp/cache/go-build",
}
"""Package managers find a cache that they may write, kept for the session in the private temp folder."""
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


def git_places(workspace: Path) -> GitPlaces:
    """Resolve `.git`, a `gitdir:` file and `commondir`. An unreadable or looping one counts as no repository."""
    dot = workspace / ".git"
    try:
        if dot.is_dir():
            return GitPlaces(dot, dot, [], _code_of(dot))
        if not dot.is_file():
            return GitPlaces()
        text = dot.read_text(errors="surrogateescape").strip()
        if not text.startswith("gitdir:"):
            return GitPlaces()
        git_dir = (workspace / text.removeprefix("gitdir:").strip()).resolve()
        common_file = git_dir / "commondir"
        common = git_dir
        if common_file.is_file():
            common = (git_dir / common_file.read_text(errors="surrogateescape").strip()).resolve()
    except OSError:
        return GitPlaces()
    if not common.is_dir():
        return GitPlaces()
    outside = [] if common.is_relative_to(workspace) else [common]
    # The person's own checkout shares the common folder: its HEAD and index are not the agent's.
    own = [common / "HEAD", common / "index"] if common != git_dir else []
    return GitPlaces(git_dir, common, outside, [dot, *_code_of(common), *own])


def prepare_objects(common: Path, private: Path) -> None:
    """Make a private object folder for commands: new objects go there, the person's are read through `alternates`.

    So no command can delete or damage an object of the repository. The new ones are taken over after each call.
    """
    for name in ("info", "pack"):
        (private / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [OBJECTS_MOUNT]
    try:
        for line in (
            (common / "objects" / "info" / "alternates").read_text(errors="surrogateescape").splitlines()
        ):
            if line and not line.startswith("#"):
                lines.append(str((common / "objects" / line).resolve()))
    except OSError:
        pass  # the repository borrows from nobody
    (private / "info" / "alternates").write_text("\n".join(lines) + "\n", errors="surrogateescape")


def empty_file(private: Path) -> Path:
    path = private / "info" / "empty"
    path.touch()
    return path


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
                    found.contents[places.git_dir / name] = (places.git_dir / name).read_bytes()
        return found

    def put_back(self) -> list[Path]:
        """What had to be put back."""
        back = []
        for path, data in self.contents.items():
            if not path.exists() and path.parent.is_dir():
                path.write_bytes(data)
                back.append(path)
        return back


def _code_of(git_dir: Path) -> list[Path]:
    """Files that run, or make git run, something later."""
    return [git_dir / "hooks", git_dir / "config", git_dir / "config.worktree"]


def refs_of(common_dir: Path) -> dict[str, str]:
    """All refs of a repository (loose and packed) with what they point to, read from the files."""
    refs: dict[str, str] = {}
    try:
        for line in (common_dir / "packed-refs").read_text(errors="surrogateescape").splitlines():
            value, _, name = line.partition(" ")
            if name and not line.startswith(("#", "^")):
                refs[name] = value
    except OSError:
        pass  # no packed refs
    root = common_dir / "refs"
    for path in sorted(root.rglob("*")):
        try:
            if path.is_file() and not path.name.endswith(".lock"):
                refs[f"refs/{path.relative_to(root).as_posix()}"] = path.read_text(errors="replace").strip()
        except OSError:
            continue
    return refs


def foreign_mounts(workspace: Path) -> list[Path]:
    """Mount points below the workspace: what is in them is not captured by a state."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    points = (Path(line.split(" ")[4].encode().decode("unicode_escape")) for line in lines)
    return [p for p in points if p != workspace and p.is_relative_to(workspace)]
