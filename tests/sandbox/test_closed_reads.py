"""What a rule keeps from being read is kept from every command in the sandbox, by whatever way it goes there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from engine.conftest import Open, bench, server
from engine.support import call, reply
from sandbox.conftest import Lab, git
from worldline.core.errors import ToolFailure
from worldline.policy.rules import parse_rule
from worldline.policy.sandbox.model import Grant

__all__ = ["bench", "server"]

SECRET = "the-secret-text"


@pytest.fixture
def closed(lab: Lab) -> Lab:
    """`secrets/` and every `.env` may not be read; `ask.txt` is asked about. Some of it is tracked, some is not."""
    for root in (lab.repo, lab.workspace):
        for name in (
            "secrets/deep/key",
            "secrets/top",
            ".env",
            "sub/.env",
            "sub/dir/.env",
            "ask.txt",
            "sub/open",
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{SECRET}\n" if "open" not in name else "open\n")
    lab.rules = [
        parse_rule("Read(secrets/**)", "deny"), parse_rule("Read(**/.env)", "deny"), parse_rule("Read(ask.txt)", "ask"),
    ]  # fmt: skip
    return lab


WAYS = [
    "cat secrets/top", "cat ./secrets/../secrets/deep/key", "cd secrets && cat top", "cat .env sub/.env sub/dir/.env",
    "ln -s secrets link; cat link/top", "ln -s .env link; cat link", "ln .env other; cat other",
    "ln secrets/top other; cat other", "cp -r secrets copy; cat copy/top", "mv secrets other; cat other/top",
    "mv sub other; cat other/.env other/dir/.env", "mv .env x; cat x", "cat /proc/self/root$PWD/.env",
    "cat /proc/self/cwd/secrets/top", "cat /proc/1/root$PWD/secrets/top", "cat /proc/$$/root$PWD/.env",
    "chmod -R 777 secrets .env; cat secrets/top .env", "rm -rf secrets; git checkout -- . ; cat secrets/top",
    "umount secrets; cat secrets/top", "mkdir m; mount --bind secrets m; cat m/top",
    "mount --bind $PWD /tmp; cat /tmp/.env", "unshare -Urm sh -c 'umount secrets; cat secrets/top .env'",
    "unshare -Ur sh -c 'cat secrets/top .env'", "grep -r . .", "find . -type f -exec cat {} +", "tar c . | cat", "cat < .env",
    "bash -c '. ./.env'; source .env", "python3 -c 'print(open(\".env\").read())'", "dd if=.env", "git diff --no-index /dev/null .env",
    "git add -f .env && git show :.env", "git hash-object -w .env | xargs git cat-file -p", "git add -A; git stash; git stash show -p",
    "cat REPO/.env REPO/secrets/top", "cd REPO/secrets && cat top", "cat /proc/self/root/REPO/sub/.env",
    "echo x > .env; cat .env", "truncate -s 100 .env; cat .env", "cat ask.txt", "cat REPO/ask.txt",
    "exec 3<.env; cat <&3", "python3 -c 'import os; f=os.open(\"secrets\", os.O_PATH); print(os.listdir(f))'",
    "python3 -c 'import ctypes,os; l=ctypes.CDLL(None); b=ctypes.create_string_buffer(200); b[0]=b\"\\x80\"; m=ctypes.c_int();"
    " print(l.name_to_handle_at(-100,b\".env\",b,ctypes.byref(m),0)); d=os.open(\".\",0);"
    " fd=l.open_by_handle_at(d,b,0); print(fd); print(os.read(fd,100))'",
    "for f in /dev/fd/* /proc/1/fd/*; do timeout 1 head -c 1000 $f; done", "rsync -a ./ copy/; cat copy/.env", "cp -al . /tmp/copy; cat /tmp/copy/.env",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_to_it(closed: Lab, way: str) -> None:
    before = _tree(closed.workspace)
    done = closed.run(way.replace("REPO", str(closed.repo)))
    assert SECRET.encode() not in done.output
    # What the command moved or linked does not open it for the next one.
    later = closed.run("cat $(find . -name .git -prune -o -type f -print) 2>&1; cat */* */*/* /tmp/*/.env")
    assert SECRET.encode() not in later.output
    for name, text in before.items():
        assert (closed.workspace / name).read_text() == text, "nothing of it was changed"


def _tree(root: Path) -> dict[str, str]:
    names = ("secrets/deep/key", "secrets/top", ".env", "sub/.env", "sub/dir/.env")
    return {name: (root / name).read_text() for name in names}


def test_it_is_told_as_what_it_is_and_the_rest_is_there(closed: Lab) -> None:
    done = closed.run("cat .env; cat sub/open; cat secrets/top; echo new > sub/new; false")
    assert b"Permission denied" in done.output and b"open" in done.output
    assert {Path(d["target"]).name for d in done.denials if d["kind"] == "read"} == {".env", "secrets"}
    assert (closed.workspace / "sub" / "new").read_text() == "new\n"


def test_nothing_is_left_behind_and_a_commit_takes_nothing_away(closed: Lab) -> None:
    git(closed.workspace, "add", "-f", "secrets", ".env", "a.txt")
    git(closed.workspace, "commit", "-qm", "with secrets")
    (closed.workspace / "a.txt").write_text("two\n")
    before = sorted(os.listdir(closed.workspace))
    closed.run("git add -A; git commit -qam change")
    closed.run("git add a.txt; git commit -qm change -- a.txt")
    assert sorted(os.listdir(closed.workspace)) == before
    tracked = git(closed.workspace, "ls-tree", "-r", "--name-only", "HEAD").split()
    assert {".env", "secrets/top", "secrets/deep/key"} <= set(tracked)
    assert git(closed.workspace, "show", "HEAD:.env") == f"{SECRET}\n"
    assert git(closed.workspace, "show", "HEAD:a.txt") == "two\n"


def test_a_command_does_not_start_in_such_a_folder(closed: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lab, "workspace", property(lambda lab: lab.base / "work"))
    import asyncio

    from worldline.agent.confined import ConfinedRunner, SandboxPlace
    from worldline.policy.copies import Copies
    from worldline.workspace.absorb import absorb

    place = SandboxPlace(
        closed.workspace, closed.base / "tmp", closed.label, Copies(closed.base / "copies"), absorb, closed=closed.closed
    )  # fmt: skip
    runner = ConfinedRunner(place, closed.table, "node", lambda _: [], closed._ask)
    with pytest.raises(ToolFailure) as failure:
        asyncio.run(
            runner.run("cat top", cwd=closed.workspace / "secrets", timeout_s=60, emit=lambda *_: None)
        )
    assert failure.value.error.type == "permission_denied"


def test_what_is_asked_about_is_open_once_it_was_granted(closed: Lab) -> None:
    path = str(closed.workspace / "ask.txt")
    closed.grants = [Grant("read", path, f"Read({path})")]
    done = closed.run("cat ask.txt; cat .env")
    assert done.output.count(SECRET.encode()) == 1


def test_a_folder_that_is_opened_for_writing_does_not_open_what_is_closed_in_it(closed: Lab) -> None:
    inner = closed.outside / "in" / "secret"
    inner.parent.mkdir()
    inner.write_text(SECRET)
    closed.rules.append(parse_rule(f"Read({inner})", "deny"))
    closed.grants = [Grant("write", str(closed.outside), "x")]
    done = closed.run(
        f"cat {inner}; mv {inner.parent} {closed.outside}/x; cat {closed.outside}/x/*; echo 1 > {closed.outside}/new"
    )
    assert SECRET.encode() not in done.output and (closed.outside / "new").exists()
    assert SECRET.encode() not in closed.run(f"cat {closed.outside}/*/*").output


def test_other_names_of_a_closed_file_are_closed_too(closed: Lab) -> None:
    (closed.workspace / "sub" / "second").hardlink_to(closed.workspace / "secrets" / "top")
    (closed.outside / "third").hardlink_to(closed.workspace / ".env")
    assert SECRET.encode() not in closed.run("cat sub/second").output
    assert closed.closed().other_names == 1, "the one outside is not looked for, and that is known"


def test_links_are_closed_where_they_lead(closed: Lab) -> None:
    real = closed.outside / "real"
    real.write_text(SECRET)
    (closed.workspace / "sub" / "dir" / ".env").unlink()
    (closed.workspace / "sub" / "dir" / ".env").symlink_to(real)
    assert SECRET.encode() not in closed.run(f"cat sub/dir/.env {real}").output


def test_what_comes_later_is_closed_to_the_next_command(closed: Lab) -> None:
    closed.run("mkdir -p later")
    (closed.workspace / "later" / ".env").write_text(SECRET)
    assert SECRET.encode() not in closed.run("cat later/.env").output


def test_copies_of_the_workspace_are_closed_as_a_whole(closed: Lab) -> None:
    copy = closed.base / "elsewhere"
    (copy / "secrets").mkdir(parents=True)
    (copy / "secrets" / "top").write_text(SECRET)
    closed.copies = [copy]
    assert SECRET.encode() not in closed.run(f"cat {copy}/secrets/top").output


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("Read(*)", "the workspace itself"), ("Read(/**)", "the workspace itself"), ("Read(.)", "the workspace itself"),
        ("Read(..)", "the workspace itself"), ("Read(/usr/**)", "commands need"), ("Read(/proc)", "commands need"),
    ],
)  # fmt: skip
def test_what_cannot_be_covered_is_known(closed: Lab, rule: str, why: str) -> None:
    closed.rules = [parse_rule(rule, "deny")]
    found = closed.closed()
    assert any(r.text == rule and why in said for r, said in found.open)
    assert closed.run("echo works").output == b"works\n"


def test_many_places_are_closed_and_too_many_are_known(closed: Lab) -> None:
    for number in range(300):
        (closed.workspace / "many" / f"d{number}").mkdir(parents=True)
        (closed.workspace / "many" / f"d{number}" / ".env").write_text(SECRET)
    done = closed.run("cat many/*/.env; echo end")
    assert SECRET.encode() not in done.output and done.output.endswith(b"end\n")
    for number in range(300, 1100):
        (closed.workspace / "many" / f"{number}.env").mkdir(parents=True)
    closed.rules.append(parse_rule("Read(**/*.env)", "deny"))
    assert any("more than" in why for _, why in closed.closed().open)


def test_the_file_that_stands_in_its_place_is_nobodys_to_read(closed: Lab) -> None:
    closed.run("true")
    (found,) = closed.base.glob("tmp-control/closed")
    assert stat.S_IMODE(found.stat().st_mode) == 0


@pytest.mark.parametrize(
    "way",
    ["echo x > gen/a", "rm -rf gen", "mv gen other", "sed -i s/o/x/ gen/a", "echo x > gen/new", "chmod 777 gen/a", "ln -sf b gen/a", "mv sub other",
     "echo x > sub/kept.lock", "mv sub/kept.lock x", "rm -rf sub", "cp sub/open sub/kept.lock", "git checkout -f HEAD -- . ; git clean -xfd"],
)  # fmt: skip
def test_what_may_not_be_written_is_kept_from_commands_too(lab: Lab, way: str) -> None:
    for name in ("gen/a", "sub/kept.lock", "sub/open"):
        (lab.workspace / name).parent.mkdir(exist_ok=True)
        (lab.workspace / name).write_text("old")
    lab.rules = [parse_rule("Write(gen/**)", "deny"), parse_rule(f"Write({lab.repo}/**/*.lock)", "deny")]
    lab.run(way)
    assert (
        (lab.workspace / "gen" / "a").read_text()
        == (lab.workspace / "sub" / "kept.lock").read_text()
        == "old"
    )
    assert not (lab.workspace / "gen" / "new").exists()
    done = lab.run("cat gen/a && echo new > sub/open && cat sub/open")
    assert done.output == b"oldnew\n", "it can be read, and the rest be written"


async def test_a_session_keeps_it_in_the_worktree_and_in_the_folder_it_comes_from(
    bench: Open, closed: Lab
) -> None:
    git(closed.repo, "add", "-f", "secrets", ".env", "sub")
    git(closed.repo, "commit", "-qm", "all")
    rule = f"Read({closed.repo}/secrets/**)"
    one = await bench(workspace=closed.repo, attended=True, permissions={"deny": [rule, "Read(**/.env)"]})
    assert one.root != closed.repo
    other = await bench(workspace=closed.repo, in_place=True)
    assert other.root == closed.repo
    lines = [
        "cat .env secrets/top; true", f"cat {closed.repo}/.env {closed.repo}/secrets/top; true", "git show HEAD:secrets/top",
        "cat sub/open",
    ]  # fmt: skip
    one.script(*(reply("x", call("bash", command=line)) for line in lines),
               reply("x", call("read", path="secrets/top")), reply("x", call("read", path=f"{closed.repo}/.env")), "done")  # fmt: skip
    assert await one.ask("read it") == "completed"
    told = json.dumps([one.doc.body(h.uid).end_message for h in one.nodes("tool")])
    assert SECRET not in told and "open" in told and one.actor.approvals.open() == []
    assert "denies reading" in told and "Permission denied" in told
    assert "hidden from commands" in one.actor.shared.status.now.sandbox_why
    assert "hidden" not in other.actor.shared.status.now.sandbox_why
