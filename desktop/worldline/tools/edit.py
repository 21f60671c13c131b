"""edit and multi_edit: replace text in a file, and nothing else in it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from worldline.core.errors import ErrorClass, ToolFailure
from worldline.tools.base import PATH_ALIASES, BaseTool, text, to_the_end
from worldline.tools.matching import Match, find, nearest, odd_characters, with_newlines
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import Place, locate, need_file, refuse_link_out
from worldline.tools.textfile import (
    TextFile,
    binary_kind,
    check_gone,
    check_stale,
    decode,
    read_bytes,
    remember,
    write_atomic,
)

EDIT_ALIASES = {
    "old_string": "old", "old_str": "old", "old_text": "old", "oldText": "old", "search": "old", "find": "old",
    "new_string": "new", "new_str": "new", "new_text": "new", "newText": "new", "replace": "new",
    "replacement": "new", "replace_all": "all",
}  # fmt: skip
MASK_MARK = "[masked:"


class EditInput(ToolInput):
    path: str = Field(description="File to change, relative to the workspace.")
    old: str = Field(
        description="Text to replace, exactly as in the file, with enough around it to be unique."
    )
    new: str = Field(description="Text to put in its place. Empty deletes.")
    all: bool = Field(default=False, description="Replace every occurrence instead of exactly one.")


class EditPart(ToolInput):
    old: str = Field(description="Text to replace.")
    new: str = Field(description="Text to put in its place.")
    all: bool = Field(default=False, description="Replace every occurrence.")


class MultiEditInput(ToolInput):
    path: str = Field(description="File to change, relative to the workspace.")
    edits: list[EditPart] = Field(
        description="Changes, made one after the other; all of them or none.", min_length=1
    )


@dataclass(slots=True)
class _Change:
    place: Place
    before: bytes
    after: bytes
    file: TextFile
    text: str
    notes: list[str]


class Edit(BaseTool):
    name = "edit"
    description = (
        "Replace text in a file. `old` must be in the file exactly once (or set `all`). Read the file first. "
        "If the file changed since you read it, the edit is refused and you are told what changed."
    )
    Input: ClassVar[type[ToolInput]] = EditInput
    access = "write"
    aliases = PATH_ALIASES | EDIT_ALIASES
    retry_safe = True

    def prepare(self, args: EditInput | MultiEditInput, ctx: ToolContext) -> AccessRequest:
        change = plan_change(ctx, args.path, _parts(args))
        return self.request(
            args,
            ctx,
            summary=f"{self.name} {change.place.shown}",
            writes=change.place.paths,
            before=change.file.text,
            after=change.text,
        )

    async def run(self, args: EditInput | MultiEditInput, ctx: ToolContext) -> ToolResult:
        return await to_the_end(_apply, ctx, args.path, _parts(args))


class MultiEdit(Edit):
    name = "multi_edit"
    description = "Several replacements in one file, one after the other; if one does not fit, none is made."
    Input = MultiEditInput


def _parts(args: EditInput | MultiEditInput) -> list[EditPart]:
    if isinstance(args, MultiEditInput):
        return args.edits
    return [EditPart(old=args.old, new=args.new, all=args.all)]


def plan_change(ctx: ToolContext, path: str, parts: list[EditPart]) -> _Change:
    """The file as it would be. Raises ToolFailure; writes nothing."""
    place = locate(ctx, path)
    refuse_link_out(place, ctx)
    if not place.real.exists():
        check_gone(ctx.state, place)
    need_file(ctx, place)
    data, _ = read_bytes(place)
    kind = binary_kind(data)
    if kind:
        raise fail(
            ErrorClass.USER,
            "binary_file",
            f"{place.shown} is {kind}, not text.",
            next_="Change it with a program that knows the format (bash).",
        )
    file = decode(data)
    try:
        check_stale(ctx.state, place, data)
    except ToolFailure:
        _already(place, file.text, parts)  # a repeated edit is told so, also after another one
        raise
    value = file.text
    notes: list[str] = []
    for index, part in enumerate(parts):
        where = f"edits.{index}: " if len(parts) > 1 else ""
        value, note = apply_part(place, value, part, file.newline, where)
        notes += [note] if note else []
    try:
        after = file.encode(value)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        raise fail(
            ErrorClass.USER,
            "not_encodable",
            f"{place.shown} is stored as {file.encoding}, which has no U+{ord(char):04X}; nothing was written.",
            next_="Use a character that is there, or ask whether the file may be converted to UTF-8.",
        ) from None
    return _Change(place, data, after, file, value, notes)


def _already(place: Place, value: str, parts: list[EditPart]) -> None:
    if len(parts) == 1 and parts[0].new.strip() and parts[0].old not in value and parts[0].new in value:
        raise _already_applied(place, "")


def _already_applied(place: Place, where: str) -> ToolFailure:
    return fail(
        ErrorClass.USER,
        "already_applied",
        f"{where}The new text is already in {place.shown} and the old text is not: this edit was made before.",
        hint="Nothing was written, and nothing needs to be.",
        next_="Go on with the next step; do not repeat this edit.",
    )


def apply_part(place: Place, value: str, part: EditPart, newline: str, where: str = "") -> tuple[str, str]:
    """`value` with one edit made, and a note if it was not matched exactly."""
    if part.old == part.new:
        raise fail(
            ErrorClass.USER,
            "no_change",
            f"{where}`old` and `new` are the same text.",
            next_="Leave this edit out, or send the text that you want to have.",
        )
    if not part.old:
        raise fail(
            ErrorClass.USER,
            "invalid_arguments",
            f"{where}old: must not be empty.",
            hint="An empty text is everywhere in the file.",
            next_="Name the text next to the place, or write the whole file with write.",
        )
    if MASK_MARK in part.new and MASK_MARK not in value:
        raise masked_text(place)
    matches = find(value, part.old, part.new, newline)
    matches = [m for m in matches if value[m.start : m.end] != m.replacement] if matches else []
    fresh = [m for m in matches if not _inside_new(value, m, part, newline)]
    if matches and not fresh:
        raise _already_applied(place, where)
    if not matches:
        raise _no_match(place, value, part, newline, where)
    if len(matches) > 1 and not part.all:
        numbers = [value.count("\n", 0, match.start) + 1 for match in matches]
        raise fail(
            ErrorClass.USER,
            "ambiguous_match",
            f"{where}`old` is in {place.shown} {len(matches)} times, at lines {', '.join(map(str, numbers[:20]))}.",
            next_="Add lines before or after it so that it is unique, or set `all` to change every one.",
            lines=numbers[:50],
        )
    out: list[str] = []
    last = 0
    for match in matches:
        out += [value[last : match.start], match.replacement]
        last = match.end
    return "".join(out) + value[last:], _note(matches, where)


def _inside_new(value: str, match: Match, part: EditPart, newline: str) -> bool:
    """The match is part of what the edit would make of it: the edit has been made already."""
    new = with_newlines(part.new, newline) if match.level == 1 and "\r\n" not in part.new else part.new
    if match.level != 1 or len(new) <= len(part.old):
        return False
    at = new.find(part.old)
    return at >= 0 and value.startswith(new, match.start - at) and match.start >= at


def _note(matches: list[Match], where: str) -> str:
    level = matches[0].level
    if level == 1:
        return f"{where}{len(matches)} places" if len(matches) > 1 else ""
    how = (
        "characters that look the same (quotes, dashes, blanks, line ends)"
        if level == 2
        else "another indentation"
    )
    return f"{where}`old` did not match exactly; it was found with {how}, and the file's own were kept."


def _no_match(place: Place, value: str, part: EditPart, newline: str, where: str) -> ToolFailure:
    new = with_newlines(part.new, newline)
    if part.new.strip() and (part.new in value or new in value):
        return _already_applied(place, where)
    near = nearest(value, part.old)
    hint = ""
    if near:
        hint = f"Nearest lines (tab →, space ·, carriage return ␍):\n{near}"
        odd = odd_characters(near)
        hint += f"\nCharacters there that are not ASCII: {odd}." if odd else ""
    elif not value:
        hint = "The file is empty."
    else:
        hint = f"Nothing like it is in the file ({value.count(chr(10)) + 1:,} lines)."
    if MASK_MARK in part.old:
        hint = "A masked secret stands for other text in the file; match the text around it instead. " + hint
    return fail(
        ErrorClass.USER,
        "no_match",
        f"{where}`old` is not in {place.shown}; nothing was written.",
        hint=hint,
        next_="Copy the text from these lines, or read the file again.",
    )


def masked_text(place: Place) -> ToolFailure:
    return fail(
        ErrorClass.USER,
        "masked_text",
        f"The new text holds the mark of a masked secret; written to {place.shown} it would destroy the secret.",
        hint="What you saw was masked on the way to you; the file holds the real value.",
        next_="Edit only the text around it, or read the value from the environment in the code.",
    )


def _apply(ctx: ToolContext, path: str, parts: list[EditPart]) -> ToolResult:
    change = plan_change(ctx, path, parts)
    info, notes = write_atomic(change.place, change.after)
    remember(ctx.state, change.place, change.after, info.st_mtime_ns)
    return changed_result(change.place, change.file.text, change.text, change.notes + notes)


def changed_result(
    place: Place, before: str, after: str, notes: list[str], verb: str = "Changed"
) -> ToolResult:
    """What a write tells: counts, and the changed lines as a short diff."""
    rows = list(
        difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
        if len(before) + len(after) < 2_000_000
        else []
    )[2:]
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    shown = [row[:300] for row in rows[:60]] + ([f"… {len(rows) - 60} more lines"] if len(rows) > 60 else [])
    message = "\n".join([f"{verb} {place.shown} (+{added} −{removed}).", *notes, *shown])
    return ToolResult(
        content=text(message),
        summary=f"+{added} −{removed}",
        detail={
            "path": place.shown,
            "added": added,
            "removed": removed,
            "diff": "\n".join(rows[:2000]),
            "notes": notes,
        },
        paths=[place.shown],
    )
