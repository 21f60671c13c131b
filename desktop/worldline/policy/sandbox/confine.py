"""One confined call: arguments for the process, the threads that watch it, and the report afterwards."""

from __future__ import annotations

import array
import contextlib
import marshal
import os
import socket
import struct
from pathlib import Path

from worldline.core.errors import SandboxError
from worldline.policy.sandbox import bubblewrap
from worldline.policy.sandbox.inside import bpf
from worldline.policy.sandbox.model import APPROVAL_TIMEOUT, Denial, Grant, Label, Profile, Report
from worldline.policy.sandbox.names import NameService, folder_beside
from worldline.policy.sandbox.network import Owner
from worldline.policy.sandbox.observer import Observer
from worldline.policy.sandbox.proxy import Proxy

_START_S = 20.0
_SCM_CREDENTIALS = 2
"""Of Linux; the name stands in `socket` only where Python was built with it."""
_PROXY_NAMES = [n for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for n in (name, name.lower())]
_ALWAYS_WRITABLE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/shm")

_OPEN_INSIDE = ("/tmp", "/var/tmp", "/run", "/dev", "/proc")


NOT_RUN = "No command is run until it does. Remove the cause, then try again; or switch the sandbox off in the settings: then every command is asked about."
"""What to do about a sandbox that does not start."""


def not_started(why: str) -> str:
    """The sentence about it, with the last words of what refused."""
    return f"The sandbox does not start for this session: {' '.join(why.split())[-300:].rstrip('.')}."


class SandboxFailed(SandboxError):
    """The sandbox could not be set up, so the command was not run."""


