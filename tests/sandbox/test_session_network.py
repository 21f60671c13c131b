"""The network that the commands of a session share: what one leaves running is there for the next, for the person when
they want it, and for nobody else; and it ends with the engine, however that ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.conftest import Bench, Open, bench, server
from engine.support import call, reply
from sandbox.conftest import Lab
from sandbox.test_confined_commands import server as host_server
from sandbox.test_ledger_of_a_session import ALLOW, ground, person
from tests_support import PATIENCE_S
from worldline.core.errors import BadInput
from worldline.policy.sandbox import selftest
from worldline.policy.sandbox.model import Grant, Label
from worldline.policy.sandbox.network import NoNetwork, SessionNetwork
from worldline.policy.sandbox.sockets import bound_sockets
from worldline.protocol import commands as c

__all__ = ["bench", "ground", "server"]

FETCH = "for i in $(seq 2000); do curl -sf --max-time 60 {url} && break; sleep .05; done"
"""A server that was just started may not listen yet."""


@pytest.fixture
def other(best_label: Label) -> Iterator[SessionNetwork]:
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    with contextlib.closing(SessionNetwork.create()) as network:
        yield network


def within(seconds: float, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def free_port() -> int:
    """Nobody on this machine listens there, and nobody is given it who asks for any."""
    for port in random.SystemRandom().sample(range(20_000, 30_000), 1_000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def stop(lab: Lab) -> None:
    asyncio.run(lab.table.stop_all())


class TestShared:
    @pytest.mark.parametrize(
        ("start", "background"),
        [("exec python3 -m http.server {port} --bind {address}", True),
         ("nohup python3 -m http.server {port} --bind {address} > log 2>&1 &", False)],
        ids=["background", "left behind"],
    )  # fmt: skip
    @pytest.mark.parametrize("address", ["127.0.0.1", "::"])
    def test_a_server_of_one_call_is_there_for_the_next(
        self, lab: Lab, other: SessionNetwork, start: str, background: bool, address: str
    ) -> None:
        port = free_port()
        first = lab.run(start.format(address=address, port=port), background=background)
        try:
            assert first.process_id
            url = f"http://{'localhost' if address == '::' else address}:{port}/a.txt"
            got = lab.run(FETCH.format(url=url))
            assert got.output == b"one\n" and not got.denials
            # Nobody else: neither this machine, nor another session, nor a call with a network for itself.
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            own, lab.network = lab.network, other
            assert lab.run(f"curl -s --max-time 60 {url}; echo $?").output == b"7\n"
            lab.network = None
            assert lab.run(f"curl -s --max-time 60 {url}; echo $?").output == b"7\n"
            lab.network = own
        finally:
            stop(lab)
        assert lab.run(f"curl -s --max-time 60 {url}; echo $?").output == b"7\n"

    def test_low_ports_are_free_for_everyone(self, lab: Lab) -> None:
        lab.run("exec python3 -m http.server 80", background=True)
        try:
            assert lab.run(FETCH.format(url="http://127.0.0.1/a.txt")).output == b"one\n"
        finally:
            stop(lab)

    def test_its_ports_are_known_and_no_other(self, lab: Lab) -> None:
        lab.run("exec python3 -m http.server 8125", background=True)
        lab.run("exec python3 -m http.server 8126", background=True)
        try:
            lab.run(FETCH.format(url="http://127.0.0.1:8125/a.txt"))
            lab.run(FETCH.format(url="http://127.0.0.1:8126/a.txt"))
            asyncio.run(lab.table.look())
            assert [[p.port for p in info.ports] for info in lab.table.running()] == [[8125], [8126]]
        finally:
            stop(lab)

    def test_what_was_opened_for_one_command_is_not_open_for_another(self, lab: Lab) -> None:
        with host_server() as (port, seen):
            lab.grants = [Grant("net", f"localhost:{port}", "once")]
            ask = f"curl -s --noproxy '' -m 60 http://localhost:{port}/"
            lab.run(f"echo $http_proxy > door; {ask}1 > got; sleep 60", background=True)
            try:
                got = lab.workspace / "got"
                assert within(PATIENCE_S, lambda: got.exists() and got.stat().st_size > 0)
                lab.grants = []
                through = lab.run(f"http_proxy=$(cat door) {ask}2; {ask}3")
                assert b"that of another command" in through.output
                assert seen == ["/1"]
                assert [d["target"] for d in through.denials] == [f"localhost:{port}"]
            finally:
                stop(lab)

    def test_many_commands_at_once_have_a_proxy_each(self, lab: Lab) -> None:
        with host_server() as (port, seen):
            lab.answer = lambda host, port: ""
            line = f"curl -s --noproxy '' -m 60 http://localhost:{port}/"

            async def all_of_them() -> None:
                results = await asyncio.gather(*(asyncio.to_thread(lab.run, f"{line}{n}") for n in range(5)))
                assert all(r.exit_code == 0 for r in results)
                assert all(any(e["kind"] == "net_fetch" for e in r.effects) for r in results)

            asyncio.run(all_of_them())
            assert sorted(seen) == [f"/{n}" for n in range(5)]

    def test_no_descriptor_of_a_namespace_leaks_in_and_none_can_be_entered(self, lab: Lab) -> None:
        said = lab.run(
            "ls -l /proc/self/fd | grep -c ns/; ls -l /proc/*/fd 2>/dev/null | grep -E 'net:|user:';"
            "nsenter --net=/proc/1/ns/net true; unshare -n true; ip link add x type dummy; ip link set lo down;"
            "curl -s -m 60 http://127.0.0.1:1/; echo $?"
        ).output
        assert said.startswith(b"0\n") and b"-> 'net:" not in said and said.endswith(b"7\n"), said


ENGINE = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from sandbox.conftest import Lab
from worldline.policy.sandbox.network import SessionNetwork
import os
network = SessionNetwork.create()
lab = Lab(Path(sys.argv[1]), "complete", network=network)
lab.run("nohup setsid python3 -m http.server 8127 > /dev/null 2>&1 &")
lab.run("exec python3 -m http.server 8128", background=True)
shown = network.show(8127)
print(os.fstat(network._net).st_ino, shown, flush=True)
sys.stdin.read()
"""


