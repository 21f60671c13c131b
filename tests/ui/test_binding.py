"""What is kept of the binding from start to start, and what is linked ahead: both change nothing but the time."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.ui import binding, libraries

PROGRAM = """
import builtins, json, re, sys
from pathlib import Path
compiled, usual = [], builtins.compile
def count(source, filename, *rest, **named):
    compiled.append(str(filename))
    return usual(source, filename, *rest, **named)
builtins.compile = count
before = builtins.compile, re.compile
from worldline.ui import binding
kept = binding.Kept(Path(sys.argv[1]))
kept.begin()
from PySide6.QtCore import QObject, Qt
kept.end()
assert (builtins.compile, re.compile) == before
one = QObject(); one.setObjectName("a")
try:
    one.setObjectName(1, 2)
except TypeError as error:
    wrong = str(error)
print(json.dumps({
    "compiled": [name for name in compiled if name.startswith(binding.INSIDE)],
    "wrong": wrong, "key": Qt.Key.Key_A.name, "name": one.objectName(),
}))
"""
LINK = """
import json, os, threading
from worldline.ui import libraries
found = libraries.link()
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QThread
from PySide6.QtWidgets import QApplication
app = QApplication([])
maps = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
print(json.dumps([found, app.thread() is QThread.currentThread(), QThread.isMainThread(), sorted(maps)]))
"""


def run(program: str, *arguments: str, **environment: str) -> Any:
    env = {**os.environ, **environment}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env.update(environment)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_what_was_compiled_once_is_not_compiled_again(tmp_path: Path) -> None:
    file = tmp_path / "not there yet" / "binding.qt"
    first = run(PROGRAM, str(file))
    assert first.pop("compiled") and file.is_file()
    again = run(PROGRAM, str(file))
    assert again.pop("compiled") == []
    assert again == first
    assert [path.name for path in file.parent.iterdir()] == ["binding.qt"]


@pytest.mark.parametrize("damage", [b"", b"short", b"12345678 not what it says", None])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    file = tmp_path / "binding.qt"
    first = run(PROGRAM, str(file))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert run(PROGRAM, str(file)) == first
    assert run(PROGRAM, str(file))["compiled"] == []


def _sound(data: bytes) -> bytes:
    return importlib.util.source_hash(data) + data


STRANGE = {
    "of another version": marshal.dumps((sys.version, {}, {}, "more")),
    "of an earlier one": marshal.dumps((sys.version, {})),
    "no parts": marshal.dumps((sys.version, None, [1])),
    "no bytecode": b"made by hand",
    "cut off": marshal.dumps((sys.version, {}, {}))[:-2],
}


@pytest.mark.parametrize("strange", STRANGE)
def test_a_sound_file_that_holds_something_else_is_made_anew(tmp_path: Path, strange: str) -> None:
    file = tmp_path / "binding.qt"
    file.write_bytes(_sound(STRANGE[strange]))
    assert run(PROGRAM, str(file))["compiled"]
    assert run(PROGRAM, str(file))["compiled"] == []


def test_nothing_waits_for_a_pipe_in_its_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "binding.qt")
    assert run(PROGRAM, str(tmp_path / "binding.qt"))["compiled"]


def test_nothing_is_kept_where_python_keeps_nothing(tmp_path: Path) -> None:
    file = tmp_path / "binding.qt"
    assert run(PROGRAM, str(file), PYTHONDONTWRITEBYTECODE="1")["compiled"]
    assert not file.exists()
    beside = tmp_path / "a file, not a folder"
    beside.write_text("")
    assert run(PROGRAM, str(beside / "binding.qt"))["compiled"]


def test_the_place_is_beside_the_bytecode() -> None:
    place = binding.default_file()
    assert place is not None
    assert place.parent == Path(str(binding.__cached__)).parent and place.suffix == ".qt"


PATTERNS: list[tuple[str | bytes, int]] = [
    (r"(?P<a>x+)|(?P<b>y)(z)?", 0),
    (rb"[\x00-\x1f]+(\w)", 0),
    (r"straße  # a word", re.VERBOSE | re.IGNORECASE),
    (r"^(\d+)(?:,(\d+))*$", re.MULTILINE | re.ASCII),
]


@pytest.mark.parametrize(("pattern", "flags"), PATTERNS)
def test_a_kept_pattern_is_the_same_pattern(tmp_path: Path, pattern: str | bytes, flags: int) -> None:
    text = "xx yz STRASSE STRAßE\n1,2,3" if isinstance(pattern, str) else b"\x01\x02a"
    plain = re.compile(pattern, flags)
    file = tmp_path / "binding.qt"
    for _ in range(2):
        kept = binding.Kept(file)
        kept.begin()
        try:
            made = re.compile(pattern, flags)
        finally:
            kept.end()
        for name in ("pattern", "flags", "groups", "groupindex"):
            assert getattr(made, name) == getattr(plain, name)
        assert [match.groups() for match in made.finditer(text)] == [m.groups() for m in plain.finditer(text)]
        assert made == plain


def test_what_is_wrong_with_a_pattern_is_said_as_ever(tmp_path: Path) -> None:
    kept = binding.Kept(tmp_path / "binding.qt")
    kept.begin()
    try:
        with pytest.raises(re.error, match="unterminated"):
            re.compile("[a")
        with pytest.raises(SyntaxError):
            compile("1 +", "here", "exec")
        assert eval(compile("1 + 1", "here", "eval")) == 2
    finally:
        kept.end()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are linked ahead on Linux alone")
def test_the_libraries_linked_ahead_are_those_of_the_binding() -> None:
    found, own, main, maps = run(LINK)
    assert set(libraries.QT) <= set(found)
    for name in libraries.QT:
        # One file: what was linked ahead is what the binding uses.
        assert len([path for path in maps if Path(path).name == Path(name).name]) == 1
    assert (own, main) == (True, True)
