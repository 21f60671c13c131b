"""How it is said that something may be the work of a command in the background, or of the person."""

from __future__ import annotations

from collections.abc import Sequence

UNSURE = "user?"
"""Author of what was changed by the person or by a command in the background: nobody knows which of them."""
_LONGEST = 60
_NAMED = 3


def shown_command(command: str) -> str:
    """A command in as much of its first words as a sentence holds. Secrets in it must be masked before."""
    line = " ".join(command.replace("`", "'").split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def while_ran(commands: Sequence[str], person: str = "you", mark: str = ":") -> str:
    """`while `npm run dev` ran in the background: by it or by you`. There is at least one command."""
    named = [*commands[:_NAMED], *(["…"] if len(commands) > _NAMED else [])]
    shown = ", ".join(f"`{command}`" for command in named)
    it = "it" if len(commands) == 1 else "one of them"
    return f"while {shown} ran in the background{mark} by {it} or by {person}"
