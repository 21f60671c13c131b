"""write: a whole file, in one step."""

from __future__ import annotations

from pydantic import Field

from worldline.core.errors import ErrorClass
from worldline.tools.base import PATH_ALIASES, BaseTool, to_the_end
from worldline.tools.edit import MASK_MARK, changed_result, masked_text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import Place, locate, need_file, refuse_link_out
from worldline.tools.textfile import (
    TextFile,
    binary_kind,
    check_stale,
    decode,
    read_bytes,
    remember,
    write_atomic,
)


class WriteInput(ToolInput):
    path: str = Field(description="File to write, relative to the workspace. Missing folders are made.")
    content: str = Field(description="The whole new content.")


class Write(BaseTool):
    name = "write"
    description = (
        "Write a whole file, new or in place of what is there. To change parts of a file use edit. "
        "If the file changed since you read it, the write is refused."
    )
    Input = WriteInput
    access = "write"
    aliases = PATH_ALIASES | {
        "text": "content",
        "contents": "content",
        "file_text": "content",
        "data": "content",
    }
    retry_safe = True

    def prepare(self, args: WriteInput, ctx: ToolContext) -> AccessRequest:
        place, old = _check(args, ctx)
        before = decode(old).text if old is not None and not binary_kind(old) else None
        return self.request(
            args, ctx, summary=f"write {place.shown}", writes=place.paths, before=before, after=args.content
        )

    async def run(self, args: WriteInput, ctx: ToolContext) -> ToolResult:
        return await to_the_end(_write, args, ctx)


def _check(args: WriteInput, ctx: ToolContext) -> tuple[Place, bytes | None]:
    place = locate(ctx, args.path)
    refuse_link_out(place, ctx)
    if args.path.endswith(("/", "\\")):
        raise fail(
            ErrorClass.USER, "is_a_directory", f"{args.path} names a folder.", next_="Name a file in it."
        )
    folder = place.real.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise fail(
            ErrorClass.ENVIRONMENT,
            "path_wrong",
            f"{place.shown} goes through a file that is no folder.",
            next_="Correct the path.",
        )
    if not place.real.exists():
        return place, None
    need_file(ctx, place)
    data, _ = read_bytes(place, 200_000_000)
    check_stale(ctx.state, place, data)
    if MASK_MARK in args.content and MASK_MARK.encode() not in data:
        raise masked_text(place)
    return place, data


def _write(args: WriteInput, ctx: ToolContext) -> ToolResult:
    place, old = _check(args, ctx)
    known = place.key in ctx.state.files
    file = decode(old) if old is not None and not binary_kind(old) else TextFile("", "utf-8")
    notes: list[str] = []
    try:
        # Keeps the encoding of the file; its BOM too. The content's own line ends are what was asked for.
        bom = b"" if args.content.startswith("\ufeff") else file.bom
        data = bom + args.content.encode(file.encoding)
    except UnicodeEncodeError:
        data = args.content.encode("utf-8")
        notes.append(
            f"It was {file.encoding} and is UTF-8 now: the new content has characters {file.encoding} has not."
        )
    if old is not None and old == data:
        info = place.real.stat()
        remember(ctx.state, place, data, info.st_mtime_ns)
        notes.append("It already held exactly this content; nothing changed.")
        return changed_result(place, args.content, args.content, notes, "Left")
    info, more = write_atomic(place, data)
    if old is not None and not known:
        notes.append("You had not read the old content on this branch before replacing it.")
    remember(ctx.state, place, data, info.st_mtime_ns)
    return changed_result(
        place, file.text, args.content, notes + more, "Created" if old is None else "Replaced"
    )
