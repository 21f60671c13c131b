"""What a command writes: the ends at hand, the whole in a file, bounded, and said."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from worldline.tools import output
from worldline.tools.output import Output
from worldline.tools.process import run_command


def fed(data: bytes, limit: int, keep: int, seed: int = 1) -> Output:
    rng = random.Random(seed)
    made, at = Output(limit, keep), 0
    while at < len(data):
        size = rng.randint(1, 40)
        made.add(data[at : at + size])
        at += size
    return made


DATA = bytes(range(256)) * 8


@pytest.mark.parametrize("seed", range(5))
def test_all_of_it_is_in_the_file_when_there_is_more_than_is_at_hand(seed: int) -> None:
    made = fed(DATA, 200, 10_000, seed)
    with made.take_whole() or pytest.fail("no file") as file:
        assert file.read() == DATA
    assert made.get().startswith(DATA[:100]) and made.get().endswith(DATA[-100:])
    assert made.take_whole() is None


def test_there_is_no_file_for_what_is_at_hand() -> None:
    made = fed(DATA[:200], 200, 10_000)
    assert made.take_whole() is None and made.get() == DATA[:200]
    assert fed(DATA, 200, 0).take_whole() is None


@pytest.mark.parametrize("keep", [1000, 2000, len(DATA) - 50, len(DATA) - 100, len(DATA) - 150])
def test_of_more_than_is_kept_the_beginning_and_the_end_are(keep: int) -> None:
    with fed(DATA, 200, keep).take_whole() or pytest.fail("no file") as file:
        kept = file.read()
    left_out = len(DATA) - keep - 100
    if left_out <= 0:
        assert kept == DATA
    else:
        assert kept == DATA[:keep] + b"\n[... %d bytes left out here ...]\n" % left_out + DATA[-100:]


def test_a_disk_without_room_costs_the_file_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(**_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.tempfile, "TemporaryFile", full)
    made = fed(DATA, 200, 10_000)
    assert made.take_whole() is None and made.total == len(DATA) and made.get().endswith(DATA[-100:])


async def test_a_command_gives_its_file_and_leaves_no_name(tmp_path: Path) -> None:
    before = set(os.listdir("/tmp"))
    done = await run_command("seq 700000", cwd=tmp_path, timeout_s=60, emit=lambda *_: None)
    assert done.whole is not None
    with done.whole as file:
        assert file.read() == b"".join(b"%d\n" % n for n in range(1, 700_001))
    assert not [name for name in set(os.listdir("/tmp")) - before if name.startswith("worldline-")]
