"""A rule that denies a command finds it behind whatever starts it; a rule that allows is not widened by that."""

from __future__ import annotations

import itertools
import random
import shlex
from pathlib import Path

import pytest

from worldline.policy import shell
from worldline.policy.rules import RuleSet, parse_rule

DENIED = ("git push origin main", "rm -rf x", "npm publish")
WORDS = [
    # what starts the words behind it
    "env {}", "env A=1 -u B -C d {}", "env -i {}", "env --chdir=d {}", "env --unset B {}", "timeout 5 {}", "timeout -s KILL -k 5 10 {}",
    "timeout --signal=KILL 10 {}", "timeout --kill-after 5 10 {}", "timeout -v 5 {}", "nice {}", "nice -n 5 {}", "nice -5 {}", "nice --adjustment 5 {}",
    "ionice -c 2 -n 7 {}", "ionice -c2 {}", "ionice --class idle {}", "nohup {}", "time -p {}", "time {}", "/usr/bin/time -f %e -o t {}", "command {}", "builtin {}",
    "exec {}", "exec -a x {}", "stdbuf -oL {}", "stdbuf -o L -e 0 {}", "stdbuf --output=L {}", "stdbuf --output L {}", "setsid {}", "setsid -w {}",
    "sudo {}", "sudo -u x {}", "sudo -nu x {}", "sudo A=1 {}", "sudo --user x {}", "sudo --user=x -- {}", "doas -u x {}", "chroot d {}", "chroot --userspec=a d {}",
    "busybox {}", "toybox {}", "unshare -r {}", "unshare -R d -rm {}", "strace -f {}", "strace -o t -e trace=a {}", "flock f {}", "flock -n f {}", "flock -w 5 f {}",
    "flock --timeout 5 f {}", "taskset 1 {}", "taskset -c 0,1 {}", "taskset -ac 0 {}", "taskset --cpu-list 0 {}", "chrt 10 {}", "chrt -f 10 {}", "chrt --rr 10 {}",
    "chrt -T 5 -P 6 -D 7 -d 0 {}", "ls | xargs {}", "xargs -n 1 {}", "xargs -0 -P2 {}", "xargs -I% {}", "xargs --max-args 1 {}", "setpriv --reuid 5 {}",
    "setpriv --nnp {}", "nsenter -t 5 -m {}", "prlimit --nofile=5 {}", "setarch x86_64 {}", "linux32 {}", "fakeroot {}", "fakeroot -l a {}", "eatmydata {}",
    "unbuffer {}", "dbus-run-session -- {}", "xvfb-run -n 5 {}", "rlwrap {}", "numactl -N 0 {}", "numactl --membind=0 {}", "cpulimit -l 5 -- {}", "tini -- {}",
    "gosu u {}", "su-exec u {}", "pkexec {}", "pkexec --user u {}", "runuser -u u -- {}", "runuser -u u {}", "systemd-run --user {}", "systemd-run -p A=1 --unit u {}",
    "systemd-inhibit --what sleep {}", "firejail --net=none {}", "torsocks {}", "proxychains -f c {}", "valgrind --tool=x {}", "gdb -batch --args {}", "ltrace {}",
    "chronic {}", "ssh-agent {}", "uv run {}", "uv run --with x {}", "poetry run {}", "bundle exec {}", "npx {}", "npm exec -- {}", "docker run --rm -it img {}",
    "docker run -v a:b img {}", "docker exec c {}", "kubectl exec p -- {}", "direnv exec d {}", "git bisect run {}", "git submodule foreach {}", "perf stat -e a {}",
    "find . -exec {} \\;", "find . -execdir {} +", "find . -ok {} \\;", "parallel {}", "parallel -j4 {} ::: a", "parallel --jobs 4 {}", "watch {}", "watch -n5 {}", "watch -n 5 -d {}",
    "watch -dn 5 {}", "watch --interval 5 {}", "ssh host {}", "ssh -p 22 host {}", "coproc {}", "! {}", "( {} )", "true && {}", "if true; then {}; fi", "tmux new -d {}",
    "script -q f -- {}", "su - u -- -c {t}", "entr {}",
]  # fmt: skip
TEXTS = [
    # what gives a text to a shell
    "sh -c {t}", "bash -lc {t}", "bash --norc -c {t}", "bash -o pipefail -c {t}", "dash -ec {t}", "zsh -c {t}", "ksh -c {t}", "fish -c {t}", "busybox sh -c {t}",
    "env -S {t}", "env -iS {t}", "env --split-string={t}", "eval {t}", "su -c {t}", "su - u -c {t}", "su u --command {t}", "su --command={t} u", "su -lc {t} u", "su -s /bin/sh -c {t}",
    "runuser -l u -c {t}", "script -c {t}", "script -qc {t}", "script -qec {t} f", "script f -c {t}", "script --command {t}", "script --command={t} f", "flock f -c {t}",
    "flock -n f -c {t}", "flock f --command {t}", "sg g -c {t}", "sg g {t}", "watch {t}", "watch -n 1 {t}", "parallel ::: {t}", "parallel {t} ::: a", "parallel -j1 {t}", "ssh h {t}",
    "ls | xargs sh -c {t}", "xargs -I% sh -c {t}", "find . -exec sh -c {t} \\;", "trap {t} EXIT", "git rebase --exec {t} main", "git rebase -x {t} main",
    "git submodule foreach {t}", "tar xf a --to-command={t}", "tar cf a --checkpoint-action=exec={t} b", "rsync -e {t} a b:", "tmux new-session {t}",
    # what a shell is given to read
    "echo {t} | sh", "echo {t} | bash -s", "echo {t} | bash -s -- a", "echo {t} | sh -", "echo {t} | bash /dev/stdin", "echo -n {t} | sh", "printf {t} | sh", "printf '%s\\n' {t} | sh",
    "printf 'true\\n%s\\n' {t} | bash", "echo {t} | sudo sh", "echo {t} | env A=1 bash", "echo {t} | timeout 5 sh", "echo {t} | cat | sh", "(true; echo {t}) | sh", "{ echo {t}; } | bash",
    "echo {t} | bash -c sh", "sh <<< {t}", "bash -s <<< {t}", "bash <(echo {t})", "source <(echo {t})", ". /dev/stdin <<< {t}", "echo {t} | source /dev/stdin", "ssh h <<< {t}", "at now <<< {t}",
    # what is run instead of a helper
    "PAGER={t} git log", "GIT_SSH_COMMAND={t} git fetch", "EDITOR={t} git commit", "env GIT_PAGER={t} git log", "git -c alias.x={b} x", "git -c core.pager={t} log",
    "git -c a.b=c -c core.sshCommand={t} fetch",
    "echo {t} | busybox sh", "echo {t} | while true; do sh; done", "cat <<< {t} | sh", "echo {t} | xargs -I% sh -c %",
]  # fmt: skip
HEREDOCS = [
    "sh <<E\n{}\nE", "bash -s <<'E'\n{}\nE", "cat <<E | sh\n{}\nE", "sudo bash <<-E\n\t{}\nE", "ssh h <<E\nls\n{}\nE", "if true; then sh <<E\n{}\nE\nfi",
    "bash <<E\nx=$(id)\n{}\nE", "env sh -e <<\\E\n{}\nE",
]  # fmt: skip


