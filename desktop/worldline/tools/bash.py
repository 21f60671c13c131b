"""bash: one command line in its own process group. And `process`: what still runs from earlier ones."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

from pydantic import Field

from worldline.core.errors import ErrorClass, ToolError
from worldline.core.kinds import NodeFlag
from worldline.tools.base import BaseTool, text
from worldline.tools.checks import parse_check
from worldline.tools.envelope import cut, printable, strip_ansi
from worldline.tools.model import AccessRequest, CommandResult, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.output import KEEP_LIMIT
from worldline.tools.places import locate, missing
from worldline.tools.process_table import ProcessTable

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 1800
SHOWN_BYTES = 30_000

_BRANCH = re.compile(r"/refs/heads/(?!worldline/)(.+?)(?:\.lock)?$")
_EXIT_MEANING = {
    2: "wrong usage or a shell syntax error",
    126: "the command was found but may not be run",
    127: "the command was not found",
    124: "ended by its own time limit",
    130: "interrupted",
    134: "aborted (assertion or abort)",
    137: "killed (KILL): by someone, or for lack of memory",
    139: "crashed (segmentation fault)",
    141: "wrote to a pipe that nobody reads any more",
    143: "ended (TERM)",
}


class BashInput(ToolInput):
    command: str = Field(
        description="Command line for bash. There is no terminal and no input; editors are off."
    )
    timeout_s: float | None = Field(
        default=None,
        description="Seconds after which it is ended (120 if not given).",
        gt=0,
        le=MAX_TIMEOUT_S,
    )
    background: bool = Field(
        default=False, description="Leave it running and go on; look after it with the tool `process`."
    )
    cwd: str | None = Field(default=None, description="Folder to run in; the workspace if not given.")
    description: str | None = Field(
        default=None, description="What it is for, in a few words, for the person."
    )


class Bash(BaseTool):
    name = "bash"
    description = (
        "Run a command line. Each call is a new shell that starts in the workspace. Output is given with head and tail "
        "when it is long. It returns when the shell ends; for servers use background."
    )
    Input = BashInput
    access = "execute"
    aliases = {
        "cmd": "command", "script": "command", "code": "command", "timeout": "timeout_s", "workdir": "cwd",
        "working_directory": "cwd", "run_in_background": "background", "is_background": "background",
    }  # fmt: skip

    def prepare(self, args: BashInput, ctx: ToolContext) -> AccessRequest:
        if not args.command.strip():
            raise fail(ErrorClass.USER, "invalid_arguments", "command: is empty.", next_="Say what to run.")
        if "\x00" in args.command:
            raise fail(
                ErrorClass.USER, "invalid_arguments", "command: holds a NUL byte.", next_="Send it without."
            )
        place = locate(ctx, args.cwd or ".")
        if not place.real.is_dir():
            raise missing(ctx, place)
        return self.request(
            args, ctx, summary=args.description or args.command[:80], command=args.command, cwd=place.real
        )

    async def run(self, args: BashInput, ctx: ToolContext) -> ToolResult:
        place = locate(ctx, args.cwd or ".")
        limit = args.timeout_s or DEFAULT_TIMEOUT_S
        try:
            done = await ctx.runner.run(
                args.command, cwd=place.real, timeout_s=limit, emit=ctx.emit, background=args.background
            )
        except (OSError, ValueError) as error:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "cannot_start",
                f"The shell could not be started: {getattr(error, 'strerror', None) or 'bad command line'}.",
                hint="The command line may be too long." if getattr(error, "errno", 0) == 7 else "",
                next_="Put long input into a file with write, and run a short command on it.",
            ) from error
        return await asyncio.to_thread(_result, args, done, limit)


def decode_output(data: bytes) -> tuple[str, int]:
    """Text of a command's output as the model sees it, and how many bytes could not be decoded."""
    value = data.decode("utf-8", "replace")
    lossy = value.count("\ufffd") - data.count("\ufffd".encode()) if "\ufffd" in value else 0
    return printable(_overwritten(strip_ansi(value))), lossy


def _overwritten(value: str) -> str:
    """Progress lines that overwrite themselves (`\\r`) reduced to their last state."""
    if "\r" not in value:
        return value
    lines = value.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)


