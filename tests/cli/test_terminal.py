"""What a session holds is printed on a terminal and does not steer it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.cli.terminal import spelled
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft

EVIL = "a \x1b[2J\x1b]0;owned\x07 \x9b31m \u202etxt.exe\rb"


def test_what_a_terminal_obeys_is_spelled_out_and_the_rest_stays() -> None:
    assert spelled(EVIL) == r"a \u001b[2J\u001b]0;owned\u0007 \u009b31m \u202etxt.exe\u000db"
    plain = "one\ttwo\r\nthree 你好 שלום 👩‍💻 é\n"
    assert spelled(plain) == plain


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
@pytest.mark.parametrize("json", [False, True])
def test_a_terminal_gets_no_escape_sequence_of_a_session(tmp_path: Path, json: bool) -> None:
    path = tmp_path / "s.worldline"
    with SessionDocument.create(path, title=EVIL, workspace={"mode": "none"}) as doc:
        doc.append(NodeDraft(NodeKind.ROOT, None, preview=EVIL))
    command = [sys.executable, "-m", "worldline", "inspect", str(path), *(["--json"] if json else [])]
    master, slave = os.openpty()
    try:
        done = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
        os.close(slave)
        shown = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:  # the other end is closed: Linux says it so
                break
            if not more:
                break
            shown += more
        assert done.wait(PATIENCE_S) == 0
    finally:
        os.close(master)
    text = shown.decode()
    assert "[2J" in text and "\\u001b" in text
    assert not set(text) & set("\x1b\x07\x9b\u202e")
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json or "\x1b[2J" in piped.stdout, "a program gets what is there"
