"""Pushes to where a key or a password of the person is needed: refused inside by name, with the way on; run outside as exactly
that push once the person allows it; on the record with where things were before, and put back from there."""

from __future__ import annotations

import asyncio
import base64
import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench, Open, bench, server
from engine.support import call, reply
from sandbox.conftest import git
from sandbox.test_ledger_of_a_session import ALLOW, effects, ground, person
from tests_support import PATIENCE_S, run_code
from worldline.policy.pushing import push_outside, pushes_of, uses_lfs, way_on
from worldline.protocol import commands as c
from worldline.protocol.model import EffectInfo

__all__ = ["bench", "ground", "server"]

SSH = """#!/bin/sh
test -r "$HOME/.ssh/id_test" || { echo "git@git.example: Permission denied (publickey)." >&2; exit 255; }
while [ $# -gt 0 ]; do case "$1" in -o|-p) shift 2;; -*) shift;; *) break;; esac; done
shift
echo "$*" >> "$(dirname "$0")/ssh.log"
case "$*" in *receive-pack*) if test -e "$(dirname "$0")/slow"; then touch "$(dirname "$0")/waits"; exec sleep 60; fi;; esac
exec sh -c "$*"
"""


@pytest.fixture
def far(ground: Path, own_home: Path) -> Path:
    """The remote of `ground` as one that is reached by ssh, with a key that only the person can read."""
    (own_home / ".ssh").mkdir()
    (own_home / ".ssh" / "id_test").write_text("key")
    script = ground / "ssh"
    script.write_text(SSH)
    script.chmod(0o755)
    git(ground, "config", "--global", "core.sshCommand", str(script))
    git(ground, "config", "--global", "ssh.variant", "ssh")
    git(ground / "project", "remote", "set-url", "origin", f"git@git.example:{ground}/remote.git")
    hook = ground / "project" / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {ground}/hook-ran\n")
    hook.chmod(0o755)
    return ground


async def pushes(one: Bench) -> list[EffectInfo]:
    return [e for e in (await effects(one)).here if e.kind == "vcs_remote"]


def head(remote: Path, ref: str) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--verify", "-q", ref], cwd=remote, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def last_result(one: Bench) -> str:
    return json.dumps(one.sent(-1)["messages"][-1])


COMMIT = "echo hi > new.txt && git add -A && git commit -qm two"


async def told_to_run(bench: Open, far: Path, *commands: str) -> Bench:
    """A session in the project whose agent runs these commands, one after the other."""
    one = await bench(workspace=far / "project", attended=True)
    one.script(*(reply("", call("bash", command=command)) for command in commands), "done")
    return one


async def test_an_approved_push_goes_by_ssh_and_is_put_back(bench: Open, far: Path) -> None:
    one = await told_to_run(bench, far, COMMIT, "git push origin HEAD:refs/heads/wip HEAD:refs/tags/v1 2>&1")
    async with person(one, lambda _: ALLOW) as shown:
        assert await one.ask("push") == "completed"
        (asked,) = shown
        assert "outside the sandbox, with your keys" in asked.effect and f"{far}/remote.git" in asked.effect
        new = git(one.root, "rev-parse", "HEAD").strip()
        assert head(far / "remote.git", "wip") == head(far / "remote.git", "v1") == new
        assert not (far / "hook-ran").exists()
        found = {e.detail["ref"]: e for e in await pushes(one)}
        assert set(found) == {"refs/heads/wip", "refs/tags/v1"} and len((await effects(one)).here) == 2
        wip = found["refs/heads/wip"]
        assert (wip.reversibility, wip.evidence, wip.detail["old"], wip.detail["new"]) == (
            "compensatable", "observed", "", new,
        )  # fmt: skip
        await one.actor.handle("undo_effect", c.UndoEffect(id=wip.id))
    # While it is asked about the counter move the step waits, and is as before when that is answered.
    shown_as = [event.header.outcome for name, event in one.events if name == "node_ended"]
    assert shown_as[-2:] == ["waiting", "ok"]
    assert head(far / "remote.git", "wip") == "" and head(far / "remote.git", "v1") == new
    assert [e.status for e in await pushes(one)].count("countered") == 1


