"""glob, grep and list_dir."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pathspec
from pydantic import Field

from worldline.core.errors import ErrorClass, ToolFailure
from worldline.tools import pygrep
from worldline.tools.base import PATH_ALIASES, BaseTool, text
from worldline.tools.helper import Ended, Helper, check
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import Place, locate, missing, os_errors
from worldline.tools.walk import files_below, ripgrep

GLOB_LIMIT = 200
GREP_LIMIT = 250
GREP_SECONDS = 30
LIST_LIMIT = 500
LINE_CHARS = 400
_FOLDER_ALIASES = PATH_ALIASES | {"directory": "path", "dir": "path", "folder": "path", "root": "path"}


def _place(ctx: ToolContext, path: str | None) -> Place:
    place = locate(ctx, path or ".")
    if place.inside and not place.real.exists():
        raise missing(ctx, place)
    return place


_Args = TypeVar("_Args")


async def _beside(
    work: Callable[[_Args, ToolContext, Helper], ToolResult], args: _Args, ctx: ToolContext
) -> ToolResult:
    """Do this on a thread. When the call is stopped, what was started for it is, too."""
    helper = Helper()
    try:
        return await asyncio.to_thread(work, args, ctx, helper)
    except asyncio.CancelledError:
        helper.end()
        raise
    except TimeoutError:
        raise _too_slow() from None
    except Ended as why:
        raise _broke_off(why) from None


class GlobInput(ToolInput):
    pattern: str = Field(
        description="Like `*.py`, `src/**/test_*.ts`. Without a slash it matches at any depth."
    )
    path: str | None = Field(default=None, description="Folder to look in; the workspace if not given.")


class Glob(BaseTool):
    name = "glob"
    description = "Find files by name pattern, newest first. Ignored files (.gitignore) are left out."
    Input = GlobInput
    access = "read"
    parallel = True
    retry_safe = True
    aliases = _FOLDER_ALIASES | {"glob": "pattern", "query": "pattern", "name": "pattern"}

    def prepare(self, args: GlobInput, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=f"glob {args.pattern}", reads=_place(ctx, args.path).paths)

    async def run(self, args: GlobInput, ctx: ToolContext) -> ToolResult:
        return await _beside(_glob, args, ctx)


def _glob(args: GlobInput, ctx: ToolContext, helper: Helper) -> ToolResult:
    place = _place(ctx, args.path)
    if not place.real.is_dir():
        raise fail(ErrorClass.USER, "not_a_directory", f"{place.shown} is no folder.", next_="Name a folder.")
    pattern = args.pattern.removeprefix("./")
    try:
        spec = pathspec.GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        raise fail(
            ErrorClass.USER, "invalid_pattern", f"The pattern is not valid: {error}.", next_="Correct it."
        ) from None
    every = files_below(place.real, helper)
    found = [path for path in every if spec.match_file(path)]

    def changed(path: str) -> float:
        with contextlib.suppress(OSError):
            return -(place.real / path).lstat().st_mtime
        return 0.0

    found.sort(key=changed)
    base = "" if place.real == ctx.root.resolve() else place.shown.rstrip("/") + "/"
    lines = [base + path for path in found[:GLOB_LIMIT]]
    if len(found) > GLOB_LIMIT:
        lines.append(
            f"[{len(found):,} files match; the {GLOB_LIMIT} newest are shown. Use a narrower pattern.]"
        )
    if not found:
        lines = [
            f"No file matches {args.pattern} in {place.shown} ({len(every):,} files; ignored ones are left out)."
        ]
    return ToolResult(content=text("\n".join(lines)), summary=f"{len(found)} files")


class GrepInput(ToolInput):
    pattern: str = Field(description="Regular expression.")
    path: str | None = Field(
        default=None, description="File or folder to search; the workspace if not given."
    )
    glob: str | None = Field(default=None, description="Only files that match, like `*.py`.")
    ignore_case: bool = Field(default=False, description="Ignore upper and lower case.")
    context: int = Field(default=0, description="Lines to show around each match.", ge=0, le=20)
    limit: int = Field(default=GREP_LIMIT, description="Most lines to show.", ge=1, le=2000)


class Grep(BaseTool):
    name = "grep"
    description = (
        "Search file contents with a regular expression. Gives path:line:text. Ignored files are left out."
    )
    Input = GrepInput
    access = "read"
    parallel = True
    retry_safe = True
    aliases = _FOLDER_ALIASES | {
        "query": "pattern", "regex": "pattern", "search": "pattern", "include": "glob", "case_insensitive": "ignore_case",
        "-i": "ignore_case", "-C": "context", "head_limit": "limit", "max_results": "limit",
    }  # fmt: skip

    def prepare(self, args: GrepInput, ctx: ToolContext) -> AccessRequest:
        return self.request(
            args, ctx, summary=f"grep {args.pattern[:60]}", reads=_place(ctx, args.path).paths
        )

    async def run(self, args: GrepInput, ctx: ToolContext) -> ToolResult:
        return await _beside(_grep, args, ctx)


def _grep(args: GrepInput, ctx: ToolContext, helper: Helper) -> ToolResult:
    place = _place(ctx, args.path)
    if not args.pattern:
        raise fail(
            ErrorClass.USER, "invalid_pattern", "The pattern is empty.", next_="Say what to search for."
        )
    program = ripgrep()
    may_not: Callable[[Path, Path], bool] = ctx.services.get("may_not_read", lambda path, asked: False)
    known: dict[str, bool] = {}

    def closed(name: str) -> bool:
        if name not in known:
            known[name] = may_not(Path(os.path.realpath(name)), place.real)
        return known[name]

    lines, cut = (
        _grep_rg(program, args, place, helper, closed)
        if program is not None
        else _grep_python(args, place, helper, closed)
    )
    root = str(ctx.root.resolve()) + os.sep
    lines = [line.replace(root, "", 1) if line.startswith(root) else line for line in lines]
    count = sum(1 for line in lines if re.match(r".*?:\d+:", line))
    shown = [line[:LINE_CHARS] + (" […]" if len(line) > LINE_CHARS else "") for line in lines]
    if cut:
        shown.append(f"[the first {len(lines)} lines; there are more. Narrow it with path or glob.]")
    if not lines:
        where = f" (files {args.glob})" if args.glob else ""
        shown = [
            f"No match for {args.pattern!r} in {place.shown}{where}. Ignored and binary files are not searched."
        ]
    return ToolResult(content=text("\n".join(shown)), summary=f"{count} matches")


def _grep_rg(
    program: str, args: GrepInput, place: Place, helper: Helper, closed: Callable[[str], bool]
) -> tuple[list[str], bool]:
    argv = [
        program, "--no-config", "--line-number", "--with-filename", "--null", "--no-heading", "--color=never", "--hidden",
        "--no-require-git", "--glob=!.git", "--sort=path", "--max-columns=2000", "--max-columns-preview",
        # Look-around and back references need its second engine, which gives up where Python would go on for ever.
        "--engine=auto",
        f"--context={args.context}", *(["--ignore-case"] if args.ignore_case else []),
        *([f"--glob={args.glob}"] if args.glob else []), "--regexp", args.pattern, "--", str(place.real),
    ]  # fmt: skip
    lines: list[str] = []
    cut = False
    late = threading.Event()
    # Complaints go into a file: a full pipe of them would hold the search.
    with tempfile.TemporaryFile() as complaints:
        process = helper.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints)
        assert process.stdout is not None

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(GREP_SECONDS, give_up)
        timer.start()
        try:
            for raw in process.stdout:
                if len(lines) >= args.limit:
                    cut = True
                    process.kill()
                    break
                if (line := _line(raw, closed)) is not None:
                    lines.append(line)
            process.stdout.close()
            code = process.wait()
        finally:
            timer.cancel()
        complaints.seek(0)
        problem = complaints.read(20_000).decode("utf-8", "replace")
    if not cut:
        if code < 0 and late.is_set():
            raise TimeoutError
        check(code)
    if code == 2 and not lines:
        if "PCRE2 is not available" in problem or "--engine" in problem:
            return _grep_python(args, place, helper, closed)
        _explain(problem, args, place)
    return lines, cut


def _line(raw: bytes, closed: Callable[[str], bool]) -> str | None:
    """A line as it is shown; None = of a file that a rule keeps closed. The name ends with a NUL: it may hold what else
    would end it."""
    name, ends, rest = raw.partition(b"\0")
    if ends and closed(os.fsdecode(name)):
        return None
    sign = re.match(rb"\d+([:-])", rest)
    whole = name + (sign[1] if sign else b"") + rest
    return whole.decode("utf-8", "replace").rstrip("\r\n")


def _explain(problem: str, args: GrepInput, place: Place) -> None:
    """Raise what ripgrep complained of. Files that could not be read are no reason to: they have no matches."""
    if "match limit exceeded" in problem or "JIT stack" in problem:
        raise fail(
            ErrorClass.USER,
            "pattern_too_costly",
            "The regular expression needs too many steps for some line; the search was given up.",
            next_="Use a simpler one: no repetition inside a repetition.",
        )
    if "regex parse error" in problem or "could not be compiled" in problem or "PCRE2: error" in problem:
        raise _bad_pattern(problem.strip().splitlines()[-1].removeprefix("PCRE2: "))
    if "error parsing glob" in problem:
        raise _bad_glob(args.glob or "")
    with os_errors(place.shown):
        place.real.stat()


def _too_slow() -> ToolFailure:
    return fail(
        ErrorClass.ENVIRONMENT,
        "timeout",
        f"The search took longer than {GREP_SECONDS} s.",
        next_="Search a smaller folder or use a simpler pattern.",
    )


def _broke_off(why: Ended) -> ToolFailure:
    return fail(
        ErrorClass.ENVIRONMENT,
        "search_failed",
        f"The search broke off: {why}.",
        next_="Search a smaller folder or use a simpler pattern.",
    )


def _bad_pattern(why: str) -> ToolFailure:
    return fail(
        ErrorClass.USER,
        "invalid_pattern",
        f"The regular expression is not valid: {why}.",
        next_="Escape characters that are meant as they are: ( ) [ ] { } . * + ? | ^ $ and the backslash.",
    )


def _bad_glob(glob: str) -> ToolFailure:
    return fail(
        ErrorClass.USER, "invalid_pattern", f"glob: {glob!r} is not a valid pattern.", next_="Correct it."
    )


def _grep_python(
    args: GrepInput, place: Place, helper: Helper, closed: Callable[[str], bool]
) -> tuple[list[str], bool]:
    try:
        re.compile(args.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise _bad_pattern(str(error)) from None
    if place.real.is_dir():
        names = [place.real / name for name in sorted(files_below(place.real, helper))]
    else:
        names = [place.real]
    if args.glob:
        try:
            spec = pathspec.GitIgnoreSpec.from_lines([args.glob])
        except ValueError:
            raise _bad_glob(args.glob) from None
        names = [n for n in names if spec.match_file(os.path.relpath(n, place.real.parent))]
    names = [name for name in names if not closed(str(name))]
    return pygrep.search(
        args.pattern, names, ignore_case=args.ignore_case, context=args.context, limit=args.limit, seconds=GREP_SECONDS,
        helper=helper,
    )  # fmt: skip


class ListInput(ToolInput):
    path: str | None = Field(default=None, description="Folder; the workspace if not given.")


class ListDir(BaseTool):
    name = "list_dir"
    description = "List a folder: names, kinds, sizes; hidden and ignored ones too."
    Input = ListInput
    access = "read"
    parallel = True
    retry_safe = True
    aliases = _FOLDER_ALIASES

    def prepare(self, args: ListInput, ctx: ToolContext) -> AccessRequest:
        place = _place(ctx, args.path)
        return self.request(args, ctx, summary=f"list {place.shown}", reads=place.paths)

    async def run(self, args: ListInput, ctx: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_list, args, ctx)


def _list(args: ListInput, ctx: ToolContext) -> ToolResult:
    place = _place(ctx, args.path)
    with os_errors(place.shown):
        if not place.real.is_dir():
            raise fail(
                ErrorClass.USER,
                "not_a_directory",
                f"{place.shown} is no folder.",
                next_="Use read for a file.",
            )
        entries = sorted(os.scandir(place.real), key=lambda entry: entry.name)
    lines = []
    for entry in entries[:LIST_LIMIT]:
        name = os.fsencode(entry.name).decode("utf-8", "backslashreplace")
        try:
            if entry.is_symlink():
                lines.append(f"{name} -> {Path(entry.path).readlink()}")
            elif entry.is_dir():
                lines.append(f"{name}/")
            else:
                lines.append(f"{name}  {entry.stat(follow_symlinks=False).st_size:,} bytes")
        except OSError:
            lines.append(f"{name}  (cannot be looked at)")
    if len(entries) > LIST_LIMIT:
        lines.append(f"[{len(entries):,} entries; the first {LIST_LIMIT} are shown]")
    return ToolResult(
        content=text("\n".join(lines) or f"{place.shown} is empty."), summary=f"{len(entries)} entries"
    )
