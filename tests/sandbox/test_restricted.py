"""Machines that do not let a program make user namespaces (AppArmor on Ubuntu, hardened kernels): a real `bwrap` on the path
fails as it does there. The label says less, the person is told why and what to do, and what runs is confined as far as
it is claimed: commands and the servers of a project."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import bench, server
from engine.test_mcp import answering, with_walled_server
from sandbox.conftest import ground_apart
from sandbox.test_confined_commands import server as host_server
from sandbox.test_ledger_of_a_session import person
from worldline.policy.sandbox import selftest
from worldline.policy.sandbox.inside import landlock
from worldline.rehearsal.events import Call, Reply

__all__ = ["bench", "server"]

UBUNTU = "bwrap: setting up uid map: Permission denied"
HARDENED = (
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user "
    "namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."
)


def restrict(folder: Path, said: str, patch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)
    fake = folder / "bwrap"
    fake.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    fake.chmod(0o755)
    patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture
def lab(own_home: Path) -> Iterator[Path]:
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    with ground_apart() as folder:
        yield folder


@pytest.mark.parametrize(
    ("said", "fix"), [(UBUNTU, "bwrap-userns-restrict"), (HARDENED, "unprivileged_userns_clone")]
)
def test_the_label_is_lower_and_says_what_stands_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, fix: str
) -> None:
    apparmor = tmp_path / "apparmor_restrict_unprivileged_userns"
    if said == UBUNTU:
        apparmor.write_text("1\n")
    monkeypatch.setattr(selftest, "_APPARMOR", apparmor)
    restrict(tmp_path / "bin", said, monkeypatch)
    result = selftest.run()
    assert result.label == ("partial" if landlock.abi() else "none") and result.network is None
    assert said[-40:] in result.why and fix in result.fix


def test_a_network_that_cannot_be_joined_costs_the_shared_servers_alone(
    best_label: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nsenter").write_text(
        "#!/bin/sh\necho 'nsenter: reassociate to namespaces failed' >&2\nexit 1\n"
    )
    (folder / "nsenter").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    result = selftest.run()
    assert result.label == "complete" and result.network is None and "cannot be reached" in result.why


async def test_a_session_there_asks_and_confines_as_far_as_it_says(
    bench: Any, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restrict(lab / "bin", UBUNTU, monkeypatch)
    b, work, out = await with_walled_server(bench, lab)
    with host_server() as (port, seen):
        get = f"import urllib.request as u; o = u.build_opener(u.ProxyHandler({{}})); o.open('http://127.0.0.1:{port}/', timeout=3)"
        b.script(
            Reply(calls=[Call("bash", {"command": f"echo in > inside; echo x > {out}/shut"})]),
            Reply(calls=[Call("bash", {"command": f'{sys.executable} -c "{get}"'})]),
            Reply(calls=[Call("walled__write", {"path": "inside"})]),
            Reply(calls=[Call("walled__write", {"path": str(out / "shut")})]),
            Reply(calls=[Call("walled__write", {"path": str(out / "open")})]),
            Reply(calls=[Call("walled__get", {"url": f"http://127.0.0.1:{port}/x"})]),
            "Done.",
        )
        asked, answer = answering({"decision": "allow", "scope": "once"})
        async with person(b, answer):
            assert await b.ask("go") == "completed"
        assert seen == []
    status = b.actor.shared.status.now
    assert (
        status.sandbox == "partial"
        and UBUNTU in status.sandbox_why
        and "Not confined" not in status.sandbox_why
    )
    # A command whose kind is known runs, and its write is refused; one that may do anything is asked about, as is each
    # call of a server.
    assert "walled.py" in asked[0].command
    assert [approval.tool for approval in asked[1:]] == ["bash", *["walled__write"] * 3, "walled__get"]
    assert "urllib" in asked[1].command
    assert "It is confined like the commands of the agent" in asked[0].agent_says
    details = [b.doc.body(n.uid).end_detail for n in b.nodes("tool")]
    assert [d.get("confinement") for d in details[:2]] == ["partial", "partial"]
    said = [json.dumps(b.doc.body(n.uid).end_message) for n in b.nodes("tool")]
    assert (
        "sandbox_denied" in said[0] and f"{out}/shut" in said[0] and (work / "inside").read_text() == "in\nx"
    )
    assert b.nodes("tool")[1].outcome.value == "failed"
    assert "written" in said[2] and "sandbox_denied" in said[3] and f"{out}/shut" in said[3]
    assert not (out / "shut").exists()
    assert "written" in said[4] and (out / "open").read_text() == "x"
    assert b.nodes("tool")[5].outcome.value == "failed"
