"""Realistic sample data for pictures and tests of single views: one session about a parser, and what goes wrong in it."""

from __future__ import annotations

from typing import TypeVar

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.protocol.commands import Attempt, Compare, Pruned, Storage, StoredSession
from worldline.protocol.folders import SessionFolder
from worldline.protocol.model import (
    Approval,
    Body,
    DiffRow,
    EffectInfo,
    FileChange,
    FileDiff,
    JumpPlan,
    PlanEntry,
    ProcessInfo,
    Question,
    RunInfo,
)
from worldline.protocol.wire import Message
from worldline.viewmodel import engine_words
from worldline.viewmodel.storage import LostGroup

Said = TypeVar("Said", bound=Message)


def said(message: Said) -> Said:
    """As the window takes it in: with the engine's sentences in its language."""
    return type(message).model_validate(engine_words.message(message.model_dump()))


SESSIONS = (
    ("Fix the parser", "/home/me/code/shop", 184),
    ("Rewrite the report in SQL", "/home/me/code/reports", 1_620),
    ("Why is CI slow?", "/home/me/code/shop", 97),
    ("Notes for the release", "/home/me/work/notes", 21),
)
"""Title, folder and number of nodes."""
T0 = 1_790_000_000_000


def header(seq: int, kind: NodeKind, preview: str, **more: object) -> NodeHeader:
    return NodeHeader(
        seq=seq,
        uid=f"{seq:016x}",
        parent=seq - 1,
        kind=kind,
        created=T0 + seq * 9_000,
        preview=preview,
        **more,  # type: ignore[arg-type]
    )


def reply(text: str, thinking: str = "") -> dict[str, object]:
    content = [{"type": "thinking", "thinking": thinking}] if thinking else []
    return {"role": "assistant", "content": [*content, {"type": "text", "text": text}]}


def result(text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}


REPLY = """The test fails because `split` knows nothing about quotes. Two ways to repair it:

1. **Tokenise first**: small, and errors can say the column.
2. Use the `csv` module: shorter, but it accepts *mixed* quoting that the format forbids.

I take the first one:

```python
def split_quoted(text: str, sep: str = ",") -> list[str]:
    \"\"\"Fields of one line; quotes protect separators.\"\"\"
    fields, field, quoted = [], "", False
    for char in text:
        if char == '"':
            quoted = not quoted
        elif char == sep and not quoted:
            fields.append(field)
            field = ""
        else:
            field += char  # keep spaces as they are
    return [*fields, field]
```

| input | before | after |
|---|---|---|
| `a,b` | 2 fields | 2 fields |
| `"a,b",c` | 3 fields | 2 fields |
"""

DIFF_BEFORE = ["def parse(text):", '    """Fields of a line."""', '    return text.split(",")', ""]


def parser_diff() -> FileDiff:
    rows = [
        DiffRow(kind="@", text="@@ -10,6 +10,9 @@ from shop.errors import ParseError"),
        DiffRow(kind=" ", old=10, new=10, text=""),
        DiffRow(kind=" ", old=11, new=11, text=""),
        DiffRow(kind=" ", old=12, new=12, text="def parse(text: str) -> list[str]:"),
        DiffRow(kind="-", old=13, text='    return text.split(",")'),
        DiffRow(kind="+", new=13, text='    return split_quoted(text, ",")', author="0000000000000006"),
        DiffRow(kind=" ", old=14, new=14, text=""),
        DiffRow(kind=" ", old=15, new=15, text=""),
        DiffRow(kind="-", old=16, text="def count(lines, strict = False):  # counts the rows"),
        DiffRow(kind="+", new=16, text="def count(lines: list[str], strict: bool = False) -> int:"),
        DiffRow(
            kind="+",
            new=17,
            text='    """Rows that can be read; raises ParseError for the first that cannot."""',
        ),
        DiffRow(kind=" ", old=17, new=18, text="    total = 0"),
        DiffRow(kind=" ", old=18, new=19, text="    for number, line in enumerate(lines, start=1):"),
        DiffRow(kind="@", text="@@ -41,5 +44,6 @@ def report(rows):"),
        DiffRow(kind=" ", old=41, new=44, text="    for row in rows:"),
        DiffRow(kind="-", old=42, text='        print("%s: %d" % (row.name, row.total))'),
        DiffRow(kind="+", new=45, text='        print(f"{row.name}: {row.total:,}")', author="user"),
        DiffRow(kind="+", new=46, text="    return len(rows)", author="user"),
        DiffRow(kind=" ", old=43, new=47, text=""),
    ]
    return FileDiff(change=change("src/shop/parser.py", "M", 30, 9), rows=rows)


