"""What was being written when the window went, by its own will or not: text, large pastes and pictures of one session.

Below the app's data folder, readable by its owner only, one folder for each session. A message that is sent is in the
session; its draft goes at that moment. Secrets are masked here as everywhere but in a message that was really sent.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from worldline.core.secrets import mask

MAX_BYTES = 32_000_000
"""Of all pastes and pictures of one draft."""
PIECE = 65_536
"""Characters that are looked through for secrets at a time: longer would hold up the window's thread."""
_WHOLE = ("PRIVATE KEY", "PuTTY-User-Key-File")
"""Secrets of many lines, which a piece could cut in two."""
STALE_S = 30 * 86_400
_HEAD = "draft.json"


@dataclass(slots=True)
class Draft:
    text: str = ""
    texts: list[str] = field(default_factory=list)
    """Pastes that are too large for the field."""
    images: list[dict[str, str]] = field(default_factory=list)
    """`media_type` and `data` (base64), as in a prompt."""

    def __bool__(self) -> bool:
        return bool(self.text.strip() or self.texts or self.images)


class DraftFolder:
    """The draft of one session on disk. For one thread at a time; every method may raise OSError."""

    def __init__(self, home: Path, session: str) -> None:
        self._home = home
        self.session = session
        self.folder = home / hashlib.sha256(os.fsencode(session)).hexdigest()[:32]

    def save(self, draft: Draft) -> int:
        """Keep `draft` in place of what was kept before; returns how many pastes and pictures were too large to be
        kept. A crash at any moment leaves the old draft or the new one."""
        if not draft:
            self.remove()
            return 0
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        parts: list[dict[str, str]] = []
        room, left_out = MAX_BYTES, 0
        for kind, media_type, content in self._contents(draft):
            room -= len(content)
            if room < 0:
                room += len(content)
                left_out += 1
                continue
            # By the original's name: what is kept already is not looked through and written again.
            name = hashlib.sha256(kind.encode() + content).hexdigest()[:32]
            if not (self.folder / name).exists():
                self._write(name, masked(content.decode()).encode() if kind == "text" else content)
            parts.append({"kind": kind, "media_type": media_type, "file": name})
        head = {"session": self.session, "text": masked(draft.text), "parts": parts}
        # As ASCII: the name of a session need not be text.
        self._write(_HEAD, json.dumps(head).encode())
        kept = {_HEAD, *(part["file"] for part in parts)}
        for old in self.folder.iterdir():
            if old.name not in kept:
                old.unlink(missing_ok=True)
        return left_out

    @staticmethod
    def _contents(draft: Draft) -> Iterator[tuple[str, str, bytes]]:
        for text in draft.texts:
            # Half a character pair can be pasted; it is no text that any file can hold.
            yield "text", "", text.encode(errors="replace")
        for image in draft.images:
            yield "image", image["media_type"], base64.b64decode(image["data"])

    def _write(self, name: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix="new-", delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self.folder / name)

    def load(self) -> Draft | None:
        """What is kept, None when nothing is. Parts that cannot be read any more are left out."""
        try:
            head = json.loads((self.folder / _HEAD).read_bytes())
            parts = [(part["kind"], part["media_type"], self.folder / part["file"]) for part in head["parts"]]
            draft = Draft(str(head["text"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            # Not one of ours, or of a later version: it stays where it is until there is a new draft.
            return None
        for kind, media_type, file in parts:
            if not file.is_file():
                continue
            if kind == "text":
                draft.texts.append(file.read_text("utf-8", errors="replace"))
            elif kind == "image":
                data = base64.b64encode(file.read_bytes()).decode("ascii")
                draft.images.append({"media_type": str(media_type), "data": data})
        return draft if draft else None

    def remove(self) -> None:
        """The message was sent, or all of it was taken away."""
        if self.folder.exists():
            # The head first: what is left by a crash in between is no draft.
            (self.folder / _HEAD).unlink(missing_ok=True)
            shutil.rmtree(self.folder)


def masked(text: str) -> str:
    """`text` without secrets."""
    if len(text) <= PIECE or any(sign in text for sign in _WHOLE):
        return mask(text)[0]
    return "".join(mask(piece)[0] for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = text.find("\n", at + PIECE) + 1 or len(text)
        # A line without an end is cut as well, at a space where it has one.
        if end - at > PIECE * 4:
            end = (text.rfind(" ", at + PIECE, at + PIECE * 4) + 1) or at + PIECE * 4
        yield text[at:end]
        at = end


def prune(home: Path, *, now: float | None = None) -> int:
    """Remove drafts of sessions that are gone for good: no file, and nothing was written for a month. Returns how many."""
    removed = 0
    oldest = (time.time() if now is None else now) - STALE_S
    for folder in home.iterdir() if home.is_dir() else ():
        head = folder / _HEAD
        try:
            if head.stat().st_mtime > oldest:
                continue
            session = str(json.loads(head.read_bytes())["session"])
        except (OSError, ValueError, KeyError, TypeError, binascii.Error):
            continue
        if not Path(session).exists():
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
