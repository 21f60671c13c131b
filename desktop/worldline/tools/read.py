"""read: text with line numbers, images, notebooks, PDF text."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from typing import Any

from pydantic import Field

from worldline.core.errors import ErrorClass, ToolFailure
from worldline.tools.base import PATH_ALIASES, BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail
from worldline.tools.places import Place, locate, need_file
from worldline.tools.textfile import binary_kind, decode, read_bytes, remember

DEFAULT_LINES = 2000
TEXT_BYTES = 50_000
LINE_CHARS = 2000
MAX_BYTES = 200_000_000
IMAGE_SIDE = 1568
IMAGE_BYTES = 3_500_000
_IMAGES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class ReadInput(ToolInput):
    path: str = Field(description="File, relative to the workspace.")
    offset: int | None = Field(default=None, description="First line to show, counted from 1.", ge=1)
    limit: int | None = Field(default=None, description="How many lines to show (2000 if not given).", ge=1)
    pages: str | None = Field(default=None, description='Pages of a PDF: "3" or "1-5".')


class Read(BaseTool):
    name = "read"
    description = (
        "Read a file. Text comes with line numbers (they are not part of the file). Images are shown, notebooks and "
        "PDFs come as text. Use offset and limit for parts of long files."
    )
    Input = ReadInput
    access = "read"
    parallel = True
    retry_safe = True
    aliases = PATH_ALIASES | {
        "start": "offset",
        "start_line": "offset",
        "lines": "limit",
        "num_lines": "limit",
    }

    def prepare(self, args: ReadInput, ctx: ToolContext) -> AccessRequest:
        place = locate(ctx, args.path)
        # Outside the workspace nothing is said about what is there before it is permitted.
        if place.inside:
            need_file(ctx, place)
        return self.request(args, ctx, summary=f"read {place.shown}", reads=place.paths)

    async def run(self, args: ReadInput, ctx: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_read, args, ctx)


def _read(args: ReadInput, ctx: ToolContext) -> ToolResult:
    place = locate(ctx, args.path)
    need_file(ctx, place)
    data, info = read_bytes(place, MAX_BYTES)
    suffix = place.real.suffix.lower()
    kind = binary_kind(data)
    if kind.endswith("image") or suffix == ".webp":
        return _image(place, data)
    if data.startswith(b"%PDF-"):
        return _pdf(place, data, args.pages)
    if kind:
        raise fail(
            ErrorClass.USER,
            "binary_file",
            f"{place.shown} is {kind} ({len(data):,} bytes), not text.",
            next_="Look at it with a program that knows the format, for example `file`, `unzip -l` or `xxd | head` in bash.",
        )
    file = decode(data)
    if suffix == ".ipynb" and (cells := _notebook(file.text)) is not None:
        remember(ctx.state, place, data, info.st_mtime_ns)
        return ToolResult(content=text(cells), summary="notebook", detail={"path": place.shown})
    body, first, last, total = _lines(file.text, args.offset or 1, args.limit or DEFAULT_LINES)
    whole = first == 1 and last >= total
    remember(ctx.state, place, data, info.st_mtime_ns, whole)
    if total == 0:
        return ToolResult(
            content=text(f"{place.shown} is empty."), summary="empty", detail={"path": place.shown}
        )
    if first > total:
        raise fail(
            ErrorClass.USER,
            "out_of_range",
            f"{place.shown} has {total:,} lines; line {first:,} is beyond its end.",
            next_=f"Use an offset from 1 to {total}.",
        )
    notes = [f"[{file.described}]"] if file.described else []
    if not whole:
        notes.append(
            f"[lines {first:,} to {last:,} of {total:,}"
            + (f"; go on with offset {last + 1}]" if last < total else "]")
        )
    return ToolResult(
        content=text("\n".join([*notes, body])),
        summary=f"{last - first + 1} lines",
        detail={"path": place.shown, "first": first, "last": last, "total": total},
    )


def _lines(value: str, first: int, limit: int) -> tuple[str, int, int, int]:
    lines = value.replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    out: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + limit], first):
        if len(line) > LINE_CHARS:
            line = f"{line[:LINE_CHARS]} [… {len(line) - LINE_CHARS:,} characters of this line left out]"
        size += len(line.encode("utf-8", "replace")) + 8
        if size > TEXT_BYTES and out:
            break
        out.append(f"{number:>6}\t{line}")
    return "\n".join(out), first, first + len(out) - 1, len(lines)


def _image(place: Place, data: bytes) -> ToolResult:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            size, form = image.size, image.format or ""
            # What is cut off would be refused by the API, and the conversation with it.
            image.load()
            if max(size) > IMAGE_SIDE or len(data) > IMAGE_BYTES or form not in _IMAGES:
                image.thumbnail((IMAGE_SIDE, IMAGE_SIDE))
                has_alpha = image.mode in ("RGBA", "LA", "P")
                buffer = io.BytesIO()
                converted = image.convert("RGBA" if has_alpha else "RGB")
                converted.save(buffer, "PNG" if has_alpha else "JPEG")
                form = "PNG" if has_alpha else "JPEG"
                if buffer.tell() > IMAGE_BYTES:
                    buffer = io.BytesIO()
                    converted.convert("RGB").save(buffer, "JPEG", quality=80)
                    form = "JPEG"
                data = buffer.getvalue()
    except Exception:  # noqa: BLE001 - its decoders raise anything for a damaged file; the code above is theirs
        raise fail(
            ErrorClass.ENVIRONMENT,
            "bad_image",
            f"{place.shown} looks like an image but cannot be decoded.",
            next_="Check the file; it may be cut off.",
        ) from None
    source = {"type": "base64", "media_type": _IMAGES[form], "data": base64.b64encode(data).decode()}
    return ToolResult(
        content=[*text(f"{place.shown}: image, {size[0]} × {size[1]}"), {"type": "image", "source": source}],
        summary=f"{size[0]} × {size[1]}",
        detail={"path": place.shown},
    )


def _pdf(place: Place, data: bytes, pages: str | None) -> ToolResult:
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        total = len(reader.pages)
        first, last = _range(pages, total)
        parts = [
            f"[page {number}]\n{reader.pages[number - 1].extract_text()}" for number in range(first, last + 1)
        ]
    except ToolFailure:
        raise
    except Exception:  # noqa: BLE001 - pypdf raises anything for damaged files; the code above is its own
        raise fail(
            ErrorClass.ENVIRONMENT,
            "bad_pdf",
            f"No text could be read from {place.shown}: it is damaged, encrypted, or in an unknown form.",
            next_="Try `pdftotext` in bash, or ask the person for another form.",
        ) from None
    more = f"[{total} pages; shown {first} to {last}" + (
        f"; go on with pages {last + 1}-]" if last < total else "]"
    )
    return ToolResult(
        content=text("\n\n".join([more, *parts])),
        summary=f"{last - first + 1} pages",
        detail={"path": place.shown},
    )


def _range(pages: str | None, total: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d+)\s*(?:(-)\s*(\d*))?\s*", pages or "1-20")
    if match is None:
        raise fail(
            ErrorClass.USER, "invalid_arguments", 'pages: must be like "3" or "1-5".', next_="Correct it."
        )
    first = int(match[1])
    last = (int(match[3]) if match[3] else first + 19) if match[2] else first
    if not 1 <= first <= total or last < first:
        raise fail(
            ErrorClass.USER,
            "out_of_range",
            f"The PDF has {total} pages.",
            next_=f"Name pages from 1 to {total}.",
        )
    return first, min(last, total, first + 49)


def _notebook(value: str) -> str | None:
    """Cells of a notebook with their text outputs; None if it is not one."""
    try:
        book: Any = json.loads(value)
        cells = book["cells"]
        out = []
        for index, cell in enumerate(cells):
            source = "".join(cell.get("source", ""))
            out.append(f"[cell {index}: {cell.get('cell_type', '?')}]\n{source}")
            for output in cell.get("outputs", []):
                shown = (
                    output.get("text")
                    or output.get("data", {}).get("text/plain")
                    or output.get("traceback")
                    or ""
                )
                if shown:
                    out.append("[output]\n" + "".join(shown)[:4000])
                elif "data" in output:
                    out.append(f"[output: {', '.join(output['data'])}]")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return "\n\n".join(out) or "(a notebook without cells)"
