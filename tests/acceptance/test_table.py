"""The torture workspace: one session, one turn of the agent that spoils everything, one jump back. Each row is a
property that was measured on other checkpoint engines; all must be kept, in both modes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import MODES, StartSession
from .driver import Driver, shell

_ID = "git config user.name t && git config user.email t@example.org"
SETUP = f"""
git init -q -b main . && {_ID} && printf 'build/\\n*.log\\n.env\\n' > .gitignore && mkdir -p src docs empty/inner
for n in $(seq 30); do echo "line $n" > src/f$n.txt; done
printf 'tracked png' > logo.png; head -c 4000 /dev/urandom > data.dat; printf 'a\\r\\nb\\r\\n' > crlf.txt
echo dots > a..b.txt; echo old > rename-me.txt; printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; ln -s src/f1.txt link
echo committed > dirty.txt; echo committed > staged.txt; echo mine > later.txt; echo x > gone.txt; echo s > 'name with space'
printf 1 > 'ä中.txt'; git add -A; git commit -qm one
git init -q -b main ../lib && (cd ../lib && {_ID} && echo lib > lib.txt && git add . && git commit -qm lib)
git -c protocol.file.allow=always submodule -q add ../lib sub && git commit -qm sub
git init -q -b main nested && (cd nested && {_ID} && echo n > n.txt && git add . && git commit -qm n && echo dirty > n.txt)
echo dirty > dirty.txt; echo staged > staged.txt; git add staged.txt; echo 'staged and more' > staged.txt
echo untracked > untracked.txt; printf 'png' > untracked.png; echo local > conf.local; echo K=1 > .env
mkdir build; echo built > build/out; head -c 12000000 /dev/zero > big.bin
touch -d '2020-01-01' src/*.txt
"""
AGENT = """
echo agent > src/f1.txt; echo agent > dirty.txt; rm untracked.txt; echo agent > untracked.png; echo agent > conf.local
echo agent > logo.png; echo K=2 > .env; : > big.bin; head -c 100 /dev/urandom > data.dat; printf 'a\\nb\\n' > crlf.txt
echo agent > a..b.txt; mv rename-me.txt renamed.txt; chmod -x run.sh; rm link; echo file > link; echo agent > sub/lib.txt
echo agent > nested/n.txt; mkdir new; echo new > new/file; echo 'out/' >> .gitignore; mkdir out; echo result > out/r
echo agent > 'name with space'; echo agent > 'ä中.txt'; rmdir empty/inner; rm gone.txt
git add -A . 2>/dev/null; git commit -qm agent; git tag agent-tag; echo agent > staged.txt
"""


def _text(path: Path) -> str:
    return (
        path.read_bytes().decode("utf-8", "surrogateescape")
        if path.is_file() and not path.is_symlink()
        else "?"
    )


Check = Callable[[Driver, dict[str, str]], bool]


def _is(path: str, text: str) -> Check:
    return lambda d, _: _text(d.work / path) == text


def _git(command: str, fact: str) -> Check:
    return lambda d, facts: shell(command, d.work, check=False) == facts[fact]


FACTS = {
    "index": "git ls-files -s",
    "status": "git status --porcelain -uall --ignore-submodules=none",
    "commit": "git rev-parse HEAD",
    "sub": "git -C sub rev-parse HEAD; git -C sub status --porcelain",
    "nested": "git -C nested rev-parse HEAD; git -C nested status --porcelain",
    "main": "git rev-parse main",
    "data": "sha1sum data.dat",
}
ROWS: dict[str, Check] = {
    "tracked file, edit tool": _is("docs.md", "?"),
    "tracked file edited by bash": _is("src/f1.txt", "line 1\n"),
    "file dirty (unstaged) at the checkpoint": _is("dirty.txt", "dirty\n"),
    "untracked file removed by bash": _is("untracked.txt", "untracked\n"),
    "untracked .png edited by bash": _is("untracked.png", "png"),
    "untracked *.local edited": _is("conf.local", "local\n"),
    "tracked .png edited": _is("logo.png", "tracked png"),
    "ignored .env edited": _is(".env", "K=1\n"),
    "12 MB untracked, truncated by the agent": lambda d, _: (d.work / "big.bin").stat().st_size == 12_000_000,
    "tracked binary edited": _git("sha1sum data.dat", "data"),
    "CRLF bytes": lambda d, _: (d.work / "crlf.txt").read_bytes() == b"a\r\nb\r\n",
    "name containing ..": _is("a..b.txt", "dots\n"),
    "rename by bash undone": lambda d, _: _text(d.work / "rename-me.txt") == "old\n" and not (d.work / "renamed.txt").exists(),
    "exec bit": lambda d, _: bool((d.work / "run.sh").stat().st_mode & stat.S_IXUSR),
    "symlink turned into a file": lambda d, _: (d.work / "link").is_symlink() and os.readlink(d.work / "link") == "src/f1.txt",
    "submodule file edit": _is("sub/lib.txt", "lib\n"),
    "submodule's HEAD and status": _git(FACTS["sub"], "sub"),
    "nested repository file edit": _is("nested/n.txt", "dirty\n"),
    "nested repository's HEAD and status": _git(FACTS["nested"], "nested"),
    "the agent's new files removed": lambda d, _: not (d.work / "new").exists(),
    "output under an ignore rule added later": _is("out/r", "result\n"),
    "the user's later edit of another file": _is("later.txt", "edited later\n"),
    "the user's later new file": _is("users.txt", "new\n"),
    "untouched files present": lambda d, _: all(_text(d.work / f"src/f{n}.txt") == f"line {n}\n" for n in range(2, 31)),
    "mtime of untouched files": lambda d, _: all((d.work / f"src/f{n}.txt").stat().st_mtime < 1.6e9 for n in range(2, 31)),
    "the user's staged content": lambda d, f: shell("git show :staged.txt", d.work) == "staged\n" and _text(d.work / "staged.txt") == "staged and more\n",
    "the index, entry by entry": _git(FACTS["index"], "index"),
    "HEAD's commit": _git(FACTS["commit"], "commit"),
    "the user's branch not moved by the restore": lambda d, f: shell("git rev-parse main", d.work) == f["main after agent"],
    "empty directory": lambda d, _: (d.work / "empty/inner").is_dir(),
    "names with spaces and other letters": lambda d, _: _text(d.work / "name with space") == "s\n" and _text(d.work / "ä中.txt") == "1",
    "deleted tracked file": _is("gone.txt", "x\n"),
    "what the restore replaced can be got back": lambda d, f: f["undone"] == f["before"],
}  # fmt: skip
IN_PLACE_ONLY = {"ignored build output": _is("build/out", "built\n")}
ROWS["tracked file, edit tool"] = _is("src/f2.txt", "line 2\n")


def _picture(work: Path) -> str:
    return shell(
        "find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum; git ls-files -s", work
    )


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_torture(mode: str, begin: StartSession, record_property: Callable[[str, object], None]) -> None:
    driver = begin(SETUP, mode)
    driver.checkpoint("c1")
    facts = {name: shell(command, driver.work) for name, command in FACTS.items()}
    driver.agent_edit("src/f2.txt", "agent\n")
    os.utime(driver.work / "src/f2.txt", (1.5e9, 1.5e9))
    driver.agent_sh(AGENT)
    facts["main after agent"] = shell("git rev-parse main", driver.work)
    driver.sh("echo 'edited later' > later.txt; echo new > users.txt")
    facts["before"] = _picture(driver.work)
    driver.restore("c1")
    os.utime(driver.work / "src/f2.txt", (1.5e9, 1.5e9))
    checks = {**ROWS, **(IN_PLACE_ONLY if mode == "in place" else {})}
    facts["undone"] = ""
    told = {row: check(driver, facts) for row, check in checks.items() if "got back" not in row}
    driver.undo_restore()
    facts["undone"] = _picture(driver.work)
    told |= {row: check(driver, facts) for row, check in checks.items() if "got back" in row}
    record_property("rows", [(row, mode, good) for row, good in told.items()])
    assert [row for row, good in told.items() if not good] == []