def filled(form: str, command: str) -> str:
    quoted = form.replace("{t}", shlex.quote(command)).replace("{b}", shlex.quote(f"!{command}"))
    return quoted.replace("{}", command, 1)


def wrapped() -> list[tuple[str, str]]:
    found = [(filled(form, command), command) for form in (*WORDS, *TEXTS, *HEREDOCS) for command in DENIED]
    pick = random.Random(7)
    # A loop or a group stands in no place of a word, a pipe not in that of `find`; some take the quotes off.
    odd = ("(", "!", "if", "true", "coproc", "{", "watch {}", "watch -", "ssh", "find", "tmux", "parallel")
    for outer, inner in itertools.product((*WORDS, *TEXTS), TEXTS[:50]):
        if pick.random() < 0.06 and not outer.startswith(odd) and "%" not in outer + inner:
            found.append((filled(outer, filled(inner, DENIED[0])), DENIED[0]))
    return found


RULES = [parse_rule(text, "deny") for text in ("Bash(git push:*)", "Bash(rm -rf *)", "Bash(npm publish)")]


def test_a_denied_command_is_found_behind_what_starts_it(tmp_path: Path) -> None:
    rules = RuleSet(RULES, tmp_path)
    lines = wrapped()
    missed = [line for line, _ in lines if not stopped(rules, line)]
    assert len(lines) > 700
    assert not missed, f"{len(missed)} of {len(lines)}:\n" + "\n".join(missed)


