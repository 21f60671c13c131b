"""Random short sequences of what people, agents and git do to a folder, with captures and jumps in between.

After each jump a walk of its own compares every path (kind, permissions, bytes, target of a link, empty folders) and
every repository (HEAD, staging area with its flags) with what was there when the node was captured. What differs must
have been named by the plan or the report, or be ignored and exactly as it was before the jump. A sequence that fails
is made as short as it gets.
"""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.model import KEPT, NOT_CAPTURED, RestorePlan, RestoreReport
from worldline.workspace.removal import remove_tree

from .jump_model import ENV, Seen

_SETUP = (
    "git init -q -b main . && mkdir -p a/b d && echo 1 > a/f && echo 2 > a/b/f && echo 3 > d/f && echo 4 > f && "
    "printf 'o/\\n*.log\\n' > .gitignore && git add . && git commit -qm 0 && git branch other"
)
_PATHS = [
    "a", "a/b", "a/b/c", "a/b/f", "a/f", "a/o", "a/o/f", "a/x.log", "d", "d/e", "d/e/e", "d/f", "d/e/x.log", "f", "g", "n",
    "n/f", "n/e", "n/x.log", "d/n", "d/n/f", "o", "o/f", "o/e", "o/n", "x.log", "h/i/j/k", "h/i", "h", "h/o", "n/k", "n/k/f",
]  # fmt: skip
_PLAIN = [
    (12, "mkdir -p {p}"), (8, "rmdir {p}"), (4, "rmdir -p {p}"), (12, "mkdir -p $(dirname {p}); [ -p {p} ] || echo {r} > {p}"),
    (8, "rm -rf {p}"), (5, "rm -f {p}"), (4, "rm -rf {p}; ln -s {q} {p}"), (7, "mv -T {p} {q}"), (3, "mkfifo {p}"),
    (2, "socket {p}"), (4, "chmod {m} {p}"), (2, "chmod 755 {p}"), (3, "rm -rf {p}; mkdir -p {p}/e"),
    (5, "git init -q {p}"), (4, "git init -q {p}; cd {p} && rm -f f && echo {r} > f && git add . && git commit -qm n"),
    (3, "rm -rf {p}/.git"), (2, "git -C {p} rm -rqf ."), (2, "git -C {p} add -A"), (1, "find . -name .git -prune -o -type f -delete"),
    (1, "find . -name .git -prune -o -type d -empty -delete"),
]  # fmt: skip
_GIT = [
    (9, "git add -A"), (4, "git add -f {p}"), (7, "git add -A; git commit -qm {r}"), (3, "git rm -rqf {p}"), (2, "git rm -rq --cached {p}"),
    (4, "git mv {p} {q}"), (2, "git switch -q other"), (2, "git switch -q main"), (1, "git switch -q -c b{r}"), (1, "git reset -q"),
    (2, "git reset -q --hard"), (3, "git status"), (2, "git clean -qfd"), (1, "git clean -qfdx"), (1, "git stash -qu"),
    (1, "git stash pop -q"), (3, "git sparse-checkout set {d}"), (2, "git sparse-checkout set --sparse-index {d}"),
    (2, "git sparse-checkout set --no-cone /{p} /{q}"), (3, "git sparse-checkout disable"), (1, "git sparse-checkout reapply"),
    (4, "git update-index --skip-worktree {p}"), (2, "git update-index --no-skip-worktree {p}"),
    (3, "git update-index --assume-unchanged {p}"), (1, "git update-index --no-assume-unchanged {p}"), (4, "git add -N {p}"),
    (2, "git submodule add -q ../lib {p}"), (1, "git submodule deinit -qf {p}"), (1, "git checkout -q -- ."),
    (3, "printf '{i}' > .gitignore"), (1, "printf '{i}' > a/.gitignore"), (1, "printf '{i}' > .git/info/exclude"),
]  # fmt: skip
_OURS = [(20, "capture"), (14, "jump {k} {w} {b}"), (8, "back"), (3, "fresh"), (1, "fresh unwatched")]
_IGNORES = ["o/\\n*.log\\n", "", "*.log\\n", "o/\\n", "a/\\n", "e\\n", "d/e/\\n", "/h/i\\n", "n\\n", "*\\n!.gitignore\\n", "/a/*\\n!/a/b\\n"]  # fmt: skip


