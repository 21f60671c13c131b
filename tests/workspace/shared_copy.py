"""Copies that several processes make: a repository of a few files is shared out, and who copied what is seen."""

from __future__ import annotations

import select
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.workspace import copier, copying, helpers, isolate
from worldline.workspace.copying import Copying, Piece, Portion
from worldline.workspace.helpers import Helper

from .conftest import run_sh
from .ready import everything


@dataclass
class Seen:
    """Who copied what, and all helpers there were."""

    here: list[str] = field(default_factory=list)
    """Names."""
    asked: set[str] = field(default_factory=set)
    """Paths, as those below."""
    elsewhere: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    started: list[Helper[Portion]] = field(default_factory=list)

    def are_gone(self) -> bool:
        return bool(self.started) and all(helper.process.returncode is not None for helper in self.started)


def paths_of(piece: Piece) -> list[str]:
    return [piece.prefix + name for name in piece.names]


def shared_out(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """A repository of a few files is shared out as a large one would be, on any computer. This process waits before each
    file of its own until a helper has answered: one that has only begun to start had nothing to do otherwise."""
    seen = Seen()
    start, ask, file = Helper.start, Helper.ask, copier.Copier.file
    take, repeat = Copying._take, Copying._repeat

    def started(*words: Any, **options: Any) -> Helper[Portion]:
        helper: Helper[Portion] = start(*words, **options)
        seen.started.append(helper)
        return helper

    def asked(self: Helper[Portion], message: Any, portion: Portion) -> None:
        seen.asked.update(path for piece in portion for path in paths_of(piece))
        ask(self, message, portion)

    def copied(self: copier.Copier, name: str, source: int, dest: int) -> copier.Result:
        seen.here.append(name)
        busy = [helper for helper in seen.started if helper.asked and helper.process.returncode is None]
        if busy:
            select.select([helper.output for helper in busy], [], [], copying._PATIENCE_S)
        return file(self, name, source, dest)

    def taken(self: Copying, piece: Piece, results: list[copier.Result]) -> None:
        seen.elsewhere += paths_of(piece)
        take(self, piece, results)

    def repeated(self: Copying, piece: Piece) -> None:
        seen.again += [path for path in paths_of(piece) if path in seen.asked]
        repeat(self, piece)

    monkeypatch.setattr(copying, "WORTH", 0)
    monkeypatch.setattr(copying, "_EACH", 1)
    monkeypatch.setattr(copying, "_PORTION", 3)
    monkeypatch.setattr(copying, "_PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(helpers, "processors", lambda: 3)
    monkeypatch.setattr(Helper, "start", started)
    monkeypatch.setattr(Helper, "ask", asked)
    monkeypatch.setattr(copier.Copier, "file", copied)
    monkeypatch.setattr(Copying, "_take", taken)
    monkeypatch.setattr(Copying, "_repeat", repeated)
    return seen


def as_alone(work: Path, made: isolate.Isolated) -> None:
    """Whether it is as one process makes it, notes and lists in the same order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "WORTH", 1 << 40)
        alone = isolate.prepare(work, "alone")
    assert everything(made) == everything(alone)
    assert (made.notes, made.included, made.uncommitted) == (
        alone.notes,
        alone.included,
        alone.uncommitted,
    )


def few_files(work: Path) -> Path:
    """A repository of so many that it is worth sharing."""
    for number in range(120):
        folder = work / f"d{number // 30}" / f"e{number // 6 % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_text(f"{number}")
    (work / "d0" / "la\udce4in").write_text("no utf-8")
    run_sh("git init -q -b main . && git add -A && git commit -qm one", work)
    return work
