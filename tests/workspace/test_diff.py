from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from workspace.conftest import ENV, run_sh, snapshot
from worldline.core.errors import WorkspaceError
from worldline.protocol.model import FileChange, FileDiff
from worldline.workspace import linecount
from worldline.workspace.authorship import Step, authors_of, last_authors
from worldline.workspace.changes import changes
from worldline.workspace.engine import Workspace
from worldline.workspace.file_diff import file_diff
from worldline.workspace.model import DISK, NOT_CAPTURED, Cancelled
from worldline.workspace.patching import patch
from worldline.workspace.runs_later import runs_later

PNG = bytes.fromhex("89504e470d0a1a0a") + b"\0" * 40


@pytest.fixture
def ws(tmp_path: Path, work: Path) -> Workspace:
    return Workspace(work, tmp_path / "store", free_floor=0)


def state(ws: Workspace, parent: str | None = None) -> str:
    result = ws.capture(parent)
    assert result.error == ""
    return result.state


def by_path(found: list[FileChange]) -> dict[str, FileChange]:
    return {c.path: c for c in found}


def rows(diff: FileDiff) -> list[str]:
    return [f"{r.kind}{r.text}" for r in diff.rows if r.kind != "@"]


def test_every_kind_of_change(ws: Workspace, work: Path) -> None:
    run_sh(
        "git init -q; echo a >mod; echo gone >del; seq 60 >old; echo '#!x' >run; ln -s mod link; echo f >type; printf 'a\\0b' >bin",
        work,
    )
    a = state(ws)
    run_sh("echo b >>mod; rm del; (seq 59; echo x) >new; rm old; chmod +x run; rm link; ln -s del link; rm type; ln -s mod type;"
           "printf 'a\\0c' >bin; echo n >'añ ü\nx'; mkdir empty", work)  # fmt: skip
    b = state(ws, a)
    found = by_path(changes(ws, a, b))
    assert {p: c.status for p, c in found.items()} == {
        "mod": "M", "del": "D", "new": "R", "run": "T", "link": "M", "type": "T", "bin": "M", "añ ü\nx": "A",
    }  # fmt: skip
    assert (found["mod"].added, found["mod"].removed) == (1, 0)
    assert found["new"].old_path == "old"
    assert found["bin"].binary
    assert (found["run"].old_mode, found["run"].new_mode) == (0o100644, 0o100755)
    assert rows(file_diff(ws, a, b, "mod")) == [" a", "+b"]
    assert rows(file_diff(ws, a, b, "del")) == ["-gone"]
    assert "+x" in rows(file_diff(ws, a, b, "new"))
    assert "Only the mode" in file_diff(ws, a, b, "run").note
    assert "link to mod → a link to del" in file_diff(ws, a, b, "link").note
    assert "Binary: 3 → 3 bytes" in file_diff(ws, a, b, "bin").note
    assert changes(ws, b, b) == []
    with pytest.raises(WorkspaceError, match="neither"):
        file_diff(ws, a, b, "nowhere")
    with pytest.raises(WorkspaceError, match="not captured"):
        changes(ws, a, NOT_CAPTURED)


def test_against_the_disk(ws: Workspace, work: Path) -> None:
    (work / "f").write_text("1\n2\n")
    a = state(ws)
    assert changes(ws, a, DISK) == []
    (work / "f").write_text("1\nx\n")
    assert rows(file_diff(ws, a, DISK, "f")) == [" 1", "-2", "+x"]
    assert rows(file_diff(ws, DISK, a, "f")) == [" 1", "-x", "+2"]


def test_line_ends_encodings_and_missing_newline(ws: Workspace, work: Path) -> None:
    (work / "ends").write_bytes(b"a\r\nb\r\n")
    (work / "crlf").write_bytes(b"a\r\nb\r\n")
    (work / "latin").write_bytes("größe\n".encode("latin-1"))
    (work / "wide").write_bytes("ä\nb\n".encode("utf-16"))
    (work / "tail").write_bytes(b"x")
    os.symlink(b"t", os.fsencode(work) + b"/bad\xff")
    a = state(ws)
    (work / "ends").write_bytes(b"a\nb\r\n")
    (work / "crlf").write_bytes(b"a\r\nc\r\n")
    (work / "latin").write_bytes("größer\n".encode("latin-1"))
    (work / "wide").write_bytes("ä\nc\n".encode("utf-16"))
    (work / "tail").write_bytes(b"y")
    os.unlink(os.fsencode(work) + b"/bad\xff")
    b = state(ws, a)
    assert rows(file_diff(ws, a, b, "ends")) == ["-a␍", "+a", " b␍"]
    assert "crlf → mixed" in file_diff(ws, a, b, "ends").note
    assert rows(file_diff(ws, a, b, "crlf")) == [" a", "-b", "+c"]
    assert rows(file_diff(ws, a, b, "latin")) == ["-größe", "+größer"]
    assert rows(file_diff(ws, a, b, "wide")) == [" \ufeffä", "-b", "+c"] or rows(
        file_diff(ws, a, b, "wide")
    ) == [" ä", "-b", "+c"]
    assert rows(file_diff(ws, a, b, "tail")) == [
        "-x",
        "\\No newline at end of file",
        "+y",
        "\\No newline at end of file",
    ]
    bad = by_path(changes(ws, a, b))["bad\\xff"]
    assert bad.path_bytes and bad.status == "D"
    assert file_diff(ws, a, b, "bad\\xff").note


