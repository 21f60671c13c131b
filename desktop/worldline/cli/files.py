"""`worldline verify`, `recover`, `import` and `export`: session files as files."""

from __future__ import annotations

import signal
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from worldline.cli.output import SCHEMA, print_json, say, told
from worldline.core.errors import BadInput, SessionError, WorkspaceError, WorldlineError

_MOST_WARNINGS = 5
"""Of each file on screen; `--json` has all."""


def verify_command(options: Namespace) -> int:
    from worldline.session.verify import verify

    with state_check(options.file) as state_exists:
        report = verify(options.file, state_exists)
    if options.json:
        print_json(report.as_json())
        return 0 if report.sound else 1
    if report.sound:
        print(told(f"{options.file} is sound."))
    for fault in report.faults:
        print(
            f"{fault.kind} · {fault.where}:",
            told(fault.meaning),
            told("Still works:"),
            told(fault.still_works),
        )
    for note in report.notes:
        say(f"note: {note.where}: {told(note.meaning)}")
    return 0 if report.sound else 1


@contextmanager
def state_check(path: Path) -> Iterator[Callable[[str], bool] | None]:
    """Whether the session's object store holds a state; None when there is no store to ask or the file cannot be
    read (`verify` says what is wrong with it)."""
    from worldline.session.document import SessionDocument

    try:
        with SessionDocument.open(path, mode="read") as doc:
            place = doc.info()["workspace"]
    except SessionError:
        yield None
        return
    folder = place.get("store", "")
    if not folder or not Path(folder).is_dir():
        yield (lambda state: False) if folder else None
        return
    from worldline.workspace.states import State
    from worldline.workspace.store import Store

    store = Store(Path(folder))

    def exists(state: str) -> bool:
        try:
            State.load(store, state)
        except WorkspaceError:
            return False
        return True

    try:
        yield exists
    finally:
        store.close()


def recover_command(options: Namespace) -> int:
    """Returns 1 where something is lost, although the new session is written: what is not whole is no success."""
    from worldline.session.recover import recover

    if not options.out.absolute().parent.is_dir():
        raise BadInput(
            f"The folder {options.out.absolute().parent} is not there.", "Make it, or choose another file."
        )
    with stopped_by_signals():
        found = recover(options.file, options.out)
    losses = found.losses()
    if options.json:
        print_json({"schema": SCHEMA, **asdict(found), "out": str(found.out), "losses": losses})
    else:
        print(told(f"{found.out}: {found.nodes} nodes saved."))
        for sentence in (*losses, *found.remarks):
            say(told(sentence))
    return 0 if found.nodes and not losses else 1


def import_command(options: Namespace) -> int:
    with stopped_by_signals():
        reports = _import(options)
    failed = [r for r in reports if r.get("error")]
    if options.json:
        print_json({"schema": SCHEMA, "files": reports})
    for report in [] if options.json else reports:
        _tell(report)
    if not reports:
        raise BadInput(
            "There is no session in what was named.", "Name session files, or folders that hold some."
        )
    if failed and len(failed) == len(reports) and all(map(_is_bad_input, failed)):
        return 2
    return 1 if failed else 0


def _is_bad_input(report: dict[str, Any]) -> bool:
    """What was named is no session, or is not there: nothing that could be tried again."""
    return report.get("error_kind") in ("no_session", "bad_input") or not _is_there(Path(report["source"]))


def _import(options: Namespace) -> list[dict[str, Any]]:
    from worldline.engine.bundle import is_bundle, read_bundle
    from worldline.session.importers.run import import_all

    bundles = [source for source in options.sources if _is_file(source) and is_bundle(source)]
    others = [source for source in options.sources if source not in bundles]
    reports = []
    for source in bundles:
        try:
            reports.append(read_bundle(source, options.out))
        except WorldlineError as error:
            reports.append({"source": str(source), "format": "", "out": "", "error": str(error),
                            "error_kind": error.kind})  # fmt: skip
    if others:
        quiet = options.json and not options.progress
        reports += import_all(
            others, options.out, None if quiet else _progress, _nodes if options.progress else None
        )
    return reports


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that cannot be one; the import says so
        return False


def _tell(report: dict[str, Any]) -> None:
    wrong = report.get("error") or report.get("skipped")
    if wrong:
        say(f"{report.get('source')}: {told(str(wrong))}")
        return
    print(told(f"{report.get('out')}: {report.get('nodes')} nodes, {report.get('branches')} branches"))
    gaps = report.get("gaps") or []
    if gaps:
        first = f"line {gaps[0]['line']}, {told(gaps[0]['reason'])}"
        say(f"{len(gaps)} places were damaged or cannot be joined; the first: {first}")
    for text in (report.get("warnings") or [])[:_MOST_WARNINGS]:
        say(text)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """A signal to end unwinds like Ctrl+C, so that what is half done is removed. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        for each in ends:
            signal.signal(each, signal.SIG_IGN)  # a second one must not cut the tidying short
        raise KeyboardInterrupt

    ends = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {each: signal.signal(each, stop) for each in ends}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _progress(name: str, done: int, total: int) -> None:
    say(f"{done + 1} of {total}: {name}")


def _nodes(done: int, total: int) -> None:
    say(f"{done} of {total} nodes")


def export_command(options: Namespace) -> int:
    with stopped_by_signals():
        out = _export(options)
    if options.json:
        print_json({"schema": SCHEMA, "path": str(out), "bytes": out.stat().st_size})
    else:
        print(out)
    return 0


def _export(options: Namespace) -> Path:
    if options.format == "bundle":
        from worldline.engine.bundle import export

        return export(options.file, "bundle", options.out)
    from worldline.session.export.run import export_session

    return export_session(options.file, options.format, options.out)