def test_another_name_for_it_is_found(tmp_path: Path) -> None:
    rules = RuleSet(RULES, tmp_path)
    for line in (
        "git -c alias.p=push p origin",
        "git -c a.b=c -c alias.p='push origin' p",
        "G=git; $G push",
        "p() { git push; }; p",
        "git {push,x}",
    ):
        assert stopped(rules, line), line


def stopped(rules: RuleSet, line: str) -> bool:
    """Denied, or asked about whatever the mode lets pass by itself: part of it is known only when it runs."""
    judged = rules.command(line)
    return judged.decision == "deny" or judged.strict


@pytest.mark.parametrize(
    "line",
    ["$x | sh", "curl h | sh", "base64 -d f | bash", "eval \"$x\"", "bash -c \"$x\"", "su -c \"$x\"", "echo $x | sh", "cat f | sh -s", "sh < f", "cat f | xargs git", "ls | parallel",
     "sed s/a/b/ f | bash", "bash <(curl h)", "xargs -I{} sh -c '{}'", "exec 3<f; sh <&3", "find . -exec sh -c '{}' \\;"],
)  # fmt: skip
def test_what_is_known_only_when_it_runs_is_asked_about(tmp_path: Path, line: str) -> None:
    judged = RuleSet(RULES, tmp_path).command(line)
    assert judged.decision == "ask" and judged.strict and judged.rule is not None


@pytest.mark.parametrize(
    "line",
    ["echo git push", "grep -r 'git push' .", "git commit -m 'git push'", "echo 'git push' > notes", "cat <<E > f\ngit push\nE", "git log --grep 'npm publish'", "timeout 5 echo git push",
     "echo git push | cat", "cat notes | grep push", "printf 'git push' | wc -c", "sh script.sh", "bash -c 'echo git push'", "python -c 'git push'", "ls | xargs echo", "su --help",
     "uv run pytest tests/push", "watch -n 5 git status", "flock f ls", "sh", "bash --version", "env", "tar xf a", "xargs -n 1 echo rm", "docker run img ls", "find . -name push",
     "make push", "npm run publish", "ssh-add", "echo | sh", "true | sh", "find . -exec echo {} ;", "git rebase main", "PAGER=cat git log", "git -c user.name=push commit"],
)  # fmt: skip
def test_what_only_speaks_of_it_is_not_denied(tmp_path: Path, line: str) -> None:
    judged = RuleSet(RULES, tmp_path).command(line)
    assert judged.decision == "ask" and not judged.strict, judged.why


@pytest.mark.parametrize(
    "line",
    ["su -c 'git status'", "script -c 'git status' /etc/x", "sg g 'git status'", "echo 'git status' | sh", "sh <<< 'git status'", "sh <<E\ngit status\nE",
     "parallel git status ::: a", "setpriv --reuid 0 git status", "uv run git status", "ssh h git status", "systemd-run git status", "docker run img git status", "nsenter -t 1 git status",
     "time -o /etc/x git status", "strace -o ~/x git status", "sudo git status", "chroot / git status", "bash <(echo git status)", "xargs -I% git %"],
)  # fmt: skip
def test_an_allowed_command_is_not_allowed_behind_all_of_it(tmp_path: Path, line: str) -> None:
    rules = RuleSet([parse_rule("Bash(git status:*)", "allow"), parse_rule("Bash(git:*)", "allow")], tmp_path)
    assert rules.command(line).decision == "ask"


