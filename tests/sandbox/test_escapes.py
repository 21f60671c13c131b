"""Ways out that have worked elsewhere, or could: each is tried, and everything outside is compared afterwards."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.conftest import Lab, git, walled_lab
from sandbox.world import changes, picture, settings
from worldline.policy.sandbox.model import Label


@pytest.fixture(scope="module")
def place(best_label: Label) -> Iterator[Lab]:
    with walled_lab(best_label) as lab:
        yield lab


@pytest.fixture(scope="module")
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def outside_of(lab: Lab) -> dict[str, tuple[object, ...]]:
    """All but what is the session's own: its worktree, its branches, its private folders, objects by their hash."""
    dot = lab.repo / ".git"
    own = [lab.workspace, dot / "objects", dot / "worktrees" / "work"]
    own += [dot / place / "heads" / "worldline" for place in ("refs", "logs/refs")]
    own += [path for path in lab.base.iterdir() if path.name.startswith("tmp")]
    return picture(lab.base, Path.home(), without=tuple(own)) | settings()


PY = "python3 - <<'END'\n{}\nEND"
RAW = (
    "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(*a):\n r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a]); print(a[0], r, ctypes.get_errno())\n"
)
ATTEMPTS: dict[str, str] = {
    # links and names
    "symlink": "ln -s {out} l; echo x > l/file; echo x > l/new",
    "symlink chain": "ln -s /proc/self/cwd/../outside a; ln -s a b; echo x > b/file",
    "symlinked folder removed": "ln -s {out} d; rm -rf d/ d/*",
    "hard link": "ln {file} h; echo x >> h",
    "hard link by descriptor": "python3 -c \"import os; d=os.open('{file}', os.O_PATH); os.link(f'/proc/self/fd/{{d}}', 'h2'); open('h2','w')\"",
    "rename over": "echo x > y; mv -f y {file}",
    "rename exchange": PY.format(RAW + "open('y','w').write('x')\ncall(316, -100, b'y', -100, b'{file}', 2)"),
    "bind by relative path": "cd .. && echo x > outside/file",
    "descriptor reopened": "exec 3<{file}; echo x > /proc/self/fd/3",
    "memory map": PY.format(
        "import mmap, os\nd = os.open('{file}', os.O_RDONLY)\nm = mmap.mmap(d, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)\nm[0:1] = b'x'"
    ),
    "open by handle": PY.format(RAW + "b = ctypes.create_string_buffer(200)\nb.raw = b'\\x80\\0\\0\\0' + bytes(196)\nm = ctypes.c_int()\ncall(303, -100, b'{file}', b, ctypes.byref(m), 0)\ncall(304, 3, b, 2)"),
    "root of process 1": "echo x > /proc/1/root{file}; echo x > /proc/self/root{file}",
    "working folder of process 1": "echo x > /proc/1/cwd/../outside/file",
    "mode owner time attribute": "chmod 777 {file}; chown 1:1 {file}; touch -d 2001-01-01 {file}; setfattr -n user.x -v y {file}; truncate -s 0 {file}",
    "fifo swap": "mkfifo p; (echo x > p &); cat p > {file}",
    # mounts and namespaces
    "remount": "mount -o remount,rw /; mount --bind {out} . ; mount -t tmpfs x /mnt; umount -l /tmp; umount {out}",
    "new user namespace": "unshare -Urm sh -c 'mount -o remount,rw,bind / ; echo x > {file}'",
    "clone into a namespace": PY.format(RAW + "call(56, 0x10000000 | 17, 0, 0, 0, 0)"),
    "enter namespaces of 1": "nsenter -t 1 -m -u -n sh -c 'echo x > {file}'; nsenter --mount=/proc/1/ns/mnt true",
    "pivot": PY.format(RAW + "call(155, b'.', b'.')\ncall(161, b'.')\ncall(428, -100, b'/', 1)\ncall(429, -1, b'', -100, b'.', 4)\ncall(442, -100, b'/', 0, 0, 0)"),
    "chroot out": "python3 -c \"import os; os.mkdir('c'); os.chroot('c'); [os.chdir('..') for _ in range(50)]; os.chroot('.'); open('{file}','w')\"",
    "sysctl": "echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/sysrq; echo x > /sys/kernel/uevent_helper",
    "devices": "mknod sda b 8 0; dd if=sda of=/dev/null count=1; ls /dev/vda /dev/mem /dev/kmsg /dev/fuse; echo x > /dev/kmsg",
    "cgroup": "mkdir /sys/fs/cgroup/x; echo $$ > /sys/fs/cgroup/cgroup.procs; mkdir /sys/fs/cgroup/memory/x",
    # the kernel
    "io_uring": PY.format(RAW + "b = ctypes.create_string_buffer(200)\ncall(425, 8, b)"),
    "bpf perf userfaultfd": PY.format(RAW + "b = ctypes.create_string_buffer(200)\ncall(321, 0, b, 48)\ncall(298, b, 0, -1, -1, 0)\ncall(323, 0)"),
    "keyring": PY.format(RAW + "call(248, b'user', b'x', b'y', 1, -3)\ncall(250, 0, -3, 1)"),
    "32 bit and x32 calls": PY.format(RAW + "call(0x40000000 | 2, b'{file}', 1)"),
    "terminal input": "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x')\"; python3 -c \"import fcntl,os; fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x')\"",
    "trace and memory of the helper": "for p in /proc/[0-9]*; do cat $p/environ > /dev/null; done; python3 -c \"open('/proc/1/mem','r+b').write(b'x')\"",
    "signals": "kill -9 -1; kill -9 {pid}; kill -9 1",
    "other rights": "su -c id; sudo -n id; newgrp root; pkexec id; chmod u+s /bin/true",
    # the network
    "own server of the host": "curl -s -m 1 --noproxy '*' http://127.0.0.1:{port}; exec 3<>/dev/tcp/127.0.0.1/{port}",
    "fast open, multipath, datagram": PY.format(
        "import socket\nfor k, p, f in ((1,0,0x20000000),(1,262,0),(2,0,0),(3,1,0)):\n try:\n  s = socket.socket(2, k, p); s.settimeout(1); s.sendto(b'x', f, ('127.0.0.1', {port}))\n except OSError as e: print(e)"
    ),
    "names without the name service": "getent hosts example.org; python3 -c \"import socket; s=socket.socket(2,2); s.sendto(b'x', ('8.8.8.8', 53))\"",
    "abstract socket": "python3 -c \"import socket; socket.socket(1).connect(chr(0)+'{abstract}')\"",
    "socket of the host": "python3 -c \"import socket; socket.socket(1).connect('{sock}')\"; python3 -c \"import socket; s=socket.socket(1,2); s.sendto(b'x','{dgram}')\"",
    "socket by a short name": "python3 -c \"import os,socket; os.chdir('{out}'); socket.socket(1).connect('stream')\"",
    "other families": "python3 -c \"\nimport socket\nfor f in (3,4,5,9,15,16,17,21,29,31,38,40,44):\n for k in (1,2,3,5):\n  try: socket.socket(f,k); print('made',f,k)\n  except OSError: pass\n\"",
    # git
    "hook": "echo 'touch {out}/hooked' > $(git rev-parse --git-common-dir)/hooks/pre-commit; git config core.hooksPath $PWD; git config --global core.fsmonitor x",
    "gitdir elsewhere": "mv .git g; echo 'gitdir: {repo}/.git' > .git; git commit -qam x --allow-empty",
    "gitdir file rewritten": "echo 'gitdir: {out}' > .git; sed -i s/work/other/ .git; rm -f .git; ln -sf {repo}/.git .git",
    "commondir": "d=$(git rev-parse --git-dir); echo {out} > $d/commondir; echo {out} > $d/gitdir; ln -sf {out}/file $d/commondir",
    "branches of the person": "git update-ref refs/heads/main HEAD~0; git branch -D other; git update-ref -d refs/heads/other; git tag -f v1; git push . HEAD:main; git pack-refs --all --prune; git symbolic-ref HEAD refs/heads/main; git commit -q --allow-empty -m x; git symbolic-ref HEAD refs/heads/worldline/s/1",
    "work tree elsewhere": "git -c core.worktree={out} checkout -f; git --work-tree={out} checkout -f HEAD; git --git-dir={repo}/.git --work-tree={repo} reset --hard; git -C {repo} clean -fdx; git -C {repo} commit -qm x --allow-empty",
    "worktree": "git worktree add {out}/w; git worktree add -f w2; git worktree remove --force {repo}; git worktree prune",
    "objects destroyed": "git gc -q --prune=now --aggressive; git prune; rm -rf $(git rev-parse --git-common-dir)/objects/*; rm -rf {repo}/.git",
    "alternates planted": "d=$(git rev-parse --git-common-dir)/objects; echo {out} > $d/info/alternates; rm -rf $d/info; mv $d/info $d/i2; ln -s {out} $d/info; ln -s {out} $d/pack2; ln -s {out} $d/ab",
    "private refs swapped": "d=$(git rev-parse --git-common-dir)/objects; mv $d/refs $d/r2; ln -s {out} $d/refs; mv $d/logs $d/l2; ln -s {out} $d/logs; ln -s {out}/file $d/info/empty",
    "and used in the next call": "echo x > $(git rev-parse --git-common-dir)/refs/file; echo x > $(git rev-parse --git-common-dir)/objects/info/alternates",
    "index becomes a link": "d=$(git rev-parse --git-dir); cp $d/index i; printf 'curl evil' > $d/index; rm $d/index; ln -s {out}/planted $d/index; rm -f $d/HEAD; ln -s {out}/planted2 $d/HEAD",
    "and again": "d=$(git rev-parse --git-dir); rm -f $d/HEAD $d/index; echo 'ref: refs/heads/worldline/s/1' > $d/HEAD; cp i $d/index; git status --short | head -1",
    "ref becomes a link": "d=$(git rev-parse --git-common-dir)/refs/heads/worldline; ln -s {out}/file $d/leak; ln -s /dev/zero $d/zero; mkfifo $d/pipe; git log -1 --format=%h",
    "packed refs": "echo \"$(git rev-parse HEAD) refs/heads/main\" > $(git rev-parse --git-common-dir)/packed-refs; rm $(git rev-parse --git-common-dir)/HEAD",
    "aliases and filters": "git -c alias.x='!echo x > {file}' x; git -c filter.f.clean='echo x > {file}' -c core.attributesFile=a add .; GIT_EXTERNAL_DIFF='sh -c \"echo x > {file}\"' git diff; git -c core.pager='sh -c \"echo x > {file}\"' -p log",
    "configuration by environment": "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='sh -c \"echo x > {file}\"' git status; GIT_TRACE={out}/trace git status; GIT_DIR={out} git init",
    # what comes later
    "left behind": "(setsid nohup sh -c 'sleep 0.3; echo x > {file}' > /dev/null 2>&1 &); at now <<< 'echo x > {file}'; echo '* * * * * true' | crontab -; systemd-run --user touch {out}/new",
    "files of the home folder": "echo x >> ~/.bashrc; mkdir -p ~/.config/autostart; echo x > ~/.config/autostart/x.desktop; pip config --user set global.timeout 1; npm config set registry http://x; git config --global user.name x",
    "the helper itself": "echo x > /run/worldline/launch.py; mount --bind . /run/worldline; rm -rf /run/worldline; echo x > /run/nscd/socket; rm -f /run/nscd/socket",
    "flood of objects": "for i in $(seq 60); do echo $i | git hash-object -w --stdin > /dev/null; done; head -c 3000000 /dev/urandom | git hash-object -w --stdin > /dev/null",
    "flood of notifications": "for i in $(seq 350); do echo x > {out}/n$i; done 2> /dev/null; true",
    "own mounts by fuse": "fusermount3 -u /; fusermount -u /; python3 -c \"open('/dev/fuse')\"",
}  # fmt: skip


