"""Images in a view: within the limits of the API, or replaced by a note. Deterministic and cached."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from worldline.context.texts import IMAGE_UNREADABLE

_ALLOWED = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_CACHE_BYTES = 64_000_000
_MAX_PIXELS = 120_000_000
"""A file of a few kilobytes can claim gigapixels; such an image is refused before it is decoded."""


@dataclass(slots=True, frozen=True)
class Checked:
    """What stands in the view for an image: a block, and why it differs from history ("" = it does not)."""

    block: dict[str, Any]
    kind: str = ""
    detail: str = ""


_cache: OrderedDict[tuple[bytes, str, int, int], Checked] = OrderedDict()
_cache_size = 0


def check_image(block: dict[str, Any], max_side: int, max_bytes: int) -> Checked:
    """Scale an image down to `max_side` pixels and `max_bytes` of base64, or say why it cannot be shown.

    The same image and limits give the same bytes. Images by URL or file id pass as they are.
    """
    source = block.get("source")
    if not isinstance(source, dict):
        return _note("it has no source")
    if source.get("type") in ("url", "file"):
        return Checked({"type": "image", "source": source})
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str) or not data:
        return _note("it has no data")
    media = str(source.get("media_type", ""))
    key = (
        hashlib.blake2b(data.encode("utf-8", "replace"), digest_size=16).digest(),
        media,
        max_side,
        max_bytes,
    )
    found = _cache.get(key)
    if found is not None:
        _cache.move_to_end(key)
        return found
    result = _check(data, media, max_side, max_bytes)
    _remember(key, result)
    return result


def _remember(key: tuple[bytes, str, int, int], value: Checked) -> None:
    global _cache_size
    _cache[key] = value
    _cache_size += _weight(value)
    while _cache_size > _CACHE_BYTES and len(_cache) > 1:
        _cache_size -= _weight(_cache.popitem(last=False)[1])


def _weight(value: Checked) -> int:
    source = value.block.get("source")
    return 200 + (len(source["data"]) if isinstance(source, dict) and "data" in source else 0)


def _note(why: str) -> Checked:
    return Checked(
        {"type": "text", "text": IMAGE_UNREADABLE.format(why=why)},
        "bad_image",
        f"An image is not sent: {why}.",
    )


def _check(data: str, media: str, max_side: int, max_bytes: int) -> Checked:
    from PIL import Image  # heavy, and most sessions hold no image

    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _note("its data is damaged")
    try:
        image = Image.open(io.BytesIO(raw))
        width, height = image.size
        if width * height > _MAX_PIXELS:
            return _note(f"{width} × {height} pixels are too many")
        true_media = _ALLOWED.get(image.format or "")
        if true_media and max(width, height) <= max_side and len(data) <= max_bytes:
            if true_media == media:
                return Checked(
                    {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
                )
            return Checked(
                {"type": "image", "source": {"type": "base64", "media_type": true_media, "data": data}},
                "bad_image",
                f"The image is {true_media}, not {media or 'what it was stored as'}.",
            )
        image.load()
        new = _encode(image, max_side, max_bytes, photo=image.format == "JPEG")
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError) as error:
        return _note(f"it cannot be decoded: {type(error).__name__}")
    if new is None:
        return _note("it is too large, even scaled down")
    new_media, new_data, size = new
    return Checked(
        {"type": "image", "source": {"type": "base64", "media_type": new_media, "data": new_data}},
        "oversized_image",
        f"The image was scaled from {width} × {height} to {size[0]} × {size[1]} pixels.",
    )


def _encode(
    image: Any, max_side: int, max_bytes: int, *, photo: bool
) -> tuple[str, str, tuple[int, int]] | None:
    """(media type, base64, size) of the largest version within the limits; None if there is none."""
    from PIL import Image

    side = min(max_side, max(image.size))
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    flat = image.convert("RGBA" if has_alpha else "RGB")
    while side >= 64:
        scale = side / max(image.size)
        size = (max(1, round(image.size[0] * scale)), max(1, round(image.size[1] * scale)))
        scaled = flat if size == image.size else flat.resize(size, Image.Resampling.LANCZOS)
        for media, arguments in _formats(photo, has_alpha):
            out = io.BytesIO()
            scaled.save(out, **arguments)
            if (len(out.getbuffer()) + 2) // 3 * 4 <= max_bytes:
                return media, base64.b64encode(out.getvalue()).decode("ascii"), size
        side = side * 3 // 4
    return None


def _formats(photo: bool, has_alpha: bool) -> list[tuple[str, dict[str, Any]]]:
    png: tuple[str, dict[str, Any]] = ("image/png", {"format": "PNG", "compress_level": 6})
    jpeg: tuple[str, dict[str, Any]] = ("image/jpeg", {"format": "JPEG", "quality": 85})
    if has_alpha:
        return [png]
    return [jpeg] if photo else [png, jpeg]
