"""The private network of a session: one loopback for all its commands, so that a server that one of them left running is
there for the next, and nothing else of the machine is.

It is a network namespace (owned by a user namespace of its own) that nobody lives in: two descriptors of this process
keep it, and the kernel takes it away with them, however this process ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from worldline.core.jsontext import loads

BESIDE = Path(__file__).resolve().parent / "beside"
_LISTEN = "0A"
_PORTS_FOR_ALL = "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"
"""Inside, port 80 is as good as any other; without this, commands of a plain user and of root would not be alike."""


class NoNetwork(OSError):
    """The namespace could not be made: every command has a network for itself then."""


class SessionNetwork:
    """Made with `create`; `close` gives it up, which ends it once the last command in it has ended. Any thread."""

    def __init__(self, user: int, net: int) -> None:
        self._user, self._net = user, net
        self._lock = threading.Lock()
        self._lifeline: subprocess.Popen[bytes] | None = None
        self._shown: dict[int, _Shown] = {}

    @classmethod
    def create(cls) -> SessionNetwork:
        """Takes about 10 ms; blocking. Raises NoNetwork."""
        bwrap = shutil.which("bwrap")
        if bwrap is None or shutil.which("nsenter") is None:
            raise NoNetwork(errno.ENOENT, "bwrap or nsenter is not installed")
        told, tell = os.pipe()
        gate, opener = os.pipe()
        made: list[int] = []
        process: subprocess.Popen[bytes] | None = None
        try:
            process = subprocess.Popen(
                [
                    bwrap, "--unshare-user", "--unshare-net", "--die-with-parent", "--cap-add", "CAP_NET_ADMIN",
                    "--ro-bind", "/", "/", "--bind", "/proc", "/proc",
                    "--info-fd", str(tell), "--block-fd", str(gate), "--", "/bin/sh", "-c", _PORTS_FOR_ALL,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(tell, gate),
            )  # fmt: skip
            os.close(tell)
            tell = -1
            inside = _child(told)
            # While it waits at the gate it is certain to be the process that was meant.
            made += [
                os.open(f"/proc/{inside}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "net")
            ]
            os.close(opener)
            opener = -1
            _, said = process.communicate(timeout=10)
            if process.returncode:
                raise NoNetwork(errno.EPERM, said.decode(errors="replace").strip()[-200:])
            return cls(*made)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            for descriptor in made:
                os.close(descriptor)
            raise error if isinstance(error, NoNetwork) else NoNetwork(errno.EPERM, str(error)) from error
        finally:
            for descriptor in (told, tell, gate, opener):
                if descriptor >= 0:
                    os.close(descriptor)
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def space(self) -> tuple[int, int]:
        """Device and inode of the namespace."""
        info = os.fstat(self._net)
        return info.st_dev, info.st_ino

    def prefix(self) -> list[str]:
        """Before the arguments of what is to be started in it. It gives no descriptor of a namespace away."""
        mine = f"/proc/{os.getpid()}/fd"
        return [
            "nsenter", "--preserve-credentials", f"--user={mine}/{self._user}", f"--net={mine}/{self._net}", "--",
        ]  # fmt: skip

    def tie(self) -> None:
        """From now on everything in it ends with this process, or with `close`, whatever it was tied to before."""
        with self._lock:
            if self._lifeline is None and self._net >= 0:
                info = os.fstat(self._net)
                self._lifeline = subprocess.Popen(
                    [
                        sys.executable,
                        "-I",
                        "-S",
                        str(BESIDE / "lifeline.py"),
                        str(info.st_dev),
                        str(info.st_ino),
                    ],
                    stdin=subprocess.PIPE,
                    start_new_session=True,
                )

    def show(self, port: int) -> int:
        """Make a port of it reachable on 127.0.0.1 of this machine, under the same number where that is free. Returns the
        number. Only ever by the person's choice. Raises OSError."""
        with self._lock:
            if self._net < 0:
                raise OSError(errno.ENODEV, "the network of the session is gone")
            known = self._shown.get(port)
            if known is not None and known.process.poll() is None:
                return known.outside
            self._hide(port)
            with _listener(port) as listener:
                program = [sys.executable, "-I", "-S", str(BESIDE / "forward.py")]
                process = subprocess.Popen(
                    [*self.prefix(), *program, str(listener.fileno()), str(port)],
                    stdin=subprocess.PIPE,
                    pass_fds=(listener.fileno(),),
                    start_new_session=True,
                )
                self._shown[port] = _Shown(process, listener.getsockname()[1])
            return self._shown[port].outside

    def shown(self) -> dict[int, int]:
        """Port inside → port outside, of those that are shown now."""
        with self._lock:
            return {port: s.outside for port, s in self._shown.items() if s.process.poll() is None}

    def hide(self, port: int) -> None:
        """Take it back; what is connected is broken off."""
        with self._lock:
            self._hide(port)

    def _hide(self, port: int) -> None:
        known = self._shown.pop(port, None)
        if known is not None:
            _end(known.process)

    def close(self) -> None:
        with self._lock:
            for port in list(self._shown):
                self._hide(port)
            if self._lifeline is not None:
                _end(self._lifeline)
                self._lifeline = None
            for descriptor in (self._user, self._net):
                with contextlib.suppress(OSError):  # closed before
                    os.close(descriptor)
            self._user = self._net = -1


