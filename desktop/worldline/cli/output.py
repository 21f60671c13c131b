"""JSON shapes of the command line. They are stable: programs read them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from worldline.core.errors import WorldlineError
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag
from worldline.core.usage import Usage

SCHEMA = 1
_LANGUAGE = ("WORLDLINE_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""Where the language is looked for, the first that is set."""


def print_json(value: Any) -> None:
    """One document on standard output."""
    sys.stdout.write(
        json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode() + "\n"
    )
    sys.stdout.flush()


def print_line(value: dict[str, Any]) -> None:
    """One event of `run --json`."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.write(line.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def print_error(error: WorldlineError) -> None:
    """Why a command failed, as the one (or last) line of its JSON output."""
    print_line(
        {
            "schema": SCHEMA,
            "event": "error",
            "error": {"kind": error.kind, "message": error.message, "hint": error.hint},
        }
    )


@lru_cache(maxsize=1)
def _catalogue() -> Callable[[str], str]:
    """What translates for the person at this terminal. JSON is never translated: programs read it."""
    wanted = next((value for name in _LANGUAGE if (value := os.environ.get(name))), "")
    if not wanted.startswith("zh"):
        return str
    from worldline.viewmodel import engine_words

    engine_words.use("zh_CN")
    return engine_words.say


def told(text: str) -> str:
    """A sentence of ours in the language of the terminal. Where no translation is known it stays as it is."""
    return _catalogue()(text)


def say(text: str) -> None:
    """For people, beside the output; in their language."""
    print(told(text), file=sys.stderr, flush=True)


def flag_names(flags: NodeFlag) -> list[str]:
    return [f.name.lower() for f in NodeFlag if f.name and f in flags]


def usage_json(usage: Usage) -> dict[str, Any]:
    return usage.model_dump(mode="json")


def node_json(header: NodeHeader, parent: str) -> dict[str, Any]:
    """`parent` is the parent's uid, "" for a root."""
    return {
        "uid": header.uid,
        "parent": parent or None,
        "kind": header.raw_kind or header.kind.value,
        "outcome": header.outcome.value,
        "created": header.created,
        "finished": header.finished or None,
        "preview": header.preview,
        "state": header.state,
        "branch": header.branch,
        "flags": flag_names(header.flags),
        "run": header.run,
        "tool": header.tool,
        "model": header.model,
        "added": header.added,
        "removed": header.removed,
        "files": header.files,
    }
