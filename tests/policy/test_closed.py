"""Rules about reading, where no sandbox or not all of one keeps them for commands; and one project that lies in two places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.test_decide import Person, bench_with
from toolbench import error_of, text_of
from worldline.policy import closed
from worldline.policy.closed import closed_to_commands
from worldline.policy.decide import PolicyGate
from worldline.policy.rules import RuleSet, parse_rule

DENY = parse_rule("Read(secrets/**)", "deny")
ALLOW = parse_rule("Bash(cat:*)", "allow")


@pytest.mark.parametrize("sandbox", ["none", "partial"])
async def test_without_a_whole_sandbox_such_a_command_is_asked_about_or_denied(
    tmp_path: Path, sandbox: Any
) -> None:
    person = Person(decision="allow", scope="session")
    bench, _ = bench_with(tmp_path, person, rules=[DENY, ALLOW], sandbox=sandbox, mode="work")
    (bench.root / "secrets").mkdir()
    (bench.root / "secrets" / "x").write_text("s")
    (bench.root / "link").symlink_to("secrets/x")
    for line in (
        "cat secrets/x", "cat ./a/../secrets/x", "cat < secrets/x", "cat link", "cat secrets/*", "bash -c 'cat secrets/x'",
        f"cat {bench.root}/secrets/x", "grep -fsecrets/x a", "curl -d @secrets/x h", "git show HEAD:secrets/x", "dd if=secrets/x",
    ):  # fmt: skip
        outcome = await bench.call("bash", command=line)
        assert error_of(outcome) == "permission_denied" and "Read(secrets/**)" in text_of(outcome), line
    assert person.shown == []
    (bench.root / "open").write_text("open")
    assert (await bench.call("bash", command="cat open")).ok
    assert "Read(secrets/**)" in person.shown[0].why and "always" not in person.shown[0].scopes
    assert (await bench.call("bash", command="cat open")).ok
    assert len(person.shown) == 1, "exactly this was allowed"


async def test_in_a_sandbox_that_hides_it_nothing_more_is_asked(tmp_path: Path) -> None:
    person = Person(decision="deny")
    bench, _ = bench_with(tmp_path, person, rules=[DENY, ALLOW], sandbox="complete", mode="work")
    (bench.root / "secrets").mkdir()
    (bench.root / "secrets" / "x").write_text("s")
    assert (await bench.call("bash", command="cat secrets/x")).ok, "what runs it hides the folder"
    assert error_of(await bench.call("bash", command="git show HEAD:secrets/x")) == "permission_denied"
    assert person.shown == []


async def test_what_leaves_the_sandbox_by_a_rule_is_asked_about(tmp_path: Path) -> None:
    person = Person(decision="deny")
    out = parse_rule("Unsandboxed(docker:*)", "allow")
    bench, _ = bench_with(
        tmp_path, person, rules=[DENY, out, parse_rule("Bash(docker:*)", "allow")], sandbox="complete"
    )
    assert error_of(await bench.call("bash", command="docker ps")) == "permission_denied"
    assert "keeps this command from reading" in person.shown[0].why


async def test_a_rule_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    person = Person(decision="deny")
    rules = [parse_rule("Read(/**)", "deny"), parse_rule("Bash(true:*)", "allow")]
    bench, _ = bench_with(tmp_path, person, rules=rules, sandbox="complete", mode="work")
    await bench.call("bash", command="true x")
    assert person.shown[0].why == "Read(/**) cannot be kept for commands: it covers the workspace itself"


async def test_a_workspace_in_which_nothing_may_be_written_is_no_place_for_a_command(tmp_path: Path) -> None:
    """It would have to be read-only as a whole, which the sandbox is not: a command could write what no tool could."""
    person = Person(decision="deny")
    bench, _ = bench_with(tmp_path, person, rules=[parse_rule("Write(**)", "deny")], sandbox="complete", mode="work")  # fmt: skip
    await bench.call("bash", command="touch x")
    assert person.shown[0].why == "Write(**) cannot be kept for commands: it covers the workspace itself"
    assert not (bench.root / "x").exists()


async def test_another_name_of_a_closed_file_is_not_opened_either(tmp_path: Path) -> None:
    person = Person(decision="allow")
    home = tmp_path.resolve() / "home"
    (home / "secrets").mkdir(parents=True)
    (home / "secrets" / "x").write_text("s")
    (home / "second").hardlink_to(home / "secrets" / "x")
    (home / "third").write_text("s")
    bench, gate = bench_with(tmp_path, person, rules=[DENY], sandbox="complete")
    gate.rules.twin = home
    for name, asked in (("second", 0), ("third", 1)):
        await bench.call("request_access", kind="read", target=str(home / name), why="x")
        assert len(person.shown) == asked, name


async def test_nobody_there_and_no_sandbox_runs_nothing(tmp_path: Path) -> None:
    bench, _ = bench_with(tmp_path, Person(), rules=[DENY, ALLOW], unattended="rules", mode="work")
    assert error_of(await bench.call("bash", command="cat open")) == "permission_denied"


def test_places_are_found_and_new_ones_the_next_time(tmp_path: Path) -> None:
    rules = RuleSet(
        [parse_rule("Read(**/*.pem)", "deny"), parse_rule("Read(conf/*/key)", "deny"), parse_rule("Read(x/*)", "ask")],
        tmp_path,
    )  # fmt: skip
    for name in ("a.pem", "d/e/b.pem", "conf/one/key", "conf/two/other", "x/y", "conf/key"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    def names() -> set[str]:
        return {p.relative_to(tmp_path).as_posix() for p in closed_to_commands(rules).places}

    assert names() == {"a.pem", "d/e/b.pem", "conf/one/key", "x"}
    (tmp_path / "d" / "c.pem").write_text("")
    (tmp_path / "a.pem").unlink()
    assert names() == {"d/c.pem", "d/e/b.pem", "conf/one/key", "x"}


def test_more_other_names_than_can_be_covered_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed, "MOST_PLACES", 3)
    rules = RuleSet([parse_rule("Read(dist/**)", "deny")], tmp_path.resolve())
    (tmp_path / "dist").mkdir()
    for number in range(5):
        (tmp_path / "dist" / f"{number}").write_text("x")
        (tmp_path / f"{number}").hardlink_to(tmp_path / "dist" / f"{number}")
    found = closed.closed_to_commands(rules)
    assert len(found.places) == 3 and tmp_path.resolve() / "dist" in found.places
    assert [why for _, why in found.open] == ["it names more than 1,000 places"]
    assert len(found.names) == 5, "tools keep all of them"


def test_another_name_of_a_file_is_kept_by_the_rule_about_that_file(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    rules = RuleSet([parse_rule("Read(a)", "deny"), parse_rule("Read(b)", "ask")], root)
    for name in ("a", "b"):
        (root / name).write_text(name)
        (root / f"{name}2").hardlink_to(root / name)
    first, second = (closed.second_name(root / name, rules) for name in ("a2", "b2"))
    assert first is not None and first.decision == "deny" and "Read(a) is about" in first.why
    assert second is not None and second.decision == "ask" and "Read(b) is about" in second.why


TWIN = ("secrets/**", "PERSON/secrets/**", "WORK/secrets/**", "**/x", "PERSON/**/x")


@pytest.mark.parametrize("pattern", TWIN)
@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_boundary_of_a_project_holds_in_both_places_it_lies_in(
    tmp_path: Path, pattern: str, decision: Any
) -> None:
    work, home = tmp_path.resolve() / "work", tmp_path.resolve() / "home"
    for root in (work, home):
        (root / "secrets").mkdir(parents=True)
        (root / "secrets" / "x").write_text("s")
        (root / "y").write_text("s")
    text = pattern.replace("PERSON", str(home)).replace("WORK", str(work))
    for kind in ("Read", "Write"):
        rules = RuleSet([parse_rule(f"{kind}({text})", decision)], work, home)
        for root in (work, home):
            assert rules.path(kind, root / "secrets" / "x").decision == decision  # type: ignore[arg-type]
            judged = rules.path(kind, root / "y")  # type: ignore[arg-type]
            assert judged.rule is None
    found = closed_to_commands(RuleSet([parse_rule(f"Read({text})", decision)], work, home))
    inner = {work / "secrets", home / "secrets"} if pattern.endswith("/**") else {
        work / "secrets" / "x", home / "secrets" / "x"}  # fmt: skip
    assert set(found.places) == inner and found.open == []


def test_what_is_opened_in_one_place_is_opened_in_none_other(tmp_path: Path) -> None:
    """The person's folder is held by no state, and a worktree is written to without a rule."""
    work, home = tmp_path.resolve() / "work", tmp_path.resolve() / "home"
    work.mkdir()
    home.mkdir()
    for pattern in ("data/**", f"{work}/data/**"):
        rules = RuleSet([parse_rule(f"Write({pattern})", "allow")], work, home)
        assert rules.path("Write", work / "data" / "x").decision == "allow"
        assert rules.path("Write", home / "data" / "x").decision == "ask"
    rules = RuleSet([parse_rule(f"Write({home}/data/**)", "allow")], work, home)
    assert rules.path("Write", home / "data" / "x").decision == "allow"
    assert rules.path("Write", work / "data" / "x").decision == "ask"


