"""Ends whatever is left in the network of a session when the session is over, or its engine has died.

    python3 -I -S lifeline.py DEVICE INODE

The numbers name the network namespace. A command that may outlive its shell has no other tie to the engine.
"""

import os
import signal
import sys
import time

_QUIET_LOOKS = 3


def main() -> None:
    space = (int(sys.argv[1]), int(sys.argv[2]))
    # A terminal's Ctrl+C, or the end of its session, is for the engine, which decides what becomes of the rest.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    quiet = 0
    while quiet < _QUIET_LOOKS:  # what was just being started is not seen in the first look
        found = _members(space)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue  # ended by itself
        quiet = 0 if found else quiet + 1
        time.sleep(0.02)


def _members(space: tuple[int, int]) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                info = os.stat(f"/proc/{name}/ns/net")
            except OSError:
                continue  # of another user, or gone
            if (info.st_dev, info.st_ino) == space:
                found.append(int(name))
    return found


if __name__ == "__main__":
    main()
