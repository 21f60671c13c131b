"""Paths of tool calls: where they really lead, whether that is inside the workspace, and what is there instead."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import fuzz, process

from worldline.core.errors import ErrorClass, ToolFailure
from worldline.tools.model import ToolContext, fail

_SKIPPED = {".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "dist", "build"}
_SEARCH_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """A path of a call. `real` has every symlink resolved, also those of folders above."""

    given: str
    lexical: Path
    """Absolute, `..` removed, symlinks not followed."""
    real: Path
    inside: bool
    """`real` is in the workspace."""
    named_inside: bool
    """`lexical` is."""
    shown: str
    """For the model: relative to the workspace where it is inside, `/`-separated."""

    @property
    def paths(self) -> list[Path]:
        """All that a rule may mean: where it leads first, then the name of a link in the workspace."""
        named = not self.inside or self.real != self.lexical
        return [self.real, *([self.lexical] if named and self.named_inside else [])]

    @property
    def key(self) -> str:
        """Name of the file in `TaskState.files`: the same for every spelling of the path."""
        return self.shown


def locate(ctx: ToolContext, given: str) -> Place:
    """Where `given` leads. Raises ToolFailure for what can be no path."""
    if not given.strip():
        raise fail(ErrorClass.USER, "invalid_path", "The path is empty.", next_="Name a file or folder.")
    if "\x00" in given:
        raise fail(ErrorClass.USER, "invalid_path", "The path holds a NUL byte.", next_="Send it without.")
    root = ctx.root.resolve()
    path = at_home(given)
    lexical = Path(os.path.normpath(root / path))
    try:
        # Not the normalised path: `link/..` is where the link leads, not where it stands.
        real = (root / path).resolve()
        _look(real, given)
    except RuntimeError as error:
        raise fail(
            ErrorClass.ENVIRONMENT,
            "path_wrong",
            f"{given} cannot be followed: it is a loop of symbolic links or too long.",
            next_="Look at it with list_dir.",
        ) from error
    inside = real.is_relative_to(root)
    shown = real.relative_to(root).as_posix() if inside else str(real)
    return Place(given, lexical, real, inside, lexical.is_relative_to(root), shown)


def at_home(given: str) -> Path:
    """`~` and `~name` are the home of somebody. Raises ToolFailure when nobody is called that."""
    if not given.startswith("~"):
        return Path(given)
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise fail(
            ErrorClass.USER,
            "path_wrong",
            f"There is no home folder {given.split('/', 1)[0][:100]}.",
            next_="Name the path in full, or put ./ before a file whose name begins with ~.",
        ) from error


def _look(path: Path, given: str) -> None:
    """Raise for a path that cannot even be looked at: too long, or below a folder that is closed to us."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise os_failure(error, given[:200]) from error


def refuse_link_out(place: Place, ctx: ToolContext) -> None:
    """A path that looks like the workspace but leads out of it is not written through."""
    if not place.inside and place.lexical.is_relative_to(ctx.root.resolve()):
        raise fail(
            ErrorClass.PERMISSION,
            "link_leads_out",
            f"{place.given} is, or is below, a symbolic link that leads out of the workspace, to {place.real}.",
            hint="Not permitted: writing follows links only inside the workspace.",
            next_="If that file is meant, name it by its real path; the person is asked then.",
        )


def near_names(root: Path, wanted: Path, limit: int = 5) -> list[str]:
    """Files and folders of the workspace whose name or path is like `wanted`, best first."""
    candidates: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        base = Path(folder).relative_to(root)
        candidates += [(base / name).as_posix() for name in (*files, *folders)]
        if len(candidates) > _SEARCH_LIMIT:
            break
    wanted_text = wanted.relative_to(root).as_posix() if wanted.is_relative_to(root) else wanted.name
    same = sorted(path for path in candidates if path.rsplit("/", 1)[-1].lower() == wanted.name.lower())
    by_name = {path: path.rsplit("/", 1)[-1].lower() for path in candidates}
    close = process.extract(wanted.name.lower(), by_name, scorer=fuzz.ratio, limit=limit, score_cutoff=70)
    by_path = process.extract(wanted_text, candidates, scorer=fuzz.ratio, limit=limit, score_cutoff=75)
    found = same + [str(item[2]) for item in close] + [str(item[0]) for item in by_path]
    return list(dict.fromkeys(found))[:limit]