def _result(args: BashInput, done: CommandResult, limit: float) -> ToolResult:
    value, lossy = decode_output(done.output)
    if done.total_bytes <= (KEEP_LIMIT if done.whole is not None else len(done.output)):
        rest = "the whole output is kept in the session; use grep, head or tail"
    else:
        kept = f"the first {KEEP_LIMIT:,}" if done.whole is not None else "the beginning"
        rest = f"it had {done.total_bytes:,} bytes, of which only {kept} and the end are kept; send so much into a file"
    shown = cut(value.rstrip("\n"), SHOWN_BYTES, rest)
    notes = []
    if lossy:
        notes.append(
            f"[{lossy} bytes of the output are not UTF-8 and are shown as \ufffd: do not quote them as fact]"
        )
    if done.process_id and args.background and done.exit_code is None:
        notes.append(f"[runs in the background as {done.process_id}; look after it with the tool process]")
    elif done.survivors:
        pids = ", ".join(map(str, done.survivors[:10]))
        notes.append(
            f"[still running: process {pids} of this command"
            + (f" (as {done.process_id}; stop it with the tool process)]" if done.process_id else "]")
        )
    notes += [
        f"[refused by the sandbox: {item.get('kind')} {item.get('target')}]" for item in done.denials[:10]
    ]
    error = _error(args, done, value, limit)
    check = parse_check(args.command, value, done.exit_code)
    flags = NodeFlag.NONE
    if check is not None and not args.background:
        flags |= NodeFlag.CHECKS_PASSED if check.ok else NodeFlag.CHECKS_FAILED
    detail: dict[str, Any] = {
        "command": args.command,
        "exit_code": done.exit_code,
        "duration_ms": done.duration_ms,
        "bytes": done.total_bytes,
        "timed_out": done.timed_out,
        "survivors": done.survivors,
        "process": done.process_id,
        "lossy": bool(lossy),
        "confinement": done.confinement,
        "denials": done.denials,
    }
    if check is not None:
        detail["check"] = check.to_json()
    effects = list(done.effects)
    if done.process_id:
        effects.append(
            {
                "kind": "background_process",
                "reversibility": "undoable",
                "process": done.process_id,
                "pids": done.survivors,
            }
        )
    body = "\n".join(part for part in [shown, *notes] if part)
    summary = (
        "timed out" if done.timed_out else f"exit {done.exit_code}" if done.exit_code is not None else "runs"
    )
    if check is not None and check.passed is not None:
        summary = f"{check.passed} passed, {check.failed} failed"
    return ToolResult(
        content=text(body) if body or error is None else [],
        error=error,
        summary=summary,
        detail=detail,
        whole=done.whole,
        full_output=done.output if done.whole is None and len(shown) < len(value.rstrip("\n")) else None,
        flags=flags,
        effects=effects,
    )


def _error(args: BashInput, done: CommandResult, value: str, limit: float) -> ToolError | None:
    if done.denials:
        named = ", ".join(f"{item.get('kind')} {item.get('target')}" for item in done.denials[:5])
        hint = "This is policy, not a fault of the command or of the network."
        next_ = "If it is needed, ask with request_access; otherwise find a way inside the workspace."
        branch = next((m[1] for d in done.denials if (m := _BRANCH.search(str(d.get("target", ""))))), "")
        if branch:
            hint = (
                f"The branch {branch} is the person's and never moves; branches below worldline/ are yours."
            )
            next_ = (
                f"Make one and do the same there: git switch -c worldline/{branch}. What is staged and changed comes "
                f"along; the person brings it to {branch} when they want it. Do not ask for access to it."
            )
        if done.way_on is not None:
            hint, next_ = done.way_on
        return ToolError(
            error_class=ErrorClass.PERMISSION,
            type="sandbox_denied",
            message=f"Blocked by the sandbox: {named}."
            + (f" Exit code {done.exit_code}." if done.exit_code else ""),
            hint=hint,
            next=next_,
            details={"denied": done.denials[:10], "exit_code": done.exit_code},
        )
    if done.timed_out:
        left = f" Could not be ended: {', '.join(map(str, done.survivors))}." if done.survivors else ""
        return ToolError(
            error_class=ErrorClass.ENVIRONMENT,
            type="timeout",
            message=f"The command ran longer than {limit:g} s and was ended with everything it had started.{left}",
            hint="The output up to then follows. It may have waited for input, which it never gets.",
            next="Run it in the background, give a longer timeout_s, or do less at once.",
        )
    if done.exit_code in (0, None):
        return None
    if done.way_on is not None:
        return ToolError(
            error_class=ErrorClass.PERMISSION,
            type="needs_credentials",
            message=f"The command ended with exit code {done.exit_code}. {done.way_on[0]}",
            hint="This is policy, not a fault of the command or of the network.",
            next=done.way_on[1],
            details={"exit_code": done.exit_code},
        )
    type_, hint, next_ = _failure(args.command, done.exit_code or 0, value)
    return ToolError(
        error_class=ErrorClass.ENVIRONMENT,
        type=type_,
        message=f"The command ended with exit code {done.exit_code}.",
        hint=hint,
        next=next_,
        details={"exit_code": done.exit_code},
    )


