"""Shapes shared by commands, results and notifications."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.protocol.wire import Message

Mode = Literal["plan", "ask", "work"]
"""plan: reads only. ask: every command and write is approved. work: what the sandbox confines runs unasked."""
WorkspaceMode = Literal["isolated", "in_place"]


class Header(Message):
    """`core.headers.NodeHeader` on the wire."""

    seq: int
    uid: str
    parent: int
    kind: str
    created: int
    preview: str
    outcome: str = "none"
    flags: int = 0
    size: int = 0
    run: str = ""
    branch: str = ""
    tool: str = ""
    model: str = ""
    state: str = ""
    added: int = 0
    removed: int = 0
    files: int = 0
    finished: int = 0

    @classmethod
    def of(cls, row: NodeHeader) -> Header:
        return cls(
            seq=row.seq,
            uid=row.uid,
            parent=row.parent,
            kind=row.raw_kind or row.kind.value,
            created=row.created,
            preview=row.preview,
            outcome=row.outcome.value,
            flags=int(row.flags),
            size=row.size,
            run=row.run,
            branch=row.branch,
            tool=row.tool,
            model=row.model,
            state=row.state,
            added=row.added,
            removed=row.removed,
            files=row.files,
            finished=row.finished,
        )

    def row(self) -> NodeHeader:
        kind = NodeKind.of(self.kind)
        return NodeHeader(
            seq=self.seq,
            uid=self.uid,
            parent=self.parent,
            kind=kind,
            created=self.created,
            preview=self.preview,
            outcome=Outcome.of(self.outcome),
            flags=NodeFlag(self.flags),
            size=self.size,
            run=self.run,
            branch=self.branch,
            tool=self.tool,
            model=self.model,
            state=self.state,
            added=self.added,
            removed=self.removed,
            files=self.files,
            finished=self.finished,
            raw_kind=self.kind if kind is NodeKind.UNKNOWN else "",
        )


class NodeLabels(Message):
    """What the person wrote on a node; "" = nothing. Never sent to the model."""

    node: str
    label: str = ""
    note: str = ""
    bookmark: str = ""
    color: str = ""


class SessionInfo(Message):
    """What the window shows of a session as a whole."""

    path: str
    title: str
    created: int
    workspace_mode: WorkspaceMode | Literal["none"]
    """`none`: an imported session without files."""
    root: str
    """The folder the person opened."""
    work_path: str
    """Where the agent works; equals `root` in place."""
    is_git: bool
    base_branch: str = ""
    read_only: bool = False
    read_only_why: str = ""
    damaged: bool = False
    """The file is damaged: it is not written to, and what is readable of it can be saved into a new session."""
    imported_from: str = ""
    scripted_model: bool = False
    """The model is a rehearsal: the window says so in a banner."""


class Body(Message):
    """A node's body. `message` is what the model gets for it (role and content blocks, as in the Messages API);
    for a tool node the call is in `call` and the result in `message`."""

    uid: str
    kind: str
    message: dict[str, Any] | None = None
    call: dict[str, Any] | None = None
    """{"id", "name", "input", "repairs": [str]} of a tool node."""
    detail: dict[str, Any] = {}
    """Kind-specific: exit_code, output (whole text, or {"blob": hash, "bytes": n, "head": str, "tail": str}; of a very large one
    "parts": [{"blob", "bytes"}] in place of "blob"), diff,
    stop_reason, requested_model, attempts, usage, not_captured, summary, …"""


class FileChange(Message):
    """One changed path between two states. Paths are relative to the workspace, `/`-separated; bytes that are not
    UTF-8 are shown as `\\xNN` and `path_bytes` (base64) is set."""

    path: str
    old_path: str = ""
    """Set for renames."""
    status: Literal["A", "M", "D", "R", "T", "S"]
    """Added, modified, deleted, renamed, type changed (file, link, exec bit only), submodule or nested repository."""
    added: int = 0
    removed: int = 0
    binary: bool = False
    old_mode: int = 0
    new_mode: int = 0
    old_size: int = -1
    new_size: int = -1
    runs_later: bool = False
    """Runs when the person does something later: a hook, `package.json` scripts, `.envrc`, `conftest.py`, …"""
    author: str = ""
    """uid of the node that last changed it on this path, "user" for the person, "user?" for the person or a command in the
    background, "" unknown."""
    path_bytes: str = ""


class DiffRow(Message):
    """One line of a unified diff. `kind`: ' ' context, '+' added, '-' removed, '@' hunk header, '\\' no newline."""

    kind: Literal[" ", "+", "-", "@", "\\"]
    old: int = 0
    new: int = 0
    text: str
    author: str = ""


class FileDiff(Message):
    change: FileChange
    rows: list[DiffRow] = []
    truncated: bool = False
    """Rows were left out because the file is huge; ask again with a larger limit."""
    more: bool = False
    """This is a page, and others follow."""
    note: str = ""
    """Why there are no rows: binary, submodule, too large, not captured."""
    old_image: str = ""
    new_image: str = ""
    """Base64 of images up to 4 MB, for the image diff."""


class PlanEntry(Message):
    """One line of a jump plan."""

    path: str
    action: Literal[
        "create", "overwrite", "delete", "chmod", "keep_mine", "keep_foreign", "not_captured", "conflict"
    ]
    reason: str = ""
    choice: Literal["", "keep", "restore"] = ""
    """What was decided for a file the person changed; "" = nothing to decide."""
    unsure: bool = False
    """It was the person or a command in the background that changed it."""


class EffectInfo(Message):
    """One thing done outside what a state can restore."""

    id: int
    kind: str
    reversibility: Literal["undoable", "compensatable", "irreversible"]
    evidence: Literal["enforced", "observed", "assumed", "guessed"]
    summary: str
    node: str
    at: int
    status: Literal["open", "undone", "countered", "running", "ended"] = "open"
    undo_label: str = ""
    """Text of the counter action, when there is one."""
    detail: dict[str, Any] = {}


class ProcessPort(Message):
    """A TCP port on which a process listens, in the network of the session."""

    port: int
    shown: int = 0
    """Under which port of 127.0.0.1 the person has made it reachable; 0 = not at all."""


class ProcessInfo(Message):
    id: str
    pid: int
    command: str
    node: str
    started: int
    running: bool = True
    ports: list[ProcessPort] = []


class JumpPlan(Message):
    id: str
    """Names this plan in `jump`; a plan that no longer fits what is on disk is made anew and shown again."""
    node: str
    entries: list[PlanEntry]
    files_back: int
    stays: int
    not_captured: int
    effects_left: list[EffectInfo] = []
    effects_unknown_there: list[EffectInfo] = []
    """Done on other branches; the model of the target does not know of them."""
    processes: list[ProcessInfo] = []
    lossy: str = ""
    """What the model will know only as a summary there; "" = nothing."""
    needs_confirmation: bool
    composer_text: str = ""
    note: str = ""


class JumpResult(Message):
    node: str
    cursor: str
    branch: str
    verified: int
    of: int
    entries: list[PlanEntry] = []
    effects_left: list[EffectInfo] = []
    safety_node: str = ""
    composer_text: str = ""
    note: str = ""


class Diagnostic(Message):
    id: int
    kind: str
    """retry, repair, fallback, cache_miss, compaction, hook, capture, breaker, engine, secret_masked, …"""
    node: str = ""
    run: str = ""
    at: int
    detail: str
    """A sentence for people."""
    data: dict[str, Any] = {}


class RunInfo(Message):
    uid: str
    prompt: str
    started: int
    ended: int = 0
    stop_reason: str = ""
    detail: str = ""
    """A sentence for the person."""
    api_said: str = ""
    mode: Mode = "ask"
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    offers: list[str] = []
    """What the person can do about the end, also after the session was opened again."""


class Approval(Message):
    """A tool call that waits for the person. Bound to exactly what is shown by `digest`."""

    id: str
    digest: str
    node: str
    tool: str
    title: str
    """"Allow this command?" """
    command: str = ""
    marks: list[tuple[int, int, str]] = []
    """Spans of `command` to underline: start, end, what it does."""
    diff: FileDiff | None = None
    why: str
    """Why it is asked."""
    effect: str = ""
    """What kind of effect it is and whether it can be undone."""
    copy_first: str = ""
    agent_says: str = ""
    scopes: list[Literal["once", "branch", "session", "always"]] = ["once"]
    rule: str = ""
    """The rule that "always" would write."""
    reach: str = ""
    """How far it goes when it is allowed for longer than once, as a part of a sentence."""
    editable: bool = False
    input: dict[str, Any] = {}
    asked: int = 0
    destructive: bool = False
    mid_call: bool = False
    """The call runs already; its command wants something more."""


class Question(Message):
    """A question of the agent, with choices."""

    id: str
    node: str
    text: str
    choices: list[str] = []
    multiple: bool = False
    free_text: bool = True


class BranchInfo(Message):
    """One attempt: a path from where it left the others to its leaf."""

    leaf: str
    fork_point: str
    git_branch: str
    title: str
    outcome: str
    stop_reason: str
    nodes: int
    updated: int


class Status(Message):
    """Everything the status bar shows; sent whole whenever a part of it changes."""

    state: Literal[
        "starting", "ready", "running", "waiting", "retrying", "compacting", "jumping", "stopping", "failed"
    ]
    sentence: str = ""
    """What it waits for, for people."""
    run: str = ""
    last_stop: str = ""
    last_stop_detail: str = ""
    offers: list[str] = []
    """What the person may do about it: see `run_ended`."""
    model: str = ""
    asked_model: str = ""
    fallback_why: str = ""
    retry_attempt: int = 0
    retry_of: int = 0
    retry_at: int = 0
    """Milliseconds since the epoch of the next try."""
    retry_why: str = ""
    context_tokens: int = 0
    context_limit: int = 0
    context_bytes: int = 0
    cost: float | None = None
    cost_note: str = ""
    cache_hit: float | None = None
    """0..1, of the last answers."""
    cache_note: str = ""
    sandbox: Literal["complete", "partial", "none", "unknown"] = "unknown"
    sandbox_why: str = ""
    sandbox_problem: str = ""
    """Why the sandbox does not start for this session, so that no command runs, and what to do; "" = it starts."""
    effects: int = 0
    """Open effects that going back does not undo, here and elsewhere."""
    effects_undoable: int = 0
    """Open effects outside that the list can put back."""
    effects_countered: int = 0
    effects_elsewhere: int = 0
    saved: bool = True
    saved_note: str = ""
    queued: int = 0
    approvals: int = 0
    processes: int = 0
    mode: Mode = "ask"
    branch: str = ""
    home: str = ""
    """The person's branch (or commit) that HEAD of their folder is away from, "" = it is not away."""