class Hit(AssertionError):
    """What should have held and did not."""


def make_sequence(seed: int) -> list[str]:
    """The operations of one sequence; each means the same wherever it stands."""
    r = random.Random(seed)
    pools = r.choices([[_PLAIN, _OURS], [_PLAIN, _GIT, _OURS], [_GIT, _OURS, _PLAIN]], [4, 5, 3])[0]
    weights = [4, 2, 3][: len(pools)] if len(pools) == 3 else [3, 2]
    paths = r.sample(_PATHS, r.randint(4, len(_PATHS)))
    found = ["fresh unwatched"] if r.random() < 0.3 else []
    found.append("capture")
    for _ in range(r.randint(5, 22)):
        pool = r.choices(pools, weights)[0]
        text = r.choices([op for _, op in pool], [weight for weight, _ in pool])[0]
        found.append(
            text.format(
                p=r.choice(paths), q=r.choice(paths), d=r.choice(["a", "d", "a/b", "h"]), r=r.randint(1, 9), i=r.choice(_IGNORES),
                m=r.choice(["555", "700", "500", "444", "777", "600", "2755"]), k=r.randint(0, 9),
                w=r.choice(["keep", "restore", "restore"]), b=r.choice(["stay", "fork"]),
            )
        )  # fmt: skip
    return [*found, "capture", f"jump {r.randint(0, 9)} restore {r.choice(['stay', 'fork'])}", "back"]


class Play:
    """One sequence in a folder of its own."""

    def __init__(self, base: Path) -> None:
        self.base, self.work = base, base / "work"
        self.work.mkdir()
        _sh("git init -q lib && cd lib && echo l > l && git add l && git commit -qm l", base)
        _sh(_SETUP, self.work)
        self.watch = True
        self.ws = Workspace(self.work, base / "store")
        self.nodes: list[tuple[str, Seen]] = []
        self.last, self.back = "", ("", Seen())
        self.counts: Counter[str] = Counter()

    def run(self, operations: list[str]) -> None:
        """Raises `Hit`."""
        try:
            for operation in operations:
                self._do(operation)
        finally:
            self.ws.close()

    def _do(self, operation: str) -> None:
        what, *words = operation.split(" ")
        if what == "capture":
            self._capture()
        elif what == "jump" and self.nodes:
            state, seen = self.nodes[int(words[0]) % len(self.nodes)]
            self._jump(state, seen, words[1], words[2] == "fork")
        elif what == "back" and self.back[0]:
            self._jump(*self.back, "restore", fork=False)
        elif what == "fresh":
            self.ws.close()
            self.watch = not words
            self.ws = Workspace(self.work, self.base / "store", watch=self.watch)
        elif what == "socket":
            with socket.socket(socket.AF_UNIX) as made, contextlib.suppress(OSError):
                made.bind(str(self.work / words[0]))
        elif what not in ("jump", "back"):
            _sh(operation, self.work)

    def _capture(self) -> None:
        result = self.ws.capture(self.last or None)
        if result.state == NOT_CAPTURED:
            raise Hit(f"not captured: {result.error}")
        self.last = result.state
        self.nodes.append((self.last, Seen.of(self.work)))

    def _jump(self, state: str, wanted: Seen, choice: Any, fork: bool) -> None:
        before = Seen.of(self.work)
        branch = f"w/{self.counts['jumps']}-{len(self.nodes)}" if fork else None
        try:
            plan = self.ws.plan(state, last=self.last, default_choice=choice)
            report = self.ws.apply(plan, new_branch=branch if plan.branch_from else None)
        except WorkspaceError as error:
            self.counts[f"refused: {error.kind}"] += 1
            self._compare(before, before, None, None)
            return
        if not report.done:
            raise Hit(f"not done: {report.note}")
        self.counts["jumps"] += 1
        self.counts["kept"] += sum(item.action in KEPT for item in plan.items)
        self._compare(wanted, before, plan, report)
        self.last, self.back = state, (plan.safety, before)

    def _compare(
        self, wanted: Seen, before: Seen, plan: RestorePlan | None, report: RestoreReport | None
    ) -> None:
        after = Seen.of(self.work)
        named: set[str] = set()
        notes = ""
        if plan is not None and report is not None:
            of_repos = {r.path for r in self.ws.state(plan.target).roots}
            named = {i.path for i in plan.items if i.action in KEPT or ".before-jump-" in i.path}
            named |= {i.path for i in plan.items if i.action == "not_captured" and i.path not in of_repos}
            named |= {i.path for i in plan.items if i.reason.endswith("it stays")}
            named |= {failed.path for failed in report.failed}
            notes = " ".join([report.note, *plan.notes])
        for path in sorted(after.rows.keys() | wanted.rows.keys()):
            if (problem := _differs(path, wanted, before, after, named)) != "":
                raise Hit(f"{path}: {problem} (named: {named})")
        for path in sorted(after.repos.keys() | wanted.repos.keys()):
            found, should = after.repos.get(path), wanted.repos.get(path)
            if found == should or _is_noted(path, notes) or before.hides(path) or wanted.hides(path):
                continue
            if found == before.repos.get(path) and _is_named(path, named):
                continue
            raise Hit(f"repository {path!r}: {found}, not {should} (notes: {notes}; named: {named})")