def test_images_huge_files_and_limits(ws: Workspace, work: Path) -> None:
    (work / "i.png").write_bytes(PNG)
    (work / "big").write_text("".join(f"line {i}\n" for i in range(20_000)))
    a = state(ws)
    (work / "i.png").write_bytes(PNG + b"1")
    (work / "big").write_text("".join(f"line {i}!\n" for i in range(20_000)))
    b = state(ws, a)
    image = file_diff(ws, a, b, "i.png")
    assert image.old_image and image.new_image and image.old_image != image.new_image
    cut = file_diff(ws, a, b, "big", max_rows=100)
    assert cut.truncated and len(cut.rows) == 100 and cut.change.added == 20_000
    assert file_diff(ws, a, b, "big", max_bytes=1_000).truncated
    assert not file_diff(ws, a, b, "big").truncated

    def stop(what: str, done: int, total: int) -> None:
        raise Cancelled

    for call in (lambda: changes(ws, a, b, progress=stop), lambda: file_diff(ws, a, b, "big", progress=stop)):
        with pytest.raises(Cancelled):
            call()


def test_nested_repository(ws: Workspace, work: Path) -> None:
    run_sh("git init -q; mkdir n; cd n; git init -q; echo 1 >f; git add f; git commit -qm one", work)
    a = state(ws)
    run_sh("cd n; echo 2 >f; git commit -qam two", work)
    found = by_path(changes(ws, a, state(ws, a)))
    assert found["n"].status == "S" and found["n/f"].status == "M"


def test_ignoring_space_and_context(ws: Workspace, work: Path) -> None:
    (work / "f").write_text("".join(f"{i}\n" for i in range(50)))
    a = state(ws)
    (work / "f").write_text(
        "".join(f"{i}{' ' if i == 9 else ''}{'x' if i == 30 else ''}\n" for i in range(50))
    )
    b = state(ws, a)
    assert len(rows(file_diff(ws, a, b, "f", context=0))) == 4
    assert rows(file_diff(ws, a, b, "f", context=0, ignore_space=True)) == ["-30", "+30x"]


# -- patches


def test_random_changes_applied_by_git(tmp_path: Path, ws: Workspace, work: Path) -> None:
    """git is the oracle: the patch from a to b, applied to a copy of a, gives b."""
    rng = random.Random(7)
    run_sh("git init -q", work)
    for round_number in range(12):
        before = state(ws)
        copy = tmp_path / f"copy{round_number}"
        subprocess.run(["cp", "-a", str(work), str(copy)], check=True)
        for _ in range(6):
            name = work / rng.choice(["a.txt", "b.bin", "d/c.txt", "d/e/f", "sp ace", "ü.txt", "latin.txt"])
            name.parent.mkdir(parents=True, exist_ok=True)
            what = rng.randrange(5)
            if what == 0 and name.exists():
                name.unlink()
            elif what == 1 and name.exists():
                name.chmod(0o755 if rng.random() < 0.5 else 0o644)
            elif what == 2:
                name.write_bytes(bytes(rng.randrange(256) for _ in range(rng.randrange(300))))
            elif what == 3:
                name.write_bytes(
                    "".join(f"größe {rng.randrange(40)}\r\n" for _ in range(30)).encode("latin-1")
                )
            else:
                name.write_text("\n".join(str(rng.randrange(9)) for _ in range(rng.randrange(40))))
        after = state(ws, before)
        text = patch(ws, before, after)
        assert text == text.encode().decode()
        if not text:
            continue
        (tmp_path / "p").write_text(text, newline="")
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", str(tmp_path / "p")], cwd=copy, env=ENV, check=True
        )
        files = {p: v for p, v in snapshot(copy).items() if v[1] or not _is_dir(v[0])}
        wanted = {p: v for p, v in snapshot(work).items() if v[1] or not _is_dir(v[0])}
        assert files == wanted


