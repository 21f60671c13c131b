"""Once at the start: run the real profile and try the forbidden things. What could be done decides the label, not what
a version number promises."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from worldline.core import paths
from worldline.policy.sandbox.bubblewrap import helper_python, program
from worldline.policy.sandbox.confine import Confinement, SandboxFailed, available
from worldline.policy.sandbox.model import Label, Profile
from worldline.policy.sandbox.network import NoNetwork, SessionNetwork
from worldline.policy.sandbox.seatbelt import UNTESTED

_TRY = r"""
import os, socket, sys
target, port, unix, fifo = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
def attempt(name, work):
    try: work()
    except OSError: return
    print("DONE", name)
def write():
    with open(target, "a") as f: f.write("x")
def tcp():
    s = socket.socket(); s.settimeout(1); s.connect(("127.0.0.1", port))
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", port))
def pipe():
    os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
def kernel():
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
def path():
    s = socket.socket(socket.AF_UNIX); s.connect(unix)
attempt("write", write); attempt("mode", lambda: os.chmod(target, 0o640)); attempt("kernel", kernel); attempt("pipe", pipe); attempt("unix", path); attempt("tcp", tcp)
if os.environ.get("WORLDLINE_SANDBOX") != "complete": attempt("udp", udp)
with open("inside", "w") as f: f.write("ok")
print("READY")
"""
_MODE = 0o600
_TRIES = 5


@dataclass(slots=True)
class SelfTest:
    """What this machine really enforces."""

    label: Label
    why: str
    """A sentence for the person."""
    fix: str = ""
    """What to do about it; "" = nothing to do."""
    could: list[str] = field(default_factory=list)
    """Forbidden things that worked."""
    network: SessionNetwork | None = None
    """What the commands of the session can share; its own from now on. None = each has one for itself."""


_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
"""There on kernels whose AppArmor can keep programs from making user namespaces (Ubuntu since 23.10)."""
_PIPES = " On this kernel they can write into named pipes of other programs."
"""Said of a kernel without Landlock, where read-only mounts are all there is."""
_ALONE = "A server that one command leaves running cannot be reached by the next one here"
"""Said where a machine gives no network that commands of a session could share."""


def run() -> SelfTest:
    """Try the best confinement first. Takes about 0.2 s; blocking."""
    if sys.platform == "win32":
        return SelfTest(
            "none",
            "Not confined: Windows has no sandbox that this app can use, so every command is asked about.",
            "Work inside WSL2 for confinement.",
        )
    if sys.platform == "darwin":
        return SelfTest("none", UNTESTED, "Work in a Linux machine or container for confinement.")
    best = available()
    tried: list[SelfTest] = []
    for label in ("complete", "partial"):
        if label == "complete" and best != "complete":
            continue
        result = _try_sharing() if label == "complete" else _try(label)
        if result.label == label:
            if tried:  # not what this machine could do, so the person is told what stands in the way
                result.why = f"{result.why} {tried[0].why}"
            return result
        tried.append(result)
    first = tried[0] if tried else None
    why = first.why if first else "This kernel offers neither user namespaces nor Landlock."
    return SelfTest("none", why, _how_to_fix())


def _try_sharing() -> SelfTest:
    """All of it in the network that the commands of the session are going to share; without one where that fails."""
    try:
        network = SessionNetwork.create()
    except NoNetwork as error:
        result = _try("complete")
        result.why += f" {_ALONE} ({error.strerror})."
        return result
    result = _try("complete", network)
    if result.label == "complete":
        result.network = network
        return result
    network.close()
    alone = _try("complete")
    alone.why += f" {_ALONE} ({result.why})" if alone.label == "complete" else ""
    return alone


def _how_to_fix() -> str:
    if program() is None:
        return "Install bubblewrap (on Debian and Ubuntu: sudo apt-get install bubblewrap) and start the app again."
    if _APPARMOR.exists():
        return (
            "User namespaces are restricted. Install the package apparmor-profiles and load its profile "
            "bwrap-userns-restrict (Ubuntu 24.04), then start the app again."
        )
    return (
        "Allow user namespaces for bubblewrap (kernel.unprivileged_userns_clone=1), then start the app again."
    )


def _ended(said: str) -> str:
    """The words of a program as the end of a sentence: more sentences follow, which are translated one by one."""
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _try(label: Label, network: SessionNetwork | None = None) -> SelfTest:
    with contextlib.ExitStack() as stack:
        root = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="selftest-", dir=paths.data_home()))
        )
        workspace, private, outside = root / "workspace", root / "tmp", root / "outside"
        for folder in (workspace, private, outside):
            folder.mkdir()
        target = outside / "file"
        target.write_text("before")
        target.chmod(_MODE)
        tcp = stack.enter_context(socket.socket())
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        # The path of a socket is limited to about 100 bytes, so it does not go below the data folder.
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wl-")))
        unix.bind(str(short / "s"))
        unix.listen()
        fifo = outside / "pipe"
        os.mkfifo(fifo)
        stack.callback(os.close, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        python, _ = helper_python()
        facts = [str(target), str(tcp.getsockname()[1]), str(short / "s"), str(fifo)]
        argv = [python, "-I", "-S", "-c", _TRY, *facts]
        try:
            output = _run_patiently(argv, Profile(workspace, private, network=network), label)
        except (SandboxFailed, OSError, subprocess.TimeoutExpired) as error:
            return SelfTest("none", f"The sandbox did not start here: {_ended(str(error))}", _how_to_fix())
        could = [line.removeprefix("DONE ") for line in output.splitlines() if line.startswith("DONE ")]
        # The proof is what happened, not what was printed.
        if target.read_text() != "before":
            could.append("write")
        if target.stat().st_mode & 0o777 != _MODE:
            could.append("mode")
        works = "READY" in output and (workspace / "inside").exists()
        return _judge(label, works, sorted(set(could)), output)


def starts(argv: list[str], profile: Profile, label: Label) -> str:
    """Whether a session's own profile starts here with a command that says READY: "" = it does, else why not, in the words
    of what refused. The profile of the test has none of the folders that a session's has. Blocking, a tenth of a second."""
    try:
        output = _run_patiently(argv, profile, label)
    except (SandboxFailed, OSError, subprocess.TimeoutExpired) as error:
        return error.message if isinstance(error, SandboxFailed) else str(error)
    return "" if "READY" in output else output.strip()[-200:] or "a command ends without a word"