def missing(ctx: ToolContext, place: Place) -> ToolFailure:
    """`file_not_found`, with what is there instead."""
    root = ctx.root.resolve()
    parent = place.real.parent
    near = near_names(root, place.lexical) if place.inside or place.lexical.is_relative_to(root) else []
    if near:
        hint = "The path is wrong. There is: " + ", ".join(near) + "."
    elif parent.is_dir():
        with os_errors(_folder_name(root, parent)):
            names = sorted(entry.name for entry in parent.iterdir())[:20]
        hint = f"The folder {_folder_name(root, parent)} is there and holds: {', '.join(names) or 'nothing'}."
    else:
        there = parent
        while not there.is_dir() and there != there.parent:
            there = there.parent
        hint = f"The folder {_folder_name(root, parent)} is not there either; {_folder_name(root, there)} is."
    return fail(
        ErrorClass.ENVIRONMENT,
        "file_not_found",
        f"There is no {place.shown}.",
        hint=hint,
        next_="Use one of these paths, or look with glob or list_dir.",
    )


def _folder_name(root: Path, folder: Path) -> str:
    if folder == root:
        return "of the workspace (.)"
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


def need_file(ctx: ToolContext, place: Place) -> os.stat_result:
    """The stat of a regular file, or a ToolFailure that says what is there instead."""
    with os_errors(place.shown):
        try:
            info = place.real.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise missing(ctx, place) from None
    if stat.S_ISDIR(info.st_mode):
        raise fail(
            ErrorClass.USER,
            "is_a_directory",
            f"{place.shown} is a folder.",
            next_="Look into it with list_dir or glob, or name a file in it.",
        )
    if not stat.S_ISREG(info.st_mode):
        raise fail(
            ErrorClass.ENVIRONMENT,
            "not_a_regular_file",
            f"{place.shown} is no regular file (a pipe, socket or device).",
            next_="It cannot be read or written by this tool.",
        )
    return info


_OS_ERRORS: dict[int, tuple[str, ErrorClass, str, str]] = {
    errno.ENOENT: ("file_not_found", ErrorClass.ENVIRONMENT, "is not there", "Look with list_dir or glob."),
    errno.ENOTDIR: (
        "path_wrong",
        ErrorClass.ENVIRONMENT,
        "goes through a file that is no folder",
        "Correct the path.",
    ),
    errno.EISDIR: ("is_a_directory", ErrorClass.USER, "is a folder", "Name a file in it."),
    errno.EACCES: ("permission_denied", ErrorClass.PERMISSION, "may not be accessed (file permissions)", ""),
    errno.EPERM: (
        "permission_denied",
        ErrorClass.PERMISSION,
        "may not be changed (the system refused it)",
        "",
    ),
    errno.EROFS: ("permission_denied", ErrorClass.PERMISSION, "is on a read-only file system", ""),
    errno.ENOSPC: (
        "disk_full",
        ErrorClass.SYSTEM,
        "could not be written: the disk is full",
        "Tell the person.",
    ),
    errno.EDQUOT: (
        "disk_full",
        ErrorClass.SYSTEM,
        "could not be written: the quota is used up",
        "Tell the person.",
    ),
    errno.ELOOP: ("path_wrong", ErrorClass.ENVIRONMENT, "is a loop of symbolic links", "Correct the path."),
    errno.ENAMETOOLONG: ("path_wrong", ErrorClass.USER, "is too long a name", "Use a shorter name."),
}
_TRANSIENT = {errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ETXTBSY, errno.EMFILE, errno.ENFILE, errno.ESTALE}


def os_failure(error: OSError, shown: str) -> ToolFailure:
    """What the operating system said, for the model: no path but `shown`, no errno text that names one."""
    known = _OS_ERRORS.get(error.errno or 0)
    if known is not None:
        type_, error_class, says, next_ = known
        if not next_ and error_class is ErrorClass.PERMISSION:
            next_ = "Do not try other ways round; ask the person (ask_user), or work with another file."
        return fail(error_class, type_, f"{shown} {says}.", next_=next_)
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return fail(
        ErrorClass.ENVIRONMENT,
        "io_error",
        f"{shown}: {reason}.",
        retryable=error.errno in _TRANSIENT,
        next_="Try again later."
        if error.errno in _TRANSIENT
        else "Look at the file system, or tell the person.",
    )


@contextlib.contextmanager
def os_errors(shown: str) -> Iterator[None]:
    """Turn what the operating system refuses into a failure for the model."""
    try:
        yield
    except OSError as error:
        raise os_failure(error, shown) from error