def change(path: str, status: str = "M", added: int = 0, removed: int = 0, **more: object) -> FileChange:
    return FileChange(path=path, status=status, added=added, removed=removed, **more)  # type: ignore[arg-type]


def changes() -> list[FileChange]:
    return [
        change("src/shop/parser.py", "M", 30, 9, author="0000000000000006"),
        change("src/shop/report/format.py", "M", 4, 4, author="user"),
        change("tests/test_parser.py", "M", 10, 2, author="0000000000000008"),
        change("tests/conftest.py", "A", 12, 0, runs_later=True, author="0000000000000008"),
        change("docs/logo.png", "M", binary=True, old_size=12_400, new_size=15_871),
        change("notes.md", "A", 2, 0),
        change("src/shop/legacy.py", "D", 0, 84),
        change("src/shop/tokens.py", "R", 1, 1, old_path="src/shop/tokenizer.py"),
    ]


def path() -> list[NodeHeader]:
    run = "r1"
    return [
        header(1, NodeKind.ROOT, "Start"),
        header(2, NodeKind.USER, "Fix the parser, tests must pass", run=run),
        header(3, NodeKind.ASSISTANT, "I will look at the failing test first.", run=run, model="claude-sonnet-5-5"),
        header(4, NodeKind.TOOL, "read src/shop/parser.py", run=run, tool="read", outcome=Outcome.OK,
               finished=T0 + 4 * 9_000 + 104),
        header(5, NodeKind.TOOL, "pytest -q", run=run, tool="bash", outcome=Outcome.FAILED,
               finished=T0 + 5 * 9_000 + 4_210, flags=NodeFlag.CHECKS_FAILED),
        header(6, NodeKind.ASSISTANT, "The test fails because", run=run, model="claude-sonnet-5-5",
               flags=NodeFlag.FALLBACK, size=1400),
        header(7, NodeKind.TOOL, "edit src/shop/parser.py", run=run, tool="edit", outcome=Outcome.OK, added=30, removed=9,
               files=1, finished=T0 + 7 * 9_000 + 61, flags=NodeFlag.FILES_CHANGED),
        header(8, NodeKind.TOOL, "pytest -q", run=run, tool="bash", outcome=Outcome.OK, finished=T0 + 8 * 9_000 + 3_920,
               flags=NodeFlag.CHECKS_PASSED),
        header(9, NodeKind.TOOL, "git push origin wip", run=run, tool="bash", outcome=Outcome.OK,
               finished=T0 + 9 * 9_000 + 1_340, flags=NodeFlag.EFFECT | NodeFlag.IRREVERSIBLE),
        header(10, NodeKind.ASSISTANT, "All 12 tests pass.", run=run, model="claude-sonnet-5-5"),
        header(11, NodeKind.EXTERNAL_CHANGE, "2 files", files=2),
        header(12, NodeKind.COMPACTION, "Compacted"),
        header(13, NodeKind.USER, "Now make the error say the column", run="r2"),
    ]  # fmt: skip


def bodies() -> list[Body]:
    def tool(seq: int, name: str, arguments: dict[str, object], text: str, **detail: object) -> Body:
        call = {"id": "t", "name": name, "input": arguments, "repairs": []}
        return Body(uid=f"{seq:016x}", kind="tool", call=call, message=result(text), detail=dict(detail))

    failed = "..F.F.......F\n" + "\n".join(
        [
            "=================================== FAILURES ===================================",
            "___________________________ test_quotes_protect ________________________________",
            ">       assert parse('\"a,b\",c') == ['a,b', 'c']",
            "E       AssertionError: assert ['\"a', 'b\"', 'c'] == ['a,b', 'c']",
            "tests/test_parser.py:14: AssertionError",
            "3 failed, 9 passed in 3.98s",
        ]
    )
    return [
        Body(uid=f"{2:016x}", kind="user", message={"role": "user", "content": "Fix the parser, tests must pass"}),
        Body(uid=f"{3:016x}", kind="assistant", message=reply("I will look at the failing test first.",
             "The person wants the tests green. Look at the test before the code.")),
        tool(4, "read", {"path": "src/shop/parser.py"}, "\n".join(DIFF_BEFORE)),
        tool(5, "bash", {"command": "pytest -q"}, failed, exit_code=1, output=failed),
        Body(uid=f"{6:016x}", kind="assistant", message=reply(REPLY), detail={"asked_model": "claude-opus-5-5"}),
        tool(7, "edit", {"path": "src/shop/parser.py"}, "ok", diff=parser_diff().model_dump()),
        tool(8, "bash", {"command": "pytest -q"}, "............\n12 passed in 3.71s", exit_code=0,
             output="............\n12 passed in 3.71s"),
        tool(9, "bash", {"command": "git push origin wip"}, "", exit_code=0,
             output="To github.com:shop/shop.git\n   1b2c3d4..9f8e7d6  wip -> wip"),
        Body(uid=f"{10:016x}", kind="assistant", message=reply("All 12 tests pass. The branch `wip` is pushed, so CI runs.")),
        Body(uid=f"{12:016x}", kind="compaction", detail={"messages": 212, "summary": "The parser was repaired …"}),
        Body(uid=f"{13:016x}", kind="user", message={"role": "user", "content": "Now make the error say the column"}),
    ]  # fmt: skip


