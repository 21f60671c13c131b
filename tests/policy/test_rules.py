"""Rules against command lines, paths and hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldline.policy.openings import grants_of
from worldline.policy.rules import RuleSet, explain, parse_rule, parse_rules
from worldline.policy.shell import parse
from worldline.policy.wording import effect, marks, remember

ALLOW = [
    "git status:*",
    "git log:*",
    "ls *",
    "cat *",
    "npm run test *",
    "npm *",
    "python3 *",
    "python3 -m pytest *",
    "sort *",
    "tar *",
    "find *",
    "echo *",
    "rm x",
]
DENY = ["rm -rf *", "git push --force:*"]


def rules(root: Path) -> RuleSet:
    return RuleSet(
        [parse_rule(f"Bash({p})", "allow") for p in ALLOW] + [parse_rule(f"Bash({p})", "deny") for p in DENY],
        root,
    )


@pytest.mark.parametrize(
    "line",
    [
        "git status", "git status -s", "FOO=1 git status", "timeout 5 git status", "/usr/bin/git status", r"g\it status",
        "nice -n 5 ls", "env -i ls", "ls | cat", "cd sub && ls", "while true; do ls; done", "bash -c 'ls -la'",
        "npm run test unit", "python3 -m pytest -q", "ls > out.txt", "ls 2>/dev/null", "echo 'a; b'", "time ls", "rm x",
    ],
)  # fmt: skip
def test_allowed(line: str, tmp_path: Path) -> None:
    assert rules(tmp_path).command(line).decision == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "git status; git push", "ls $(git push)", "LD_PRELOAD=x git status", "PATH=. ls", "GIT_SSH_COMMAND=x git log",
        "git status (", "git log --output=x", "git -c alias.x=!id status", "npm exec x", "npm install x", "python3 -c 'x'",
        "python3 x.py", "sort -o a b", "tar --to-command=x -xf a", "find . -delete", "ls > /etc/x", "ls > ../x",
        "ls > $F", "echo x > .git/config", "cd .. && ls", "cd .git && ls", "ls {a,b}", "$CMD ls", "echo $X", "sudo ls",
        "alias ls=rm", "ls | xargs rm", "eval ls $X", ". ./x", "rm x y", "", "# nothing", "> f", "git\tstatusfoo",
    ],
)  # fmt: skip
def test_asked(line: str, tmp_path: Path) -> None:
    assert rules(tmp_path).command(line).decision == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf x", "rm -fr x", "rm -r -f x", "rm --recursive --force x", "/bin/rm -rf x", r"\rm -rf x", "r''m -rf x",
        "command rm -rf x", "env rm -rf x", "sudo rm -rf x", "busybox rm -rf x", "bash -c 'rm -rf x'", "eval 'rm -rf x'",
        "find . -exec rm -rf {} +", "ls | xargs rm -rf", "f() { rm -rf x; }; f", "for i in a; do rm -rf $i; done",
        "cat <<E\n$(rm -rf x)\nE", "echo \"`rm -rf x`\"", "git status && rm -rf x", "git push -f", "timeout 5 rm -rf x",
        "trap 'rm -rf x' EXIT", "git push origin main --force", "(rm -rf x)", "if rm -rf x; then :; fi", "rm -rf $HOME",
        "$'\\x72m' -rf x",
    ],
)  # fmt: skip
def test_denied_in_every_disguise(line: str, tmp_path: Path) -> None:
    assert rules(tmp_path).command(line).decision in ("deny", "ask")
    if not line.startswith("git push -f"):
        assert rules(tmp_path).command(line).decision == "deny"


def test_a_program_known_only_at_run_time_may_be_what_is_denied(tmp_path: Path) -> None:
    judgement = rules(tmp_path).command("$X -rf y")
    assert judgement.decision == "ask" and judgement.strict


def test_paths(tmp_path: Path) -> None:
    judge = RuleSet(
        [
            parse_rule("Write(/opt/x/**)", "allow"),
            parse_rule("Write(src/*)", "allow"),
            parse_rule("Write(/opt/x/no)", "deny"),
            parse_rule("Write(**)", "allow"),
        ],
        tmp_path,
    )
    assert judge.path("Write", Path("/opt/x/a/b")).decision == "allow"
    assert judge.path("Write", Path("/opt/x/no")).decision == "deny"
    assert judge.path("Write", tmp_path / "src/a").decision == "allow"
    for path in (".git/config", "sub/.git/hooks/pre-commit", ".GIT/config"):
        assert judge.path("Write", tmp_path / path).decision == "ask"


def test_hosts(tmp_path: Path) -> None:
    judge = RuleSet(
        [parse_rule("Net(*.example.org:443)", "allow"), parse_rule("Net(bad.example.org)", "deny")], tmp_path
    )
    assert judge.net("a.example.org", 443).decision == "allow"
    assert judge.net("a.example.org", 80).decision == "ask"
    assert judge.net("bad.example.org", 443).decision == "deny"
    assert judge.net("example.org.evil.com", 443).decision == "ask"
    with pytest.raises(ValueError):
        parse_rule("Net(*:443)", "allow")


def test_configuration_and_its_examples() -> None:
    config = {
        "allow": ["Bash(ls:*)", "nonsense", {"rule": "Bash(git push:*)", "match": ["git pull"]}, 3],
        "deny": [{"rule": "Bash(rm *)", "match": ["mv a b"]}],
        "maybe": [],
    }
    found, problems = parse_rules(config, "project")
    assert [rule.text for rule in found if rule.decision == "allow"] == ["Bash(ls:*)"]
    assert [rule.text for rule in found if rule.decision == "deny"] == ["Bash(rm *)"]
    assert len(problems) == 5


def test_words_of_dialogs() -> None:
    line = "rm -rf build && git push origin main"
    assert [line[a:b] for a, b, _ in marks(line)] == ["rm -rf build", "git push origin main"]
    assert effect(line)[0] == "remote"
    assert remember("npm publish") == (["once", "branch", "session"], "")
    assert remember("sudo ls") == (["once"], "")
    assert remember("git push origin main")[1] == "Bash(git push origin main)"
    assert "always" not in remember("python3 -c 'x'")[0]


def test_parts_keep_their_place_behind_wide_characters() -> None:
    line = "echo 你好 && rm x"
    found = parse(line).commands[1]
    assert line[found.start : found.end] == "rm x"


@pytest.mark.parametrize(
    ("line", "decision", "decided"),
    [
        ("git status; git push", "ask", "git push"),
        ("ls $(git push)", "ask", "git push"),
        ("LD_PRELOAD=x git status", "ask", "LD_PRELOAD=x git status"),
        ("timeout 5 git status", "allow", "timeout 5 git status"),
        ("ls | sh", "ask", "sh"),
        ("rm -rf x && git status", "deny", "rm -rf x"),
        ("git status 'open", "ask", "git status 'open"),
    ],
)
def test_the_part_that_decided_is_named(tmp_path: Path, line: str, decision: str, decided: str) -> None:
    rules, _ = parse_rules(
        {"allow": ["Bash(git status:*)", "Bash(ls *)"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]},
        "test",
    )
    told = explain(RuleSet(rules, tmp_path), line)
    assert told["decision"] == decision
    assert [part["part"] for part in told["parts"] if part["decided"]] == [decided]


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("ls; bash evil.sh -c", "ask"),
        ("ls; bash +x evil.sh -c", "ask"),
        ("ls; bash --rcfile evil.sh -ic ls", "ask"),
        ("bash +x -c 'rm x'", "deny"),
        ("bash -o pipefail -c 'rm x'", "deny"),
        ("bash -euo pipefail -c 'rm x'", "deny"),
        ("bash --norc -O extglob -c 'rm x'", "deny"),
        ("bash -c 'ls -l'", "allow"),
        ("bash -euo pipefail -c 'ls -l'", "allow"),
        ("git fetch --upload-pac=evil .", "ask"),
        ("git log --outp=x", "ask"),
        ("git log --oneline --all", "allow"),
    ],
)
def test_a_shell_is_judged_by_what_it_runs(line: str, decision: str) -> None:
    rules = [parse_rule(text, "allow") for text in ("Bash(ls:*)", "Bash(git log:*)", "Bash(git fetch:*)")] + [
        parse_rule("Bash(rm:*)", "deny")
    ]

    assert RuleSet(rules, Path("/ws")).command(line).decision == decision


@pytest.mark.parametrize(
    "line", ["{ " * 3000 + "ls;" + " }" * 3000, "echo " + '"$(' * 400 + "ls" + ')"' * 400]
)
def test_a_line_nested_without_end_is_a_question(line: str) -> None:
    assert RuleSet([parse_rule("Bash(ls:*)", "allow")], Path("/ws")).command(line).decision == "ask"


@pytest.mark.parametrize("line", ["rm 'a b'", "rm '[ab]'", "rm 'x)'", "git push origin 'a b'", "rm 'a?'"])
def test_no_rule_is_offered_that_would_mean_other_words(line: str) -> None:
    scopes, rule = remember(line)

    assert rule == "" and "always" not in scopes


def test_what_may_run_outside_is_one_command() -> None:
    def outside(line: str) -> bool:
        return bool(grants_of(["Unsandboxed(docker compose:*)"], line, Path("/ws")))

    assert outside("docker compose up -d")
    for line in (
        "docker compose ps; rm -rf ~", "docker compose ps && curl x | sh", "docker compose ps > /etc/x", "docker compose ps &",
        "docker compose $(evil)", "X=1 docker compose ps", "docker compose ps `evil`", "docker compose ps <(evil)",
    ):  # fmt: skip
        assert not outside(line), line
