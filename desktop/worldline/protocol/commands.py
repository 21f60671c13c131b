"""Commands of the window and the result of each. `COMMANDS` is the whole list."""

from __future__ import annotations

from typing import Any, Literal

from worldline.core.usage import Usage
from worldline.protocol.model import (
    Approval,
    Body,
    BranchInfo,
    Diagnostic,
    EffectInfo,
    FileChange,
    FileDiff,
    Header,
    JumpPlan,
    JumpResult,
    Mode,
    PlanEntry,
    ProcessInfo,
    Question,
    RunInfo,
    SessionInfo,
    Status,
)
from worldline.protocol.wire import Message


class Nothing(Message):
    pass


class Hello(Message):
    protocol: int
    client: str = "window"


class HelloResult(Message):
    protocol: int
    version: str
    session: SessionInfo
    cursor: str
    status: Status
    run: RunInfo | None = None
    """The run that is going on, if any."""
    approvals: list[Approval] = []
    questions: list[Question] = []
    recovered: str = ""
    """What was found after a crash and what was done about it; "" = nothing."""
    problems: list[str] = []
    """Settings and rules that could not be used, one sentence each; the session goes on without them."""


class Image(Message):
    media_type: str
    data: str
    """Base64."""


class Prompt(Message):
    """Hangs a prompt on the cursor and starts a run. While one runs it is queued (`when`)."""

    text: str
    images: list[Image] = []
    mode: Mode | None = None
    model: str = ""
    effort: str = ""
    when: Literal["now", "next_step", "interrupt"] = "now"


class PromptResult(Message):
    run: str = ""
    node: str = ""
    queued: int = 0
    """Id of the queued message; 0 = it was started."""


class Stop(Message):
    pass


class RetryNow(Message):
    pass


class Pause(Message):
    on: bool


class GoOn(Message):
    """Go on after a brake, with `turns` more turns; 0 = as many as the settings allow (try again)."""

    turns: int = 10


class QueueEdit(Message):
    id: int
    text: str | None = None
    """None = take it out of the queue."""
    send: bool = False
    """Send it now instead, as it is. Only while nothing runs: a message outlives a run that was stopped or broke off."""


class JumpPlanFor(Message):
    node: str
    choices: dict[str, Literal["keep", "restore"]] = {}
    default_choice: Literal["keep", "restore"] = "keep"


class Jump(Message):
    node: str
    plan: str = ""
    """Id of the plan that the person saw; "" = go if nothing needs a confirmation, else the plan is returned."""
    choices: dict[str, Literal["keep", "restore"]] = {}
    default_choice: Literal["keep", "restore"] = "keep"
    processes: Literal["stop", "leave"] = "stop"
    summary: Literal["none", "auto"] | str = "none"
    """Branch summary of the branch that is left: none, auto, or instructions."""
    fork: bool = True


class JumpAnswer(Message):
    """Either the jump was made (`result`) or the plan must be shown first (`plan`)."""

    result: JumpResult | None = None
    plan: JumpPlan | None = None


class AnswerApproval(Message):
    id: str
    digest: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "branch", "session", "always"] = "once"
    reason: str = ""
    edited_input: dict[str, Any] | None = None


class AnswerQuestion(Message):
    id: str
    choices: list[str] = []
    text: str = ""


class NodeRef(Message):
    node: str


class Nodes(Message):
    nodes: list[str]


class HeadersSince(Message):
    since: int = 0
    """Rows with a larger `seq`, and rows that ended since, come back."""
    limit: int = 100_000


class Headers(Message):
    headers: list[Header]
    cursor: str


class Bodies(Message):
    bodies: list[Body]


class BlobRef(Message):
    hash: str
    offset: int = 0
    limit: int = 1_000_000


class Blob(Message):
    data: str
    """Base64 of the slice."""
    total: int


class View(Message):
    request: dict[str, Any]
    origin: list[str] = []
    """For each message of the request the uid of the node it came from ("" = made for the view)."""
    diagnostics: list[Diagnostic] = []
    tokens: int = 0
    bytes: int = 0


class DiffFor(Message):
    """`a` and `b` are node uids, or "parent" / "base" (the session's first state) for `a`, "disk" for `b`."""

    a: str
    b: str
    path: str = ""
    context: int = 3
    ignore_space: bool = False
    max_rows: int = 200_000


class Changes(Message):
    a: str
    b: str
    files: list[FileChange]
    added: int
    removed: int
    note: str = ""


