"""A workspace that is treated badly at random, and what must hold all the same. Bytes and `git` judge, not the engine."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.isolate import prepare
from worldline.workspace.model import NOT_CAPTURED

from .conftest import run_sh, snapshot

NAMES = [
    "a", "b.txt", "B.txt", "dir", "dir/x", "dir/y.txt", "dir/deep/z", "Dir", "a..b", "-dash", "sp ace", "ü", "new\nline",
    "lat\udce4in", "dir/lat\udce4in", "o.log", "dir/p.log", ".env", "n" * 255, "dir/" + "ö" * 127, "sub/f", "e\u0301", "é",
]  # fmt: skip
IGNORES = [
    "*.txt\n",
    "dir/\n",
    "a\n",
    "*.log\n!p.log\n",
    "/dir/deep\n",
    "*\n!.gitignore\n",
    "ü\nsub\n",
    "",
    "sp ace/\n*~\n",
]
GIT = [
    "git add -A", "git add -A && git commit -qm x", "git commit -qm y --allow-empty", "git reset -q", "git reset -q --hard",
    "git rm -q -r --cached dir", "git stash -q -u", "git stash pop -q", "git add -N .", "git switch -q other",
    "git switch -q main", "git switch -q -d HEAD", "git merge -q other", "git merge --abort", "git cherry-pick other",
    "git cherry-pick --abort", "git rebase -q other", "git rebase --abort", "git checkout -q --orphan born", "git gc -q --prune=now",
    "git update-index --assume-unchanged a", "git update-index --skip-worktree a", "git update-index --no-skip-worktree a",
    "git update-index --index-version 4", "git sparse-checkout set dir", "git sparse-checkout set --no-cone '/a' '/dir/x'",
    "git sparse-checkout disable", "git clean -qfdx dir", "git pack-refs --all", "git config core.filemode false",
    "git config core.autocrlf true", "git config core.splitIndex true && git update-index --split-index",
    "git update-index --no-split-index",
    "git commit -q --amend -m z --allow-empty", "git mv a b.txt -f", "git branch -f keep", "git worktree add -q wt -b wt",
    "git worktree remove -f wt", "git revert --no-edit HEAD", "git checkout -q -- .", "git notes add -m n -f",
]  # fmt: skip
NESTED = [
    "git init -q sub && cd sub && git commit -q --allow-empty -m s", "cd sub && echo $RANDOM > f && git add f && git commit -qm f",
    "rm -rf sub/.git", "rm -rf sub", "cd sub && git switch -q -c b2", "cd sub && git add -A", "cd sub && git gc -q --prune=now",
    "git -c protocol.file.allow=always submodule add -q ../source mod", "git submodule deinit -q -f mod; rm -rf mod", "git rm -qf mod",
    "cd mod && git commit -q --allow-empty -m inside", "git submodule update -q --init", "mv sub sub2", "mv sub2 sub",
    "git init -q dir/inner && cd dir/inner && echo i > i && git add i && git commit -qm i", "rm -rf dir/inner",
]  # fmt: skip


def clear(path: Path) -> None:
    if not path.is_symlink() and path.is_dir():
        for place, folders, _ in os.walk(path):
            for name in folders:
                inner = Path(place, name)
                if not inner.is_symlink():
                    inner.chmod(0o755)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@dataclass
class Known:
    state: str
    captured: dict[str, tuple[int, bytes]]
    """What git itself would not ignore, with its bytes and mode."""
    everything: dict[str, tuple[int, bytes]]
    index: str
    heads: dict[str, str]
    whole: bool
    """The staging area is of a kind that can be put back."""


@dataclass
class Attack:
    base: Path
    seed: int
    isolated: bool = False
    """In a worktree of its own, as sessions work by default."""
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.r = random.Random(self.seed)
        self.work = self.base / "work"
        self.work.mkdir(parents=True)
        run_sh("git init -q source && cd source && echo s > s && git add s && git commit -qm s", self.base)
        run_sh(
            "git init -q -b main . && echo 0 > a && mkdir dir && echo x > dir/x && git add . && git commit -qm 0 && "
            "git switch -q -c other && echo o > a && echo o > dir/x && git commit -qam other && git switch -q main && "
            "echo m > a && git commit -qam main",
            self.work,
        )
        if self.isolated:
            self.work = prepare(self.work, f"attack-{self.seed}").path
        self.ws = Workspace(self.work, self.base / "store")
        self.known: list[Known] = []
        self.last = ""

    # --- operations -----------------------------------------------------------------------------------------------

    def step(self) -> None:
        r = self.r
        kinds: list[tuple[int, Callable[[], None]]] = [
            (30, self.files), (4, self.ignore), (14, lambda: self.sh(r.choice(GIT))), (8, lambda: self.sh(r.choice(NESTED))),
            (4, self.special), (14, self.capture), (10, self.jump), (3, self.reopen),
        ]  # fmt: skip
        # Folders that are read-only stop their owner too, unless it is root.
        with contextlib.suppress(PermissionError):
            r.choices([k[1] for k in kinds], [k[0] for k in kinds])[0]()

    def sh(self, command: str) -> None:
        self.log.append(command)
        run_sh(command, self.work, check=False)

    def path(self) -> tuple[str, Path] | None:
        name = self.r.choice(NAMES)
        path = self.work / name
        for parent in reversed(path.parents[: name.count("/") + 1]):
            if parent == self.work:
                continue
            if parent.is_symlink() or (os.path.lexists(parent) and not parent.is_dir()):
                return None
        return name, path

    def files(self) -> None:
        found = self.path()
        if found is None:
            return
        name, path = found
        kind = self.r.choice(
            [
                "write",
                "write",
                "write",
                "remove",
                "mkdir",
                "link",
                "chmod",
                "move",
                "same size",
                "touch",
                "hardlink",
                "dirmode",
            ]
        )
        self.log.append(f"{kind} {name!r}")
        data = bytes(self.r.choice([b"1\n", b"2\n", b"", b"\0bin", b"x\r\ny\r\n", b"long" * 3000]))
        there = os.path.lexists(path)
        if kind == "remove":
            clear(path)
        elif kind == "chmod":
            if not path.is_symlink() and path.is_file():
                path.chmod(self.r.choice([0o644, 0o755, 0o600, 0o444, 0o640, 0o777]))
        elif kind == "dirmode":
            if not path.is_symlink() and path.is_dir():
                path.chmod(self.r.choice([0o755, 0o700, 0o555, 0o775]))
        elif kind == "same size":
            if not path.is_symlink() and path.is_file() and path.stat().st_size:
                before = path.stat()
                path.write_bytes(os.urandom(before.st_size))
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif kind == "touch":
            if there and not path.is_symlink():
                os.utime(path, (1, 1))
        elif kind == "hardlink":
            other = self.work / "hard"
            if not path.is_symlink() and path.is_file() and not os.path.lexists(other):
                os.link(path, other)
        elif kind == "move":
            second = self.path()
            if second is None or not there or path.is_symlink():
                return
            to = second[1]
            if os.path.isdir(to.parent) and to != path and path not in to.parents and to not in path.parents:
                self.log.append(f"   to {second[0]!r}")
                clear(to)
                path.rename(to)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            clear(path)
            if kind == "write":
                path.write_bytes(data)
            elif kind == "mkdir":
                path.mkdir()
            else:
                path.symlink_to(self.r.choice(["a", "dir", "nowhere", "/etc/passwd", "..", "x" * 300]))

    def ignore(self) -> None:
        where = self.r.choice([".gitignore", "dir/.gitignore", ".git/info/exclude"])
        path = self.work / where
        if path.parent.is_symlink() or not path.parent.is_dir() or os.path.isdir(path):
            return
        text = self.r.choice(IGNORES)
        self.log.append(f"ignore {where} {text!r}")
        if text or where.startswith(".git/"):
            path.write_text(text)
        else:
            path.unlink(missing_ok=True)

    def special(self) -> None:
        found = self.path()
        if found is None or os.path.lexists(found[1]) or not os.path.isdir(found[1].parent):
            return
        name, path = found
        kind = self.r.choice(["fifo", "socket", "big"])
        self.log.append(f"{kind} {name!r}")
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        else:
            path.write_bytes(b"\0" * (2 << 20))

    def reopen(self) -> None:
        self.log.append("reopen")
        self.ws.close()
        self.ws = Workspace(self.work, self.base / "store", max_file_bytes=1 << 20)

    # --- what git and the disk say ----------------------------------------------------------------------------------

    def view(self) -> dict[str, tuple[int, bytes]]:
        return snapshot(self.work)

    def roots(self) -> list[str]:
        found = [""]
        for place, folders, _ in os.walk(self.work):
            if ".git" in folders:
                folders.remove(".git")
            relative = os.path.relpath(place, self.work)
            if relative != "." and os.path.lexists(os.path.join(place, ".git")):
                found.append(relative)
        return found

    def unignored(self) -> set[str]:
        """Paths of the top repository and nested ones that git would not ignore, or knows."""
        found: set[str] = set()
        for root in self.roots():
            if root and run_sh(f"git check-ignore -- {shlex.quote(root)}", self.work, check=False):
                continue  # it lies in a folder that is ignored
            prefix = root + "/" if root else ""
            text = run_sh("git ls-files -coz --exclude-standard 2>/dev/null", self.work / root, check=False)
            found |= {prefix + p for p in text.split("\0") if p and not p.endswith("/")}
        return found

    def facts(self) -> tuple[str, dict[str, str], bool]:
        settings = run_sh("cat .git/config .git/config.worktree 2>/dev/null", self.work, check=False)
        index = run_sh("git ls-files -s -v -z 2>/dev/null", self.work, check=False)
        index += run_sh("git diff --cached --name-status -z", self.work, check=False)
        heads = {"": run_sh("git rev-parse -q --verify HEAD", self.work, check=False)}
        return index, heads, "sparse" not in settings.lower()

    # --- captures and jumps -----------------------------------------------------------------------------------------

    def capture(self) -> None:
        result = self.ws.capture(self.last or None)
        self.log.append(f"capture #{len(self.known)} {result.state[:8]}")
        assert result.state != NOT_CAPTURED, result.error
        everything = self.view()
        omitted = {o.path for o in result.omitted}
        names = self.unignored()
        captured = {
            p: v for p, v in everything.items()
            if p in names and not stat.S_ISDIR(v[0]) and not _below(p, omitted)
        }  # fmt: skip
        index, heads, whole = self.facts()
        self.known.append(Known(result.state, captured, everything, index, heads, whole))
        self.last = result.state

    def jump(self, to: int | None = None, choice: Literal["keep", "restore"] = "restore") -> None:
        if not self.known:
            return
        self.capture()
        before = self.known[-1]
        target = self.known[self.r.randrange(len(self.known)) if to is None else to]
        number = len(self.log)
        self.log.append(f"jump to #{self.known.index(target)} {target.state[:8]}")
        if not self._go(target, before, number, choice):
            return
        # Undoing a jump is a jump: everything that was captured before it is there again.
        self.log.append("   and back")
        self.last = target.state
        now = self.ws.capture(self.last)
        assert now.state != NOT_CAPTURED, now.error
        arrived = Known(now.state, {}, self.view(), "", {}, True)
        self._go(before, arrived, number + 100_000, choice)
        self.last = before.state

    def _go(self, target: Known, before: Known, number: int, choice: Literal["keep", "restore"]) -> bool:
        try:
            plan = self.ws.plan(target.state, last=self.last, default_choice=choice)
        except WorkspaceError as error:
            assert error.kind == "repo_busy", error
            assert self.view() == before.everything
            self.log.append(f"   refused: {error}")
            return False
        assert self.view() == before.everything, "a plan changed something"
        try:
            report = self.ws.apply(plan, new_branch=f"worldline/r/{number}")
        except WorkspaceError as error:
            raise AssertionError(f"{error} ({error.kind})") from error
        assert report.done, (report.note, report.failed)
        assert not report.failed, report.failed
        now = self.view()
        changed = {i.path for i in plan.touched}
        kept = {
            i.path
            for i in plan.items
            if i.action in ("keep_mine", "keep_foreign", "not_captured", "conflict")
        }
        for path, value in target.captured.items():
            if path in kept or _below(path, kept) or any(k.startswith(path + "/") for k in kept):
                continue
            assert now.get(path) == value, (
                path,
                now.get(path),
                value,
                [i for i in plan.items if i.path == path],
            )
        # Nothing that is in no state is touched.
        safe = set(self.known[-1].captured) if before is self.known[-1] else set(before.everything)
        for path, value in before.everything.items():
            if path in changed or path in safe or stat.S_ISDIR(value[0]):
                continue
            assert now.get(path) == value, ("lost", path, value, now.get(path))
        notes = " ".join([*plan.notes, report.note])
        if target.whole and "only files" not in notes and "stay" not in notes:
            index, heads, whole = self.facts()
            if whole:
                assert heads == target.heads, (heads, target.heads, notes)
                assert index == target.index, (notes, index, target.index)
        leftovers = [p for p in os.listdir(self.work) if p.startswith(".worldline-restore")]
        assert not leftovers
        assert not list((self.work / ".git").glob("*.lock"))
        return True


def _below(path: str, folders: set[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:n]) in folders for n in range(1, len(parts) + 1))


def play(base: Path, seed: int, steps: int, *, isolated: bool = False) -> Attack:
    attack = Attack(base, seed, isolated)
    try:
        for _ in range(steps):
            attack.step()
        attack.jump()
        attack.jump(0)
    except BaseException as error:
        note = "\n".join(attack.log)
        error.add_note(f"seed {seed}:\n{note}")
        raise
    finally:
        attack.ws.close()
    return attack
