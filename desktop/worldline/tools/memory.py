"""memory: notes of the project that outlive sessions, as Markdown files on disk."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path
from typing import Literal

from pydantic import Field

from worldline.core.errors import ErrorClass
from worldline.core.secrets import mask
from worldline.tools.base import BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import os_errors

LINE_LIMIT = 200
_NAME = re.compile(r"[^\W_][\w .-]{0,79}")


class MemoryInput(ToolInput):
    action: Literal["list", "read", "write", "append", "delete"] = Field(description="What to do.")
    name: str | None = Field(default=None, description="Name of the note, like `build`; not for list.")
    content: str | None = Field(default=None, description="Markdown, for write and append.")


class Memory(BaseTool):
    name = "memory"
    description = (
        "Notes about this project that later sessions can read: how it is built, what was decided and why. Keep them "
        "short. A note may be out of date: what you observe now wins, and the note is to be corrected. No secrets."
    )
    Input = MemoryInput
    access = "ask"
    aliases = {"command": "action", "key": "name", "title": "name", "text": "content", "note": "content"}

    def prepare(self, args: MemoryInput, ctx: ToolContext) -> AccessRequest:
        if args.action != "list":
            _path(args, _folder(ctx))
        if args.action in ("write", "append"):
            if not (args.content or "").strip():
                raise fail(
                    ErrorClass.USER, "invalid_arguments", "content: is empty.", next_="Say what to note."
                )
            lines = (args.content or "").count("\n") + 1
            if lines > LINE_LIMIT:
                raise _too_long(args.name or "", lines)
        return self.request(args, ctx, summary=f"memory {args.action} {args.name or ''}".strip())

    async def run(self, args: MemoryInput, ctx: ToolContext) -> ToolResult:
        folder = _folder(ctx)
        if args.action == "list":
            return _list(folder)
        path = _path(args, folder)
        content, masked = mask((args.content or "").rstrip("\n") + "\n")
        with os_errors(f"The note {args.name}"):
            old = path.read_text("utf-8", "replace") if path.exists() else None
            if args.action in ("read", "delete"):
                if old is None:
                    raise _no_note(args, folder)
                if args.action == "delete":
                    path.unlink()
                    return ToolResult(content=text(f"The note {args.name} is deleted."), summary="deleted")
                day = time.strftime("%Y-%m-%d", time.gmtime(path.stat().st_mtime))
                head = f"[note of {day}; what you observe now wins over it]\n"
                return ToolResult(content=text(head + old), summary=f"{old.count(chr(10))} lines")
            if args.action == "append":
                content = (old or "") + content
            elif old is not None and old != content:
                choice = await ctx.ask(
                    f"There is already a note {args.name!r} with other content. What shall become of it?",
                    ["Keep the old note", "Add the new text to it", "Replace it"],
                    False,
                )
                if choice == "Add the new text to it":
                    content = old + content
                elif choice != "Replace it":
                    raise fail(
                        ErrorClass.USER,
                        "name_conflict",
                        f"The note {args.name} is there already and stays as it is.",
                        next_="Use another name, or go on without the note.",
                    )
            lines = content.count("\n")
            if lines > LINE_LIMIT:
                raise _too_long(args.name or "", lines)
            _save(path, content)
        without = f" {masked} secrets in it were masked: notes hold none." if masked else ""
        return ToolResult(
            content=text(f"The note {args.name} is saved ({lines} lines).{without}"), summary="saved"
        )


def _folder(ctx: ToolContext) -> Path:
    given = ctx.services.get("memory_dir")
    if not isinstance(given, Path):
        raise fail(
            ErrorClass.SYSTEM,
            "no_memory",
            "This session keeps no notes.",
            next_="Go on without; put what must last into a file of the project.",
        )
    return given


def _path(args: MemoryInput, folder: Path) -> Path:
    name = (args.name or "").removesuffix(".md")
    if not _NAME.fullmatch(name) or ".." in name:
        raise fail(
            ErrorClass.USER,
            "invalid_arguments",
            "name: must be a plain word or words, without slashes.",
            next_="Use a name like `build` or `release steps`.",
        )
    same = [p for p in folder.glob("*.md") if p.stem.casefold() == name.casefold()] if folder.is_dir() else []
    return same[0] if same else folder / f"{name}.md"


def _list(folder: Path) -> ToolResult:
    lines = []
    with os_errors("The notes"):
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else []:
            body = path.read_text("utf-8", "replace")
            first = next((line.strip("# ").strip() for line in body.splitlines() if line.strip()), "")
            lines.append(f"{path.stem}  ({body.count(chr(10))} lines)  {first[:100]}")
    return ToolResult(
        content=text("\n".join(lines) or "There are no notes yet."), summary=f"{len(lines)} notes"
    )


def _no_note(args: MemoryInput, folder: Path) -> Exception:
    names = ", ".join(sorted(path.stem for path in folder.glob("*.md"))) if folder.is_dir() else ""
    return fail(
        ErrorClass.ENVIRONMENT,
        "no_such_note",
        f"There is no note {args.name!r}.",
        hint=f"There are: {names}." if names else "There are no notes yet.",
        next_="Use one of these names, or go on without.",
    )


def _too_long(name: str, lines: int) -> Exception:
    return fail(
        ErrorClass.USER,
        "note_too_long",
        f"The note {name} would have {lines} lines; at most {LINE_LIMIT} are kept in one. Nothing was written.",
        next_="Split it by topic into several notes, or shorten it.",
    )


def _save(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temp = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        temp.write_text(content, "utf-8")
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)
