"""How far a rule reaches: no further than it says where it allows, and no less where it denies."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldline.policy.openings import grants_of
from worldline.policy.pushing import push_outside
from worldline.policy.rules import RuleSet, parse_rule
from worldline.policy.wording import effect, remember


def rules(root: Path, *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> RuleSet:
    texts = [parse_rule(text, "deny") for text in deny] + [parse_rule(text, "allow") for text in allow]
    return RuleSet(texts, root)


@pytest.mark.parametrize(
    "line",
    [
        # a file that is called like the program of the rule
        "./git status", "/tmp/x/git status", "tools/git status", "./timeout 5 git status", "./bash -c 'git status'",
        "./true; git status", "find . -exec ./env git status ;",
        # what a wrapper takes apart by itself
        "env -S'rm -rf x' git status", "env '--split-string=rm -rf x' git status", "env -S 'rm x' git status",
        "env -vS'rm x' git status", "watch git status ';rm x'", "watch -n 5 'git status; rm x'",
        # the value of an option that looks like the program of the rule
        "env --argv0 git rm x", "env -a git rm x", "strace -s git rm x", "strace --string-limit git rm x",
        "unshare -w git rm x", "unshare --root git rm x", "nice --adj git rm x", "nice --adjustment git rm x",
        "timeout --sig git rm 5 x", "stdbuf --output git rm x", "ionice --class git rm x", "sudo --user git rm x",
        "sudo -nu git rm x", "xargs --arg-file git rm", "flock --timeout git f rm x", "parallel --jobs git rm",
        "setsid --what git status", "xargs -E git rm",
        # a text that the shell reads as arithmetic
        "test -v 'a[$(rm x)]'; git status", "[[ 'a[$(rm x)]' -eq 1 ]]; git status", "let 'a[`rm x`]'; git status",
        "x='a[$(rm x)]'; ((x)); git status", "x=$y; ((x)); git status", "[ -v 'a[$''(rm x)]' ] && git status",
        # options that name another program
        "go test -exec 'sh -c x' ./...", "go test -toolexec=x ./...", "make test -f /tmp/x", "make test --eval=x",
        "make test SHELL=/tmp/x",
    ],
)  # fmt: skip
def test_an_allowed_command_is_not_a_cover_for_another(tmp_path: Path, line: str) -> None:
    allowed = rules(
        tmp_path, allow=("Bash(git status:*)", "Bash(git rm:*)", "Bash(go test:*)", "Bash(make test:*)")
    )
    assert allowed.command(line).decision == "ask"


@pytest.mark.parametrize(
    "line",
    ["git status", "/usr/bin/git status", "/bin/bash -c 'git status'", "env -S 'git status'", "watch git status",
     "[ -f x ] && git status", "[[ -f x ]] && git status", "for ((i=0;i<2;i++)); do git status; done",
     "go test -run X ./...", "make test V=1"],
)  # fmt: skip
def test_what_was_allowed_still_is(tmp_path: Path, line: str) -> None:
    allowed = rules(
        tmp_path, allow=("Bash(git status:*)", "Bash(watch:*)", "Bash(go test:*)", "Bash(make test:*)")
    )
    assert allowed.command(line).decision == "allow"


@pytest.mark.parametrize(
    ("rule", "line", "decision"),
    [
        ("./gradlew test:*", "./gradlew test --info", "allow"),
        ("./gradlew test:*", "gradlew test", "ask"),
        ("./gradlew test:*", "sub/gradlew test", "ask"),
        (".venv/bin/pytest:*", "./.venv/bin/pytest -q", "allow"),
        ("/usr/bin/git status", "/usr/bin/git status", "allow"),
    ],
)
def test_a_rule_may_name_a_program_by_its_folder(tmp_path: Path, rule: str, line: str, decision: str) -> None:
    assert rules(tmp_path, allow=(f"Bash({rule})",)).command(f"true && {line}").decision == decision


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("./deploy.sh:*", "./deploy.sh x"), ("./deploy.sh", "scripts/../deploy.sh"), ("/usr/bin/git push:*", "git push"),
        ("git push:*", "git -C x push"), ("git push:*", "git --no-pager -c a=b push origin"), ("git push", "git -C x push"),
        ("npm publish:*", "npm --silent publish"), ("docker push:*", "docker --context x push y"),
        ("rm:*", "ionice --class 2 rm x"), ("rm:*", "sudo --user bob rm x"), ("rm:*", "sudo -nu bob A=b rm x"),
        ("rm:*", "xargs --max-args 1 rm"), ("rm:*", "xargs -I{} -0 rm {}"), ("rm:*", "xargs -i rm {}"),
        ("rm:*", "stdbuf --output L rm x"), ("rm:*", "flock --timeout 5 f rm x"), ("rm:*", "flock f -c 'rm x'"),
        ("rm:*", "strace -ff -s 100 -o f rm x"), ("rm:*", "chroot --userspec a:b d rm x"), ("rm:*", "env -a x rm x"),
        ("rm:*", "timeout --signal=KILL --kill-after 3 5 rm x"), ("rm:*", "env --default-signal=INT rm x"),
        ("rm:*", "env -S'rm -rf x'"), ("rm:*", "watch 'rm x'"), ("git push:*", "./git push"),
    ],
)  # fmt: skip
def test_a_deny_rule_finds_what_it_means(tmp_path: Path, rule: str, line: str) -> None:
    assert rules(tmp_path, deny=(f"Bash({rule})",)).command(line).decision == "deny"


@pytest.mark.parametrize("line", ["git log -- push", "git commit -m push", "npm run push", "git stash push"])
def test_a_word_further_on_is_not_what_is_denied(tmp_path: Path, line: str) -> None:
    assert rules(tmp_path, deny=("Bash(git push:*)", "Bash(npm publish:*)")).command(line).decision == "ask"


def test_a_file_called_like_a_program_is_not_taken_for_it(tmp_path: Path) -> None:
    """Nor opened for, nor run in its place outside, nor remembered as it."""
    opened = ["Unsandboxed(docker compose:*)"]
    assert grants_of(opened, "docker compose up", tmp_path)
    assert not grants_of(opened, "./docker compose up", tmp_path)
    assert push_outside("git push https://example.org/x main", tmp_path) is not None
    assert push_outside("./git push https://example.org/x main", tmp_path) is None
    assert effect("./ls")[0] == "code"
    assert "Bash(pytest:*)" not in remember(".venv/bin/pytest -q")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Write(/**)", "/etc/x"), ("Read(**/.env)", "ROOT/.env"), ("Read(**/.env)", "ROOT/a/b/.env"),
        ("Read(**/.env)", "ROOT/a\nb/.env"), ("Read(secrets)", "ROOT/secrets/a"), ("Read(secrets/)", "ROOT/secrets/a/b"),
        ("Read(linked/**)", "REAL/a"), ("Read(linked)", "REAL/a"), ("Read(**/keys)", "ROOT/x/keys/a"),
        ("Read(/**/x.pem)", "/x.pem"),
    ],
)  # fmt: skip
def test_a_deny_rule_covers_the_places_it_names(tmp_path: Path, rule: str, path: str) -> None:
    root, real = tmp_path.resolve() / "root", tmp_path.resolve() / "real"
    root.mkdir()
    real.mkdir()
    (root / "linked").symlink_to(real)
    meant = Path(path.replace("ROOT", str(root)).replace("REAL", str(real)))
    kind = "Write" if rule.startswith("Write") else "Read"
    assert rules(root, deny=(rule,)).path(kind, meant).decision == "deny"
    assert rules(root, deny=(rule,)).path(kind, root / "other").decision != "deny" or rule == "Write(/**)"


def test_an_allow_rule_for_a_folder_by_its_name_is_not_for_what_lies_in_it(tmp_path: Path) -> None:
    allowed = rules(tmp_path, allow=("Write(/opt/x)", "Write(/opt/y/**)"))
    assert allowed.path("Write", Path("/opt/x/a")).decision == "ask"
    assert allowed.path("Write", Path("/opt/y/a/b")).decision == "allow"
    assert allowed.path("Write", Path("/opt/yy")).decision == "ask"


def test_a_dot_at_the_end_of_a_host_names_the_same_host(tmp_path: Path) -> None:
    assert rules(tmp_path, deny=("Net(*.example.org)",)).net("a.example.org.", 443).decision == "deny"


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("cat README.md", "allow"), ("cat src/*.py ../other/x", "allow"), ("cat -", "allow"), ("cat ~/notes.txt", "allow"),
        ("cat ~/.ssh/id_rsa", "ask"), ("cat ~/.ss*/id_rsa", "ask"), ("cat HOME/.netrc", "ask"), ("cat ../home/.aws/x", "ask"),
        ("cat --x=HOME/.netrc", "ask"), ("cat -r ~", "ask"), ("cat keys/id", "ask"), ("cat ../home/*/x", "ask"),
    ],
)  # fmt: skip
def test_a_rule_for_a_reader_is_none_for_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, decision: str
) -> None:
    """The tool that reads asks about them by name; where nothing confines commands, `cat` would be a way round it."""
    home, root = tmp_path.resolve() / "home", tmp_path.resolve() / "ws"
    (home / ".ssh").mkdir(parents=True)
    root.mkdir()
    (root / "keys").symlink_to(home / ".ssh")
    monkeypatch.setenv("HOME", str(home))
    allowed = rules(root, allow=("Bash(cat:*)",))
    assert allowed.command(line.replace("HOME", str(home))).decision == decision


def test_many_options_are_no_reason_to_think_for_ever(tmp_path: Path) -> None:
    """Each may have a value or none: every way to read them would be 2⁶⁰ of them."""
    denied = rules(tmp_path, deny=("Bash(git push:*)",))
    assert denied.command("git " + "-c a=b -C x " * 60 + "push").decision == "deny"
    assert denied.command("git " + "-c git " * 60 + "pull").decision != "deny"