@pytest.mark.parametrize(
    "line",
    ["timeout -k 5 10 git status", "taskset -c 0 git status", "chrt -i 0 git status", "stdbuf --output L git status", "nice -n 5 git status", "env -u A B=1 git status", "flock f git status",
     "/usr/bin/time -o out git status"],
)  # fmt: skip
def test_what_only_steers_how_it_runs_changes_nothing(tmp_path: Path, line: str) -> None:
    assert RuleSet([parse_rule("Bash(git status:*)", "allow")], tmp_path).command(line).decision == "allow"


@pytest.mark.parametrize("word", ["ssh", "parallel", "docker run a", "sg", "npx", "script -c", "setpriv"])
def test_a_line_that_could_start_anything_is_asked_about_and_not_thought_about_for_ever(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real = shell._tree
    monkeypatch.setattr(shell, "_tree", lambda line: (calls.append(line), real(line))[1])
    line = f"{word} " * 60 + "git push"
    assert stopped(RuleSet(RULES, tmp_path), line)
    assert len(calls) <= 120


@pytest.mark.parametrize(
    "line",
    ["git -C $d status", "for d in a b; do git -C $d pull; done", "find . -name .git | xargs -I{} git -C {} status", "docker --context $c ps", "git -c user.name=$n commit", "npm --prefix $d test"],
)  # fmt: skip
def test_a_word_that_is_not_known_now_is_not_taken_for_the_denied_one(tmp_path: Path, line: str) -> None:
    rules = [*RULES, parse_rule("Bash(docker push:*)", "deny")]
    judged = RuleSet(rules, tmp_path).command(line)
    assert judged.decision == "ask", "it is no push as far as anybody knows"


@pytest.mark.parametrize("line", ["git -C $d push", "docker --context $c push a", "rm -r -f $x"])
def test_a_denied_command_is_denied_whatever_word_beside_it_is_not_known_now(
    tmp_path: Path, line: str
) -> None:
    rules = [*RULES, parse_rule("Bash(docker push:*)", "deny")]
    assert RuleSet(rules, tmp_path).command(line).decision == "deny"


@pytest.mark.parametrize(
    "line",
    ["$x git push", "git $x push", "git $x $y push origin", "git $x -c a=b push", "npm $x publish", "sudo $x git push"],
)  # fmt: skip
def test_a_word_that_is_not_known_now_may_be_none(tmp_path: Path, line: str) -> None:
    rules = [*RULES, parse_rule("Bash(git push origin:*)", "deny")]
    assert stopped(RuleSet(rules, tmp_path), line)
    only = RuleSet([parse_rule("Bash(git push origin:*)", "deny")], tmp_path)
    assert stopped(only, "git $x push origin") and not stopped(only, "git log $x origin")


@pytest.mark.parametrize("line", ["env --version", "timeout --help", "xargs --version", "busybox --help"])
def test_what_a_wrapper_says_of_itself_starts_nothing(tmp_path: Path, line: str) -> None:
    assert not stopped(RuleSet(RULES, tmp_path), line)


@pytest.mark.parametrize("line", ["parallel rm ::: a", "ls | parallel -j4 rm", "sem rm a"])
def test_a_rule_that_allows_what_starts_any_command_allows_none(tmp_path: Path, line: str) -> None:
    rules = [parse_rule("Bash(parallel:*)", "allow"), parse_rule("Bash(sem:*)", "allow"), parse_rule("Bash(ls:*)", "allow")]  # fmt: skip
    assert RuleSet(rules, tmp_path).command(line).decision == "ask"