async def test_a_push_says_that_large_files_stay_behind(bench: Open, far: Path) -> None:
    (far / "project" / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(far / "project", "add", ".")
    git(far / "project", "commit", "-qm", "large files")
    one = await told_to_run(bench, far, COMMIT, "git push origin HEAD:refs/heads/wip")
    async with person(one, lambda _: ALLOW) as shown:
        assert await one.ask("push") == "completed"
    assert "Git LFS are not uploaded" in shown[0].effect and "git lfs push yourself" in shown[0].effect
    assert "not uploaded: the contents of files that this repository keeps with Git LFS" in last_result(one)
    assert head(far / "remote.git", "wip")


@pytest.mark.parametrize(
    ("place", "text", "found"),
    [
        (".gitattributes", "# a\n*.bin -text filter=lfs\n", True), (".gitattributes", "*.png filter=lfs diff=lfs", True),
        (".gitattributes", "# *.bin filter=lfs\n*.txt text\n", False), (".gitattributes", "*.x filter=lfsx\n", False),
        (".git/info/attributes", "*.bin filter=lfs\n", True), (".git/lfs/objects/x", "", True), ("a.txt", "filter=lfs", False),
    ],
)  # fmt: skip
def test_where_git_lfs_shows(tmp_path: Path, place: str, text: str, found: bool) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(text)
    assert uses_lfs(tmp_path) is found


async def test_a_forced_push_over_a_commit_that_nobody_has_here_can_be_put_back(
    bench: Open, far: Path
) -> None:
    git(far, "clone", "-q", "remote.git", "elsewhere")
    (far / "elsewhere" / "b.txt").write_text("two\n")
    git(far / "elsewhere", "add", ".")
    git(far / "elsewhere", "commit", "-qm", "of somebody else")
    git(far / "elsewhere", "push", "-q", "origin", "HEAD:refs/heads/topic")
    theirs = head(far / "remote.git", "topic")
    one = await told_to_run(bench, far, COMMIT, "git push --force origin HEAD:topic")
    async with person(one, lambda _: ALLOW):
        assert await one.ask("push") == "completed"
        (entry,) = await pushes(one)
        assert entry.detail["old"] == theirs and head(far / "remote.git", "topic") == entry.detail["new"]
        await one.actor.handle("undo_effect", c.UndoEffect(id=entry.id))
    assert head(far / "remote.git", "topic") == theirs


async def test_a_push_among_other_commands_is_refused_and_the_way_is_told(bench: Open, far: Path) -> None:
    one = await told_to_run(
        bench, far, f"{COMMIT} && git push origin HEAD:refs/heads/wip", "git push origin HEAD:refs/heads/wip"
    )
    async with person(one, lambda _: ALLOW):
        assert await one.ask("push") == "completed"
    (first, _) = one.nodes("tool")
    said = json.dumps(one.doc.body(first.uid).end_message)
    assert (
        "needs an ssh key of the person" in said and "git push origin HEAD:refs/heads/wip. The person" in said
    )
    assert "needs_credentials" in said or "sandbox_denied" in said
    assert len(await pushes(one)) == 1 and head(far / "remote.git", "wip")


async def test_a_denied_push_and_a_refused_one_change_nothing(bench: Open, far: Path) -> None:
    git(far / "remote.git", "config", "receive.denyDeletes", "true")
    one = await told_to_run(
        bench,
        far,
        "git push origin HEAD:refs/heads/wip",
        "git push origin :main",
        "git push -n origin HEAD:refs/heads/dry",
    )
    answers = iter([{"decision": "deny", "reason": "not yet"}, ALLOW, ALLOW])
    async with person(one, lambda _: next(answers)):
        assert await one.ask("push") == "completed"
    assert await pushes(one) == []
    assert head(far / "remote.git", "wip") == head(far / "remote.git", "dry") == ""
    assert head(far / "remote.git", "main")


async def test_a_push_that_is_stopped_half_way_is_on_the_record(bench: Open, far: Path) -> None:
    one = await told_to_run(bench, far, "git push origin HEAD:refs/heads/wip")
    (far / "slow").touch()

    async def stop_when_it_waits() -> None:
        # The look at the remote before it goes through; then the push itself hangs.
        async with asyncio.timeout(PATIENCE_S):
            while not (far / "waits").exists():
                await asyncio.sleep(0.01)
        await one.actor.runs.stop_and_settle()

    async with person(one, lambda _: ALLOW):
        stopping = asyncio.ensure_future(stop_when_it_waits())
        await one.ask("push")
        await stopping
    (entry,) = await pushes(one)
    assert entry.summary.startswith("May have pushed to git@git.example") and entry.evidence == "assumed"


async def test_a_repository_inside_the_workspace_is_never_pushed_with_the_keys(
    bench: Open, far: Path
) -> None:
    """Its configuration is the agent's, and could name any program."""
    one = await bench(workspace=far / "project", attended=True)
    plant = (
        "git init -q inner && git -C inner config user.name x && git -C inner config user.email x@example.org && "
        f"git -C inner commit -q --allow-empty -m x && git -C inner remote add origin git@git.example:{far}/remote.git && "
        f"git -C inner config core.sshCommand 'touch {far}/ran;'"
    )
    one.script(
        reply("", call("bash", command=plant)),
        reply("", call("bash", command="git push origin HEAD:refs/heads/inner", cwd="inner")),
        reply("", call("bash", command="git -C inner push origin HEAD:refs/heads/inner")),
        "done",
    )
    async with person(one, lambda _: ALLOW):
        assert await one.ask("push") == "completed"
    assert not (far / "ran").exists() and head(far / "remote.git", "inner") == ""
    assert await pushes(one) == []


class _Git(http.server.BaseHTTPRequestHandler):
    """`git http-backend` behind a password."""

    root = Path()

    def _serve(self) -> None:
        wanted = "Basic " + base64.b64encode(b"me:hunter2").decode()
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {
            **os.environ, "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_USER": "me",
            "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, check=False
        )
        head_, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head_.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = _serve

    def log_message(self, *args: object) -> None: ...


@contextmanager
def web(root: Path) -> Iterator[int]:
    _Git.root = root
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Git) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        try:
            yield listener.server_address[1]
        finally:
            listener.shutdown()


