"""What a tool call is about, out of its arguments, whichever program's tool it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SUBJECTS = (
    "command", "cmd", "path", "file_path", "notebook_path", "pattern", "query", "url", "host", "question", "task", "prompt",
    "name",
)  # fmt: skip
_SHELLS = ("bash", "sh", "zsh", "dash")


def subject_of(arguments: Mapping[str, Any]) -> str:
    """The argument that says most of a call: a command, a path, a pattern, …; "" where none is known. A command in words
    (`["bash", "-lc", "make test"]`) is what a shell would be given."""
    for key in _SUBJECTS:
        value = arguments.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            value = _joined(value)
        if isinstance(value, str) and value:
            return value
    return ""


def _joined(words: list[str]) -> str:
    shell = words[0].rpartition("/")[2]
    if len(words) == 3 and shell in _SHELLS and words[1].startswith("-") and words[1].endswith("c"):
        return words[2]
    return " ".join(words)