def run_stopped() -> RunInfo:
    return RunInfo(
        uid="r2",
        prompt=f"{13:016x}",
        started=T0 + 120_000,
        ended=T0 + 300_000,
        stop_reason="repeated_failures",
        detail="The same edit failed three times. Go back and try another way?",
    )


def approval(number: int = 1) -> Approval:
    return said(
        Approval(
            id=f"a{number}",
            digest="d" * 8,
            node=f"{9:016x}",
            tool="bash",
            title="Allow this command?",
            command="git push origin wip",
            marks=[(0, 19, "changes the remote repository")],
            why="it publishes to https://github.com/me/shop.git; what others fetch from there cannot be taken back",
            effect="Changes the remote repository. This can be countered: the old position of its branch is noted first.",
            copy_first="",
            agent_says="I want to share the branch so that CI runs.",
            scopes=["once", "branch", "session", "always"],
            rule="Bash(git push origin wip)",
            reach="exactly this command, in this folder and confined no less than now",
            editable=True,
            input={"command": "git push origin wip"},
        )
    )


def approval_write() -> Approval:
    return said(
        Approval(
            id="a9",
            digest="e" * 8,
            node=f"{7:016x}",
            tool="edit",
            title="Allow this change?",
            diff=parser_diff(),
            why="no rule allows it",
            effect="Can be undone, but it may run or steer something before.",
            scopes=["once", "session"],
            reach="exactly this call of edit, with the same arguments",
        )
    )


def question() -> Question:
    return Question(
        id="q1",
        node=f"{10:016x}",
        text="Should quotes inside a quoted field be doubled, or escaped with a backslash?",
        choices=['Doubled ("")', "Backslash", "Accept both"],
    )


def effects() -> list[EffectInfo]:
    found = [
        EffectInfo(id=1, kind="git_push", reversibility="compensatable", evidence="enforced", node=f"{9:016x}", at=T0,
                   summary="Pushed wip to github.com:443", undo_label="Push 1b2c3d4f9 back"),
        EffectInfo(id=2, kind="package", reversibility="irreversible", evidence="observed", node=f"{8:016x}", at=T0,
                   summary="Published to packages.example:443 (41,310 bytes)"),
    ]  # fmt: skip
    return [said(effect) for effect in found]


def jump_plan() -> JumpPlan:
    back = [
        "src/shop/parser.py",
        "tests/test_parser.py",
        "tests/conftest.py",
        "notes.md",
        "src/shop/tokens.py",
    ]
    entries = [PlanEntry(path=one, action="overwrite") for one in back]
    entries += [PlanEntry(path="src/shop/new.py", action="delete")]
    entries += [PlanEntry(path="README.md", action="keep_mine", reason="you changed it since", choice="keep")]
    entries += [
        PlanEntry(path="data/big.bin", action="not_captured", reason="is larger than 50 MB"),
        PlanEntry(path="data/old.bin", action="not_captured", reason="is larger than 50 MB"),
    ]
    return said(
        JumpPlan(
            id="p1",
            node=f"{2:016x}",
            entries=entries,
            files_back=6,
            stays=1,
            not_captured=2,
            effects_left=effects()[:1],
            processes=[ProcessInfo(id="x", pid=4711, command="npm run dev", node=f"{8:016x}", started=T0)],
            needs_confirmation=True,
            lossy="From here the model knows the first 212 messages only as a summary.",
        )
    )


