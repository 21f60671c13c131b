"""Mode, rules, grants and the person together."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests_support import PATIENCE_S
from toolbench import Bench, error_of, text_of
from worldline.core.access import AccessRequest
from worldline.core.errors import BadInput
from worldline.policy.approvals import ApprovalDesk
from worldline.policy.decide import PolicyGate
from worldline.policy.rules import RuleSet, parse_rule
from worldline.policy.seal import Seal
from worldline.protocol.commands import AnswerApproval
from worldline.protocol.model import Approval


class Person:
    """Answers what is shown as told; without orders it says no."""

    def __init__(self, **answer: Any) -> None:
        self.shown: list[Approval] = []
        self.gone: list[str] = []
        self.answer = answer
        self.desk = ApprovalDesk(self.see, lambda id_, why: self.gone.append(why), timeout_s=PATIENCE_S)

    def see(self, approval: Approval) -> None:
        self.shown.append(approval)
        if self.answer:
            answer = AnswerApproval(id=approval.id, digest=approval.digest, **self.answer)
            asyncio.get_running_loop().call_soon(self.desk.answer, answer)


def bench_with(tmp_path: Path, person: Person, **more: Any) -> tuple[Bench, PolicyGate]:
    root = tmp_path / "ws"
    root.mkdir()
    bench = Bench(root)
    gate = PolicyGate(RuleSet(more.pop("rules", []), root), person.desk, **more)
    bench.pipeline.policy = gate
    return bench, gate


async def test_what_can_be_undone_passes_and_what_reaches_outside_is_asked(tmp_path: Path) -> None:
    person = Person(decision="deny")
    bench, _ = bench_with(tmp_path, person)
    assert (await bench.call("write", path="a.txt", content="x")).ok
    assert (await bench.call("read", path="a.txt")).ok
    assert person.shown == []
    for tool, fields in [
        ("write", {"path": "../out.txt", "content": "x"}),
        ("write", {"path": ".git/hooks/pre-commit", "content": "x"}),
        ("read", {"path": "/etc/hostname"}),
        ("bash", {"command": "ls"}),
        ("web_fetch", {"url": "http://127.0.0.1:9/"}),
        ("request_access", {"kind": "net", "target": "example.org:443", "why": "docs"}),
    ]:
        outcome = await bench.call(tool, **fields)
        assert error_of(outcome) == "permission_denied", tool
    assert len(person.shown) == 6
    assert person.shown[0].diff is not None and person.shown[0].diff.rows
    assert not (tmp_path / "out.txt").exists()
    assert "always" not in person.shown[1].scopes


async def test_a_link_that_leads_out_is_not_written_through(tmp_path: Path) -> None:
    person = Person(decision="allow")
    bench, _ = bench_with(tmp_path, person)
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.root / "link").symlink_to(outside)
    (outside / "f").write_text("old")
    assert error_of(await bench.call("write", path="link/f", content="new")) == "link_leads_out"
    assert error_of(await bench.call("edit", path="link/f", old="old", new="new")) == "link_leads_out"
    assert (outside / "f").read_text() == "old"


async def test_plan_mode_only_reads(tmp_path: Path) -> None:
    person = Person(decision="allow")
    bench, gate = bench_with(tmp_path, person, mode="plan")
    for tool, fields in [("write", {"path": "a", "content": "x"}), ("bash", {"command": "ls"})]:
        outcome = await bench.call(tool, **fields)
        assert error_of(outcome) == "permission_denied" and "plan mode" in text_of(outcome)
    assert (await bench.call("list_dir")).ok
    gate.mode = "ask"
    assert (await bench.call("write", path="a", content="x")).ok


@pytest.mark.parametrize(
    ("sandbox", "mode", "asked"),
    [("none", "work", 1), ("complete", "work", 0), ("complete", "ask", 1), ("partial", "work", 1)],
)
async def test_commands_pass_unasked_only_in_a_complete_sandbox(
    tmp_path: Path, sandbox: Any, mode: Any, asked: int
) -> None:
    person = Person(decision="allow")
    bench, _ = bench_with(tmp_path, person, sandbox=sandbox, mode=mode)
    assert (await bench.call("bash", command="bash -c true; somethingunknown || true")).ok
    assert len(person.shown) == asked


async def test_scopes(tmp_path: Path) -> None:
    saved: list[str] = []
    person = Person(decision="allow", scope="branch")
    bench, _ = bench_with(tmp_path, person, save_rule=saved.append)
    for _ in range(2):
        assert (await bench.call("bash", command="echo a")).ok
    assert len(person.shown) == 1 and len(bench.state.grants) == 1
    assert (await bench.call("bash", command="echo b")).ok
    assert len(person.shown) == 2
    bench.state.grants.clear()  # another branch
    assert (await bench.call("bash", command="echo a")).ok
    assert len(person.shown) == 3
    person.answer = {"decision": "allow", "scope": "session"}
    target = str(tmp_path / "out.txt")
    assert (await bench.call("write", path=target, content="1")).ok
    bench.state.files.clear()
    assert (await bench.call("write", path=target, content="2")).ok
    assert len(person.shown) == 4
    person.answer = {"decision": "allow", "scope": "always"}
    assert (await bench.call("bash", command="git status")).outcome.value == "failed"
    assert saved == ["Bash(git status:*)"]
    assert (await bench.call("bash", command="git status -s")).outcome.value == "failed"
    assert len(person.shown) == 5


async def test_edited_arguments_run_and_a_scope_that_is_not_offered_is_refused(tmp_path: Path) -> None:
    person = Person(decision="allow", edited_input={"command": "echo mine"}, scope="session")
    bench, gate = bench_with(tmp_path, person)
    outcome = await bench.call("bash", command="echo theirs")
    assert "mine" in text_of(outcome) and outcome.input == {"command": "echo mine"}
    assert gate.grants.session == []
    person.answer = {}
    task = asyncio.create_task(bench.call("bash", command="sudo true"))
    while len(person.shown) < 2:
        await asyncio.sleep(0.01)
    shown = person.shown[-1]
    with pytest.raises(BadInput):
        person.desk.answer(
            AnswerApproval(id=shown.id, digest=shown.digest, decision="allow", scope="session")
        )
    person.desk.stop_all()
    assert error_of(await task) == "cancelled"


async def test_no_answer_is_a_denial_and_the_next_waits_its_turn(tmp_path: Path) -> None:
    person = Person()
    person.desk._timeout_s = 0.1
    bench, _ = bench_with(tmp_path, person)
    outcomes = await asyncio.gather(*(bench.call("bash", command=f"echo {n}") for n in range(2)))
    assert [error_of(outcome) for outcome in outcomes] == ["approval_timeout", "approval_timeout"]
    assert person.gone == ["timeout", "timeout"] and person.desk.pending() == []


async def test_a_cancelled_run_takes_its_request_back(tmp_path: Path) -> None:
    person = Person()
    bench, _ = bench_with(tmp_path, person)
    task = asyncio.create_task(bench.call("bash", command="echo x"))
    while not person.shown:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert person.desk.pending() == [] and person.gone == ["stopped"]


@pytest.mark.parametrize(
    ("unattended", "ok"), [("deny", [False, False]), ("rules", [True, False]), ("allow", [True, True])]
)
async def test_without_a_person(tmp_path: Path, unattended: Any, ok: list[bool]) -> None:
    person = Person()
    rules = [parse_rule("Bash(echo *)", "allow")]
    bench, _ = bench_with(tmp_path, person, rules=rules, unattended=unattended)
    outcomes = [await bench.call("bash", command="echo a"), await bench.call("bash", command="true")]
    assert [outcome.ok for outcome in outcomes] == ok
    assert person.shown == []
    assert (await bench.call("write", path="a", content="x")).ok


CONFIG = """[remote "origin"]
\turl = https://me:secret@example.org/me/shop.git
[remote "backup"]
\turl = git@backup.example:shop.git
[remote "fork"]
\tpushurl = https://fork.example/shop.git
\turl = https://example.org/other.git
"""


@pytest.mark.parametrize("mode", ["ask", "work"])
@pytest.mark.parametrize("sandbox", ["complete", "partial", "none"])
@pytest.mark.parametrize(
    ("command", "config", "place"),
    [
        ("git push origin wip", "", "https://example.org/me/shop.git"),
        ("git push backup wip", "", "git@backup.example:shop.git"),
        ("git push -u fork HEAD", "", "https://fork.example/shop.git"),
        ("git add . && git push", "", "https://example.org/me/shop.git"),
        ("git push", '[branch "wip"]\n\tremote = backup\n', "git@backup.example:shop.git"),
        ("git push", '[remote]\n\tpushDefault = fork\n', "https://fork.example/shop.git"),
        (
            "git push",
            '[branch "wip"]\n\tremote = origin\n\tpushRemote = backup\n[remote]\n\tpushDefault = fork\n',
            "git@backup.example:shop.git",
        ),
        ("git push https://who:knows@other.example/x.git main", "", "https://other.example/x.git"),
        ("git push https://who:se@knows@other.example/x.git main", "", "https://other.example/x.git"),
        ("git push nowhere main", "", "a remote whose address is not known here"),
    ],
)  # fmt: skip
async def test_a_push_says_where_to_and_that_it_cannot_be_taken_back(
    tmp_path: Path, mode: Any, sandbox: Any, command: str, config: str, place: str
) -> None:
    person = Person(decision="deny")
    bench, _ = bench_with(tmp_path, person, mode=mode, sandbox=sandbox)
    git = bench.root / ".git"
    for folder in (git / "objects", git / "refs"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/wip\n")
    (git / "config").write_text(CONFIG + config)
    assert error_of(await bench.call("bash", command=command)) == "permission_denied"
    (asked,) = person.shown
    assert f"it publishes to {place}; what others fetch from there cannot be taken back" in asked.why
    assert "no rule allows" not in asked.why, "the lesser reason"
    assert "secret" not in asked.why + asked.effect and "knows" not in asked.why + asked.effect
    assert "not confined" in asked.why or sandbox != "none" or mode == "work"


async def test_a_push_that_a_rule_asks_about_says_where_to_as_well(tmp_path: Path) -> None:
    person = Person(decision="deny")
    bench, _ = bench_with(tmp_path, person, rules=[parse_rule("Bash(git push:*)", "ask")], mode="work")
    await bench.call("bash", command="git push https://example.org/x.git main")
    assert person.shown[0].why == (
        "the rule Bash(git push:*) asks; it publishes to https://example.org/x.git; "
        "what others fetch from there cannot be taken back"
    )


async def test_ask_rules_beat_grants_and_deny_rules_beat_everything(tmp_path: Path) -> None:
    person = Person(decision="allow")
    rules = [
        parse_rule("Bash(git push:*)", "ask"),
        parse_rule("Bash(rm *)", "deny"),
        parse_rule("Tool(web_fetch)", "deny"),
    ]
    bench, _ = bench_with(tmp_path, person, rules=rules, mode="work", sandbox="complete")
    for _ in range(2):
        await bench.call("bash", command="git push")
    assert len(person.shown) == 2 and person.shown[0].scopes == ["once"]
    assert error_of(await bench.call("bash", command="rm x")) == "permission_denied"
    assert error_of(await bench.call("web_fetch", url="http://127.0.0.1:9/")) == "permission_denied"
    assert len(person.shown) == 2


async def test_an_opening_for_the_sandbox(tmp_path: Path) -> None:
    person = Person(decision="allow")
    bench, gate = bench_with(tmp_path, person)
    outcome = await bench.call("request_access", kind="write", target="/opt/x", why="install")
    assert outcome.ok and gate.grants.openings(gate.rules, bench.state.grants) == ["Write(/opt/x)"]
    gate.grants.once.clear()
    assert gate.grants.openings(gate.rules, bench.state.grants) == []
    person.answer["scope"] = "branch"
    await bench.call("request_access", kind="net", target="example.org:443", why="docs")
    assert gate.grants.openings(gate.rules, bench.state.grants) == ["Net(example.org:443)"]
    person.desk._timeout_s = 0.1  # an answer for a scope that is not offered is none
    docker = await bench.call("request_access", kind="socket", target="/run/docker.sock", why="build")
    assert docker.ok is False or person.shown[-1].scopes == ["once"]


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("write", "/opt/*"), ("read", "/home/[ab]"), ("socket", "/run/?.sock"), ("net", "*:443"), ("net", "*.example.org:443"),
        ("net", "example.org:99999"), ("net", "example.org:x"), ("net", "[::1"), ("net", ":443"),
    ],
)  # fmt: skip
async def test_access_is_asked_for_one_thing_and_no_bad_name_breaks_the_rest(
    tmp_path: Path, kind: str, target: str
) -> None:
    person = Person(decision="allow", scope="session")
    bench, gate = bench_with(tmp_path, person)

    assert (
        error_of(await bench.call("request_access", kind=kind, target=target, why="x")) == "permission_denied"
    )

    assert not person.shown and gate.grants.openings(gate.rules, bench.state.grants) == []
    assert (await bench.call("request_access", kind="net", target="example.org:443", why="docs")).ok


async def test_what_is_known_of_a_place_is_not_covered_by_what_the_agent_says(tmp_path: Path) -> None:
    person = Person()
    person.answer = {"decision": "deny"}
    bench, _ = bench_with(tmp_path, person)
    key = Path.home() / ".ssh" / "id_rsa"

    await bench.call("request_access", kind="read", target=str(key), why="only a harmless note")

    assert "keys" in person.shown[0].why and person.shown[0].scopes == ["once"]
    assert person.shown[0].why.endswith("only a harmless note")
    assert person.shown[0].agent_says == "only a harmless note"


async def test_a_file_with_a_wildcard_in_its_name_opens_no_other(tmp_path: Path) -> None:
    person = Person(decision="allow")
    bench, gate = bench_with(tmp_path, person)

    await bench.call("write", path=str(tmp_path / "a*"), content="x")

    assert person.shown[0].scopes == ["once"] and person.shown[0].rule == ""
    assert gate.grants.openings(gate.rules, bench.state.grants) == []


async def test_a_grant_counts_where_it_was_given_alone(tmp_path: Path) -> None:
    """A session file that came from somebody else may hold any."""
    person = Person(decision="allow", scope="branch")
    bench, gate = bench_with(tmp_path, person, seal=Seal(tmp_path / "key", "here"))
    await bench.call("request_access", kind="net", target="example.org:443", why="docs")
    given = list(bench.state.grants)
    assert gate.grants.openings(gate.rules, given) == ["Net(example.org:443)"]
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0

    foreign = [
        {"digest": "", "rule": "Write(/home)", "at": 1},
        {**given[0], "rule": "Net(evil.example:443)"},
        Seal(tmp_path / "other", "here").put({"digest": "", "rule": "Write(/home)", "at": 1}),
    ]
    assert gate.grants.openings(gate.rules, foreign) == []
    elsewhere = PolicyGate(RuleSet([], tmp_path), person.desk, seal=Seal(tmp_path / "key", "there"))
    assert elsewhere.grants.openings(elsewhere.rules, given) == []
    again = PolicyGate(RuleSet([], tmp_path), person.desk, seal=Seal(tmp_path / "key", "here"))
    assert again.grants.openings(again.rules, given) == ["Net(example.org:443)"]
    bench.state.grants[:] = [{**foreign[0], "rule": f"Write({tmp_path})"}]
    await bench.call("write", path=str(tmp_path / "x"), content="x")
    assert len(person.shown) == 2, "it is asked about"


def test_a_key_that_cannot_be_kept_only_forgets(tmp_path: Path) -> None:
    grant = {"digest": "d", "rule": "", "at": 1}
    assert not Seal(tmp_path / "missing" / "key", "s").holds(
        Seal(tmp_path / "missing" / "key", "s").put(grant)
    )
    (tmp_path / "key").write_bytes(b"cut")
    first = Seal(tmp_path / "key", "s")
    assert Seal(tmp_path / "key", "s").holds(first.put(grant))


def test_engines_that_start_at_once_make_one_key(tmp_path: Path) -> None:
    grant = {"digest": "d", "rule": "", "at": 1}
    with ThreadPoolExecutor(6) as pool:
        for number in range(100):
            key, start = tmp_path / f"key-{number}", threading.Barrier(6)

            def make(_: int, key: Path = key, start: threading.Barrier = start) -> Seal:
                start.wait(PATIENCE_S)
                return Seal(key, "s")

            seals = list(pool.map(make, range(6)))
            assert all(one.holds(other.put(grant)) for one in seals for other in seals)
    assert len(list(tmp_path.iterdir())) == 100, "nothing is left beside the keys"


def test_what_is_no_key_is_neither_waited_for_nor_taken_away(tmp_path: Path) -> None:
    grant = {"digest": "d", "rule": "", "at": 1}
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        seal = Seal(tmp_path / name, "s")
        assert seal.holds(seal.put(grant)) and not Seal(tmp_path / name, "s").holds(seal.put(grant))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


async def test_a_grant_for_the_sandbox_is_none_without_it(tmp_path: Path) -> None:
    person = Person(decision="allow", scope="session")
    bench, gate = bench_with(tmp_path, person, sandbox="complete")
    call = {"command": "true && echo hello"}
    await bench.call("bash", **call)
    await bench.call("bash", **call)
    assert len(person.shown) == 1
    gate.sandbox = "none"
    await bench.call("bash", **call)
    assert len(person.shown) == 2, "what was allowed where it was confined is asked about where it is not"
    gate.sandbox = "complete"
    await bench.call("bash", **call)
    assert len(person.shown) == 2, "what was allowed without the sandbox is allowed in it"


def test_what_is_denied_is_not_opened_by_a_rule_that_allows_more(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "secret").mkdir(parents=True)
    (outside / "open").mkdir()
    rules = [
        parse_rule(f"Write({outside}/secret/**)", "deny"),
        parse_rule("Unsandboxed(docker run:*)", "deny"),
        parse_rule("Net(api.example.org)", "deny"),
        parse_rule(f"Read({outside}/open)", "ask"),
        parse_rule(f"Write({outside}/**)", "allow"),
        parse_rule(f"Write({outside}/open/**)", "allow"),
        parse_rule(f"Read({outside}/open)", "allow"),
        parse_rule("Unsandboxed(docker:*)", "allow"),
        parse_rule("Net(api.example.org:443)", "allow"),
    ]
    root = tmp_path / "ws"
    root.mkdir()
    gate = PolicyGate(RuleSet(rules, root), Person().desk, sandbox="complete")
    grant = {"rule": f"Write({outside}/secret/x)"}
    assert [(g.kind, g.target) for g in gate.opened([grant], "docker run x", root)] == [
        ("write", str((outside / "open").resolve()))
    ]
    assert "unconfined" in [g.kind for g in gate.opened([], "docker ps", root)]
    gate.grants.once.append(f"Read({outside}/open)")
    assert "read" in [g.kind for g in gate.opened([], "docker run x", root)], (
        "it was asked about for this call"
    )
    assert "read" not in [g.kind for g in gate.opened([], "docker run x", root)]


async def test_a_search_shows_nothing_of_files_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [parse_rule("Read(secrets/**)", "deny"), parse_rule("Read(**/*.pem)", "ask")]
    person = Person(decision="allow")
    bench, gate = bench_with(tmp_path, person, rules=rules)
    bench.services["may_not_read"] = gate.may_not_read
    (bench.root / "secrets").mkdir()
    for name in ("secrets/a-1-b.txt", "x.pem", "open-1-x.txt"):
        (bench.root / name).write_text("before\nneedle here\nafter\n")
    for path in (os.environ["PATH"], str(tmp_path)):  # with ripgrep, and without
        monkeypatch.setenv("PATH", path)
        found = text_of(await bench.call("grep", pattern="needle", context=1))
        assert "open-1-x.txt:2:needle here" in found and "open-1-x.txt-1-before" in found
        assert "secrets" not in found and "x.pem" not in found
    assert person.shown == []
    assert "x.pem:2:needle" in text_of(await bench.call("grep", pattern="needle", path="x.pem"))
    assert len(person.shown) == 1


async def test_how_far_a_lasting_grant_goes_is_said(tmp_path: Path) -> None:
    """Of a tool whose arguments decide everything as well."""
    person = Person(decision="allow", scope="session")
    bench, gate = bench_with(tmp_path, person, mode="ask")
    root = bench.root.resolve()

    async def asked(**fields: Any) -> str:
        request = AccessRequest(call_id="1", root=root, **fields)
        await gate.decide(request)
        return person.shown[-1].reach

    assert (
        await asked(tool="mail__send", access="execute", input={"to": "a"})
        == "every call of mail__send, with any arguments"
    )
    shown = len(person.shown)
    await asked(tool="mail__send", access="execute", input={"to": "everybody"})
    assert len(person.shown) == shown, "as it was said"
    assert (await asked(tool="bash", access="execute", input={"command": "x y"}, command="x y")).startswith(
        "exactly this command"
    )
    assert "every request to h:443" in await asked(
        tool="web_fetch", access="network", input={}, url="https://h/x"
    )
    assert "every change of /opt/x" in await asked(
        tool="request_access", access="ask", input={}, target="write:/opt/x"
    )
    assert "reading /opt/y" in await asked(
        tool="read", access="read", input={"path": "/opt/y"}, reads=[Path("/opt/y")]
    )
    person.answer = {"decision": "deny"}
    assert (
        await asked(tool="request_access", access="ask", input={"a": 1}, target="socket:/run/docker.sock")
        == ""
    )