def _failure(command: str, code: int, value: str) -> tuple[str, str, str]:
    """Type, hint and next step: the command is wrong, a path is wrong, or it is not permitted."""
    tail = value[-4000:]
    last = command.strip().split("|")[-1].split()
    if code == 127:
        match = re.search(r"(?:line \d+: )?([^\s:]+): (?:command )?not found", tail)
        name = f" ({match[1]})" if match else ""
        return (
            "command_not_found",
            f"The command is wrong, not the path: it was not found{name}.",
            (
                "Check the spelling, or whether it has to be installed or run through the project (npx, python -m)."
            ),
        )
    if code == 126 or re.search(r"Permission denied|Operation not permitted|Read-only file system", tail):
        return (
            "not_permitted",
            "Something was not permitted: file permissions or the system refused it.",
            ("Do not try other ways round it; if it is needed, say so to the person."),
        )
    if code == 1 and last and last[0] in ("grep", "rg", "egrep", "fgrep", "ag"):
        return "no_match", "Exit code 1 of a search means: nothing matched.", "Search for something else."
    if code == 1 and last and last[0] in ("diff", "cmp"):
        return "differs", "Exit code 1 of a comparison means: they differ.", "Look at the differences."
    if re.search(r"No such file or directory|cannot find the path|not a directory", tail, re.IGNORECASE):
        return (
            "path_wrong",
            "A path is wrong, not the command: something named in it is not there.",
            ("Look where it is with glob or list_dir; every call starts in the workspace."),
        )
    meaning = _EXIT_MEANING.get(code, f"ended by signal {code - 128}" if 128 < code < 160 else "")
    hint = f"Exit code {code}: {meaning}." if meaning else ""
    if code == 2 and re.search(r"unexpected EOF|syntax error|unterminated", tail):
        return (
            "syntax_error",
            "The shell could not parse the command line; a quote or bracket is not closed.",
            "Correct it.",
        )
    return "nonzero_exit", hint, "Read the output; correct the cause before running it again."


class ProcessInput(ToolInput):
    action: Literal["list", "output", "wait", "stop"] = Field(description="What to do.")
    id: str | None = Field(default=None, description="Id of the process, like p1; not for list.")
    timeout_s: float = Field(default=30, description="How long to wait.", gt=0, le=600)


class Processes(BaseTool):
    name = "process"
    description = (
        "Background processes of earlier commands: list them, see their output, wait for one, stop one."
    )
    Input = ProcessInput
    access = "read"
    polling = True
    aliases = {"process_id": "id", "pid": "id", "timeout": "timeout_s"}

    async def run(self, args: ProcessInput, ctx: ToolContext) -> ToolResult:
        table = ctx.services.get("processes")
        if not isinstance(table, ProcessTable):
            table = ProcessTable()
        entries = await asyncio.to_thread(table.entries)
        if args.action == "list":
            lines = [
                f"{e.id}  pid {e.pid}  {'ended' if e.ended else 'running'}  {e.command[:200]}"
                for e in entries
            ] or ["Nothing runs in the background."]
            return ToolResult(content=text("\n".join(lines)), summary=f"{len(entries)} processes")
        entry = table.get(args.id or "")
        if entry is None:
            known = ", ".join(e.id for e in entries) or "none"
            raise fail(
                ErrorClass.USER,
                "no_such_process",
                f"There is no process {args.id!r}." if args.id else "The field id is missing.",
                hint=f"Known: {known}.",
                next_="Use one of these, or action list.",
            )
        if args.action == "stop":
            left = await table.stop(entry.id)
            note = f"Could not be ended: {', '.join(map(str, left))}." if left else f"{entry.id} is stopped."
            return ToolResult(content=text(note), summary="stopped")
        if args.action == "wait":
            await table.wait(entry.id, args.timeout_s)
        value, _ = decode_output(entry.output())
        code = entry.exit_code()
        state = "still running" if not entry.ended else f"ended, exit code {code}"
        return ToolResult(
            content=text(f"[{entry.id}: {state}]\n" + cut(value.strip("\n"), SHOWN_BYTES)),
            summary=state,
            detail={"process": entry.id, "running": not entry.ended, "exit_code": code},
        )