async def test_an_approved_push_goes_by_http_with_the_stored_password(
    bench: Open, ground: Path, own_home: Path
) -> None:
    git(ground / "remote.git", "config", "http.receivepack", "true")
    with web(ground) as port:
        url = f"http://localhost:{port}/remote.git"
        git(ground / "project", "remote", "set-url", "origin", url)
        git(ground, "config", "--global", "credential.helper", "store")
        (own_home / ".git-credentials").write_text(f"http://me:hunter2@localhost:{port}\n")
        one = await bench(workspace=ground / "project", attended=True)
        one.script(
            reply("", call("bash", command="true; no_proxy= NO_PROXY= git push origin HEAD:refs/heads/wip")),
            reply("", call("bash", command="git push -u origin HEAD:refs/heads/wip")),
            "done",
        )
        async with person(one, lambda _: ALLOW):
            assert await one.ask("push") == "completed"
        first, second = (json.dumps(one.doc.body(n.uid).end_message) for n in one.nodes("tool"))
        assert "needs a stored password of the person" in first, first
        assert "hunter2" not in first + second + json.dumps(one.sent(-1))
        assert head(ground / "remote.git", "wip")
        (entry,) = await pushes(one)
        assert entry.detail["ref"] == "refs/heads/wip" and url in entry.summary


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main; true", "git push origin $(echo main)", "git push origin main | cat", "A=1 git push origin main",
        "git push origin main > log", "git -c core.sshCommand=x push origin main", "git push --receive-pack=x origin main",
        "git push --exec=x origin main", "git push --repo=x main", "git push --recurse-submodules=on-demand origin main",
        "git push ext::sh%20-c%20x main", "git push 'ext::sh -c x' main", "git push ssh://-oProxyCommand=x/y main",
        "git push -o x origin main", "git push", "git push -u", "git push --mirror origin", "bash -c 'git push origin main'",
        "sudo git push origin main", "(git push origin main)&", "git push nowhere main", "git push ../remote.git main",
        "git push --signed origin main", "git push origin 'a b'", "git push origin refs/heads/*", "git push git@-x:y main",
    ],
)  # fmt: skip
def test_only_a_plain_push_can_run_outside(ground: Path, command: str) -> None:
    git(ground / "project", "remote", "set-url", "origin", "git@git.example:x.git")
    assert push_outside(command, ground / "project") is None


@pytest.mark.parametrize(
    ("command", "url"),
    [
        ("git push origin main", "git@git.example:x.git"),
        ("git push -u --force-with-lease=main:abc origin HEAD:refs/heads/x 2>&1", "git@git.example:x.git"),
        ("git push --delete origin old", "git@git.example:x.git"),
        ("git push ssh://git@git.example:22/x.git +main:main", "ssh://git@git.example:22/x.git"),
        ("git push https://git.example/x.git main", "https://git.example/x.git"),
    ],
)
def test_plain_ones_do(ground: Path, command: str, url: str) -> None:
    git(ground / "project", "remote", "set-url", "origin", "git@git.example:x.git")
    push = push_outside(command, ground / "project")
    assert (
        push is not None
        and push.url == url
        and push.destroys == any(w in command for w in ("lease", "delete", "+"))
    )


def test_where_the_sandbox_is_less_than_complete_the_person_pushes_themselves(ground: Path) -> None:
    git(ground / "project", "remote", "set-url", "origin", "git@git.example:x.git")
    told: Any = way_on("git push origin main", ground / "project", "", complete=False)
    assert "they do it themselves" in told[1]
    assert way_on("git status", ground / "project", "") is None
    assert way_on("git push ../remote.git main", ground / "project", "") is None
    assert [p.url for p in pushes_of("git push", ground / "project")] == ["git@git.example:x.git"]
    assert "REMOTE BRANCH" in (way_on("git push", ground / "project", "") or ("", ""))[1]


def test_looking_for_lfs_waits_for_no_pipe(tmp_path: Path) -> None:
    """A command of the agent may leave one, and the question is asked on the loop."""
    program = "import sys; from pathlib import Path; from worldline.policy.pushing import uses_lfs; print(uses_lfs(Path(sys.argv[1])))"
    os.mkfifo(tmp_path / ".gitattributes")
    assert run_code(program, tmp_path) == "False\n"