class Confinement:
    """Made before the process starts; `started` right after, `report` when it has ended. Blocking, any thread.

    `argv`, `env` and `pass_fds` are for the process. The command runs only when everything asked for is enforced.
    """

    def __init__(self, argv: list[str], cwd: Path, profile: Profile, label: Label) -> None:
        self.label: Label = label
        self._profile = profile
        self._threads: list[Observer | Proxy | NameService] = []
        self._observer: Observer | None = None
        self._proxy: Proxy | None = None
        self._names: NameService | None = None
        self._owner: Owner | None = None
        self._filter = -1
        ours, theirs = socket.socketpair()
        # The kernel adds who sends: that is the first process of the command, whatever it believes its number to be.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._control, self._theirs = ours, theirs
        self._pipe, feed = os.pipe()
        self.pass_fds: tuple[int, ...] = (theirs.fileno(), self._pipe)
        self.env = {
            "WORLDLINE_SANDBOX": label,
            "TMPDIR": "/tmp" if label == "complete" else str(profile.private_tmp),
            "NO_PROXY": "localhost,127.0.0.1,::1",
            "no_proxy": "localhost,127.0.0.1,::1",
            "NODE_USE_ENV_PROXY": "1",
        }
        if label == "complete":
            profile.masked = bubblewrap.find_masked(profile)
            mounts = [m for m in bubblewrap.find_read_only(profile) if m not in profile.read_only]
            profile.read_only = [*profile.read_only, *mounts]
        spec = {
            "argv": argv,
            "control": theirs.fileno(),
            "proxy_env": _PROXY_NAMES if label == "complete" else [],
            "writes": self._writes() if label == "complete" else [],
            "landlock": None,
            "hardening": b"" if label == "complete" else bpf.hardening(False),
            "observer": bpf.observer(),
            "observe": True,
            "processes": profile.processes if label == "complete" else 0,
        }
        python, _covered = bubblewrap.helper_python()
        self._door: socket.socket | None = None
        if label == "complete":
            folder = folder_beside(profile.private_tmp)
            self._names = NameService(folder)
            inner = [python, "-I", "-S", f"{bubblewrap.INSIDE_MOUNT}/launch.py", str(self._pipe)]
            self._filter = os.memfd_create("filter")
            os.pwrite(self._filter, bpf.hardening(True), 0)
            self.pass_fds += (self._filter,)
            walls = bubblewrap.arguments(profile, folder, self._filter)
            self.argv = [*walls, "--chdir", str(cwd), "--", *inner]
        else:
            # There is no network of its own here: the command may connect to the port of the proxy and to no other.
            self._door = socket.create_server(("127.0.0.1", 0))
            port = self._door.getsockname()[1]
            self.env |= dict.fromkeys(_PROXY_NAMES, f"http://127.0.0.1:{port}")
            writable = [profile.workspace, profile.private_tmp, *profile.writable, *profile.git.writable]
            writable += [Path(g.target) for g in profile.grants if g.kind == "write"]
            spec["landlock"] = {"writable": [*map(str, writable), *_ALWAYS_WRITABLE], "ports": [port]}
            self.argv = [python, "-I", "-S", str(bubblewrap.INSIDE / "launch.py"), str(self._pipe)]
        with os.fdopen(feed, "wb") as pipe:
            pipe.write(marshal.dumps(spec))

    def _writes(self) -> list[str]:
        """What may be opened for writing inside; what of it is read only is so by its mount."""
        profile = self._profile
        places = [profile.workspace, *profile.writable, profile.git.common_dir, profile.git.git_dir]
        granted = [g.target for g in profile.grants if g.kind == "write"]
        return [*(str(p) for p in places if p is not None), *granted, *_OPEN_INSIDE]

    def started(self) -> None:
        """Take over the descriptors and start watching. Raises SandboxFailed: then the process ends by itself."""
        os.close(self._pipe)
        self._theirs.close()
        if self._filter >= 0:
            os.close(self._filter)
        self._control.settimeout(_START_S)
        try:
            data, ancillary, _, _ = self._control.recvmsg(
                65536, socket.CMSG_SPACE(64) + socket.CMSG_SPACE(12)
            )
        except OSError as error:
            raise SandboxFailed(f"The sandbox did not start: {error}.", "See Settings → Sandbox.") from error
        finally:
            self._control.close()
        descriptors = array.array("i")
        sender = 0
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
            elif level == socket.SOL_SOCKET and kind == _SCM_CREDENTIALS:
                sender = struct.unpack_from("=i", payload)[0]
        if not data:
            raise SandboxFailed("The sandbox did not start.", "The output of the command says why.")
        said = marshal.loads(data)
        if "failed" in said:
            raise SandboxFailed(
                f"The sandbox could not be set up: {said['failed']}.", "The command was not run."
            )
        if self.label == "complete":
            with contextlib.suppress(OSError):  # ended at once: nothing of it can connect or listen any more
                self._owner = Owner(sender)
        self._watch(dict(zip(said["names"], descriptors, strict=False)))

    def _watch(self, descriptors: dict[str, int]) -> None:
        profile = self._profile
        if "notify" in descriptors:
            # Granted paths are left out on purpose: the use of a grant must be seen.
            writable = [profile.workspace, *profile.writable, *profile.git.writable, profile.private_tmp]
            if self.label == "complete":
                writable += [Path("/tmp"), Path("/var/tmp"), Path("/run")]
            protected = [*profile.read_only, *profile.git.read_only, *profile.masked]
            protected += [Path(g.target) for g in profile.grants if g.kind == "socket"]
            common = profile.git.common_dir
            if common is not None and self.label == "complete":
                writable.append(profile.git.git_dir or common)
                protected.append(common / "packed-refs")
                # Without reflogs of branches there is nothing to protect: git makes them where it can.
                logged = (common / "logs" / "refs" / "heads").is_dir()
                for refs in (common / "refs", common / "logs" / "refs") if logged else (common / "refs",):
                    protected += [refs / "heads", refs / "tags"]
                    writable.append(refs / "heads" / "worldline")
            self._observer = Observer(descriptors["notify"], writable, protected)
            self._threads.append(self._observer)
        door = descriptors.get("proxy")
        if self._door is not None:
            door, self._door = self._door.detach(), None
        if door is not None:
            policy = profile.host_policy or (lambda *_: "no host is approved")
            self._proxy = Proxy(door, policy, self._own if self.label == "complete" else None)
            self._threads.append(self._proxy)
        if self._names is not None:
            self._threads.append(self._names)
        for thread in self._threads:
            thread.start()

    def _own(self, host: str, port: int) -> bool:
        return self._owner is not None and self._owner.connected(host, port)

    def listening(self) -> list[int]:
        """TCP ports on which something of the command listens now, in the network of the session."""
        return self._owner.listening() if self._owner is not None else []

    def report(self) -> Report:
        """What was seen. Closes everything; call it once, after the process has ended (or failed to start)."""
        with contextlib.suppress(OSError):
            self._control.close()
        if self._door is not None:
            self._door.close()
        if self._proxy is not None:
            self._proxy.close()
        if self._names is not None:
            self._names.close()
        if self._observer is not None:
            self._observer.join(0.5)
        if self._owner is not None:
            self._owner.close()
        return self.seen()

    def watching(self) -> bool:
        """Whether something of the command still runs."""
        return self._observer is not None and self._observer.is_alive()

    def seen(self) -> Report:
        """What was seen so far; the watching goes on."""
        report = Report(self.label)
        report.mounts = [str(path) for path in bubblewrap.find_read_only(self._profile)]
        if self._observer is not None:
            self._sort(self._observer.events, report)
        elif self.label != "none":
            report.note = "what was refused cannot be named on this machine"
        if self._proxy is not None:
            report.flows = list(self._proxy.flows)
            for flow in report.flows:
                target = f"{flow.host}:{flow.port}"
                if not flow.allowed:
                    why = APPROVAL_TIMEOUT if flow.why == APPROVAL_TIMEOUT else ""
                    report.denials.append(Denial("connect", target, flow.method, why=why))
                else:
                    report.used += [g for g in self._profile.grants if g.kind == "net" and g.target == target]
        if self._names is not None:
            known = {f.host for f in report.flows}
            report.denials += [
                Denial("lookup", name, count=count)
                for name, count in self._names.names.items()
                if name not in known
            ]
        return report

    def _sort(self, events: list[Denial], report: Report) -> None:
        """What was seen below a grant is its use; everything else outside was refused."""
        grants = [g for g in self._profile.grants if g.kind in ("write", "socket")]
        for event in events:
            grant = next((g for g in grants if _below(event.target, g)), None)
            if grant is None:
                report.denials.append(event)
                continue
            if grant not in report.used:
                report.used.append(grant)
            report.touched.setdefault(grant.target, []).append(event.target)


def _below(path: str, grant: Grant) -> bool:
    root = os.path.realpath(grant.target)
    return path == root or path.startswith(root.rstrip("/") + "/")


def available() -> Label:
    """What this machine seems to offer; the self-test has the last word."""
    if not bpf.supported():
        return "none"
    if bubblewrap.program():
        return "complete"
    from worldline.policy.sandbox.inside import landlock

    return "partial" if landlock.abi() else "none"
