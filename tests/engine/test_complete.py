"""Completing the names of files in a message."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from worldline.protocol.commands import Complete, Completions

Open = Callable[..., Awaitable[Any]]


async def test_files_are_completed_by_any_part_of_their_name_in_any_writing(
    bench: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    (folder / "my dir").mkdir(parents=True)
    for name in ("Parser.py", "my dir/other_parser.py", "文档.md", "my dir/cafe\u0301.txt", "deep.txt"):
        (folder / name).write_text("x")
    with contextlib.suppress(OSError):  # a file system may refuse such a name
        Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.txt")).write_text("x")
    one = await bench(workspace=folder)

    async def offered(prefix: str) -> list[str]:
        return (await one.actor.files.complete(Complete(prefix=prefix))).paths

    assert await offered("@pars") == ["Parser.py", "my dir/other_parser.py"]
    assert await offered("文") == ["文档.md"]
    assert await offered("caf\u00e9") == ["my dir/cafe\u0301.txt"]
    assert await offered('@"my dir/') == ["my dir/", "my dir/cafe\u0301.txt", "my dir/other_parser.py"]
    everything = await offered("")
    assert "deep.txt" in everything and not any("bad" in path for path in everything)
    assert Completions(paths=everything).model_dump_json()