def _differs(path: str, wanted: Seen, before: Seen, after: Seen, named: set[str]) -> str:
    """What is wrong with one path; "" also where it is as it was before the jump, and that was said or is ignored."""
    is_now, should, was = after.rows.get(path), wanted.rows.get(path), before.rows.get(path)
    inside = f"{path}/"
    hidden = before.hides(path) or wanted.hides(path)
    if is_now == should or (".before-jump-" in path and path in named):
        return ""
    if is_now == was and (hidden or _is_named(path, named)):
        return ""
    if is_now is None and wanted.hides(path):
        return ""
    if is_now and not should and is_now[0] == "folder" and any(p.startswith(inside) for p in after.rows):
        return ""  # what is in it is judged itself
    if not is_now and should and should[0] == "folder" and any(p.startswith(inside) for p in named):
        return ""  # what would be in it stays deleted
    return f"{is_now}, not {should} (before: {was})"


def _is_named(path: str, named: set[str]) -> bool:
    return any(p in named for p in (path, *(str(p) for p in Path(path).parents)))


def _is_noted(path: str, notes: str) -> bool:
    """Whether it was said that a repository stays as it is."""
    if path:
        return (
            f"The repository in {path} " in notes
            or f"{path}: only files" in notes
            or f"{path}: HEAD and" in notes
            or f" of {path} " in notes
        )
    said = (
        "HEAD and the staging area stay",
        "The repository: only files",
        "The staging area of the repository",
    )
    return any(words in notes for words in said)


def _sh(command: str, cwd: Path) -> None:
    subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=ENV, capture_output=True, stdin=subprocess.DEVNULL, timeout=60
    )


def outcome(operations: list[str], counts: Counter[str] | None = None) -> str:
    """What is wrong after these operations, "" = nothing."""
    memory = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(prefix="worldline-jumps-", dir=memory if memory.is_dir() else None))
    try:
        play = Play(base)
        try:
            play.run(operations)
        except (
            Hit,
            WorkspaceError,
            OSError,
            ValueError,
            LookupError,
            RuntimeError,
            pygit2.GitError,
        ) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            if counts is not None:
                counts.update(play.counts)
        return ""
    finally:
        remove_tree(base)


def shortest(operations: list[str], kind: str) -> list[str]:
    """The sequence without all that it fails without, in the same way (`kind`: how the outcome begins)."""
    at = len(operations) - 1
    while at >= 0:
        fewer = operations[:at] + operations[at + 1 :]
        if outcome(fewer).startswith(kind):
            operations = fewer
        at -= 1
        at = min(at, len(operations) - 1)
    return operations


def run(kills: int, seed: int) -> dict[str, Any]:
    """`kills` sequences, from `seed` on; what the campaign's face asks for."""
    counts: Counter[str] = Counter()
    failures = []
    for number in range(seed * 100_000, seed * 100_000 + kills):
        operations = make_sequence(number)
        problem = outcome(operations, counts)
        if problem:
            operations = shortest(operations, problem[:12])
            failures.append(f"{number}: {outcome(operations)}\n    " + "\n    ".join(operations))
            print(failures[-1], flush=True)
    return {"kills": kills, "unit": "sequences", "failures": failures, "what came of them": counts}
