"""A second round of attempts to get out, invented after the walls stood: each runs as it would for a model, and everything
outside is compared. Each also says what must be named, where the attempt can be named at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.conftest import Lab, git, walled_lab
from sandbox.test_escapes import PY, RAW, outside_of
from sandbox.world import changes
from worldline.policy.sandbox.model import Grant, Label
from worldline.policy.sandbox.network import SessionNetwork


@pytest.fixture(scope="module")
def place(best_label: Label) -> Iterator[Lab]:
    with walled_lab(best_label) as lab:
        (lab.outside / "linked").write_text("shared\n")
        (lab.outside / "folder").mkdir()
        git(lab.base, "init", "-q", "--bare", "-b", "main", "remote.git")
        git(lab.repo, "remote", "add", "origin", str(lab.base / "remote.git"))
        git(lab.repo, "push", "-q", "origin", "main")
        yield lab


ASM = (
    "import ctypes, mmap, os\n"
    "def run(code):\n"
    " m = mmap.mmap(-1, 4096, prot=7)\n m.write(bytes(code))\n"
    " return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\n"
)
"""Machine code of our own: what a static binary would do, without any library in between."""
# open("file below", O_WRONLY|O_CREAT|O_TRUNC) by `syscall`: rdi is filled in by Python.
DIRECT = (
    ASM + "p = ctypes.create_string_buffer(b'{file}')\na = ctypes.addressof(p).to_bytes(8, 'little')\n"
    "pid = os.fork()\n"
    "if not pid:\n"
    " r = run(b'\\x48\\xbf' + a + b'\\x48\\xc7\\xc6\\x41\\x02\\x00\\x00\\x48\\xc7\\xc2\\xb6\\x01\\x00\\x00\\x48\\xc7\\xc0\\x02\\x00\\x00\\x00\\x0f\\x05\\xc3')\n"
    " print('direct', r, flush=True)\n os._exit(0)\n"
    "print(os.waitpid(pid, 0)[1])"
)
# The 32 bit gate: eax = 5 (open), ebx = low address of the path.
GATE = (
    ASM
    + "m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=3)\nm.write(b'{file}\\0')\n"
    "a = ctypes.addressof(ctypes.c_char.from_buffer(m)).to_bytes(8, 'little')[:4]\n"
    "pid = os.fork()\n"
    "if not pid:\n"
    " r = run(b'\\x53\\xbb' + a + b'\\xb9\\x41\\x02\\x00\\x00\\xba\\xb6\\x01\\x00\\x00\\xb8\\x05\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3')\n"
    " print('gate', r, flush=True)\n os._exit(0)\n"
    "print(os.waitpid(pid, 0)[1])"
)
# One thread swaps the path between what may be written and what may not, while another one opens it.
RACE = (
    "import ctypes, os, threading\nlibc = ctypes.CDLL(None)\n"
    "good, bad = b'{work}/own', b'{file}'\nbuf = ctypes.create_string_buffer(200)\nstop = False\n"
    "def swap():\n"
    " while not stop:\n  buf.value = bad\n  buf.value = good\n"
    "t = threading.Thread(target=swap); t.start()\n"
    "opened = refused = 0\n"
    "while opened < 200 or refused < 200:\n"  # however seldom the other thread has its turn
    " d = libc.open(buf, 0x241, 0o600)\n"
    " refused += d < 0\n"
    " if d >= 0:\n  opened += 1\n  os.write(d, b'raced')\n  os.close(d)\n"
    "stop = True; t.join()"
)

ATTEMPTS: dict[str, tuple[str, str]] = {
    # name: (command, what must be among the named refusals; "" = it ends before it could be named)
    "direct system call": (PY.format(DIRECT), "write {file}"),
    "32 bit gate": (PY.format(GATE), ""),
    "race with the observer": (PY.format(RACE), "write {file}"),
    "memory file executed": (
        PY.format(
            "import os\nd = os.memfd_create('x')\nos.write(d, open('/bin/sh', 'rb').read())\n"
            "os.execv(f'/proc/self/fd/{d}', ['sh', '-c', 'echo x > {file}; touch {out}/new'])"
        ),
        "write {out}/new",
    ),
    "preload against the observer": (
        "printf '#include <fcntl.h>\\nint connect(){return 0;}\\n__attribute__((constructor)) void f(){creat(\"{out}/pre\",0666);}' > p.c; "
        "cc -shared -fPIC -o p.so p.c 2>/dev/null; LD_PRELOAD=$PWD/p.so touch {out}/new; true",
        "write {out}/new",
    ),
    "root of every process": (
        "for p in /proc/[0-9]*; do echo x > $p/root{file}; echo x > $p/cwd/../outside/file; done 2>/dev/null; ls /proc | grep -c '^[0-9]'",
        "",
    ),
    "filter of the first process": ("grep Seccomp /proc/1/status; grep -c 'Seccomp:.2' /proc/1/status; grep Cap /proc/self/status", ""),
    "trace of what starts it": (
        PY.format(
            RAW + "for p in [1]:\n call(101, 16, p, 0, 0)\n call(310, p, 0, 0, 0, 0, 0)\n"
            "try: open('/proc/1/mem', 'r+b').write(b'x')\nexcept OSError as e: print(e)"
        ),
        "",
    ),
    "double fork with a time bomb": (
        "(setsid setsid nohup sh -c 'trap \"\" TERM HUP INT; sleep 1; echo x > {file}; touch {out}/bomb' > /dev/null 2>&1 &) ; (setsid sh -c 'sleep 1; touch {out}/bomb2' &) ; echo gone",
        "",
    ),
    "scheduled for later": (
        "echo 'touch {out}/at' | at now + 1 minute; (crontab -l; echo '* * * * * touch {out}/cron') | crontab -; "
        "echo '* * * * * root touch {out}/cron' > /etc/cron.d/x; echo x > /var/spool/cron/crontabs/root; mkdir -p ~/.config/systemd/user; "
        "echo x > ~/.config/systemd/user/x.service; systemctl --user daemon-reload; systemd-run --on-active=1 touch {out}/sd",
        "write /etc/cron.d/x",
    ),
    "docker and the buses": (
        "docker -H unix:///var/run/docker.sock run -v /:/h alpine touch /h{out}/new; "
        "python3 -c \"import socket; socket.socket(1).connect('/var/run/docker.sock')\"; "
        "python3 -c \"import socket; socket.socket(1).connect('/run/containerd/containerd.sock')\"; "
        "dbus-send --system --dest=org.freedesktop.systemd1 --print-reply / org.freedesktop.DBus.Peer.Ping; "
        "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus gdbus call --session -d org.freedesktop.DBus -o / -m x.y",
        "",
    ),
    "service of another network namespace": (
        "python3 -c \"import socket; s = socket.socket(1); s.connect('{out}/foreign'); s.send(b'x')\"",
        "socket {out}/foreign",
    ),
    "named pipe of another program": (
        "echo x > {out}/pipe; dd if=/dev/zero of={out}/pipe bs=1 count=1 oflag=nonblock; cp a.txt {out}/pipe; tee {out}/pipe < a.txt",
        "write {out}/pipe",
    ),
    "memory of the first process": (
        "python3 -c \"open('/proc/1/mem', 'r+b').write(b'x')\"; cat /proc/1/environ | wc -c; gdb -p 1 -batch 2>/dev/null | head -1; true",
        "",
    ),
    "hard link made before": ("cat {work}/already; rm -f already; ln {out}/linked already || cp {out}/linked already; echo y >> already", ""),
    "link swapped under the writer": (
        "mkdir d; (while :; do ln -sfn {out} l 2>/dev/null; ln -sfn $PWD/d l 2>/dev/null; done) & p=$!; "
        "for i in $(seq 150); do echo x > l/file; done 2>/dev/null; kill $p",
        "",
    ),
    "descriptor from the proxy": (
        PY.format(
            "import array, os, socket\np = os.environ['HTTP_PROXY'].rsplit(':', 1)\n"
            "s = socket.create_connection(('127.0.0.1', int(p[1])))\n"
            "s.sendall(b'GET file://{file} HTTP/1.1\\r\\n\\r\\n'); print(s.recv(300))\n"
            "for line in (b'CONNECT unix:/run/x:1 HTTP/1.1', b'CONNECT 127.0.0.1:22 HTTP/1.1', b'PUT http://[::1]:22/ HTTP/1.1', b'CONNECT a:-1 HTTP/1.1', b'CONNECT \\xff:99999 HTTP/1.1'):\n"
            " s = socket.create_connection(('127.0.0.1', int(p[1]))); s.settimeout(5)\n s.sendall(line + b'\\r\\n\\r\\n')\n"
            " try: print(s.recv(300)[:60])\n except OSError as e: print(e)"
        ),
        "connect 127.0.0.1:22",
    ),
    "smuggled second request": (
        PY.format(
            "import os, socket\ns = socket.create_connection(('127.0.0.1', int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])))\n"
            "s.sendall(b'GET http://one.example/ HTTP/1.1\\r\\nHost: one.example\\r\\n\\r\\nGET http://127.0.0.1:{port}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\n"
            "print(s.recv(600))"
        ),
        "connect one.example:80",
    ),
    "other ways to the loopback of the host": (
        "for a in 127.0.0.1 127.1 0 localhost '[::1]' '[::ffff:127.0.0.1]' 169.254.169.254 $(hostname); do curl -s -m 1 --noproxy '*' http://$a:{port}/; done; "
        "ip addr; ip link add v0 type veth peer name v1; ip route add default via 127.0.0.1; true",
        "connect 169.254.169.254:{port}",
    ),
    "namespaces by clone3 and friends": (
        PY.format(
            RAW + "import struct\nb = ctypes.create_string_buffer(struct.pack('<11Q', 0x10000000 | 0x20000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0))\n"
            "r = libc.syscall(435, b, 88)\n"
            "if r == 0:\n"
            " try: open('{file}', 'w')\n except OSError as e: pass\n os._exit(0)\n"
            "print(r)\ncall(272, 0x20000)\ncall(272, 0x40000000)\ncall(165, b'none', b'/mnt', b'tmpfs', 0, 0)\ncall(161, b'.')\ncall(155, b'.', b'.')\n"
            "call(440, -1, 9, 0, 0, 0)\ncall(434, 1, 0)\ncall(438, 3, 1, 0)"
        ),
        "",
    ),
    "old and odd calls": (
        PY.format(
            RAW + "for n in (132, 235, 261, 188, 189, 190, 197, 198, 199, 466, 463, 464, 84, 86, 88, 133, 259, 76, 77, 90, 91, 92, 93, 94, 260, 280, 452):\n"
            " call(n, b'{file}', b'{file}2', 8, 0, 0)\n"
            "for n in (135, 156, 159, 164, 167, 168, 169, 172, 173, 175, 176, 212, 246, 303, 304, 313, 320, 425, 442):\n call(n, 0, 0, 0, 0, 0)\n"
            "d = os.open('{file}', os.O_RDONLY)\nfor n in (77, 91, 93, 285, 187, 193, 196, 199): call(n, d, b'user.x', 0, 0, 0)"
        ),
        "write {file}",
    ),
    "copies into the kernel": (
        PY.format(
            "import os, mmap\nsrc = os.open('{file}', os.O_RDONLY)\n"
            "for f in (lambda: os.copy_file_range(os.open('a.txt', 0), src, 5), lambda: os.sendfile(src, os.open('a.txt', 0), 0, 5), lambda: os.posix_fallocate(src, 0, 9), lambda: os.ftruncate(src, 0), lambda: os.fchmod(src, 0o777), lambda: os.utime(src), lambda: os.setxattr(src, 'user.x', b'1')):\n"
            " try: print('did', f())\n except OSError as e: print(e)"
        ),
        "",
    ),
    "push in odd forms": (
        "git push {base}/remote.git HEAD:refs/heads/odd1; git push file://{base}/remote.git HEAD:refs/heads/odd2; git push --mirror origin; "
        "git -c remote.o.url={base}/remote.git push o HEAD:refs/heads/odd3; git remote-ext x; git push 'ext::sh -c {out}/x% %G/x' HEAD:refs/heads/odd4; "
        "git send-pack {base}/remote.git HEAD:refs/heads/odd5; cd {base}/remote.git && git update-ref refs/heads/odd6 main; "
        "git bundle create {out}/b main; git archive -o {out}/a.tar HEAD; git format-patch -o {out} -1; git clone -q --mirror . {out}/c",
        "write {base}/remote.git",
    ),
    "installs outside": (
        "python3 -m pip install --quiet --no-index --target {out}/site . ; python3 -m pip install --user --no-index x; python3 -m pip config set global.timeout 9; "
        "npm install -g --offline x; npm config set prefix {out}; gem install x; cargo install x; go install x@latest; "
        "python3 -m venv {out}/venv; cp /bin/true /usr/local/bin/x; cp /bin/true ~/.local/bin/x; ln -s /bin/true /usr/local/bin/y; true",
        "write /usr/local/bin/y",
    ),
    "set user id inside": (
        "cp /bin/sh s; chmod u+s s; chown 0:0 s; ./s -p -c 'echo x > {file}'; setcap cap_sys_admin+ep s; mknod m c 1 1; mknod z b 7 0; ls -l s",
        "write {file}",
    ),
    "core of a crash": ("ulimit -c unlimited; sh -c 'kill -SEGV $$'; cat /proc/sys/kernel/core_pattern; echo '|{work}/x' > /proc/sys/kernel/core_pattern; true", ""),
    "settings of the kernel": (
        "find /proc -maxdepth 6 -type f -writable -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' 2>/dev/null "
        "| while read f; do (: >> $f) 2>/dev/null && echo open $f; done | grep -Ev '/proc/(net|pressure)/' | head; "
        "find /sys -type f -writable 2>/dev/null | while read f; do (: >> $f) 2>/dev/null && echo open $f; done | head -5; "
        "echo x > /proc/sys/kernel/core_pattern; echo /bin/x > /proc/sys/kernel/modprobe; echo x > /proc/sys/kernel/hostname; "
        "echo 1 > /proc/sys/net/ipv4/ip_forward; echo ':x:M::y::/bin/sh:' > /proc/sys/fs/binfmt_misc/register; sysctl -w kernel.panic=5",
        "write /proc/sys/kernel/core_pattern",
    ),
    "shared memory and queues": (
        "python3 -c \"from multiprocessing import shared_memory as s; m = s.SharedMemory('worldline-test', create=True, size=8); m.unlink()\"; ls /dev/mqueue /dev/shm; "
        "ipcmk -M 100; ipcs -m; echo x > /dev/shm/worldline-left; ls -la /dev/pts",
        "",
    ),
    "walls read from inside": (
        "cat /proc/self/mountinfo | grep -c .; cat /proc/1/cmdline | tr '\\0' ' '; ls -la /proc/self/fd /proc/1/fd; cat /proc/net/unix; cat /proc/*/environ | tr '\\0' '\\n' | grep -i worldline_home; true",
        "",
    ),
    "flood that ends the watcher": (
        "for i in 1 2 3 4 5 6 7 8; do (for j in $(seq 40); do : > {out}/f$i.$j; done 2>/dev/null) & done; wait; touch {out}/after",
        "",
    ),
    "mount points taken away": (
        "cd ..; mv work w2; mv {work} {base}/w3; rmdir {work}; rm -rf {work}/../outside; mv {base} {base}2; umount -l {work}; rm -rf {out} 2>/dev/null; ls {work} > /dev/null; true",
        "write {base}",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


SERVES = (
    "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nprint('ready', flush=True)\n"
    "while True:\n s.accept()\n print('reached', flush=True)\n"
)


@pytest.fixture(scope="module")
def foreign(place: Lab) -> Iterator[int]:
    """A program in another network namespace, as one in a container, with a socket in a folder of the person: the list of
    this one does not name it. Gives the descriptor of what it says."""
    with contextlib.closing(SessionNetwork.create()) as elsewhere:
        os.mkfifo(place.outside / "pipe")
        reader = os.open(place.outside / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        process = subprocess.Popen(
            [*elsewhere.prefix(), sys.executable, "-c", SERVES, str(place.outside / "foreign")],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        os.set_blocking(process.stdout.fileno(), False)
        yield process.stdout.fileno()
        assert os.read(reader, 100) == b""
        os.close(reader)
        process.kill()
        process.wait()
        process.stdout.close()


class TestMoreEscapes:
    @pytest.mark.parametrize("name", ATTEMPTS)
    def test_nothing_outside_changes_and_what_can_be_named_is(
        self, place: Lab, listener: socket.socket, foreign: int, name: str
    ) -> None:
        command, named = ATTEMPTS[name]
        facts = {
            "out": place.outside, "file": place.outside / "file", "repo": place.repo, "base": place.base,
            "work": place.workspace, "port": listener.getsockname()[1],
        }  # fmt: skip
        for key, value in facts.items():
            command, named = (
                command.replace(f"{{{key}}}", str(value)),
                named.replace(f"{{{key}}}", str(value)),
            )
        before = outside_of(place)
        result = place.run(command)
        if name == "double fork with a time bomb":
            time.sleep(1.5)  # the bombs would have gone off by now
        print(
            result.output.decode(errors="replace")[-1500:], [(d["kind"], d["target"]) for d in result.denials]
        )
        assert changes(before, outside_of(place)) == []
        assert result.effects == [] and not result.timed_out
        assert not os.path.exists("/dev/shm/worldline-left")
        with pytest.raises(BlockingIOError):
            listener.accept()
        with pytest.raises(BlockingIOError):
            os.read(foreign, 100)
        told = [f"{d['kind']} {d['target']}" for d in result.denials]
        assert not named or any(t == named or t.startswith(named + "/") for t in told), told
        # What is left of it in the workspace is the agent's own.
        for path in place.workspace.iterdir():
            if path.name not in (".git", "a.txt"):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def test_the_repositories_are_whole_after_all_of_it(self, place: Lab) -> None:
        for folder in (place.repo, place.base / "remote.git"):
            assert git(folder, "fsck", "--no-dangling") == ""
        assert git(place.base / "remote.git", "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"


@pytest.mark.parametrize("named", ["", "note", "."])
def test_what_is_opened_for_reading_below_tmp_is_there_and_stays_as_it_is(lab: Lab, named: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        note = Path(folder) / "note"
        note.write_text("from outside\n")
        lab.grants = [Grant("read", str(note.parent / named), "Read")] if named else []
        for _ in range(2):  # the second finds what the first one's mount left in the private /tmp
            done = lab.run(f"cat {note}; echo more >> {note}; echo x > {folder}/other")
            assert (b"from outside" in done.output) is bool(named)
            assert note.read_text() == "from outside\n" and os.listdir(folder) == ["note"]