@pytest.fixture(scope="module")
def sockets(place: Lab) -> Iterator[dict[str, socket.socket]]:
    made: dict[str, socket.socket] = {}
    for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM)):
        made[name] = socket.socket(socket.AF_UNIX, kind)
        made[name].bind(os.path.relpath(place.outside / name))
    made["abstract"] = socket.socket(socket.AF_UNIX)
    made["abstract"].bind(f"\0worldline-test-{os.getpid()}")
    for name in ("stream", "abstract"):
        made[name].listen()
    for one in made.values():
        one.setblocking(False)
    yield made
    for one in made.values():
        one.close()


class TestEscapes:
    @pytest.mark.parametrize("name", ATTEMPTS)
    def test_nothing_outside_changes(
        self, place: Lab, server: socket.socket, sockets: dict[str, socket.socket], name: str
    ) -> None:
        before = outside_of(place)
        facts = {
            "out": place.outside, "file": place.outside / "file", "repo": place.repo, "pid": os.getpid(),
            "port": server.getsockname()[1], "abstract": f"worldline-test-{os.getpid()}",
            "sock": place.outside / "stream", "dgram": place.outside / "dgram",
        }  # fmt: skip
        command = ATTEMPTS[name]
        for key, value in facts.items():
            command = command.replace("{" + key + "}", str(value))
        result = place.run(command)
        assert changes(before, outside_of(place)) == []
        assert result.effects == [] and not result.timed_out
        for listener in (server, sockets["stream"], sockets["abstract"]):
            with pytest.raises(BlockingIOError):
                listener.accept()
        with pytest.raises(BlockingIOError):
            sockets["dgram"].recv(10)
        if name == "other families":
            assert not [
                line for line in result.output.decode().splitlines() if not line.startswith("made 16 ")
            ]

    def test_the_repository_is_whole_after_all_of_it(self, place: Lab) -> None:
        assert git(place.repo, "fsck", "--no-dangling") == ""
        assert git(place.repo, "status", "--short") == ""
        assert git(place.repo, "rev-parse", "main") == git(place.repo, "rev-parse", "other")
