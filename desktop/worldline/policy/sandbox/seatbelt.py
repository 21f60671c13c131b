"""The profile for `sandbox-exec` on macOS. Written from the documentation and never run by us: nothing is claimed for it,
and no command runs by it yet.

What it cannot do, and the label says: loopback is the machine's own, so local databases can be reached; there is no
namespace of processes, so what leaves its group is found by its mark in the environment.
"""

from __future__ import annotations

from pathlib import Path

from worldline.policy.sandbox.bubblewrap import hidden_places
from worldline.policy.sandbox.model import Profile

PROGRAM = "/usr/bin/sandbox-exec"
UNTESTED = (
    "Confinement on macOS (sandbox-exec) is written but not tested by us, so it is not claimed: "
    "every command is asked about."
)


def quoted(path: Path | str) -> str:
    """A string of the profile language."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def text(profile: Profile, proxy_port: int, mark: str) -> str:
    """The whole profile. Refusals carry `mark` in the system log, which is where their names come from."""
    writable = [profile.workspace, profile.private_tmp, *profile.writable, *profile.git.writable]
    writable += [Path(g.target) for g in profile.grants if g.kind == "write"]
    kept = [*profile.read_only, *profile.git.read_only]
    lines = [
        "(version 1)",
        f"(deny default (with message {quoted(mark)}))",
        '(import "system.sb")',
        "(allow process-exec process-fork)",
        "(allow signal process-info* (target same-sandbox))",
        "(allow file-read*)",
        *(f"(deny file-read* (subpath {quoted(place)}))" for place in hidden_places(profile)),
        *(f"(allow file-read* (subpath {quoted(g.target)}))" for g in profile.grants if g.kind == "read"),
        *(f"(allow file-write* (subpath {quoted(place)}))" for place in writable),
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/ttys"))',
        *(f"(deny file-write* (subpath {quoted(place)}))" for place in kept),
        # Nothing above a kept path may be renamed, or it would be got round.
        *(f"(deny file-write-unlink (literal {quoted(place)}))" for place in _above(kept, profile.workspace)),
        '(allow network* (local ip "localhost:*"))',
        f'(allow network-outbound (remote ip "localhost:{proxy_port}"))',
        *(
            f"(allow network-outbound (literal {quoted(g.target)}))"
            for g in profile.grants
            if g.kind == "socket"
        ),
        "(deny appleevent-send)",
        "(deny lsopen)",
        "(allow pseudo-tty)",
        "(allow sysctl-read)",
        '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    ]
    return "\n".join(lines) + "\n"


def arguments(profile: Profile, proxy_port: int, mark: str) -> list[str]:
    """Everything before the command."""
    return [PROGRAM, "-p", text(profile, proxy_port, mark)]


def _above(kept: list[Path], root: Path) -> list[Path]:
    found: dict[Path, None] = {}
    for path in kept:
        while path != root and path.is_relative_to(root):
            found[path] = None
            path = path.parent
    return list(found)