def members(space: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "ns" / "net").stat().st_ino == space:
                found.append((process / "cmdline").read_text())
    return found


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_everything_ends_with_the_engine(lab: Lab, how: str) -> None:
    here = Path(__file__).resolve().parents[1]
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, str(lab.base), str(here), str(here.parent / "desktop")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert engine.stdout is not None and engine.stdin is not None
    try:
        space, shown = map(int, engine.stdout.readline().split())
        assert within(PATIENCE_S, lambda: len([m for m in members(space) if "http.server" in m]) >= 2)
        if how == "killed":
            engine.send_signal(signal.SIGKILL)
        else:
            engine.stdin.close()
        engine.wait(PATIENCE_S)
        assert within(PATIENCE_S, lambda: members(space) == []), members(space)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", shown), timeout=1).close()
    finally:
        engine.kill()
        engine.wait()
        engine.stdout.close()


@pytest.mark.slow
class TestBrowser:
    async def _serving(self, one: Bench) -> tuple[str, int]:
        port = free_port()
        serve = f"echo hello > index.html; exec python3 -m http.server {port}"
        one.script(
            reply("", call("bash", command=serve, background=True)),
            reply("", call("bash", command=FETCH.format(url=f"http://127.0.0.1:{port}/"))),
            "done",
        )
        async with person(one, lambda _: ALLOW):
            assert await one.ask("serve") == "completed"
        listed = await one.actor.handle("effects", c.EffectsAt())
        assert isinstance(listed, c.Effects)
        (process,) = listed.processes
        assert [(p.port, p.shown) for p in process.ports] == [(port, 0)]
        return process.id, port

    async def test_the_person_opens_a_port_and_it_closes_with_its_process(
        self, bench: Open, ground: Path
    ) -> None:
        one = await bench(workspace=ground / "project", attended=True)
        process, port = await self._serving(one)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        shown = await one.actor.handle("show_port", c.ShowPort(id=process, port=port))
        assert isinstance(shown, c.PortShown) and shown.url == f"http://127.0.0.1:{port}/"
        assert await asyncio.to_thread(fetch, shown.url) == b"hello\n"
        listed = await one.actor.handle("effects", c.EffectsAt())
        assert isinstance(listed, c.Effects) and listed.processes[0].ports[0].shown == port
        assert listed.here == []  # the person did it, not the agent
        again = await one.actor.handle("show_port", c.ShowPort(id=process, port=port))
        assert isinstance(again, c.PortShown) and again.url == shown.url
        await one.actor.handle("stop_process", c.StopProcess(id=process))
        async with asyncio.timeout(PATIENCE_S):
            while await asyncio.to_thread(reachable, port):
                await asyncio.sleep(0.02)

    async def test_it_can_be_taken_back_and_a_taken_port_gets_another_number(
        self, bench: Open, ground: Path
    ) -> None:
        one = await bench(workspace=ground / "project", attended=True)
        process, port = await self._serving(one)
        with socket.create_server(("127.0.0.1", port)):
            shown = await one.actor.handle("show_port", c.ShowPort(id=process, port=port))
            assert isinstance(shown, c.PortShown) and f":{port}/" not in shown.url
            assert await asyncio.to_thread(fetch, shown.url) == b"hello\n"
            back = await one.actor.handle("show_port", c.ShowPort(id=process, port=port, show=False))
            assert back == c.PortShown(url="")
            with pytest.raises(urllib.error.URLError):
                await asyncio.to_thread(fetch, shown.url)

    async def test_what_does_not_listen_is_refused(self, bench: Open, ground: Path) -> None:
        one = await bench(workspace=ground / "project", attended=True)
        process, port = await self._serving(one)
        with pytest.raises(BadInput, match="does not listen on port 22"):
            await one.actor.handle("show_port", c.ShowPort(id=process, port=22))
        with pytest.raises(BadInput, match="no process"):
            await one.actor.handle("show_port", c.ShowPort(id="p9", port=port))


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return bytes(answer.read())


