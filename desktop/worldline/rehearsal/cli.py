"""`worldline rehearse SCENARIO [--port N]`: a scripted model on this machine, for any client."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from worldline.core import paths
from worldline.core.errors import WorldlineError
from worldline.rehearsal.catalog import FAULTS
from worldline.rehearsal.server import RehearsalServer


def scenario_path(name: str) -> Path:
    """A path as it is; a bare name stands for a scenario that comes with the program."""
    path = Path(name)
    bundled = paths.resources_dir() / "rehearsal" / f"{name}.yaml"
    return bundled if not path.exists() and bundled.is_file() else path


def main(argv: list[str]) -> int:
    """Serve until interrupted. Exit code 2 for a scenario that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="worldline rehearse", description="Serve a scripted model on 127.0.0.1."
    )
    parser.add_argument(
        "scenario", nargs="?", default="demo", help="a YAML file, or the name of a bundled one"
    )
    parser.add_argument("--port", type=int, default=0, help="0 = any free port")
    parser.add_argument(
        "--faults", action="store_true", help="list the faults that can be rehearsed, and stop"
    )
    parser.add_argument("--drill", action="append", default=[], metavar="FAULT", help="fail like this first")
    options = parser.parse_args(argv)
    if options.faults:
        for fault in FAULTS.values():
            sys.stdout.write(f"{fault.name:26} {fault.group:11} {fault.about}\n")
        return 0
    try:
        server = RehearsalServer(scenario_path(options.scenario), port=options.port)
        for fault in options.drill:
            server.drill(fault)
        server.start()
    except WorldlineError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    ended.wait()
    server.stop()
    return 0
