from __future__ import annotations

import contextlib
import logging
from pathlib import Path

import pytest

from worldline.core import log


def test_a_log_that_cannot_be_written_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "t.log").symlink_to("/dev/full")
    root = logging.getLogger("worldline")
    before = list(root.handlers)
    log.setup("t")
    try:
        for _ in range(3):
            root.warning("something")
    finally:
        for handler in [h for h in root.handlers if h not in before]:
            root.removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.close()

    said = capsys.readouterr().err
    assert said.count("the log cannot be written") == 1 and said.count("\n") == 1
