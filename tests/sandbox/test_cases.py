"""The cases that every confinement is held to, under both labels, as the user who runs the tests and as a plain one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.conftest import Lab, furnish, git, lab_root
from sandbox.test_confined_commands import server, targets
from sandbox.world import settings
from tests_support import measured
from worldline.policy.sandbox.inside import landlock
from worldline.policy.sandbox.model import Grant, Label

PLAIN_USER = 54_321


@pytest.fixture
def partial() -> Iterator[Lab]:
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    with tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder:
        yield furnish(Lab(Path(folder), "partial"))


class TestEverydayWork:
    """What must just work inside."""

    @pytest.mark.parametrize(
        "command",
        [
            "python3 -c 'import multiprocessing as m\nif __name__ == \"__main__\":\n with m.Manager() as s: d = s.dict(a=1); print(d[\"a\"])\n with m.Pool(2) as p: print(p.map(abs, [-1]))'",
            "printf 'int main(void){return 0;}' > m.c && gcc m.c -o m && ./m && echo 1",
            "node -e 'const h=require(\"http\").createServer((q,r)=>r.end(\"1\")).listen(0,\"127.0.0.1\",()=>{require(\"http\").get({port:h.address().port,host:\"127.0.0.1\"},r=>{r.on(\"data\",d=>{console.log(String(d));h.close()})})})'",
            "node -e 'const n=require(\"net\");const s=n.createServer(c=>c.end(\"1\")).listen(\"./own.sock\",()=>n.connect(\"./own.sock\").on(\"data\",d=>{console.log(String(d));s.close()}))'",
            "echo x > f && git add f && git commit -qm x && git tag -l && git stash list && git reset -q --soft HEAD~1 && git notes list; echo 1",
            "script -qc 'tty > /dev/null && echo 1' /dev/null < /dev/null",
            "mkfifo q && (echo 1 > q &) && cat q",
            "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'",
            "sleep 5 & kill %1; wait; echo 1",
        ],
    )  # fmt: skip
    def test_works(self, lab: Lab, command: str) -> None:
        if (program := command.split()[0]) in ("gcc", "node", "script") and shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
        result = lab.run(command)
        assert result.exit_code == 0 and b"1" in result.output, result.output[-500:]
        assert result.effects == []

    def test_caches_of_package_managers_can_be_written(self, lab: Lab) -> None:
        result = lab.run(
            'mkdir -p "$PIP_CACHE_DIR" "$npm_config_cache" && touch "$PIP_CACHE_DIR/x" && npm config get cache; '
            "pip cache dir; python3 -c 'import os; print(os.environ[\"HTTPS_PROXY\"])'"
        )
        assert result.denials == [] and b"http://127.0.0.1:" in result.output


class TestPartial:
    """Landlock and seccomp: less, and said so."""

    def test_writes_and_the_network_are_refused_and_named(self, partial: Lab) -> None:
        file = partial.outside / "file"
        with server() as (port, seen):
            result = partial.run(
                f"echo x > {file}; rm -f {file}; curl -s -m 2 --noproxy '*' http://127.0.0.1:{port}/; "
                f"python3 -c \"import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))\"; "
                f"python3 -c \"import socket; socket.socket(2, 1).sendto(b'x', 0x20000000, ('127.0.0.1', {port}))\"; "
                f"python3 -c \"import socket; socket.socket(2, 1, 262).connect(('127.0.0.1', {port}))\"; "
                "echo x > inside"
            )
        assert result.confinement == "partial" and file.read_text() == "before\n" and seen == []
        assert str(file) in targets(result, "write") and (partial.workspace / "inside").exists()

    def test_hosts_go_through_the_dialog_and_a_grant_opens_one_of_them(self, partial: Lab) -> None:
        with server() as (port, seen), server() as (other, unseen):
            partial.answer = lambda host, asked: "" if asked == port else "no"
            result = partial.run(
                f"curl -s --noproxy '' http://localhost:{port}/a; curl -s --noproxy '' http://localhost:{other}/b"
            )
            assert seen == ["/a"] and unseen == []
            partial.answer = lambda host, asked: "no"
            partial.grants = [Grant("net", f"localhost:{port}")]
            partial.run(
                f"curl -s --noproxy '' http://localhost:{port}/c; curl -s --noproxy '*' http://127.0.0.1:{other}/d"
            )
        assert seen == ["/a", "/c"] and unseen == []
        assert [e["kind"] for e in result.effects] == ["net_fetch"]
        assert targets(result, "connect") == [f"localhost:{other}"]

    def test_settings_of_the_kernel_are_out_of_reach_there_too(self, partial: Lab) -> None:
        before = settings()
        done = partial.run(
            "echo x > /proc/sys/kernel/core_pattern; echo x > /proc/sys/kernel/domainname; cat /proc/sys/kernel/hostname"
        )
        assert settings() == before and done.output.count(b"denied") == 2
        assert "/proc/sys/kernel/core_pattern" in {d["target"] for d in done.denials}

    def test_everyday_git_works_there_too(self, partial: Lab) -> None:
        result = partial.run("echo 2 > b && git add b && git commit -qm second && git log --format=%s -1")
        assert result.output.strip() == b"second"


class TestLeaks:
    """What would make "inside the workspace it can be undone" a lie."""

    def test_a_reader_outside_gets_nothing_through_a_named_pipe(self, lab: Lab) -> None:
        pipe = lab.workspace / "pipe"
        os.mkfifo(pipe)
        descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            result = lab.run("echo secret > pipe; true")
            assert os.read(descriptor, 10) == b"" and targets(result, "write") == [str(pipe)]
        finally:
            os.close(descriptor)

    def test_sockets_of_others_in_the_workspace_are_covered_and_named(self, lab: Lab) -> None:
        for kind, name in ((socket.SOCK_STREAM, "stream"), (socket.SOCK_DGRAM, "dgram")):
            place = lab.workspace / name
            with socket.socket(socket.AF_UNIX, kind) as listener:
                listener.bind(os.path.relpath(place))
                if kind == socket.SOCK_STREAM:
                    listener.listen()
                listener.setblocking(False)
                result = lab.run(
                    f"python3 -c \"import socket; s=socket.socket(1,{int(kind)}); s.connect('{name}'); s.send(b'x')\""
                )
                with pytest.raises(BlockingIOError):
                    listener.accept() if kind == socket.SOCK_STREAM else listener.recv(9)
                assert str(place) in targets(result, "socket")

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
    def test_a_mount_below_the_workspace_is_read_only_and_named(self, lab: Lab) -> None:
        point = lab.workspace / "a mount"
        point.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "x", str(point)], check=False).returncode:
            pytest.skip("mounting is not possible here")
        try:
            (point / "file").write_text("theirs")
            result = lab.run("echo x > 'a mount/file'; rm -rf 'a mount'/*")
            assert (point / "file").read_text() == "theirs"
            assert str(point / "file") in targets(result, "write")
        finally:
            subprocess.run(["umount", str(point)], check=True)

    def test_what_the_configuration_includes_stays_as_it_is(self, best_label: Label) -> None:
        if best_label != "complete":
            pytest.skip("no user namespaces here")
        with tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder:
            lab = Lab(Path(folder), "complete")
            for place in (lab.workspace, lab.base / "tmp"):
                place.mkdir()
            git(lab.workspace, "init", "-q")
            shutil.rmtree(lab.workspace / ".git" / "hooks")
            (lab.workspace / "team.config").write_text("[alias]\n\tx = status\n")
            git(lab.workspace, "config", "include.path", "../team.config")
            result = lab.run(
                "echo '[core] fsmonitor = evil' >> team.config; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; "
                "rm team.config; mv .git g"
            )
            assert "evil" not in (lab.workspace / "team.config").read_text()
            assert list((lab.workspace / ".git" / "hooks").iterdir()) == []
            assert str(lab.workspace / "team.config") in targets(result, "write")


class TestLimits:
    def test_a_time_out_leaves_nothing_within_two_seconds(self, lab: Lab) -> None:
        began = time.monotonic()
        result = lab.run("(setsid sh -c 'trap \"\" TERM INT HUP; sleep 60 & wait' &); sleep 60", timeout_s=1)
        assert result.timed_out and result.survivors == []
        measured("seconds until a time limit of 1 s has ended all", time.monotonic() - began, 3)

    def test_endless_output_is_bounded(self, lab: Lab) -> None:
        result = lab.run("yes | head -c 40000000; echo end")
        assert (
            result.total_bytes > 40_000_000
            and len(result.output) < 5_000_000
            and b"end" in result.output[-10:]
        )

    @pytest.mark.skipif(os.getuid() == 0, reason="no limit of processes holds for root; the time limit does")
    def test_a_fork_bomb_stops_inside(self, lab: Lab) -> None:
        script = "import os, time\nn = 0\ntry:\n while n < 6000:\n  if os.fork() == 0: time.sleep(20); os._exit(0)\n  n += 1\nexcept OSError as e: print('stopped', n, flush=True)\nos._exit(0)"
        (lab.workspace / "bomb.py").write_text(script)
        before = threading.active_count()
        result = lab.run("ulimit -u 300; python3 bomb.py", timeout_s=20)
        assert b"stopped" in result.output and threading.active_count() <= before + 3


@pytest.mark.skipif(os.getuid() != 0, reason="this is the plain user already")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_of_it_holds_for_a_plain_user_too(best_label: Label) -> None:
    """The same tests once more, by a process that belongs to nobody in particular."""
    here = Path(__file__).resolve().parent
    home = Path(tempfile.mkdtemp(prefix="worldline-user-", dir="/var/lib"))
    packages = sysconfig.get_path("purelib")
    try:
        os.chown(home, PLAIN_USER, PLAIN_USER)
        env = {
            "HOME": str(home), "WORLDLINE_LAB": str(home), "LANG": "C.UTF-8",
            "PATH": f"/usr/local/bin:/usr/bin:/bin:{Path(sys.executable).parent}", "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{here.parent.parent / 'desktop'}:{packages}",
        }  # fmt: skip
        become = [
            "setpriv",
            f"--reuid={PLAIN_USER}",
            f"--regid={PLAIN_USER}",
            "--clear-groups",
            "--bounding-set=-all",
        ]
        python = next(
            (
                p
                for p in (sys.executable, "/usr/bin/python3")
                if not subprocess.run(
                    [*become, "env", p, "-c", "import pytest, pygit2, pydantic"],
                    env=env,
                    cwd="/",
                    capture_output=True,
                    check=False,
                ).returncode
            ),
            None,
        )
        if python is None:
            pytest.skip("no interpreter here that a plain user may start")
        # Half a minute for all; otherwise those that ask the system for something that it may refuse to a plain user.
        chosen = (
            "not of_a_session"
            if os.environ.get("WORLDLINE_TEST_ALL")
            else "TestEverydayWork or TestPartial or TestLeaks or fork_bomb or TestNetwork or TestRepository"
        )
        done = subprocess.run(
            [*become, "env", python, "-m", "pytest", str(here), "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
             "--basetemp", str(home / "t"), "--rootdir", str(here.parent.parent), "-k", chosen],
            env=env, cwd=here.parent, capture_output=True, text=True, check=False,
            timeout=1700,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        assert best_label != "complete" or " passed" in done.stdout
    finally:
        shutil.rmtree(home, ignore_errors=True)