def _is_dir(mode: int) -> bool:
    return mode & 0o170000 == 0o040000


# -- who wrote it


def test_authors_follow_lines_renames_and_removals(ws: Workspace, work: Path) -> None:
    (work / "f").write_text("1\n2\n3\n4\n5\n")
    states = [Step("root", state(ws))]

    def step(uid: str, act: Callable[[], object], user: bool = False) -> None:
        act()
        states.append(Step(uid, state(ws, states[-1].state), user))

    step("n1", lambda: (work / "f").write_text("0\n1\n2\n3\n4\n5\n"))
    step("u", lambda: (work / "f").write_text("0\n1\nmine\n3\n4\n5\n"), user=True)
    step("n2", lambda: (work / "f").rename(work / "g"))
    step("n3", lambda: (work / "g").write_text("0\n1\nmine\n3\n5\nend"))
    states.insert(2, Step("failed", NOT_CAPTURED))
    a, b = states[0].state, states[-1].state
    diff = file_diff(ws, a, b, "g", path_states=states)
    assert [(r.kind, r.text, r.author) for r in diff.rows if r.kind in "+-"] == [
        ("+", "0", "n1"), ("-", "2", "user"), ("+", "mine", "user"), ("-", "4", "n3"), ("+", "end", "n3"),
    ]  # fmt: skip
    assert by_path(changes(ws, a, b, path_states=states))["g"].author == "n3"
    assert last_authors(ws.store, states)["f"] == "n2"


def test_authors_against_replaying_every_step(ws: Workspace, work: Path) -> None:
    """Lines that are unique name their author themselves."""
    rng = random.Random(7)
    lines = [f"root {i}" for i in range(30)]
    steps = []
    for number in range(25):
        if number:
            for _ in range(rng.randrange(1, 5)):
                at = rng.randrange(len(lines) + 1)
                if rng.random() < 0.4 and len(lines) > 5:
                    del lines[at : at + rng.randrange(3)]
                else:
                    lines.insert(at, f"n{number} {rng.random()}")
        (work / "f").write_text("\n".join(lines) + "\n")
        steps.append(Step(f"n{number}" if number else "root", state(ws, steps[-1].state if steps else None)))
    known = authors_of(ws.store, steps, "f", "f")
    assert known.lines == [t.split()[0] if not t.startswith("root") else "" for t in lines]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("package.json", True), ("a/conftest.py", True), (".github/workflows/ci.yml", True), (".vscode/tasks.json", True),
     (".husky/pre-commit", True), ("Makefile", True), (".envrc", True), ("src/x.pth", True), (".git/hooks/pre-push", True),
     ("bare.git/hooks/update", True), ("bare.git/hooks/pre-receive", True), ("bare.git/hooks/push-to-checkout", True),
     ("bare.git/hooks/update.sample", False), ("bare.git/hooks/pre-push.sample", False), (".husky/commit-msg.sample", False),
     ("src/main.py", False), ("docs/Makefile.md", False), ("tests/test_conf.py", False), (".github/README.md", False)],
)  # fmt: skip
def test_files_that_run_later(path: str, expected: bool) -> None:
    assert runs_later(path) is expected


def test_package_json_counts_only_when_its_scripts_change() -> None:
    old = b'{"version": "1", "scripts": {"test": "jest"}}'
    assert not runs_later("package.json", old, b'{"version": "2", "scripts": {"test": "jest"}}')
    assert runs_later("package.json", old, b'{"version": "1", "scripts": {"test": "curl x | sh"}}')
    assert runs_later("package.json", old, b"{broken")


