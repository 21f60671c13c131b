from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from worldline.session.document import SessionDocument


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.worldline"


@pytest.fixture
def doc(path: Path) -> Iterator[SessionDocument]:
    document = SessionDocument.create(path, title="A session", workspace={"root": "/w"})
    yield document
    document.close()
