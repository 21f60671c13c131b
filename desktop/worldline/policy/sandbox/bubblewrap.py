"""The arguments of bubblewrap for one call. Order matters: a later mount covers an earlier one."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from functools import cache
from pathlib import Path

from worldline.policy.sandbox import closing
from worldline.policy.sandbox.model import PUSH, Profile
from worldline.policy.sandbox.names import is_name_service
from worldline.policy.sandbox.places import (
    OBJECTS_MOUNT,
    configuration_of_person,
    foreign_mounts,
    pipes_below,
    prepare_objects,
)
from worldline.policy.sandbox.sockets import bound_sockets

INSIDE = Path(__file__).resolve().parent / "inside"
INSIDE_MOUNT = "/run/worldline"
SECRET_PLACES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc",
    ".git-credentials", ".config/gh", ".config/git/credentials", ".local/share/keyrings", ".password-store",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".bash_history", ".python_history", ".zsh_history",
    ".config/op", ".terraform.d", ".cargo/credentials.toml", ".gem/credentials", ".config/worldline",
)  # fmt: skip
_NOT_NEEDED = frozenset(
    {
        "objects",
        "refs",
        "description",
        "branches",
        "index",
        "logs",
        "COMMIT_EDITMSG",
        "FETCH_HEAD",
        "ORIG_HEAD",
    }
)
"""In the folder of a repository: shown in another way, or not needed by a worktree. Each mount takes its time."""
_COVERED = closing.COVERED
_KERNEL = (
    "sys", "sysrq-trigger", "fs", "driver", "scsi", "acpi", "mtrr", "tty", "asound", "dynamic_debug",
)  # fmt: skip
"""In /proc: settings of the whole machine. The kernel lets their owner write, which root is in here as well, and some of
them name programs that it starts itself."""


def program() -> str | None:
    return shutil.which("bwrap")


@cache
def helper_python() -> tuple[str, list[Path]]:
    """The interpreter that starts commands inside, and the folders it needs that the sandbox would cover."""
    python = os.path.realpath(sys.executable)
    roots = {Path(sys.base_prefix).resolve(), Path(python).parent}
    covered = [r for r in sorted(roots) if any(r.is_relative_to(c) for c in _COVERED)]
    return python, covered


@cache
def needed_places() -> tuple[Path, ...]:
    """What no command can start without."""
    python, _ = helper_python()
    named = (python, "/bin/bash", "/lib", "/usr/lib", "/dev", "/proc", INSIDE, sys.base_prefix)
    return tuple(dict.fromkeys(path for name in named for path in (Path(name), Path(os.path.realpath(name)))))


def arguments(profile: Profile, names_folder: Path | None, seccomp: int = -1) -> list[str]:
    """Everything up to and including `--`. The whole disk is there to read, only the workspace and a private /tmp to
    write; secrets, sockets and devices of the person are not there at all. `seccomp`: descriptor with the filter for all
    processes inside, that of bubblewrap itself included: it could be made to act for the command otherwise."""
    workspace = profile.workspace
    args = profile.network.prefix() if profile.network is not None else []
    args += [
        program() or "bwrap", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc",
        "--unshare-uts", "--unshare-cgroup-try", "--disable-userns", "--cap-drop", "CAP_SYS_ADMIN",
    ]  # fmt: skip
    if seccomp >= 0:
        args += ["--seccomp", str(seccomp)]
    if not profile.outlives:
        args.append("--die-with-parent")
    if profile.network is None:
        args.append("--unshare-net")
    args += [
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/run",
        "--tmpfs",
        "/var/tmp",
    ]
    args += _kernel()
    args += ["--bind", str(profile.private_tmp), "/tmp"]
    _python, covered = helper_python()
    for folder in covered:
        args += ["--ro-bind", str(folder), str(folder)]
    args += _configuration(profile)
    args += _opened(profile)
    args += _hide(profile)
    writable = [workspace, *profile.writable]
    for folder in writable:
        args += ["--bind", str(folder), str(folder)]
    granted = [g for g in profile.grants if g.kind == "write" and Path(g.target).exists()]
    for grant in granted:
        args += ["--bind", grant.target, grant.target]
    args += closing.pins(profile)
    for grant in granted:
        if grant.rule == PUSH:  # what runs in the remote stays as it is
            target = Path(grant.target)
            args += _protect(
                [t / n for t in (target, target / ".git") for n in ("hooks", "config")], [target]
            )
    args += _repository(profile)
    args += _protect(profile.read_only, writable)
    for path in profile.masked:
        args += ["--ro-bind", "/dev/null", str(path)]
    if names_folder is not None:
        args += ["--ro-bind", str(names_folder), "/run/nscd"]
    args += ["--ro-bind", str(INSIDE), INSIDE_MOUNT]
    for grant in profile.grants:
        if grant.kind == "socket" and Path(grant.target).exists():
            args += ["--bind", grant.target, grant.target]
    return args + closing.covers(profile)


def _kernel() -> list[str]:
    """bubblewrap covers of these only the folders that may be written to themselves, not `sys`."""
    places = [f"/proc/{name}" for name in _KERNEL if os.geteuid() == 0]
    return [part for place in places if os.path.lexists(place) for part in ("--ro-bind", place, place)]


def _configuration(profile: Profile) -> list[str]:
    """The person's git configuration where a home folder lies below a covered place: without it git knows nobody."""
    args: list[str] = []
    hidden: list[Path] | None = None
    for path in configuration_of_person():
        if not any(path.is_relative_to(c) for c in _COVERED) or path.is_relative_to(profile.workspace):
            continue
        hidden = hidden_places(profile) if hidden is None else hidden
        real = path.resolve()
        if any(real.is_relative_to(h) for h in hidden) or not _can_be_placed(path, profile):
            continue
        args += ["--ro-bind", str(real), str(path)]
    return args