def test_authors_through_renames_on_the_way_a_file_made_anew_and_a_gap(ws: Workspace, work: Path) -> None:
    (work / "f").write_text("".join(f"{n}\n" for n in range(20)))
    steps = [Step("root", state(ws))]

    def step(uid: str, name: str, text: str) -> None:
        for old in work.glob("?"):
            old.unlink()
        (work / name).write_text(text)
        steps.append(Step(uid, state(ws, steps[-1].state)))

    text = (work / "f").read_text()
    step("n1", "g", text.replace("3\n", "three\n"))
    step("n2", "h", (work / "g").read_text().replace("17\n", "seventeen\n"))
    step("n3", "i", (work / "h").read_text())
    diff = file_diff(ws, steps[0].state, steps[-1].state, "i", path_states=steps)
    who = {r.text: r.author for r in diff.rows if r.kind == "+"}
    assert who == {"three": "n1", "1three": "n1", "seventeen": "n2"}
    # A state that is not in the store any more: what lies behind the gap is nobody's.
    broken = [steps[0], Step("n1", "0" * 40), *steps[2:]]
    diff = file_diff(ws, steps[0].state, steps[-1].state, "i", path_states=broken)
    assert {r.author for r in diff.rows if r.kind in "+-"} == {""}
    # Deleted and made anew: all of it is the last one's.
    step("n4", "x", "")
    step("n5", "i", "new\n")
    diff = file_diff(ws, steps[3].state, steps[-1].state, "i", path_states=steps[3:])
    assert {(r.kind, r.author) for r in diff.rows if r.kind in "+-"} == {("-", "n4"), ("+", "n5")}


def test_authors_of_another_attempt_and_of_the_disk(ws: Workspace, work: Path) -> None:
    (work / "f").write_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    top = Step("top", state(ws))
    (work / "f").write_text("1\n2\nleft\n4\n5\n6\n7\n8\n9\n")
    left = Step("left", state(ws, top.state))
    (work / "f").write_text("1\n2\n3\n4\n5\n6\nright\n8\n9\n")
    right = Step("right", state(ws, top.state))
    diff = file_diff(ws, left.state, right.state, "f", path_states=[top, right], old_states=[top, left])
    # The line of the left attempt was taken out by nobody: it was never here.
    assert [(r.kind, r.text, r.author) for r in diff.rows if r.kind in "+-"] == [
        ("-", "left", ""), ("+", "3", ""), ("-", "7", "right"), ("+", "right", "right"),
    ]  # fmt: skip
    (work / "f").write_text("1\n2\n3\n4\n5\n6\nright\n8\nmine\n")
    diff = file_diff(ws, right.state, DISK, "f", path_states=[right])
    assert [r.author for r in diff.rows if r.kind in "+-"] == ["user", "user"]
    assert changes(ws, right.state, DISK, path_states=[right])[0].author == "user"
    diff = file_diff(ws, right.state, DISK, "f", path_states=[right], disk_author="tool")
    assert [r.author for r in diff.rows if r.kind in "+-"] == ["tool", "tool"]


@pytest.mark.parametrize("change", ["rm a && ln -s b a", "rm l && echo file > l", "rm a && mkdir a && echo i > a/i", "mv a c && ln -s c a",
                                    "rm l && mv b l", "rm a && ln -s b a && mv b q && echo more >> q", "rm l && cp a l && mv a q"])  # fmt: skip
def test_a_patch_says_files_that_became_links_as_git_wants_it(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], work: Path, tmp_path: Path, change: str
) -> None:
    workspace, first, last = two_states("seq 9 > a && seq 20 > b && ln -s a l", change)
    (tmp_path / "p").write_text(workspace.patch(first, last))
    there = tmp_path / "there"
    there.mkdir()
    run_sh("seq 9 > a && seq 20 > b && ln -s a l && git init -q && git apply ../p", there)
    assert snapshot(there) == snapshot(work)


@pytest.mark.parametrize("much", [False, True])
def test_a_renamed_file_is_one_that_changed(ws: Workspace, work: Path, much: bool) -> None:
    """On the node as in the list of changes: there it was two, with all of its lines added and removed."""
    run_sh(
        f"seq 200 >same; seq 300 >touched; seq {200_000 if much else 5} >gone; seq 100 >stays; : >empty", work
    )
    a = state(ws)
    run_sh(
        "mkdir to; mv same to/same; sed s/^7$/x/ touched >to/touched; rm touched gone; echo y >>stays", work
    )
    got = ws.capture(a)
    found = changes(ws, a, got.state)
    assert by_path(found)["to/same"].status == "R"
    if not much:
        assert (got.files, got.added, got.removed) == (4, 2, 6)
        assert (len(found), sum(c.added for c in found), sum(c.removed for c in found)) == (4, 2, 6)
    else:
        # Of so much only what is equal is joined: capturing must not be felt.
        assert got.files == 5
    assert {"same", "to/same"} <= set(got.paths)
    # Counted later, in the other process: of every pair, however large.
    lines = linecount.count_all(ws, a, got.state)
    assert lines["to/same"] == (0, 0) and lines["to/touched"] == (1, 1) and "same" not in lines
