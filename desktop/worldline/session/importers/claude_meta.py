"""What a Claude Code session says beside its chain: titles, hints, backups, notices."""

from __future__ import annotations

import re
from typing import Any

from worldline.session.importers.lines import SourceRecord
from worldline.session.importers.tree import ImportedTree, text_of

_KNOWN = frozenset(
    {
        "summary", "last-prompt", "file-history-snapshot", "file-history-delta", "worktree-state", "relocated", "mode",
        "permission-mode", "ai-title", "custom-title", "agent-name", "tag", "pr-link", "queue-operation", "atis-latch",
        "started", "result", "agent-color", "agent-setting", "attribution-snapshot", "speculation-accept",
        "content-replacement", "bridge-session",
    }
)  # fmt: skip
_CHIP = re.compile(
    r"^\s*<(command-name|command-message|local-command-stdout|local-command-stderr|task-notification)>"
)


def chip_of(value: dict[str, Any], content: list[dict[str, Any]]) -> str:
    """The short text of a user record that is no prompt of the person; "" for a prompt."""
    text = text_of(content).strip()
    if value.get("isMeta"):
        return " ".join(text[:200].split()) or "note"
    match = _CHIP.match(text)
    if match:
        inner = re.sub(r"<[^>]{1,40}>", " ", text[:600])
        return " ".join(inner.split())[:200] or match.group(1)
    if text.startswith("[Request interrupted by user"):
        return "interrupted by the person"
    return ""


class Metadata:
    """Records without a place in the chain; the last of each kind wins."""

    def __init__(self) -> None:
        self.last_prompt: tuple[int, str] | None = None
        self.custom_title = ""
        self.ai_title = ""
        self.summaries: list[tuple[str, str]] = []
        self.base_commit = ""
        self.backups: dict[str, Any] = {}

    def take(self, value: dict[str, Any], record: SourceRecord, tree: ImportedTree) -> None:
        kind = str(value.get("type") or "")
        tree.session_id = tree.session_id or str(value.get("sessionId") or "")
        if kind == "summary":
            self.summaries.append((str(value.get("leafUuid") or ""), str(value.get("summary") or "")))
        elif kind == "last-prompt" and isinstance(value.get("leafUuid"), str):
            self.last_prompt = (record.order, value["leafUuid"])
        elif kind == "custom-title":
            self.custom_title = str(value.get("customTitle") or value.get("title") or "")
        elif kind == "ai-title":
            self.ai_title = str(value.get("aiTitle") or value.get("title") or "")
        elif kind == "worktree-state":
            self.base_commit = str(value.get("originalHeadCommit") or self.base_commit)
        elif kind == "file-history-snapshot":
            snapshot = value.get("snapshot")
            tracked = snapshot.get("trackedFileBackups") if isinstance(snapshot, dict) else None
            if isinstance(tracked, dict):
                self.backups |= tracked
        elif kind not in _KNOWN:
            tree.count_unknown(kind or "(no type)")

    def title(self, known: dict[str, str]) -> str:
        """A summary names the session that holds its leaf, which often is another file."""
        own = [text for leaf, text in self.summaries if leaf in known]
        return self.custom_title or self.ai_title or (own[-1] if own else "")