def _opened(profile: Profile) -> list[str]:
    """What was opened for reading below a place that the sandbox covers: elsewhere the disk is there to read anyway."""
    args: list[str] = []
    for grant in profile.grants:
        path = Path(grant.target)
        covered = any(path.is_relative_to(c) and path != Path(c) for c in _COVERED)
        if grant.kind == "read" and covered and path.exists() and _can_be_placed(path, profile):
            args += ["--ro-bind", str(path), str(path)]
    return args


def _can_be_placed(path: Path, profile: Profile) -> bool:
    """Whether it can be shown there: a command may have put something else in the way into its own /tmp."""
    if not path.is_relative_to("/tmp"):
        return True
    inside = profile.private_tmp / path.relative_to("/tmp")
    above = [p for p in inside.parents if p.is_relative_to(profile.private_tmp)]
    ways = all(not p.is_symlink() and (p.is_dir() or not p.exists()) for p in above)
    return ways and not inside.is_symlink() and (path.is_dir() or not inside.is_dir())


def hidden_places(profile: Profile) -> list[Path]:
    """What is covered: secrets of the person and of this app, where they really lie."""
    granted = [Path(g.target) for g in profile.grants if g.kind in ("write", "read")]
    home = str(Path.home())
    named = [*map(str, profile.hidden), *(f"{home}/{name}" for name in SECRET_PLACES)]
    found = dict.fromkeys(os.path.realpath(name) for name in named if os.path.lexists(name))
    covered = [
        place
        for place in map(Path, found)
        if _there(place)
        and not any(place.is_relative_to(g) for g in granted)
        and not profile.workspace.is_relative_to(place)
    ]
    # What lies in a covered folder is not there any more: bubblewrap could not put anything over it, and would not start.
    folders = {place for place in covered if place.is_dir()}
    return [place for place in covered if folders.isdisjoint(place.parents)]


def _there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:  # gone, or not to be seen by this user
        return False
    return True


def _hide(profile: Profile) -> list[str]:
    """Cover what holds secrets. One file of a covered folder can be granted; the rest of it stays covered."""
    args: list[str] = []
    granted = [Path(g.target) for g in profile.grants if g.kind in ("write", "read")]
    for place in profile.covered if profile.covered is not None else hidden_places(profile):
        if place.is_dir():
            args += ["--tmpfs", str(place)]
            for path in granted:
                if path.is_relative_to(place) and path.exists():
                    args += ["--ro-bind", str(path), str(path)]
            args += ["--remount-ro", str(place)]
        else:
            args += ["--ro-bind", "/dev/null", str(place)]
    return args


