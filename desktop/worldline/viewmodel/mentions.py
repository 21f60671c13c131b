"""Naming files in a message: `@src/a.py`, `@"my notes.txt"`. No Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mention:
    """A file that is being named at the end of a text."""

    word: str
    """What is written of its path so far."""
    length: int
    """Characters that a completion replaces: the word, and the quote before it."""


def open_mention(before: str) -> Mention | None:
    """The mention that the text before the cursor ends with, if any. An @ begins one unless it stands behind a letter or
    digit of an address (`me@example.org`) or inside a path; behind Chinese it does, where no space is written."""
    at = -1
    while (at := before.find("@", at + 1)) >= 0:
        if at and (before[at - 1] in "._-/+\\" or (before[at - 1].isascii() and before[at - 1].isalnum())):
            continue
        rest = before[at + 1 :]
        if rest.startswith('"'):
            if '"' in rest[1:]:
                at += 1 + rest.index('"', 1)
                continue
            return Mention(rest[1:], len(rest))
        if not any(char.isspace() for char in rest):
            return Mention(rest, len(rest))
    return None


def named(path: str) -> str:
    """A path as it stands behind the @: in quotes where a space or a quote would end it."""
    if not any(char.isspace() or char in "\"'()（），。；" for char in path):
        return path
    return '"' + path.replace('"', '\\"') + '"'


def completed(path: str) -> str:
    """What a completion puts behind the @: a folder stays open, so that typing goes on inside it."""
    if not path.endswith("/"):
        return named(path) + " "
    text = named(path)
    return text[:-1] if text.endswith('"') else text


def relative(path: str, root: str) -> str:
    """A dropped path as the agent names it: from its folder on, where it lies inside."""
    inside = root.rstrip("/") + "/"
    return path[len(inside) :] if root and path.startswith(inside) and len(path) > len(inside) else path
