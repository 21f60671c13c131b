"""What confinement costs, in the network that the commands of a session share: `python tests/benchmarks/bench_sandbox.py`.

Fails when a confined command takes 40 ms more than a plain one (median of 50, interleaved), or `grep -r` over 3,000 files
more than 1.1 times as long beside that.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "desktop"), str(ROOT / "tests")]

from sandbox.conftest import Lab, furnish, lab_root  # noqa: E402
from toolbench import PlainRunner  # noqa: E402
from worldline.agent.confined import ConfinedRunner, SandboxPlace  # noqa: E402
from worldline.policy.copies import Copies  # noqa: E402
from worldline.policy.sandbox.confine import Confinement  # noqa: E402
from worldline.policy.sandbox.model import Profile  # noqa: E402
from worldline.policy.sandbox.network import SessionNetwork  # noqa: E402
from worldline.policy.sandbox.places import git_places  # noqa: E402
from worldline.tools.process_table import ProcessTable  # noqa: E402
from worldline.workspace.absorb import absorb  # noqa: E402

ROUNDS = 50
FILES = 3000


def plain(command: str, folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


def confined(command: str, lab: Lab) -> float:
    """Walls, filter, observer, proxy and name service, and their report; the command and nothing else."""
    began = time.perf_counter()
    profile = Profile(lab.workspace, lab.base / "tmp", git=git_places(lab.workspace), network=lab.network)
    made = Confinement(["bash", "-c", command], lab.workspace, profile, "complete")
    process = subprocess.Popen(
        made.argv, cwd=lab.workspace, env={"PATH": "/usr/bin:/bin", **made.env}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, pass_fds=made.pass_fds, start_new_session=True,
    )  # fmt: skip
    made.started()
    process.wait()
    made.report()
    return time.perf_counter() - began


async def called(runner: ConfinedRunner | PlainRunner, folder: Path) -> float:
    began = time.perf_counter()
    await runner.run("true", cwd=folder, timeout_s=30, emit=lambda *_: None)
    return time.perf_counter() - began


def median(values: list[float]) -> float:
    return statistics.median(values) * 1000


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix=".worldline-lab-", dir=lab_root()) as folder,
        contextlib.closing(SessionNetwork.create()) as network,
    ):
        lab = furnish(Lab(Path(folder), "complete", network=network))
        for number in range(FILES):
            place = lab.workspace / f"d{number % 50}"
            place.mkdir(exist_ok=True)
            (place / f"f{number}.txt").write_text(f"line {number}\n" * 60)
        plain("true", lab.workspace), confined("true", lab)
        bare, walled = [], []
        for _ in range(ROUNDS):
            bare.append(plain("true", lab.workspace))
            walled.append(confined("true", lab))
        added = median(walled) - median(bare)
        print(f"true: plain {median(bare):.1f} ms, confined {median(walled):.1f} ms, added {added:.1f} ms")
        search = "for i in 1 2 3 4 5; do grep -r nothing-like-it . ; done; true"
        bare, walled = [], []
        for _ in range(15):
            bare.append(plain(search, lab.workspace))
            walled.append(confined(search, lab))
        ratio = (median(walled) - added) / median(bare)
        print(
            f"grep -r x 5 over {FILES} files: plain {median(bare):.0f} ms, confined {median(walled):.0f} ms, {ratio:.2f} x"
        )

        async def whole() -> tuple[float, float]:
            place = SandboxPlace(
                lab.workspace,
                lab.base / "tmp",
                "complete",
                Copies(lab.base / "copies"),
                absorb,
                network=network,
            )

            async def no(*_: object) -> str:
                return "no"

            table = ProcessTable()
            runners = [PlainRunner(table), ConfinedRunner(place, table, "node", lambda _: [], no)]
            times: list[list[float]] = [[], []]
            for _ in range(ROUNDS):
                for runner, into in zip(runners, times, strict=True):
                    into.append(await called(runner, lab.workspace))
            return median(times[0]), median(times[1])

        one, two = asyncio.run(whole())
        print(f"a whole call, refs and objects looked at: plain {one:.1f} ms, confined {two:.1f} ms")
    return int(added > 40 or ratio > 1.1)


if __name__ == "__main__":
    sys.exit(main())