class Search(Message):
    text: str
    scope: Literal["session", "all"] = "session"
    limit: int = 200


class SearchHit(Message):
    session: str
    uid: str
    seq: int
    kind: str
    snippet: str
    """Plain text with the matches between U+0002 and U+0003."""


class SearchResult(Message):
    hits: list[SearchHit]
    more: bool = False


class SetLabel(Message):
    """A label, note or bookmark of a node. "" takes it away. Never sent to the model."""

    node: str
    what: Literal["label", "note", "bookmark"]
    text: str
    color: str = ""


class LabelInfo(Message):
    node: str
    label: str = ""
    note: str = ""
    bookmark: str = ""
    color: str = ""


class Labels(Message):
    labels: list[LabelInfo]


class SetTitle(Message):
    title: str


class EffectsAt(Message):
    node: str = ""
    """"" = the cursor."""


class Effects(Message):
    cursor: str
    here: list[EffectInfo]
    elsewhere: list[EffectInfo]
    processes: list[ProcessInfo] = []


class UndoEffect(Message):
    id: int


class StopProcess(Message):
    id: str


class CompareFor(Message):
    nodes: list[str]


class Attempt(Message):
    """One column of Compare."""

    leaf: str
    title: str
    outcome: str
    stop_reason: str
    steps: int
    files: list[FileChange]
    added: int
    removed: int
    checks: list[dict[str, Any]] = []
    """[{"command", "exit_code", "passed", "failed", "node"}] of commands recognised as checks; the last run wins."""
    usage: Usage = Usage()
    seconds: float = 0
    retries: int = 0
    fallbacks: int = 0
    effects: list[EffectInfo] = []
    note: str = ""
    path: list[str] = []
    """uids from the common ancestor (excluded) to the leaf."""


class Compare(Message):
    ancestor: str
    goal: str
    attempts: list[Attempt]


class BringHome(Message):
    node: str
    how: Literal["changes", "commit", "branch"]
    message: str = ""
    branch: str = ""
    dry_run: bool = True
    choices: dict[str, Literal["ours", "theirs"]] = {}


class BringHomeResult(Message):
    entries: list[PlanEntry]
    conflicts: list[str] = []
    done: bool = False
    branch: str = ""
    commit: str = ""
    note: str = ""


class StoredSession(Message):
    """What one session takes on disk."""

    path: str
    title: str
    session_bytes: int
    states_bytes: int
    """Of the store of its files."""
    worktree: str = ""
    """Its isolated worktree, "" = it works in the person's folder."""
    updated: int = 0
    here: bool = False
    """The session of this engine."""


class Storage(Message):
    sessions: list[StoredSession]
    total_bytes: int
    states: int = 0
    """States that this session's store holds."""
    unused_states: int = 0
    """Of these, the ones that no node of the session refers to: pruning removes them and nothing else changes."""


class Prune(Message):
    """Give back the room of states of this session."""

    older_than_days: int | None = None
    """None: only states that no node refers to. Else also those of nodes that are older, carry no label and are not on
    the current path; these nodes lose their files, and the result names them."""
    dry_run: bool = True


class Pruned(Message):
    freed_bytes: int
    """0 in a dry run."""
    states_removed: int
    states_kept: int
    nodes: list[str] = []
    """Nodes whose files are (or would be) gone; their conversation stays."""
    note: str = ""


class TakeFile(Message):
    """Take a file (or one hunk of it, by index) from another node onto disk; what is there is saved first."""

    node: str
    path: str
    hunks: list[int] | None = None
    against: str = ""


class Patch(Message):
    a: str
    b: str


class PatchText(Message):
    text: str


class CompactNow(Message):
    instructions: str = ""
    how: Literal["summary", "drop_results"] = "summary"
    """drop_results: leave out older large tool results only; nothing is summarised."""


class ContextEdit(Message):
    node: str
    replacement: str | None = None
    """None = leave it out; text = say this instead."""
    scope: Literal["node", "turn"] = "node"
    """turn: the prompt before the node and everything up to the next prompt; a replacement stands once for all."""
    restore: bool = False
    """Take back what earlier edits of this branch did to it: the original is sent again."""


class Settings(Message):
    values: dict[str, Any]
    problems: list[str] = []
    """As in the hello."""


class SetSettings(Message):
    values: dict[str, Any]
    """Merged key by key; None takes a key out."""