def storage() -> Storage:
    def session(at: int, title: str, said_bytes: int, files: int, here: bool = False) -> StoredSession:
        return StoredSession(path=f"/data/{at}.worldline", title=title, session_bytes=said_bytes, states_bytes=files,
                             updated=T0 - at * 90_000_000, here=here)  # fmt: skip

    rows = [
        session(1, "Rewrite the report in SQL", 4_600_000, 212_000_000),
        session(0, "Fix the parser", 1_240_000, 48_300_000, here=True),
        session(2, "Why is CI slow?", 820_000, 9_400_000),
        session(3, "Notes for the release", 96_000, 310_000),
    ]
    total = sum(one.session_bytes + one.states_bytes for one in rows)
    return Storage(sessions=rows, total_bytes=total, states=312, unused_states=4)


def pruning() -> tuple[Pruned, list[tuple[str, LostGroup]]]:
    groups = [
        ("Fix the parser, tests must pass", LostGroup(1, 14, T0 - 9_000_000_000)),
        ("Try it with the csv module", LostGroup(20, 9, T0 - 9_500_000_000)),
        ("Speed up the tokenizer", LostGroup(40, 31, T0 - 12_000_000_000)),
    ]
    nodes = [f"{at:016x}" for at in range(54)]
    return Pruned(
        freed_bytes=21_700_000, states_removed=58, states_kept=254, nodes=nodes, lose_id="1"
    ), groups


def compare() -> Compare:
    def attempt(
        leaf: int, title: str, outcome: str, stop: str, passed: int, cost: float, files: int, **more: object
    ) -> Attempt:
        paths = changes()[:files]
        return Attempt(
            leaf=f"{leaf:016x}", title=title, outcome=outcome, stop_reason=stop, steps=5 + files, files=paths,
            added=sum(one.added for one in paths), removed=sum(one.removed for one in paths),
            checks=[{"command": "pytest -q", "exit_code": 0 if passed == 12 else 1, "passed": passed,
                     "failed": 12 - passed, "node": ""}],
            usage=Usage(input_tokens=41_000, output_tokens=3_100, cost=cost, answers=9), seconds=passed * 11.0,
            path=[f"{number:016x}" for number in ((3, 4, 5, 7) if files < 3 else (3, 4, 6, 7, 8))],
            **more,  # type: ignore[arg-type]
        )  # fmt: skip

    return Compare(
        ancestor=f"{2:016x}",
        goal="Fix the parser, tests must pass",
        attempts=[
            attempt(5, "attempt 1", "stopped", "repeated_failures", 9, 0.31, 2, retries=2),
            attempt(10, "attempt 2", "ok", "completed", 12, 0.42, 5, effects=effects()[:1]),
            attempt(11, "attempt 3", "stopped", "cost_limit", 11, 2.0, 4, retries=5, fallbacks=1),
        ],
    )


def folders() -> list[SessionFolder]:
    def folder(name: str, **more: object) -> SessionFolder:
        made = SessionFolder.model_validate(
            {
                "path": f"/home/me/.local/share/worldline/worktrees/{name}",
                "name": name,
                "looked": True,
                **more,
            }
        )
        return said(made)

    stays = "Its branches stay in the repository."
    kept = (
        "The session's nodes keep their files. What is listed came after the last node, or is kept by none."
    )
    return [
        folder(
            "shop-fix-the-parser-1f3a", session="there", title="Fix the parser", repository="/home/me/code/shop",
            branch="worldline/fix-the-parser-1f3a/3", bytes=48_300_000, lose=["untracked file notes/todo.md"],
            lose_id="1", kept=5, note=f"{kept} {stays}",
        ),
        folder(
            "shop-why-is-ci-slow-90be", session="trash", title="Why is CI slow?", repository="/home/me/code/shop",
            branch="worldline/why-is-ci-slow-90be/start", bytes=212_000_000, note=stays, lose_id="2",
            lose=["commit 3c1d9e20ab Try a cache", "changed file ci/build.yml", "ignored folder node_modules/"],
        ),
        folder(
            "reports-rewrite-5c77", session="there", title="Rewrite the report in SQL",
            repository="/home/me/code/reports", branch="worldline/rewrite-5c77/2", bytes=9_400_000,
            in_use="A session works in it (process 4711).",
        ),
        folder("notes-9d02", bytes=120_000, bytes_complete=False),
    ]  # fmt: skip
