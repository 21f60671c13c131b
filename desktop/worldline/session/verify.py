"""Checking a session file. Nothing is changed; every fault comes with what it means and what still works."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.session import connect
from worldline.session.checks_content import check_bodies, check_facts, check_states
from worldline.session.checks_copies import check_copies
from worldline.session.checks_tree import CHECKS, MANY
from worldline.session.faults import Fault, Found, Report


def verify(path: Path, state_exists: Callable[[str], bool] | None = None) -> Report:
    """Check the whole file. `state_exists` says whether the object store still holds a workspace state.

    Raises SessionError `missing` and `not_a_session`; damage of any degree is reported, not raised."""
    report = Report()
    try:
        connect.check_file(path)
        connection = connect.connect_read(path)
    except SessionError as problem:
        if problem.kind != "damaged":
            raise
        report.faults.append(_unreadable(path, problem.message))
        return report
    with contextlib.closing(connection):
        for check in (*CHECKS, check_bodies, check_facts, check_copies):
            try:
                _take(report, check(connection, path))
            except (sqlite3.DatabaseError, ValueError, TypeError, OverflowError) as problem:
                report.faults.append(
                    Fault(
                        "unreadable",
                        check.__name__.removeprefix("check_").strip("_"),
                        f"This part of the file cannot be read to the end ({problem}).",
                        "What can be read is shown; `worldline recover` saves it into a sound file.",
                    )
                )
        if state_exists is not None:
            with contextlib.suppress(sqlite3.DatabaseError, ValueError, TypeError):  # reported above
                _take(report, check_states(connection, state_exists))
    return report


def _take(report: Report, found: Found) -> None:
    counts: dict[str, int] = {}
    for is_fault, fault in found:
        counts[fault.kind] = counts.get(fault.kind, 0) + 1
        if counts[fault.kind] <= MANY:
            (report.faults if is_fault else report.notes).append(fault)
    for kind, count in counts.items():
        if count > MANY:
            last = next(f for f in (*report.faults, *report.notes) if f.kind == kind)
            more = Fault(kind, f"{count - MANY} more", last.meaning, last.still_works)
            (report.faults if last in report.faults else report.notes).append(more)


def _unreadable(path: Path, message: str) -> Fault:
    return Fault(
        "unreadable",
        path.name,
        message,
        "`worldline recover` saves what is readable into a new file; this one is left as it is.",
    )
