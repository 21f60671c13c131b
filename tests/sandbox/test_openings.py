"""Which rule or approval opens what."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from worldline.policy.openings import grants_of, push_grants
from worldline.policy.sandbox.model import Grant


def pairs(grants: list[Grant]) -> list[tuple[str, str]]:
    return [(g.kind, g.target) for g in grants]


def test_only_rules_that_open_something_open_something(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    (tmp_path / "b.log").touch()
    rules = [
        "Bash(git push:*)", "Write(~/x)", "Write(/opt/x/**)", "Write(*.log)", "Net(example.org:8443)", "Net(example.org)",
        "Net(*.example.org:443)", "Socket(/run/x.sock)", "Read(/etc/y)", "Unsandboxed(docker compose:*)", "nonsense",
    ]  # fmt: skip
    assert pairs(grants_of(rules, "docker compose up", tmp_path)) == [
        ("write", str(Path.home() / "x")), ("write", "/opt/x"), ("write", str(tmp_path / "a.log")),
        ("write", str(tmp_path / "b.log")), ("net", "example.org:8443"), ("net", "example.org:443"),
        ("socket", "/run/x.sock"), ("read", "/etc/y"), ("unconfined", ""),
    ]  # fmt: skip
    assert ("unconfined", "") not in pairs(grants_of(rules, "docker composer up", tmp_path))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a.git", [("net", "example.org:443")]),
        ("http://example.org:8080/a", [("net", "example.org:8080")]),
        ("git@example.org:a.git", []),
        ("ssh://example.org/a", []),
        ("/srv/a.git", [("write", "/srv/a.git")]),
        ("file:///srv/a.git", [("write", "/srv/a.git")]),
    ],
)
def test_an_approved_push_opens_its_remote_alone(
    tmp_path: Path, url: str, expected: list[tuple[str, str]]
) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "remote", "add", "origin", url], cwd=tmp_path, check=True)
    subprocess.run(["git", "remote", "add", "other", "https://elsewhere.org/x"], cwd=tmp_path, check=True)
    for command in ("git push", "git push -u origin wip", "git add . && git push origin HEAD"):
        assert pairs(push_grants(command, tmp_path)) == expected
    assert push_grants("git pull origin main", tmp_path) == []
    assert push_grants('git push "$REMOTE"', tmp_path) == []
    assert pairs(push_grants("git push other", tmp_path)) == [("net", "elsewhere.org:443")]
