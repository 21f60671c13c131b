"""What is brought home as a commit is what git itself would commit. `git add` in the session's folder is the judge."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace.bring_home import bring_home
from worldline.workspace.engine import Workspace

from .conftest import Sides, run_sh

_U16 = "printf 'one\\r\\nt\\303\\266\\r\\n' | iconv -f utf-8 -t {0} > f"
CASES = {
    "mixed ends, autocrlf": ("core.autocrlf true", "", "printf 'a\\nb\\n' >f", "echo c >>f"),
    "new file, autocrlf": ("core.autocrlf input", "", "echo a >f", "printf 'a\\r\\nb\\r\\n' >new"),
    "new binary file, autocrlf": ("core.autocrlf input", "", "echo a >f", "printf 'a\\r\\n\\0\\r\\n' >new"),
    "a lone carriage return": ("core.autocrlf input", "", "echo a >f", "printf 'a\\r\\nb\\rc\\r\\n' >new"),
    "committed with CRLF": ("core.autocrlf false", "* text=auto", "printf 'a\\r\\nb\\r\\n' >f", "printf 'c\\r\\n' >>f"),
    "text": ("x.y z", "* text", "printf 'a\\n' >f", "printf '\\0b\\r\\n' >>f"),
    "eol": ("x.y z", "f eol=crlf", "printf 'a\\n' >f", "echo b >>f"),
    "no text": ("core.autocrlf true", "* -text", "printf 'a\\n' >f", "printf 'b\\r\\n' >>f"),
    "the old name": ("x.y z", "f crlf", "printf 'a\\n' >f", "printf 'b\\r\\n' >>f"),
    "ident": ("x.y z", "f ident", "printf '$Id$\\na\\n' >f", "echo b >>f"),
    "UTF-16LE": ("x.y z", "f text working-tree-encoding=UTF-16LE", _U16.format("utf-16le"), "printf 'x\\0' >>f"),
    "UTF-16": ("x.y z", "f text working-tree-encoding=UTF-16", _U16.format("utf-16"), "printf 'x\\0' >>f"),
}  # fmt: skip


@pytest.mark.parametrize("how", ["commit", "branch"])
@pytest.mark.parametrize("case", CASES)
def test_as_git_commits_it(tmp_path: Path, case: str, how: str) -> None:
    config, attributes, begin, change = CASES[case]
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    run_sh(f"git init -q -b main; git config {config}; echo '{attributes}' >.gitattributes; {begin}", mine)
    run_sh("git add -A; git commit -qm base; rm f; git checkout -q f", mine)
    run_sh(f"git worktree add -q -b worldline/s/start {theirs}", mine)
    home, source = (
        Workspace(mine, tmp_path / "h", free_floor=0),
        Workspace(theirs, tmp_path / "s", free_floor=0),
    )
    start = source.capture(None).state
    run_sh(change, theirs)
    state = source.capture(start).state
    wanted = run_sh("git add -A; git write-tree", theirs)
    done = bring_home(source, home, state, how=how, start=start, dry_run=False, branch="made")  # type: ignore[arg-type]
    assert done.done and not done.conflicts
    assert run_sh(f"git rev-parse '{'main' if how == 'commit' else 'made'}^{{tree}}'", mine) == wanted
    assert run_sh("git diff main", mine) == ""
    home.close()
    source.close()


def test_what_is_not_in_its_encoding_is_named(sides: Sides) -> None:
    state = sides.node(
        "echo 'new working-tree-encoding=UTF-16' >.gitattributes; echo odd >new; echo more >>f"
    )
    done = sides.bring(state, "commit")
    assert done.done
    left = {e.path: e.reason for e in done.entries if "not in" in e.reason}
    assert list(left) == ["new"] and "not in the commit: it is not in the encoding UTF-16" in left["new"]
    assert run_sh("git status --porcelain", sides.mine) == "?? new\n"


@pytest.mark.parametrize("side", ["mine", "theirs"])
@pytest.mark.parametrize("how", ["commit", "branch"])
def test_a_pipe_in_the_place_of_attributes_is_not_waited_for(sides: Sides, how: str, side: str) -> None:
    state = sides.node("mkdir d && echo new >d/f")
    place = (sides.mine if side == "mine" else sides.theirs) / "d"
    place.mkdir(exist_ok=True)
    os.mkfifo(place / ".gitattributes")
    before = run_sh("git for-each-ref; git status --short -unormal", sides.mine)
    with pytest.raises(WorkspaceError, match="nobody can say how files are to be committed"):
        sides.bring(state, how, branch="made")
    assert run_sh("git for-each-ref; git status --short -unormal", sides.mine) == before
