"""The command line: `worldline run|inspect|view|jump|return|diff|import|export|verify|recover|effects|worktrees|engine|…`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from worldline.cli.output import print_error, say, told
from worldline.cli.parser import build_parser
from worldline.cli.terminal import guard
from worldline.core import log
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.loading import without_collections

_WHERE = {
    "run": "worldline.cli.run",
    "inspect": "worldline.cli.inspect",
    "view": "worldline.cli.inspect",
    "effects": "worldline.cli.inspect",
    "diff": "worldline.cli.diff",
    "jump": "worldline.cli.jump",
    "return": "worldline.cli.jump",
    "verify": "worldline.cli.files",
    "recover": "worldline.cli.files",
    "remake-folder": "worldline.cli.folder",
    "import": "worldline.cli.files",
    "export": "worldline.cli.files",
    "worktrees": "worldline.cli.worktrees",
    "engine": "worldline.cli.engine",
    "seed-demo": "worldline.cli.engine",
}
"""Command → the module that runs it, loaded only for that command: `verify` must not wait for what `run` needs."""
_BAD_INPUT = frozenset({"missing", "not_a_session", "bad_input", "refused", "exists", "not_writable"})


def main(argv: Sequence[str]) -> int:
    """Run one command; `argv` without the program name. Returns the exit code (0, 1, 2 or 130)."""
    if argv and argv[0] == "rehearse":
        from worldline.rehearsal.cli import main as rehearse

        return rehearse(list(argv[1:]))
    try:
        options = build_parser().parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, on standard error
        return end.code if isinstance(end.code, int) else 2
    if options.command != "engine":
        guard()
    with without_collections():
        module = import_module(_WHERE[options.command])
    command: Callable[[Any], int] = getattr(module, options.command.replace("-", "_") + "_command")
    try:
        log.setup(f"cli-{options.command}" if options.command != "engine" else "engine")
        return command(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has enough (`| head`). Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # What no command expects of the disk (a name that is too long, no room in the temporary folder).
        print(f"worldline {options.command}: {error}", file=sys.stderr)
        return 1
    except WorldlineError as error:
        if getattr(options, "json", False):
            print_error(error)
        print(f"worldline {options.command}: {told(error.message)}", file=sys.stderr)
        if error.hint:
            say(error.hint)
        if error.kind == "cancelled":
            return 130
        return 2 if isinstance(error, BadInput) or error.kind in _BAD_INPUT else 1
