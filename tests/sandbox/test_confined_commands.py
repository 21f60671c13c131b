"""What a confined command can and cannot do, and that every refusal has a name."""

from __future__ import annotations

import asyncio
import http.server
import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.conftest import Lab, git
from tests_support import PATIENCE_S, wait_until
from worldline.policy.sandbox.confine import Confinement
from worldline.policy.sandbox.model import Grant, Report


def targets(result: object, kind: str) -> list[str]:
    return [d["target"] for d in result.denials if d["kind"] == kind]  # type: ignore[attr-defined]


@contextmanager
def server() -> Iterator[tuple[int, list[str]]]:
    """A real HTTP server of the host; what reached it."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def do_POST(self) -> None:
            seen.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        try:
            yield listener.server_address[1], seen
        finally:
            listener.shutdown()


class TestFiles:
    def test_the_workspace_is_free_and_leaves_no_entry(self, lab: Lab) -> None:
        result = lab.run("echo x > new.txt; rm a.txt; echo t > /tmp/t; cat /tmp/t")
        assert (result.exit_code, result.denials, result.effects) == (0, [], [])
        assert result.confinement == "complete" and (lab.workspace / "new.txt").read_text() == "x\n"

    @pytest.mark.parametrize(
        "command",
        [
            "echo x >> {file}",
            "rm -f {file}",
            "mv {file} gone",
            "chmod 000 {file}",
            "touch -d 2001-01-01 {file}",
            "truncate -s 0 {file}",
            "ln {file} here && echo x > here",
            "ln -s {folder} link && rm -rf link/file",
            "sort -o {file} a.txt",
            "git log --output={file}",
            "tar cf x.tar a.txt && tar xf x.tar --to-command='sh -c \"echo x > {file}\"'",
            "python3 -c \"open('{file}','w')\"",
            "perl -e 'unlink \"{file}\"'",
            "awk 'BEGIN{{system(\"rm -f {file}\")}}'",
            "echo cm0gLWYge2ZpbGV9 | base64 -d | sed 's|{{file}}|{file}|' | sh",
            "cp /proc/self/root{file} x; echo x > /proc/self/root{file}",
            "git -c core.fsmonitor='rm -f {file}' status",
            "GIT_SSH_COMMAND='rm -f {file};' git fetch ssh://host/x",
            "sed -i s/b/c/ {file}",
            "dd if=/dev/zero of={file} count=1",
        ],
    )
    def test_nothing_outside_changes_whatever_the_words_are(self, lab: Lab, command: str) -> None:
        file = lab.outside / "file"
        before = file.lstat()
        result = lab.run(command.format(file=file, folder=lab.outside))
        after = file.lstat()
        assert file.read_text() == "before\n" and file.stat().st_nlink == 1
        assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (
            before.st_mode,
            before.st_mtime_ns,
            before.st_ino,
        )
        assert result.effects == []

    def test_a_refusal_is_named_even_when_the_command_succeeds(self, lab: Lab) -> None:
        result = lab.run(f"echo x > {lab.outside}/file || true")
        assert result.exit_code == 0 and targets(result, "write") == [str(lab.outside / "file")]

    def test_secrets_of_the_person_are_not_there(
        self, lab: Lab, own_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (own_home / ".ssh").mkdir()
        (own_home / ".ssh" / "id").write_text("private")
        (own_home / ".netrc").write_text("password")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
        monkeypatch.setenv("MY_TOKEN", "hidden")
        result = lab.run("cat ~/.ssh/id ~/.netrc; env")
        assert not any(
            word in result.output for word in (b"private", b"password", b"sk-ant-secret", b"hidden")
        )

    def test_what_a_grant_opened_is_in_the_ledger_and_can_be_put_back(self, lab: Lab) -> None:
        file = lab.outside / "file"
        lab.grants = [Grant("write", str(file))]
        assert lab.run("true").effects == []  # opened and not used: no entry
        (entry,) = lab.run(f"echo after > {file}").effects
        assert (entry["kind"], entry["reversibility"], entry["evidence"]) == (
            "outside_write",
            "undoable",
            "observed",
        )
        from worldline.policy.copies import Copies

        Copies(lab.base / "copies").restore(entry["detail"])
        assert file.read_text() == "before\n"

    def test_a_granted_new_file_is_removed_again_when_unused(self, lab: Lab) -> None:
        new = lab.outside / "new"
        lab.grants = [Grant("write", str(new))]
        assert lab.run("true").effects == [] and not new.exists()
        (entry,) = lab.run(f"echo x > {new}").effects
        assert entry["summary"] == f"Created {new}" and entry["detail"]["existed"] is False


class TestNetwork:
    def test_no_byte_reaches_a_server_of_this_machine(self, lab: Lab) -> None:
        with server() as (port, seen):
            script = (
                "import socket\n"
                "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n"
                " s = socket.socket(socket.AF_INET, kind); s.settimeout(1)\n"
                f" try: s.sendto(b'GET /raw HTTP/1.0\\r\\n\\r\\n', 0x20000000, ('127.0.0.1', {port}))\n"
                " except OSError as e: print(e)\n"
            )
            (lab.workspace / "try.py").write_text(script)
            lab.run(f"python3 try.py; curl -s -m 2 --noproxy '*' http://127.0.0.1:{port}/direct")
        assert seen == []

    def test_a_server_and_a_client_of_the_same_call_meet(self, lab: Lab) -> None:
        script = "import http.server,threading,urllib.request as u\ns=http.server.HTTPServer(('127.0.0.1',0),http.server.SimpleHTTPRequestHandler)\nthreading.Thread(target=s.serve_forever,daemon=True).start()\nprint(u.urlopen(f'http://127.0.0.1:{s.server_port}/a.txt').read())"
        (lab.workspace / "both.py").write_text(script)
        assert b"one" in lab.run("python3 both.py").output

    def test_a_socket_in_the_private_folder_of_another_user_stops_nothing(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = lab.base / "private"
        folder.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            monkeypatch.chdir(folder)  # addresses of sockets must be short
            listener.bind("s")
            listener.listen()
            if os.geteuid() == 0:
                os.chown(folder, 12345, 12345)
            result = lab.run(
                f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{folder}/s')\"; echo ran"
            )
        assert result.output.rstrip().endswith(b"ran") and b"Error" in result.output

    def test_a_request_waits_for_the_answer_and_is_entered(self, lab: Lab) -> None:
        with server() as (port, seen):
            lab.answer = lambda host, asked: "" if asked == port else "no"
            result = lab.run(
                f"curl -s --noproxy '' -d secret http://localhost:{port}/x; curl -s http://localhost:{port}/y"
            )
            refused = lab.run("curl -s http://example.org:81/; true")
        assert seen == ["secret"] or seen == ["secret", "/y"]
        kinds = [(e["kind"], e["reversibility"]) for e in result.effects]
        assert ("net_send", "irreversible") in kinds and lab.asked[0] == ("localhost", port, "POST")
        assert targets(refused, "connect") == ["example.org:81"] and refused.effects == []

    def test_a_name_that_leads_to_this_machine_is_not_what_was_approved(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = socket.getaddrinfo

        def rebound(host: str, *args: Any, **more: Any) -> Any:
            return real("127.0.0.1" if host == "api.example.org" else host, *args, **more)

        monkeypatch.setattr(socket, "getaddrinfo", rebound)
        with server() as (port, seen):
            lab.answer = lambda host, asked: ""
            result = lab.run(
                f"curl -s http://api.example.org:{port}/x; curl -s --noproxy '' http://localhost:{port}/y"
            )
        assert seen == ["/y"] and b"leads to this machine" in result.output
        assert targets(result, "connect") == [f"api.example.org:{port}"]

    def test_a_request_that_reads_and_sends_all_the_same_is_entered_as_sent(self, lab: Lab) -> None:
        lines = (
            "import os, socket\ns = socket.create_connection(('127.0.0.1', int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])))\n"
            "s.sendall(b'GET http://localhost:{port}/x HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n{more}'); print(len(s.recv(999)))"
        )
        with server() as (port, _seen):
            lab.answer = lambda host, asked: ""
            kinds = []
            for more in ("", "POST /secret HTTP/1.1\\r\\n\\r\\n"):
                line = lines.replace("{port}", str(port)).replace("{more}", more)
                kinds.append([e["kind"] for e in lab.run(f"python3 - <<'E'\n{line}\nE").effects])
        assert kinds == [["net_fetch"], ["net_send"]]

    def test_names_that_programs_look_up_are_told(self, lab: Lab) -> None:
        result = lab.run(
            "python3 -c \"import socket; socket.create_connection(('db.example.org', 5432), 1)\""
        )
        assert "db.example.org" in targets(result, "lookup")

    def test_sockets_of_the_host_are_out_of_reach(self, lab: Lab) -> None:
        for place in (lab.outside / "s", lab.workspace / "s"):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(os.path.relpath(place))
                listener.listen()
                listener.settimeout(0.05)
                lab.run(f"python3 -c \"import socket; socket.socket(1).connect('{place}')\"")
                with pytest.raises(TimeoutError):
                    listener.accept()

    @pytest.mark.parametrize("family", [40, 38, 17, 16 + 15])
    def test_odd_socket_families_are_refused(self, lab: Lab, family: int) -> None:
        result = lab.run(f'python3 -c "import socket; socket.socket({family}, socket.SOCK_DGRAM)"')
        assert result.exit_code != 0


class TestRepository:
    def test_everyday_git_works(self, lab: Lab) -> None:
        result = lab.run(
            "set -e; echo 2 > b.txt; git add b.txt; git commit -qm second; git checkout -q -b worldline/s/2;"
            " echo 3 > a.txt; git stash -q; git stash pop -q; git commit -qam third; git rebase -q main;"
            " git merge -q other; git log --format=%s"
        )
        assert result.output.split() == [b"third", b"second", b"first"] and result.effects == []
        # What was committed inside is there for the person, outside.
        assert git(lab.repo, "log", "--format=%s", "worldline/s/2").split() == ["third", "second", "first"]
        assert git(lab.repo, "fsck", "--no-dangling") == ""

    def test_a_stash_lives_on_from_call_to_call(self, lab: Lab) -> None:
        lab.run("echo 9 > a.txt; git stash")
        assert b"WIP" in lab.run("git stash list").output
        assert lab.run("git stash pop -q && cat a.txt").output.strip().endswith(b"9")

    def test_nothing_of_the_person_can_be_destroyed(self, lab: Lab) -> None:
        before = git(
            lab.repo,
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads/main",
            "refs/heads/other",
        )
        lab.run(
            f"git branch -f other HEAD~0; git update-ref -d refs/heads/other; git gc --prune=now -q; rm -rf {lab.repo}"
        )
        after = git(
            lab.repo,
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads/main",
            "refs/heads/other",
        )
        assert after == before and git(lab.repo, "status", "--short") == ""
        assert git(lab.repo, "fsck", "--no-dangling") == "" and (lab.repo / "a.txt").exists()

    @pytest.mark.parametrize(
        "command",
        ["echo x > $(git rev-parse --git-common-dir)/hooks/pre-commit", "git config core.fsmonitor x", "mv .git x",
         "rm .git; mkdir .git", "git branch mine"],
    )  # fmt: skip
    def test_what_makes_git_run_code_stays(self, lab: Lab, command: str) -> None:
        result = lab.run(command)
        assert result.exit_code != 0 and git(lab.workspace, "status", "--short") == ""
        assert "fsmonitor" not in git(lab.repo, "config", "--list", "--local")

    def test_a_planted_object_is_not_taken_for_another(self, lab: Lab) -> None:
        blob = "8" * 40
        lab.run(
            f"d=$(git rev-parse --git-common-dir)/objects/{blob[:2]}; mkdir -p $d; echo junk > $d/{blob[2:]}"
        )
        assert not (lab.repo / ".git" / "objects" / blob[:2]).exists()


class TestLife:
    def test_nothing_outlives_the_call(self, lab: Lab) -> None:
        mark = f"{lab.base.name}-survivor"
        lab.run(f"(setsid sh -c 'trap \"\" TERM INT HUP; exec -a {mark} sleep 60' &) ; sleep 0.1")
        assert not _running(mark)

    def test_a_time_limit_ends_everything(self, lab: Lab) -> None:
        mark = f"{lab.base.name}-slow"
        result = lab.run(f"bash -c 'trap \"\" TERM; exec -a {mark} sleep 60'", timeout_s=1)
        assert result.timed_out and not _running(mark)

    def test_background_processes_are_in_the_table(self, lab: Lab) -> None:
        result = lab.run("sleep 60", background=True)
        assert result.process_id and result.exit_code is None

    def test_processes_of_the_host_cannot_be_reached(self, lab: Lab) -> None:
        result = lab.run(f"kill -9 {os.getpid()}; ls /proc/{os.getpid()} ")
        assert result.exit_code != 0


def _running(mark: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0")[0]:
                return True
        except OSError:
            continue
    return False


class TestStopping:
    """Whenever a command is stopped, nothing of it goes on, and what it did by then is known."""

    def test_while_its_walls_are_built(self, lab: Lab) -> None:
        before = {thread.name for thread in threading.enumerate()}
        mark = f"{lab.base.name}-early"

        def began() -> bool:
            return any(t.name.startswith("command-") and t.name not in before for t in threading.enumerate())

        async def stop_early() -> None:
            call = asyncio.ensure_future(
                lab.begin(f"bash -c 'exec -a {mark} sleep 3600'; echo late > late.txt")
            )
            while not began():
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

        asyncio.run(stop_early())
        assert not _running(mark) and not (lab.workspace / "late.txt").exists()
        wait_until(lambda: not [t for t in threading.enumerate() if t.name not in before])

    def test_while_it_is_read_what_it_did(self, lab: Lab) -> None:
        lab.grants = [Grant("write", str(lab.outside / "file"))]
        began, stopped = threading.Event(), threading.Event()
        seen = Confinement.report

        def slow(confinement: Confinement) -> Report:
            began.set()
            stopped.wait(PATIENCE_S)
            return seen(confinement)

        async def stop_late() -> None:
            call = asyncio.ensure_future(lab.begin(f"echo after >> {lab.outside / 'file'}"))
            await asyncio.to_thread(began.wait, PATIENCE_S)
            call.cancel()
            await asyncio.sleep(0)
            stopped.set()
            with pytest.raises(asyncio.CancelledError):
                await call

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Confinement, "report", slow)
            asyncio.run(stop_late())
        assert (lab.outside / "file").read_text().endswith("after\n")
        assert [(e["kind"], e["detail"]["path"]) for e in lab.entered] == [
            ("outside_write", str(lab.outside / "file"))
        ]

    def test_while_it_goes_into_the_background(self, lab: Lab) -> None:
        lab.grants = [Grant("write", str(lab.outside / "file"))]

        async def stop_early() -> None:
            call = asyncio.ensure_future(
                lab.begin(
                    f"while [ ! -e go ]; do sleep 0.05; done; echo after >> {lab.outside / 'file'}",
                    background=True,
                )
            )
            while not lab.table.entries():
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            (lab.workspace / "go").touch()
            for _ in range(3_000):
                if lab.entered:
                    return
                await asyncio.sleep(0.02)

        asyncio.run(stop_early())
        assert [e["kind"] for e in lab.entered] == ["outside_write"]
