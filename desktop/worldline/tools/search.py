"""glob, grep and list_dir."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
import subprocess
import threading
from pathlib import Path

import pathspec
from pydantic import Field

from worldline.core.errors import ErrorClass
from worldline.tools.base import PATH_ALIASES, BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import Place, locate, missing, os_errors
from worldline.tools.textfile import binary_kind, decode
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
        return self.request(args, ctx, summary=f"glob {args.pattern}", reads=[_place(ctx, args.path).real])

    async def run(self, args: GlobInput, ctx: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_glob, args, ctx)


def _glob(args: GlobInput, ctx: ToolContext) -> ToolResult:
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
    every = files_below(place.real)
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
            args, ctx, summary=f"grep {args.pattern[:60]}", reads=[_place(ctx, args.path).real]
        )

    async def run(self, args: GrepInput, ctx: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_grep, args, ctx)


def _grep(args: GrepInput, ctx: ToolContext) -> ToolResult:
    place = _place(ctx, args.path)
    if not args.pattern:
        raise fail(
            ErrorClass.USER, "invalid_pattern", "The pattern is empty.", next_="Say what to search for."
        )
    program = ripgrep()
    lines, cut = _grep_rg(program, args, place) if program is not None else _grep_python(args, place)
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


def _grep_rg(program: str, args: GrepInput, place: Place) -> tuple[list[str], bool]:
    argv = [
        program, "--no-config", "--line-number", "--with-filename", "--no-heading", "--color=never", "--hidden",
        "--no-require-git", "--glob=!.git", "--sort=path", "--max-columns=2000", "--max-columns-preview",
        f"--context={args.context}", *(["--ignore-case"] if args.ignore_case else []),
        *([f"--glob={args.glob}"] if args.glob else []), "--regexp", args.pattern, "--", str(place.real),
    ]  # fmt: skip
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    timer = threading.Timer(GREP_SECONDS, process.kill)
    timer.start()
    lines: list[str] = []
    cut = False
    try:
        for raw in process.stdout:
            if len(lines) >= args.limit:
                cut = True
                process.kill()
                break
            lines.append(raw.decode("utf-8", "replace").rstrip("\r\n"))
        process.stdout.close()
        problem = process.stderr.read().decode("utf-8", "replace")
        process.stderr.close()
        code = process.wait()
    finally:
        timer.cancel()
    if code == -9 and not cut:
        raise fail(
            ErrorClass.ENVIRONMENT,
            "timeout",
            f"The search took longer than {GREP_SECONDS} s.",
            next_="Search a smaller folder or use a simpler pattern.",
        )
    if code == 2 and not lines:
        if "regex parse error" in problem or "error parsing" in problem:
            return _grep_python(args, place)  # look-around and back references: Python has them
        with os_errors(place.shown):
            place.real.stat()
    return lines, cut


def _grep_python(args: GrepInput, place: Place) -> tuple[list[str], bool]:
    try:
        pattern = re.compile(args.pattern, re.IGNORECASE if args.ignore_case else 0)
    except re.error as error:
        raise fail(
            ErrorClass.USER,
            "invalid_pattern",
            f"The regular expression is not valid: {error}.",
            next_="Escape characters that are meant as they are: ( ) [ ] { } . * + ? | ^ $ and the backslash.",
        ) from None
    if place.real.is_dir():
        names = [place.real / name for name in sorted(files_below(place.real))]
    else:
        names = [place.real]
    spec = pathspec.GitIgnoreSpec.from_lines([args.glob]) if args.glob else None
    lines: list[str] = []
    for name in names:
        if spec is not None and not spec.match_file(os.path.relpath(name, place.real.parent)):
            continue
        for line in _matches(name, pattern, args.context):
            if len(lines) >= args.limit:
                return lines, True
            lines.append(line)
    return lines, False


def _matches(name: Path, pattern: re.Pattern[str], context: int) -> list[str]:
    try:
        info = name.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > 20_000_000:
            return []
        data = name.read_bytes()
    except OSError:
        return []  # gone or not readable: it has no matches that could be shown
    if binary_kind(data):
        return []
    rows = decode(data).text.splitlines()
    hits = [index for index, row in enumerate(rows) if pattern.search(row)]
    shown = {near for hit in hits for near in range(max(0, hit - context), min(len(rows), hit + context + 1))}
    marks = set(hits)
    return [
        f"{name}{':' if i in marks else '-'}{i + 1}{':' if i in marks else '-'}{rows[i]}"
        for i in sorted(shown)
    ]


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
        return self.request(args, ctx, summary=f"list {place.shown}", reads=[place.real])

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