def reachable(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class TestWithoutOne:
    def test_the_self_test_says_it_and_the_sandbox_holds_all_the_same(
        self, best_label: Label, own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        if best_label != "complete":
            pytest.skip("no user namespaces here")
        for name in ("bwrap", "true", "sh"):
            with contextlib.suppress(FileNotFoundError):
                (tmp_path / name).symlink_to(f"/usr/bin/{name}")
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NoNetwork):
            SessionNetwork.create()
        result = selftest.run()
        assert result.label == "complete" and result.network is None
        assert "cannot be reached by the next one" in result.why

    def test_with_one_it_says_nothing_of_it(self, best_label: Label, own_home: Path) -> None:
        result = selftest.run()
        if best_label == "complete":
            assert result.network is not None and "next one" not in result.why
            result.network.close()
            assert not os.path.exists(f"/proc/self/fd/{result.network._net}")


def test_a_socket_of_a_program_that_started_a_moment_ago_is_known(
    other: SessionNetwork, tmp_path: Path
) -> None:
    bound_sockets()
    serves = "import socket, sys; s = socket.socket(1); s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()"
    place = tmp_path / "socket"
    with subprocess.Popen(
        [*other.prefix(), sys.executable, "-c", serves, str(place)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == b"\n"
        assert str(place) in bound_sockets()
        assert str(place) not in bound_sockets(other.space()), (
            "commands of one session may talk to each other"
        )


def test_a_link_that_goes_while_it_is_followed_stops_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`realpath` looks at a link and reads it afterwards: somebody may have taken it away in between."""
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder")
    with (
        contextlib.closing(socket.socket(socket.AF_UNIX)) as kept,
        contextlib.closing(socket.socket(socket.AF_UNIX)) as lost,
    ):
        kept.bind(str(tmp_path / "kept"))
        lost.bind(str(link / "lost"))
        read = os.readlink

        def gone(path: str) -> str:
            if path == str(link):
                link.unlink(missing_ok=True)
            return read(path)

        monkeypatch.setattr(os, "readlink", gone)
        found = bound_sockets()
        assert str(tmp_path / "kept") in found and str(link / "lost") in found


def test_a_name_that_only_its_owner_understands_is_not_followed_here(tmp_path: Path) -> None:
    """`/proc/self` is another folder for each process, and its descriptors come and go."""
    folder = os.open(tmp_path, os.O_PATH)
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
            one.bind(f"/proc/self/fd/{folder}/socket")
            assert str(tmp_path / "socket") not in bound_sockets()
    finally:
        os.close(folder)
