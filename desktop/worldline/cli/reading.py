"""A session opened for reading, with what the engine's queries need around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from worldline.core.errors import SessionError
from worldline.engine.opening import OpenRequest, open_for_reading
from worldline.engine.settings import Settings
from worldline.engine.shared import Shared, now_ms
from worldline.engine.status import StatusBoard
from worldline.protocol.wire import Message
from worldline.session.health import FileCheck, damage_of, tree_faults

T = TypeVar("T")


def read_with(path: Path, work: Callable[[Shared], T]) -> T:
    """What `work` makes of the session. Where it meets damage, it gets what is readable of the file instead (`doc.damage`
    says what is lost). Works beside a writer, and also when the workspace is gone. Raises SessionError."""
    try:
        with reading(path) as shared:
            return work(shared)
    except SessionError as error:
        if error.kind != "damaged":
            raise
        problem = error
    with reading(path, problem) as shared:
        return work(shared)


@contextmanager
def reading(path: Path, damaged: SessionError | None = None) -> Iterator[Shared]:

    def ignore(method: str, message: Message) -> None:
        return None

    opened = open_for_reading(OpenRequest(session=path, read_only=True, damaged=damaged))
    try:
        if not opened.doc.damage:
            # What is shown may be whole and the file damaged all the same: that must not be found out too late.
            opened.doc.damage = damage_of(path, tree_faults(opened.doc.tree.columns) or FileCheck(path).run())
        yield Shared(
            doc=opened.doc,
            work=opened.work,
            info=opened.info,
            slug=opened.slug,
            settings=Settings(opened.work.work_path if opened.work else None),
            status=StatusBoard(ignore, now_ms),
            emit=ignore,
            branch=opened.branch,
        )
    finally:
        opened.close()
