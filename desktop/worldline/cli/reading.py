"""A session opened for reading, with what the engine's queries need around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldline.engine.opening import OpenRequest, open_for_reading
from worldline.engine.settings import Settings
from worldline.engine.shared import Shared, now_ms
from worldline.engine.status import StatusBoard
from worldline.protocol.wire import Message


@contextmanager
def reading(path: Path) -> Iterator[Shared]:
    """Works beside a writer, and also when the workspace is gone. Raises SessionError."""

    def ignore(method: str, message: Message) -> None:
        return None

    opened = open_for_reading(OpenRequest(session=path, read_only=True))
    try:
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