@dataclass(slots=True)
class _Shown:
    process: subprocess.Popen[bytes]
    outside: int


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:  # taken, or not for a plain user
        return socket.create_server(("127.0.0.1", 0))


def _end(process: subprocess.Popen[bytes]) -> None:
    """The end of its input is its sign."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _child(told: int) -> int:
    """Number of the process inside, as bubblewrap tells it. Raises ValueError when it says nothing."""
    text = b""
    while b"}" not in text:
        chunk = os.read(told, 4096)
        if not chunk:
            raise ValueError("bubblewrap did not start")
        text += chunk
    return int(loads(text)["child-pid"])


class Owner:
    """Which sockets belong to one command: commands of a session share a network, but not an approval, nor a list of
    what they left running. Told apart by the namespace of their processes, which nobody can choose."""

    def __init__(self, pid: int) -> None:
        """`pid`: any process of the command, as seen from here. Raises OSError when it is gone."""
        self._lock = threading.Lock()
        self._files: list[int] = []
        self._files.append(os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC))
        info = os.fstat(self._files[0])
        self._space = (info.st_dev, info.st_ino)
        self._tables: list[int] = []
        for name in ("tcp", "tcp6"):
            with contextlib.suppress(FileNotFoundError):  # no IPv6 here
                self._tables.append(os.open(f"/proc/{pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC))
        self._files += self._tables

    def connected(self, host: str, port: int) -> bool:
        """Whether the connection that comes from there was made by the command."""
        wanted = f"{_hex(host)}:{port:04X}"
        inodes = {row[9] for row in self._rows() if row[1] == wanted}
        return bool(inodes) and self._holds(inodes) != set()

    def listening(self) -> list[int]:
        """TCP ports on which processes of the command listen."""
        ports = {row[9]: int(row[1].rpartition(":")[2], 16) for row in self._rows() if row[3] == _LISTEN}
        return sorted({ports[inode] for inode in self._holds(set(ports))}) if ports else []

    def close(self) -> None:
        with self._lock:
            for descriptor in self._files:
                os.close(descriptor)
            self._files, self._tables = [], []

    def _rows(self) -> list[list[str]]:
        """Rows of the tables of TCP sockets: local address at 1, state at 3, inode at 9."""
        rows: list[list[str]] = []
        with self._lock:
            for table in self._tables:
                os.lseek(table, 0, os.SEEK_SET)
                text = b"".join(iter(lambda table=table: os.read(table, 65536), b""))  # type: ignore[misc]
                rows += [row for line in text.decode().splitlines()[1:] if len(row := line.split()) > 9]
        return rows

    def _holds(self, inodes: set[str]) -> set[str]:
        """Those of these sockets that a process of the command has open."""
        names = {f"socket:[{inode}]": inode for inode in inodes if inode != "0"}
        found: set[str] = set()
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            with contextlib.suppress(OSError):  # of another user, or gone
                info = (process / "ns" / "pid").stat()
                if (info.st_dev, info.st_ino) != self._space:
                    continue
                for entry in os.listdir(process / "fd"):
                    with contextlib.suppress(OSError):
                        inode = names.get(os.readlink(process / "fd" / entry))
                        if inode is not None:
                            found.add(inode)
            if len(found) == len(names):
                break
        return found


def _hex(host: str) -> str:
    """An IPv4 address as the kernel prints it."""
    return "".join(f"{int(part):02X}" for part in reversed(host.split(".")))