class Credential(Message):
    service: str = "anthropic"
    secret: str
    """Kept in the OS keyring; "" removes it. Never logged, never echoed."""


class CredentialState(Message):
    service: str
    source: Literal["keyring", "environment", "none", "not_needed"]
    note: str = ""


class TestConnection(Message):
    base_url: str = ""
    model: str = ""
    secret: str = ""


class ConnectionResult(Message):
    ok: bool
    sentence: str
    models: list[str] = []


class ModelInfo(Message):
    id: str
    name: str
    context: int = 0
    max_output: int = 0
    efforts: list[str] = []
    price: str = ""
    available: bool = True


class Models(Message):
    models: list[ModelInfo]
    default: str
    chain: list[str] = []


class RuleTest(Message):
    command: str
    rules: dict[str, list[str]] | None = None


class RuleVerdict(Message):
    decision: Literal["allow", "ask", "deny"]
    parts: list[dict[str, str]]
    """[{"part", "decision", "rule", "why", "decided"}]; `decided` is "yes" for the one that settled it."""


class Export(Message):
    format: Literal["jsonl", "html", "markdown", "bundle"]
    out: str
    node: str = ""


class ExportResult(Message):
    path: str
    bytes: int


class Complete(Message):
    """Paths for `@file` completion."""

    prefix: str
    limit: int = 50


class Completions(Message):
    paths: list[str]


class Drill(Message):
    """Demo only: make the rehearsal server fail in this way at the next request."""

    fault: str


class DiagnosticsSince(Message):
    since: int = 0


class Diagnostics(Message):
    items: list[Diagnostic]


class Runs(Message):
    runs: list[RunInfo]


class Branches(Message):
    branches: list[BranchInfo]


class UsageFor(Message):
    node: str = ""


class UsageResult(Message):
    node: Usage
    branch: Usage
    session: Usage
    run: Usage = Usage()
    """Of the run that the node belongs to."""
    prices_as_of: str = ""
    """Date of the price table; a cost of None means that the price of a model is not in it."""


COMMANDS: dict[str, tuple[type[Message], type[Message]]] = {
    "hello": (Hello, HelloResult),
    "prompt": (Prompt, PromptResult),
    "stop": (Stop, Nothing),
    "retry_now": (RetryNow, Nothing),
    "pause": (Pause, Nothing),
    "go_on": (GoOn, PromptResult),
    "backtrack": (Nothing, JumpAnswer),
    "queue_edit": (QueueEdit, Nothing),
    "jump_plan": (JumpPlanFor, JumpPlan),
    "jump": (Jump, JumpAnswer),
    "answer_approval": (AnswerApproval, Nothing),
    "answer_question": (AnswerQuestion, Nothing),
    "headers": (HeadersSince, Headers),
    "bodies": (Nodes, Bodies),
    "blob": (BlobRef, Blob),
    "view": (NodeRef, View),
    "changes": (DiffFor, Changes),
    "file_diff": (DiffFor, FileDiff),
    "search": (Search, SearchResult),
    "set_label": (SetLabel, Nothing),
    "labels": (Nothing, Labels),
    "set_title": (SetTitle, Nothing),
    "effects": (EffectsAt, Effects),
    "undo_effect": (UndoEffect, EffectInfo),
    "stop_process": (StopProcess, Nothing),
    "compare": (CompareFor, Compare),
    "bring_home": (BringHome, BringHomeResult),
    "return_home": (Nothing, JumpAnswer),
    "storage": (Nothing, Storage),
    "prune": (Prune, Pruned),
    "take_file": (TakeFile, JumpAnswer),
    "patch": (Patch, PatchText),
    "compact": (CompactNow, Nothing),
    "context_edit": (ContextEdit, Nothing),
    "expand": (Nothing, Nothing),
    "settings": (Nothing, Settings),
    "set_settings": (SetSettings, Settings),
    "set_credential": (Credential, CredentialState),
    "credential": (Nothing, CredentialState),
    "test_connection": (TestConnection, ConnectionResult),
    "models": (Nothing, Models),
    "test_rule": (RuleTest, RuleVerdict),
    "export": (Export, ExportResult),
    "complete": (Complete, Completions),
    "diagnostics": (DiagnosticsSince, Diagnostics),
    "runs": (Nothing, Runs),
    "branches": (Nothing, Branches),
    "usage": (UsageFor, UsageResult),
    "drill": (Drill, Nothing),
    "shutdown": (Nothing, Nothing),
}
"""method → (params, result)."""
