"""Every sentence that the engine makes for the person has a template in every language: found in the source by its
place (arguments of errors, fields and tables of sentences), not by a list that someone would have to keep."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worldline
from worldline.viewmodel import engine_words

ROOT = Path(worldline.__file__).parent
PARTS = ("engine", "agent", "provider", "policy", "workspace", "session", "context",
         "tools/breaker.py", "tools/hooks.py", "tools/mcp_client.py", "client", "cli")  # fmt: skip
"""Tools speak to the model; three of them to the person as well."""
ERRORS = {"WorldlineError", "BadInput", "SessionError", "WorkspaceError", "ProviderError",
          "SandboxFailed", "CompactionRefused"}  # fmt: skip
FIELDS = {"sentence", "detail", "why", "reason", "note", "undo_label", "effect", "fix", "lossy", "advice",
          "last_stop_detail", "cost_note", "saved_note", "recovered", "copy_first"}  # fmt: skip
ARGUMENTS = {
    "say": (0,), "told": (0,),
    "diagnose": (1,), "Judgement": (2,), "Brake": (1,), "Stopped": (1,), "Omitted": (1,), "effect": (3,), "Step": (1,),
    "_not_saved": (0, 1), "progress": (1,), "repair": (1,), "Repair": (2,), "Question": (1,), "CacheVerdict": (2,), "set_state": (1,),
}  # fmt: skip
"""Positions of sentences in calls that are no errors."""
TABLES = {
    "provider/failure_words.py": ("_WORDS",), "provider/cache_health.py": ("_WORDS",),
    "policy/wording.py": ("_GIT", "_EFFECT", "_PUSH"), "policy/decide.py": ("_TITLES",),
    "policy/judging.py": ("_LASTING", "_PUSHES", "_PUSHES_SOMEWHERE"),
    "tools/breaker.py": ("_HINTS",), "policy/closed.py": ("_HOLDS_WORKSPACE", "_NEEDED", "_TOO_MANY", "_NOT_ALL_SEEN"),
    "engine/approvals.py": ("_READS_KEPT", "_READS_OTHER_NAMES", "_READS_NOT_KEPT", "_WRITES_KEPT", "_WRITES_NOT_KEPT"),
}  # fmt: skip
NEVER_SEEN = (
    "session/importers/claude", "session/importers/codex.py", "session/importers/pi.py", "session/importers/tree.py",
    "session/importers/write.py", "session/export/",
    "session/pages.py", "policy/sandbox/inside/", "engine/notes.py", "policy/answers.py",
    "provider/accumulator.py", "provider/sdk.py", "provider/sse.py", "context/check", "engine/subagents.py",
    "context/compact_text.py", "session/schema.py", "session/model.py", "agent/journal.py",
)  # fmt: skip
"""What the command line, the log or the model reads, and what the window shows as it came from a server."""
COMPOSED = {
    "It is X from X to X.", "X earlier steps are X.", "On this branch this step is X.", "X at X", "X MB", "X bytes",
    "unsendable X",
    "X X to X", "X X at X", "X was X", "X since", "X, and it differs at that node",
    "X since; your version is kept in the node before the jump", "X; what is there is kept in the node before the jump",
    "From here the model knows the first X messages X.",
}  # fmt: skip
"""Put together from words that the source chooses a line before: the templates hold each whole sentence."""
NOT_FOR_THE_WINDOW = ("ToolError", "ToolFailure", "failure", "fail", "denied", "user_error", "environment")
"""Calls that make answers for the model."""


def texts(node: ast.expr) -> list[str] | None:
    """The texts that an expression can be, with X in place of what is filled in; None = it is no text of ours."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else None
    if isinstance(node, ast.IfExp):
        return [*(texts(node.body) or []), *(texts(node.orelse) or [])] or None
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in texts(value) or []] or None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = texts(node.left), texts(node.right)
        if left is None and right is None:
            return None
        return ["".join(pair) for pair in itertools.product(left or ["X"], right or ["X"])]
    if isinstance(node, ast.JoinedStr):
        parts = [
            [str(part.value)] if isinstance(part, ast.Constant) else texts(part.value) or ["X"]
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        ]
        return ["".join(parts) for parts in itertools.product(*parts)]
    return None


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def places(tree: ast.Module, tables: tuple[str, ...]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = name_of(node)
            if name in ERRORS:
                yield from node.args[:2]
                yield from (k.value for k in node.keywords if k.arg in ("message", "hint"))
            elif name == "append" and isinstance(node.func, ast.Attribute):
                if ast.unparse(node.func.value).endswith(("notes", "problems")):
                    yield node.args[0]
            elif name not in NOT_FOR_THE_WINDOW:
                yield from (node.args[at] for at in ARGUMENTS.get(name, ()) if at < len(node.args))
                yield from (k.value for k in node.keywords if k.arg in FIELDS)
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            named = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if named in FIELDS:
                yield node.value
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", "") in tables:
                table = node.value
                yield from _of_table(table)


def _of_table(table: ast.expr) -> Iterator[ast.expr]:
    if isinstance(table, ast.Dict):
        for value in table.values:
            yield from value.elts[2:4] if isinstance(value, ast.Tuple) else [value]
    else:
        yield table


def sentences() -> Iterator[tuple[str, str]]:
    for part in PARTS:
        for file in sorted((ROOT / part).rglob("*.py")) or [ROOT / part]:
            short = file.relative_to(ROOT).as_posix()
            if short.startswith(NEVER_SEEN):
                continue
            for place in places(ast.parse(file.read_text(encoding="utf-8")), TABLES.get(short, ())):
                for text in texts(place) or ():
                    if (
                        text not in COMPOSED
                        and " " in text.strip()
                        and any(c.isalpha() and c != "X" for c in text)
                    ):
                        yield f"{short}:{place.lineno}", text


def fits(text: str) -> bool:
    """A number or a name may stand in a place; a sentence after which another one stands has its full stop."""
    catalogue = engine_words.catalogue()
    assert catalogue is not None
    variants = (
        text,
        text.replace("X", "7"),
        text.replace("X ", "Stopped. ").replace("X", "7"),
        text.replace(" X", " Stopped."),
    )
    return any(catalogue.fits(variant.strip()) for variant in variants)


def test_every_sentence_has_a_template() -> None:
    engine_words.use("zh_CN")
    try:
        found = list(dict.fromkeys(sentences()))
        missing = [f"{where}  {text}" for where, text in found if not fits(text)]
    finally:
        engine_words.use("en")
    assert len(found) > 500, "the search finds the sentences"
    if missing:
        pytest.fail(f"{len(missing)} of {len(found)} sentences have no template:\n" + "\n".join(missing))


NO_SENTENCES = {
    "git push", " with data", "<standard input>:", "X X to X", "X X at X", "X was X", "an ssh key", "a stored password",
    "X is no plain file of a sensible size", "tool run", "bisect run", "submodule foreach",
}  # fmt: skip
NOT_READ = {
    "policy/sandbox/seatbelt.py": (),
    "policy/sandbox/selftest.py": ("import os", "A server that one command"),
    "policy/sandbox/proxy.py": ("this name leads", "this proxy is that", "not a proxy", "the host has no"),
    "policy/pushing.py": (
        "could not read (?:",
        "This push goes to",
        "The person is asked",
        "Run exactly this",
    ),
}
"""Where texts are for a program or the model, or the beginning of a sentence. () = all of them."""


def literals_of_the_policy() -> Iterator[tuple[str, str]]:
    """All that looks like words, wherever it stands: a reason may be put into a variable, a table or a call that no list
    of places knows."""
    for file in sorted((ROOT / "policy").rglob("*.py")):
        short = file.relative_to(ROOT).as_posix()
        excused = NOT_READ.get(short)
        if short.startswith(NEVER_SEEN) or excused == ():
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {
            id(p) for j in ast.walk(tree) if isinstance(j, ast.JoinedStr) for p in ast.walk(j) if p is not j
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in notes | parts:
                for text in texts(node) or ():
                    known = text in NO_SENTENCES or text.strip().startswith(excused or ("\0",))
                    if not known and re.search(r"[a-z]{2,} [a-z]|[a-z]{2,}[ ,;:]+X", text):
                        yield f"{short}:{node.lineno}", text


def test_no_reason_of_the_policy_is_in_english_alone() -> None:
    engine_words.use("zh_CN")
    try:
        found = list(dict.fromkeys(literals_of_the_policy()))
        missing = [f"{where}  {text!r}" for where, text in found if not fits(text) and not fits(f"X{text}")]
    finally:
        engine_words.use("en")
    assert len(found) > 150, "the search finds them"
    assert not missing, "write a template, or say in NO_SENTENCES why it is none:\n" + "\n".join(missing)


LINES = (
    "cat x", "git push origin main", "npm publish", "rm -rf x", "sudo ls", "x=$(ls); $x", "eval $x", "bash -c \"$x\"", "((", "ls > /etc/x",
    "PATH=x ls", "docker ps", "curl h", "pip install x", "cat ~/.ssh/id", "python -c 1", "[[ 'a[$(x)]' -eq 1 ]]", "./git status",
    "cat secrets/x", "ssh host ls", "> $x", "*x a", "find . -exec rm {} +",
)  # fmt: skip


@pytest.mark.parametrize("sandbox", ["complete", "partial", "none"])
def test_what_is_said_of_a_command_is_said_in_chinese(tmp_path: Path, sandbox: Any) -> None:
    """As it is put together: reason, effect and marks."""
    from worldline.core.access import AccessRequest
    from worldline.policy.closed import closed_to_commands, names_closed
    from worldline.policy.judging import Judge
    from worldline.policy.rules import RuleSet, parse_rule
    from worldline.policy.wording import marks

    sets: tuple[tuple[tuple[str, Any], ...], ...] = (
        (), (("Bash(git push:*)", "ask"), ("Bash(rm:*)", "deny"), ("Bash(cat:*)", "allow")), (("Read(secrets)", "ask"), ("Read(/**)", "deny")),
    )  # fmt: skip
    engine_words.use("zh_CN")
    try:
        for line, given, mode in itertools.product(LINES, sets, ("ask", "work")):
            rules = RuleSet([parse_rule(text, decision) for text, decision in given], tmp_path)
            judge = Judge(
                rules, mode, sandbox, closed_to_commands(rules), names_closed(line, rules, tmp_path)
            )  # type: ignore[arg-type]
            asked = judge.judge(AccessRequest("", "bash", "execute", {}, tmp_path, command=line))
            for text in (asked.judgement.why, asked.effect, *(mark[2] for mark in marks(line))):
                said = re.sub(r"`[^`]*`|\(`?\w[^()]*\)|1:\d+.*", "", engine_words.say(text))
                assert not re.search(r"[a-z]{2,},? [a-z]{2,} [a-z]{2,}", said), (text, said)
    finally:
        engine_words.use("en")


def test_no_text_of_the_window_hides_in_an_f_string() -> None:
    """The tool that collects texts does not look into f-strings: what stands there is never translated."""
    hidden = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for part in ("ui", "viewmodel")
        for file in (ROOT / part).rglob("*.py")
        for text in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and name_of(call) in ("tr", "translate")
    ]
    assert not hidden


FAILURES = ("ToolError", "ToolFailure", "fail")
"""Calls in which a tool says what went wrong: as `message`, or third."""
NOT_WHOLE = {"X: X.", "X X.", "The arguments are not valid JSONX: X."}
"""What the system said of a file, in its words; and put together of parts that have templates."""


def failures() -> Iterator[tuple[str, str]]:
    for file in sorted(ROOT.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or name_of(call) not in FAILURES:
                continue
            said = [k.value for k in call.keywords if k.arg == "message"]
            said += call.args[2:3] if name_of(call) == "fail" else []
            for text in (text for place in said for text in texts(place) or ()):
                if " " in text.strip() and text not in NOT_WHOLE:
                    yield f"{file.relative_to(ROOT).as_posix()}:{call.lineno}", text


def test_what_a_tool_says_of_its_failure_has_a_template_too() -> None:
    """The card of a call shows it to the person. (Advice on it is the model's.)"""
    engine_words.use("zh_CN")
    try:
        found = list(dict.fromkeys(failures()))
        missing = []
        for where, text in found:
            # What stands before may be the number of a part; after it, another sentence.
            variants = {text, text.replace("X", "7"), text.removeprefix("X"), text.removesuffix("X"),
                        text.replace("X ", "Stopped. ", 1).replace("X", "7"), text.replace(". X", ".")}  # fmt: skip
            if not any(re.search("[\u4e00-\u9fff]", engine_words.failure(one)) and not
                       re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", engine_words.failure(one)) for one in variants):  # fmt: skip
                missing.append(f"{where}  {text}")
    finally:
        engine_words.use("en")
    assert len(found) > 70, "the search finds them"
    if missing:
        pytest.fail(f"{len(missing)} of {len(found)} have no template:\n" + "\n".join(missing))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("src/a.py is not there.", "src/a.py 不存在。"),
        ("edits.2: `old` is not in src/a.py; nothing was written.", "edits.2：`old` 不在 src/a.py 中；未写入任何内容。"),
        ("The command ran longer than 30 s and was ended with everything it had started. Could not be ended: 12, 13.",
         "命令运行超过 30 秒，已连同其启动的所有进程一起结束。无法结束：12, 13。"),
        ("There is no process 'p9'.", "没有进程 'p9'。"),
        ("The model is overloaded.", "模型过载。"),
        ("Traceback of something else entirely", "Traceback of something else entirely"),
    ],
)  # fmt: skip
def test_failures_as_they_are_shown(said: str, shown: str) -> None:
    engine_words.use("zh_CN")
    try:
        assert engine_words.failure(said) == shown
    finally:
        engine_words.use("en")
    assert engine_words.failure(said) == said