def _run_patiently(argv: list[str], profile: Profile, label: Label) -> str:
    """Try again what failed before it began: a socket of another program that vanishes while the walls are built makes
    that happen, and would leave a whole session without a sandbox."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(SandboxFailed):
            return _run(argv, profile, label)
    return _run(argv, profile, label)


def _run(argv: list[str], profile: Profile, label: Label) -> str:
    confinement = Confinement(argv, profile.workspace, profile, label)
    process = subprocess.Popen(
        confinement.argv,
        cwd=profile.workspace,
        env={"PATH": os.environ.get("PATH", os.defpath), **confinement.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=confinement.pass_fds,
        start_new_session=True,
    )
    try:
        try:
            confinement.started()
        except SandboxFailed as error:
            output, _ = process.communicate(timeout=10)
            said = output.decode(errors="replace").strip()[-200:]
            raise SandboxFailed(said or error.message) from error
        output, _ = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        confinement.report()
    return output.decode(errors="replace")


def _judge(label: Label, works: bool, could: list[str], output: str) -> SelfTest:
    if not works:
        return SelfTest(
            "none", f"Nothing runs in the sandbox here: {_ended(output.strip()[-200:])}", _how_to_fix(), could
        )
    if label == "complete":
        pipes = _PIPES if could == ["pipe"] else ""
        if could and not pipes:
            return SelfTest("none", f"The sandbox did not hold: {', '.join(could)}.", _how_to_fix(), could)
        holds = "Commands can change only the workspace and reach no network unless you allow it."
        return SelfTest("complete", f"{holds}{pipes}", "", could)
    if {"write", "kernel", "tcp", "udp"} & set(could):
        return SelfTest("none", f"Landlock did not hold: {', '.join(could)}.", _how_to_fix(), could)
    why = "Writes outside and the network are refused, but file modes and times outside and local sockets are not covered, and no command can listen on a port."
    return SelfTest("partial", why, _how_to_fix(), could)
