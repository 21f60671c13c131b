"""Words of the tree for tools, kinds, outcomes, errors, badges and times. No Qt."""

from __future__ import annotations

import time

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.viewmodel.words import once, spoken_tool, translate

_VERBS = {
    "read": "read",
    "write": "write",
    "edit": "edit",
    "multi_edit": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "read_file": "read",
    "view": "read",
    "write_file": "write",
    "bash": "run",
    "run": "run",
    "run_command": "run",
    "shell": "run",
    "exec": "run",
    "exec_command": "run",
    "local_shell": "run",
    "glob": "find",
    "grep": "search",
    "search": "search",
    "ls": "list",
    "websearch": "search",
    "ask_user": "ask",
    "ask": "ask",
    "task": "task",
    "plan": "plan",
    "todo": "plan",
    "todowrite": "plan",
    "update_plan": "plan",
    "task_state": "plan",
    "web_fetch": "fetch",
    "webfetch": "fetch",
    "list_dir": "list",
    "process": "process",
    "memory": "memory",
    "request_access": "access",
}


_SIGNS = {"read": "read", "write": "edit", "edit": "edit", "run": "run", "find": "search", "search": "search",
          "list": "search", "fetch": "read", "ask": "ask", "access": "ask",
          "task": "task", "plan": "task", "process": "run"}  # fmt: skip


@once
def _verbs() -> dict[str, str]:
    return {
        "read": translate("tree", "read"),
        "write": translate("tree", "write"),
        "edit": translate("tree", "edit"),
        "run": translate("tree", "run"),
        "find": translate("tree", "find"),
        "search": translate("tree", "search"),
        "ask": translate("tree", "ask"),
        "task": translate("tree", "task"),
        "plan": translate("tree", "plan"),
        "fetch": translate("tree", "fetch"),
        "list": translate("tree", "list"),
        "process": translate("tree", "process"),
        "memory": translate("tree", "memory"),
        "access": translate("tree", "ask for access"),
    }


def verb(tool: str) -> str:
    """The short word for a tool, as it is said on screen."""
    known = _known(tool)
    return _verbs()[known] if known else spoken_tool(tool)


def _known(tool: str) -> str:
    """Other programs write the names of their tools large; "" = none of ours."""
    return _VERBS.get(tool) or _VERBS.get(tool.lower(), "")


def stored_verb(tool: str) -> str:
    """The word for a tool as stored previews have it, in English."""
    return _known(tool) or tool


def sign(tool: str) -> str:
    """The sign inside the square of a tool step."""
    return _SIGNS.get(_known(tool), "tool")


@once
def _outcomes() -> dict[Outcome, str]:
    return {
        Outcome.NONE: "",
        Outcome.OK: translate("tree", "done"),
        Outcome.FAILED: translate("tree", "failed"),
        Outcome.DENIED: translate("tree", "denied"),
        Outcome.STOPPED: translate("tree", "stopped by a brake"),
        Outcome.ABORTED: translate("tree", "aborted by you"),
        Outcome.INTERRUPTED: translate("tree", "interrupted"),
        Outcome.RUNNING: translate("tree", "working"),
        Outcome.WAITING: translate("tree", "waiting for you"),
    }


def outcome_word(outcome: Outcome) -> str:
    return _outcomes()[outcome]


@once
def _kinds() -> dict[NodeKind, str]:
    return {
        NodeKind.ROOT: translate("tree", "start"),
        NodeKind.USER: translate("tree", "prompt"),
        NodeKind.ASSISTANT: translate("tree", "reply"),
        NodeKind.TOOL: translate("tree", "step"),
        NodeKind.COMPACTION: translate("tree", "compaction"),
        NodeKind.BRANCH_SUMMARY: translate("tree", "branch summary"),
        NodeKind.JUMP: translate("tree", "saved before a jump"),
        NodeKind.EXTERNAL_CHANGE: translate("tree", "files changed from outside"),
        NodeKind.CONTEXT_EDIT: translate("tree", "context edit"),
        NodeKind.IMPORTED_USER: translate("tree", "prompt"),
        NodeKind.IMPORTED_ASSISTANT: translate("tree", "reply"),
        NodeKind.IMPORTED_TOOL: translate("tree", "step"),
        NodeKind.IMPORTED_COMPACTION: translate("tree", "compaction"),
        NodeKind.IMPORTED_SUMMARY: translate("tree", "branch summary"),
        NodeKind.IMPORTED_EVENT: translate("tree", "note of another agent"),
        NodeKind.UNKNOWN: translate("tree", "unknown"),
    }


def kind_word(kind: NodeKind) -> str:
    return _kinds()[kind]


@once
def _errors() -> dict[str, str]:
    return {
        "file_not_found": translate("tree", "not there"),
        "no_match": translate("tree", "no match"),
        "stale_file": translate("tree", "file has changed"),
        "invalid_arguments": translate("tree", "wrong arguments"),
        "invalid_json": translate("tree", "wrong arguments"),
        "unknown_tool": translate("tree", "no such tool"),
        "sandbox_denied": translate("tree", "kept in by the sandbox"),
        "hook_blocked": translate("tree", "stopped by a hook"),
        "approval_timeout": translate("tree", "no answer"),
        "network_error": translate("tree", "no connection"),
    }


def error_word(kind: str) -> str:
    """The kind of an error in words; "" for one that says no more than the mark of a failed step does."""
    return _errors().get(kind, "")


def flag_words(flags: NodeFlag) -> list[str]:
    """The badges in words, for the hover card and for screen readers."""
    words = (
        (NodeFlag.IRREVERSIBLE, translate("tree", "did something that cannot be undone")),
        (NodeFlag.FALLBACK, translate("tree", "answered by another model")),
        (NodeFlag.REPAIR, translate("tree", "repaired")),
        (NodeFlag.RETRIED, translate("tree", "tried more than once")),
        (NodeFlag.NOT_CAPTURED, translate("tree", "files not captured")),
        (NodeFlag.PARTLY_CAPTURED, translate("tree", "some files not captured")),
        (NodeFlag.CHECKS_PASSED, translate("tree", "checks passed")),
        (NodeFlag.CHECKS_FAILED, translate("tree", "checks failed")),
        (NodeFlag.CODE_RUNS_LATER, translate("tree", "changed a file that runs later")),
        (NodeFlag.INCOMPLETE, translate("tree", "cut off")),
        (NodeFlag.GUESSED_PARENT, translate("tree", "its place is a guess")),
        (NodeFlag.SECRET_MASKED, translate("tree", "a secret was masked")),
        (NodeFlag.SIDE_BRANCH, translate("tree", "a step of a sub-agent")),
    )
    return [text for flag, text in words if flags & flag]


def ago(ms: int, now_ms: int | None = None) -> str:
    """When it was, as one says it: `just now`, `5 min ago`, a date."""
    now = int(time.time() * 1000) if now_ms is None else now_ms
    seconds = max(0, (now - ms) // 1000)
    if seconds < 60:
        return translate("tree", "just now")
    if seconds < 3600:
        return translate("tree", "{n} min ago").format(n=seconds // 60)
    if seconds < 86400:
        return translate("tree", "{n} h ago").format(n=seconds // 3600)
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(ms / 1000))


def duration(ms: int) -> str:
    """`0.1 s`, `4.2 s`, `3:10`."""
    if ms < 60_000:
        return translate("tree", "{n} s").format(n=f"{ms / 1000:.1f}")
    return f"{ms // 60_000}:{ms // 1000 % 60:02d}"
