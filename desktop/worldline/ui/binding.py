"""Qt's binding, loaded in two thirds of the time: what it compiles at every start is kept for the next one.

The binding carries a dozen Python modules as text inside its library. It compiles them, and the three long patterns in
them, whenever it is imported: 25 ms before anything can be painted. Python keeps the bytecode of modules that are
files; here the same is done for these, in the same folder and under the same conditions (`PYTHONPYCACHEPREFIX`,
`PYTHONDONTWRITEBYTECODE`, nothing where the folder cannot be written). What is kept is named by the text that it was
made of, so that another version of the binding or of Python finds nothing that is not its own.
"""

from __future__ import annotations
import __future__

import builtins
import contextlib
import importlib
import importlib.util
import marshal
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from worldline.core.plainfile import read_plain

INSIDE = "shibokensupport/"
"""How the names of the modules begin that the binding carries."""
_HASH = 8
_INHERITED = __future__.annotations.compiler_flag
"""`compile` takes this over from the code that calls it."""

CodeKey = tuple[str, int, bytes]
"""Name, flags, hash of the text."""
PatternKey = tuple[str | bytes, int]
PatternParts = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
"""What `re` gives to its engine, but for the pattern's text."""


def default_file() -> Path | None:
    """Beside the bytecode of this module. None when Python has no place for that."""
    cached = __spec__.cached if __spec__ is not None else None
    return Path(cached).with_suffix(".qt") if cached else None


class Kept:
    """Between `begin` and `end` the binding is imported, in whichever thread; before and after nothing is changed.

    Patterns of all modules that are imported meanwhile are kept too. Any damage to the file, and any surprise in what it
    holds, leads to what would have happened without it.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._codes: dict[CodeKey, CodeType] = {}
        self._patterns: dict[PatternKey, PatternParts] = {}
        self._used_codes: dict[CodeKey, CodeType] = {}
        self._used_patterns: dict[PatternKey, PatternParts] = {}
        self._news = False
        self._compile, self._compile_pattern = builtins.compile, re.compile

    def begin(self) -> None:
        self._read()
        builtins.compile = self._code
        re.compile = self._pattern

    def end(self) -> None:
        builtins.compile, re.compile = self._compile, self._compile_pattern
        if self._news and not sys.dont_write_bytecode:
            self._write()

    # The file --------------------------------------------------------------------------------------------------
    def _read(self) -> None:
        if self._file is None:
            return
        try:
            raw = read_plain(self._file)
            # Reading bytecode is not proof against damage; Python's own is not checked because nothing is lost with it.
            if importlib.util.source_hash(raw[_HASH:]) != raw[:_HASH]:
                return
            made_by, codes, patterns = marshal.loads(raw[_HASH:])
        except (OSError, EOFError, ValueError, TypeError):
            return  # the first start, a folder that nothing can be kept in, or the file of another version
        if made_by == sys.version and isinstance(codes, dict) and isinstance(patterns, dict):
            self._codes, self._patterns = codes, patterns

    def _write(self) -> None:
        assert self._file is not None
        part = self._file.with_suffix(f".{os.getpid()}")
        try:
            data = marshal.dumps((sys.version, self._used_codes, self._used_patterns))
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(importlib.util.source_hash(data) + data)
            part.replace(self._file)
        except (OSError, ValueError):
            # As with bytecode: where it cannot be kept it is made each time.
            with contextlib.suppress(OSError):
                part.unlink()

    # What is done instead --------------------------------------------------------------------------------------
    def _code(self, source: Any, filename: Any, mode: str, flags: int = 0, dont_inherit: bool = False, *rest: Any, **named: Any) -> Any:  # fmt: skip
        """`compile`; it is asked by other threads as well, for other things."""
        if not dont_inherit:
            flags |= sys._getframe(1).f_code.co_flags & _INHERITED
        ours = isinstance(source, bytes) and isinstance(filename, str) and filename.startswith(INSIDE)
        if not ours or self._file is None or mode != "exec" or rest or named:
            return self._compile(source, filename, mode, flags, True, *rest, **named)
        key = (filename, flags, importlib.util.source_hash(source))
        code = self._codes.get(key)
        if code is None:
            code, self._news = self._compile(source, filename, mode, flags, True), True
        self._used_codes[key] = code
        return code

    def _pattern(self, pattern: Any, flags: int = 0) -> Any:
        """`re.compile`."""
        if not isinstance(pattern, (str, bytes)) or self._file is None:
            return self._compile_pattern(pattern, flags)
        key = (pattern, int(flags))
        parts = self._patterns.get(key)
        try:
            if parts is None:
                parts, self._news = _parts(*key), True
            made = importlib.import_module("_sre").compile(pattern, *parts)
        except (ImportError, AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
            # The inner parts of `re` are not promised to anybody.
            return self._compile_pattern(pattern, flags)
        self._used_patterns[key] = parts
        return made


def _parts(pattern: str | bytes, flags: int) -> PatternParts:
    """What `re` works out before it makes the pattern. Raises `re.error` as `re.compile` does."""
    compiler, parser = importlib.import_module("re._compiler"), importlib.import_module("re._parser")
    parsed = parser.parse(pattern, flags)
    state = parsed.state
    names: list[str | None] = [None] * state.groups
    for name, number in state.groupdict.items():
        names[number] = name
    code: Callable[[Any, int], list[int]] = compiler._code
    return (
        flags | state.flags,
        [int(step) for step in code(parsed, flags)],
        state.groups - 1,
        dict(state.groupdict),
        tuple(names),
    )
