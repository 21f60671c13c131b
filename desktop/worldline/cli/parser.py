"""Options of every command of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="worldline",
        description="Work with a coding agent and see the whole session as a tree. Without a command the window opens.",
        epilog="NODE is a uid, the beginning of one, cursor, root or leaf. Exit codes: 0 done, 1 ended otherwise or "
        "faults found, 2 wrong usage or bad input, 130 aborted.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run(commands)
    _reading(commands)
    _moving(commands)
    _files(commands)
    _worktrees(commands)
    _engine(commands)
    return parser


def _run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser("run", help="ask the agent, without a window")
    p.add_argument("--workspace", type=Path, metavar="DIR", help="folder or repository to work in")
    p.add_argument(
        "--session", type=Path, metavar="FILE", help="go on in this session; made when it is not there"
    )
    p.add_argument("--at", metavar="NODE", help="continue at this node: its files are put back first")
    p.add_argument("--prompt", required=True, metavar="TEXT", help="- reads it from standard input")
    p.add_argument("--model", default="", metavar="M")
    p.add_argument("--base-url", default="", metavar="URL", help="an Anthropic-compatible server")
    p.add_argument("--mode", choices=["plan", "ask", "work"])
    p.add_argument(
        "--approve", choices=["deny", "allow", "rules"], help="what becomes of risky calls; default: deny"
    )
    p.add_argument(
        "--in-place", action="store_true", help="work in DIR itself instead of in a worktree of it"
    )
    p.add_argument("--max-turns", type=_positive, metavar="N")
    p.add_argument("--effort", default="", metavar="E")
    p.add_argument("--json", action="store_true", help="events as JSON lines, the last one is the result")


def _reading(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser("inspect", help="show a session: nodes, cursor, runs, effects, diagnostics")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("--json", action="store_true")
    p = commands.add_parser("view", help="the exact request that the model would get at a node")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("node", metavar="NODE")
    p.add_argument("--model", default="", metavar="M")
    p.add_argument("--json", action="store_true")
    p = commands.add_parser("effects", help="what was done outside the files")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("--at", default="cursor", metavar="NODE")
    p.add_argument("--json", action="store_true")
    p = commands.add_parser("diff", help="unified diff of two nodes")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("a", metavar="NODE_A")
    p.add_argument("b", nargs="?", default="disk", metavar="NODE_B|disk|base")


def _yours(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--yours",
        choices=["keep", "restore"],
        default="keep",
        help="what becomes of files that you changed yourself",
    )


def _moving(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser("jump", help="go to a node: put its files back, fork, move the cursor")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("node", metavar="NODE")
    p.add_argument("--dry-run", action="store_true", help="only show what would happen")
    _yours(p)
    p.add_argument("--json", action="store_true")

    p = commands.add_parser(
        "return", help="put HEAD of your own folder back on your branch, which `--in-place` leaves"
    )
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument(
        "--files",
        choices=["keep", "back"],
        default="keep",
        help="keep: no file is touched (default); back: as they were when HEAD left your branch",
    )
    _yours(p)
    p.add_argument("--json", action="store_true")


def _files(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser("verify", help="check a session file and the states it refers to")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("--json", action="store_true")
    p = commands.add_parser(
        "recover",
        help="save what is readable of a damaged session into a new one (exit code 1: something is lost)",
    )
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("--out", type=Path, required=True, metavar="NEW")
    p.add_argument("--json", action="store_true")
    p = commands.add_parser(
        "remake-folder", help="make the folder of a session anew from its last step, where it is gone"
    )
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument(
        "--to", type=Path, metavar="DIR", help="in another place; a folder that exists is never touched"
    )
    p.add_argument("--json", action="store_true")
    p = commands.add_parser("import", help="take over sessions of pi, Claude Code or Codex")
    p.add_argument("sources", nargs="+", type=Path, metavar="SOURCE")
    p.add_argument("--out", type=Path, metavar="DIR")
    p.add_argument("--json", action="store_true")
    p.add_argument("--progress", action="store_true", help="say on standard error how far it is")
    p = commands.add_parser("export", help="write a session in another form")
    p.add_argument("file", type=Path, metavar="FILE")
    p.add_argument("--format", required=True, choices=["jsonl", "html", "markdown", "graphml", "bundle"])
    p.add_argument("--out", type=Path, metavar="PATH")
    p.add_argument("--json", action="store_true")


def _worktrees(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "worktrees", help="the folders of sessions in the app's data folder, and what would be lost with each"
    )
    p.add_argument("--only", type=Path, metavar="PATH", help="look at this one alone")
    p.add_argument("--stores", action="store_true", help="also what is kept of the files of deleted sessions")
    p.add_argument("--json", action="store_true")
    p.add_argument(
        "--lines",
        action="store_true",
        help="one JSON line for each as it is known: twice, first without size and loss",
    )
    actions = p.add_subparsers(dest="action", metavar="remove")
    r = actions.add_parser("remove", help="remove a folder, if what would be lost was confirmed")
    r.add_argument("path", type=Path, metavar="PATH")
    r.add_argument(
        "--yes-lose",
        default="",
        metavar="ID",
        help="the id of what would be lost, as it is listed; not needed where nothing would be",
    )
    # Not False: that would undo what was said before the word `remove`.
    r.add_argument("--json", action="store_true", default=argparse.SUPPRESS)


def _engine(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser("engine", help="serve one session over standard streams (the window starts this)")
    p.add_argument("--session", type=Path, metavar="FILE")
    p.add_argument("--workspace", type=Path, metavar="DIR")
    place = p.add_mutually_exclusive_group()
    place.add_argument("--in-place", action="store_true", dest="in_place", default=None)
    place.add_argument("--isolated", action="store_false", dest="in_place")
    p.add_argument("--read-only", action="store_true")
    p.add_argument("--remake-folder", action="store_true", help="make the folder anew where it is gone")
    p.add_argument("--title", default="", metavar="TEXT")
    p.add_argument("--base-url", default="", metavar="URL")
    p.add_argument("--model", default="", metavar="M")
    p.add_argument("--mode", choices=["plan", "ask", "work"])
    p.add_argument("--demo", action="store_true", help="serve the demo session on a scripted model")
    p = commands.add_parser(
        "rehearse", help="a scripted model on this machine, for any client", add_help=False
    )
    p.add_argument("rest", nargs=argparse.REMAINDER)
    p = commands.add_parser("seed-demo", help="make the demo session")
    p.add_argument("--out", type=Path, required=True, metavar="DIR")
    p.add_argument("--json", action="store_true")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
