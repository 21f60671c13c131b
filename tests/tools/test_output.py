"""What a command writes: the ends at hand, the whole in a file, bounded, and said."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.tools import output, process
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


async def test_a_command_gives_its_file_and_leaves_no_name(own_temp: Path) -> None:
    done = await run_command("seq 700000", cwd=own_temp, timeout_s=PATIENCE_S, emit=lambda *_: None)
    assert done.whole is not None
    with done.whole as file:
        assert file.read() == b"".join(b"%d\n" % n for n in range(1, 700_001))
    assert os.listdir(own_temp) == []


async def test_nothing_that_was_written_is_lost_however_late_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the thread that reads may have its turn long after the command has ended."""
    turn = threading.Event()
    add = Output.add

    def late(self: Output, chunk: bytes) -> None:
        turn.wait(PATIENCE_S)
        add(self, chunk)

    monkeypatch.setattr(Output, "add", late)
    # A child that outlives the shell holds the pipe open: its end tells nobody that all is read.
    command = "echo said; sleep 600 & echo last"
    running = asyncio.ensure_future(
        run_command(command, cwd=tmp_path, timeout_s=PATIENCE_S, emit=lambda *_: None)
    )
    done, _ = await asyncio.wait([running], timeout=3 * (process.GRACE_S + process.DRAIN_S))
    assert not done
    turn.set()
    result = await running
    assert result.output == b"said\nlast\n" and result.survivors
    for pid in result.survivors:
        os.kill(pid, signal.SIGKILL)