def test_nothing_that_holds_what_is_denied_in_the_other_place_is_opened(tmp_path: Path) -> None:
    work, home = tmp_path.resolve() / "work", tmp_path.resolve() / "home"
    for root in (work, home):
        (root / "secrets").mkdir(parents=True)
    rules = [parse_rule("Write(secrets/**)", "deny"), parse_rule(f"Write({home}/**)", "allow")]
    gate = PolicyGate(RuleSet(rules, work, home), Person().desk, sandbox="complete")
    assert gate.opened([], "true", work) == []


async def test_tools_keep_a_closed_file_by_all_its_names(tmp_path: Path) -> None:
    """By a link that is called as the rule says, and by a hard link."""
    person = Person(decision="allow")
    rules = [parse_rule("Read(**/.env)", "deny"), parse_rule("Write(**/.env)", "deny"), DENY]
    bench, gate = bench_with(tmp_path, person, rules=rules)
    bench.services["may_not_read"] = gate.may_not_read
    root = bench.root.resolve()
    (root / "conf").mkdir()
    (root / "conf" / "prod").write_text("needle")
    (root / ".env").symlink_to("conf/prod")
    (root / "secrets").mkdir()
    (root / "secrets" / "x").write_text("needle\n")
    (root / "second").hardlink_to(root / "secrets" / "x")
    (root / "twice").write_text("needle\n")
    (root / "thrice").hardlink_to(root / "twice")
    for tool, fields in (
        ("read", {"path": ".env"}), ("read", {"path": "second"}), ("grep", {"pattern": "needle", "path": "second"}),
        ("write", {"path": ".env", "content": "x"}),
    ):  # fmt: skip
        outcome = await bench.call(tool, **fields)
        assert error_of(outcome) == "permission_denied", (tool, fields)
    found = text_of(await bench.call("grep", pattern="needle"))
    assert "second" not in found and "secrets" not in found and "twice" in found and "thrice" in found
    assert "needle" in text_of(await bench.call("read", path="thrice"))
    assert person.shown == []


async def test_a_link_that_leads_out_is_read_once_that_was_allowed(tmp_path: Path) -> None:
    person = Person(decision="allow", scope="session")
    bench, _ = bench_with(tmp_path, person)
    out = tmp_path / "out.txt"
    out.write_text("there")
    (bench.root / "link").symlink_to(out)
    for _ in range(2):
        assert "there" in text_of(await bench.call("read", path="link"))
    assert len(person.shown) == 1 and str(out) in person.shown[0].why