def _repository(profile: Profile) -> list[str]:
    """The repository: its objects can be read, new ones go to a private folder; branches and tags of the person cannot
    move, the agent's own below `worldline/` can; what makes git run code stays as it is."""
    git = profile.git
    common = git.common_dir
    if common is None or git.git_dir is None:
        return []
    private = profile.private_objects
    prepare_objects(common, private, profile.control)
    empty = str(profile.control / "empty")
    args: list[str] = []
    if git.shared:
        # A folder of our own instead of the real one: lock files can be made, everything real is bound one by one.
        args += ["--tmpfs", str(common)]
        for child in sorted(common.iterdir()):
            if (
                child.name not in _NOT_NEEDED
                and not child.is_symlink()
                and (child.is_dir() or child.is_file())
            ):
                args += ["--ro-bind", str(child), str(child)]
        args += ["--bind", str(git.git_dir), str(git.git_dir)]
        args += _protect([git.git_dir / "commondir", git.git_dir / "gitdir"], [git.git_dir])
        args += _protect([profile.workspace / ".git"], [profile.workspace])
        if "worktreeconfig" in _text(common / "config").lower():
            args += ["--ro-bind", empty, str(git.git_dir / "config.worktree")]
    else:
        (common / "hooks").mkdir(exist_ok=True)  # what is not there could be made
        if "worktreeconfig" in _text(common / "config").lower():
            (common / "config.worktree").touch()
        args += _protect(git.read_only, [profile.workspace])
    if not (common / "packed-refs").exists():
        # Without one, packing refs would move them into a passing file and delete the real ones.
        args += ["--ro-bind", empty, str(common / "packed-refs")]
    args += _refs(common / "refs", profile.private_refs / "refs")
    own_logs = common / "logs" / "refs" / "heads" / "worldline"
    if own_logs.parent.is_dir():
        own_logs.mkdir(exist_ok=True)
        logs = profile.private_refs / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        args += ["--bind", str(logs), str(common / "logs" / "refs"), "--bind", str(own_logs), str(own_logs)]
    objects = common / "objects"
    if objects.is_dir():
        args += ["--ro-bind", str(objects), OBJECTS_MOUNT, "--bind", str(private), str(objects)]
        args += ["--tmpfs", str(objects / "info")]
        args += ["--ro-bind", str(profile.control / "alternates"), str(objects / "info" / "alternates")]
    return args


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _refs(real: Path, private: Path) -> list[str]:
    """A folder of the session's own (its stash lives there), with the real branches, tags and remotes bound into it."""
    private.mkdir(parents=True, exist_ok=True)
    args = ["--bind", str(private), str(real)]
    own = real / "heads" / "worldline"
    if (real / "heads").is_dir() and not own.exists():
        own.mkdir()
    for child in sorted(real.iterdir()):
        if child.is_dir() and not child.is_symlink():
            args += ["--bind" if child.name == "remotes" else "--ro-bind", str(child), str(child)]
    if own.is_dir():
        args += ["--bind", str(own), str(own)]
    return args


def _protect(read_only: list[Path], writable: list[Path]) -> list[str]:
    """Bind what must not change read only, and pin it."""
    args = closing.pinned(read_only, writable)
    for path in read_only:
        if path.exists():
            args += ["--ro-bind", str(path), str(path)]
    return args


def find_masked(profile: Profile) -> list[Path]:
    """Every unix socket that somebody bound and every named pipe that a command could still reach."""
    writable = [profile.workspace, *profile.writable]
    writable += [Path(g.target) for g in profile.grants if g.kind == "write"]
    granted = {os.path.realpath(g.target) for g in profile.grants if g.kind == "socket"}
    profile.covered = hidden_places(profile)
    covered = [c for c in _COVERED if not any(str(w).startswith(c + "/") for w in writable)]
    covered += [
        "/run",
        "/var/run",
        "/dev",
        "/proc",
        str(profile.private_tmp),
        *map(str, profile.covered),
    ]
    start = tuple(f"{place}/" for place in covered)
    found: list[Path] = []
    own = profile.network.space() if profile.network is not None else None
    for path in bound_sockets(own):
        if not path.startswith(start) and path not in granted and not is_name_service(path):
            # Gone, or not to be seen by this user: then it is not to be reached either.
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(Path(path).stat().st_mode) and _reachable_inside(Path(path)):
                    found.append(Path(path))
    return [*found, *pipes_below(profile.workspace)]


def _reachable_inside(path: Path) -> bool:
    """Root loses its rights over other users' files inside: where it may not pass there, nothing can be put over the
    socket either (the sandbox would not start), and nothing can connect to it. Raises OSError."""
    if os.geteuid() != 0:
        return True
    groups = {os.getegid(), *os.getgroups()}
    for folder in path.parents:
        info = folder.stat()
        by_group = info.st_gid in groups and info.st_mode & stat.S_IXGRP
        if info.st_uid != 0 and not by_group and not info.st_mode & stat.S_IXOTH:
            return False
    return True


def find_read_only(profile: Profile) -> list[Path]:
    """Mounts below the workspace: no state holds what is in them."""
    return foreign_mounts(profile.workspace)
