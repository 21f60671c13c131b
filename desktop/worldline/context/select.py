"""Which nodes of a path are in the view, and in what form: compactions, truncation and context edits applied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.context.model import PathNode, Repair, ViewOptions
from worldline.context.texts import BRANCH_HEAD, EDIT_LEFT_OUT, SUMMARY_HEAD, TRUNCATED
from worldline.core.kinds import NodeKind

_TOOLS = (NodeKind.TOOL, NodeKind.IMPORTED_TOOL)
_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)
SUMMARIES = (NodeKind.COMPACTION, NodeKind.IMPORTED_COMPACTION)
_DATE = re.compile(r"-\d{8}$")
_SILENT = (NodeKind.ROOT, NodeKind.JUMP, NodeKind.EXTERNAL_CHANGE, NodeKind.IMPORTED_EVENT)
NEVER = 1 << 60
"""As `since`: the difference is made by the options, so nothing on the path was answered with it."""


@dataclass(slots=True)
class Item:
    """One node that is in the view."""

    node: PathNode
    pos: int
    """Place on the path."""
    text: str | None = None
    """Stands in place of the node's message."""
    reason: str = ""
    """For a tool node without a result that was edited: the text of its result."""


@dataclass(slots=True)
class Change:
    """From path position `since` on, the view differs at path position `where` from what it was before."""

    where: int
    since: int


@dataclass(slots=True)
class Selection:
    items: list[Item]
    repairs: list[Repair] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    gone_calls: set[str] = field(default_factory=set)
    """Ids of the calls of replies that were edited away; their results go with them."""
    places: dict[str, int] = field(default_factory=dict)
    """uid → place on the path, where options name nodes."""


@dataclass(slots=True)
class _Edit:
    pos: int
    uid: str
    replacement: str | None
    restore: bool


def select(
    path: Sequence[PathNode], options: ViewOptions, *, start: int = 0, places: dict[str, int] | None = None
) -> Selection:
    """Walk the path once. Nodes that never speak to the model are passed over. `start`: place of its first node, for
    the rest of a longer path that holds no compaction and no edit; then `places` are those of the longer one."""
    edits, expanded = _edits(path)
    result = Selection([])
    if options.poisoned_at or options.thinking_after:
        result.places = places if places is not None else {node.uid: pos for pos, node in enumerate(path)}
    items = result.items
    for pos, node in enumerate(path, start):
        kind = node.kind
        if node.detail.get("guessed_parent") and items and kind not in SUMMARIES:
            items = _joined(items, node, pos, expanded, options, result)
        if kind in SUMMARIES:
            if node.uid in options.expand:
                continue
            if node.uid in expanded:
                result.changes.append(Change(0, expanded[node.uid]))
                continue
            items = _compacted(items, node, pos, result, options)
        elif kind is NodeKind.CONTEXT_EDIT or kind is NodeKind.UNKNOWN:
            continue
        elif kind in (NodeKind.BRANCH_SUMMARY, NodeKind.IMPORTED_SUMMARY):
            items.append(Item(node, pos, _summary_text(node, BRANCH_HEAD)))
        elif kind in _SILENT:
            if node.message is not None:
                items.append(Item(node, pos))
        elif node.message is not None or kind in _TOOLS:
            items.append(Item(node, pos))
    if options.truncate_before:
        items = _truncated(items, options.truncate_before, result)
    result.items = _edited(items, edits, result) if edits else items
    return result


# -- compactions


def text_of(message: dict[str, Any] | None) -> str:
    """All text of a message, blocks joined by empty lines."""
    content = (message or {}).get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [b.get("text") for b in content if isinstance(b, dict) and b.get("type") == "text"]
    return "\n\n".join(t for t in texts if isinstance(t, str) and t)


def _summary_text(node: PathNode, head: str) -> str:
    stored = text_of(node.message)
    if stored.strip():
        return stored
    summary = node.detail.get("summary")
    return f"{head}\n\n{summary.strip()}" if isinstance(summary, str) and summary.strip() else head


def compaction_text(node: PathNode) -> str:
    """What stands in the view for everything that a compaction covers."""
    if node.detail.get("truncated") is True:
        return _summary_text(node, TRUNCATED)
    return _summary_text(node, SUMMARY_HEAD)


def kept_index(items: list[Item], node: PathNode) -> tuple[int, str]:
    """Where in the old view the kept part begins, and what is wrong with the compaction ("" = nothing).

    A compaction may only name what is in the view just before it. If it does not, as much as can be is kept:
    nothing of a session may vanish because one record is wrong.
    """
    kept_from = node.detail.get("kept_from")
    if not kept_from or kept_from == node.uid:
        return len(items), ""
    for index, item in enumerate(items):
        if item.node.uid == kept_from:
            return index, ""
    covers = node.detail.get("covers")
    last = covers[-1] if isinstance(covers, (list, tuple)) and covers else ""
    for index, item in enumerate(items):
        if item.node.uid == last:
            return (
                index + 1,
                f"it keeps from {kept_from}, which is not there; what it covers is known and was taken",
            )
    if node.kind is NodeKind.IMPORTED_COMPACTION:
        return len(items), f"it keeps from {kept_from}, which is not on this path; only the summary is sent"
    return 0, f"it keeps from {kept_from}, which is not in the view before it; everything is kept"


def server_made(node: PathNode, options: ViewOptions) -> bool:
    """A compaction that the server of the target model made and takes back as it is."""
    source = str(node.detail.get("model", ""))
    return node.detail.get("server") is True and not options.local and same_model(source, options.model)


def same_model(source: str, target: str) -> bool:
    """One model; the API answers to an alias with the dated name."""
    return _DATE.sub("", source) == _DATE.sub("", target)


def _compacted(
    items: list[Item], node: PathNode, pos: int, result: Selection, options: ViewOptions
) -> list[Item]:
    summary = [Item(node, pos, compaction_text(node))]
    appendix = node.detail.get("appendix")
    if node.detail.get("server") is True and isinstance(appendix, str) and appendix:
        summary.append(Item(node, pos, appendix))
        if server_made(node, options):
            summary[0] = Item(node, pos)
    kept_uids = node.detail.get("kept")
    if isinstance(kept_uids, list) and node.kind is NodeKind.IMPORTED_COMPACTION:
        wanted = set(kept_uids)
        kept, fault = [item for item in items if item.node.uid in wanted], ""
    else:
        index, fault = kept_index(items, node)
        kept = items[index:]
    covered = len(items) - len(kept)
    if fault:
        result.repairs.append(Repair("summary_mismatch", node.uid, f"A compaction is inconsistent: {fault}."))
    what = "left out behind a mark" if node.detail.get("truncated") is True else "sent as a summary"
    steps = "1 earlier step is" if covered == 1 else f"{covered} earlier steps are"
    result.repairs.append(Repair("summary_applied", node.uid, f"{steps} {what}.", {"covered": covered}))
    # Whatever is kept now follows a summary instead of the originals.
    result.changes.append(Change(-1, pos))
    return [*summary, *kept]


def _joined(
    items: list[Item],
    node: PathNode,
    pos: int,
    expanded: dict[str, int],
    options: ViewOptions,
    result: Selection,
) -> list[Item]:
    """What is before a node whose place is a guess. It may be a branch that the person left on purpose: it stands in the
    tree, and goes to the model when the person asks for it (expands the node)."""
    if node.uid in options.expand:
        return items
    if node.uid in expanded:
        result.changes.append(Change(0, expanded[node.uid]))
        return items
    what = f"{len(items)} earlier steps are left out: that this goes on from them is only a guess."
    result.repairs.append(Repair("left_out", node.uid, what, {"covered": len(items)}))
    result.changes.append(Change(-1, pos))
    return []


def _truncated(items: list[Item], uid: str, result: Selection) -> list[Item]:
    for index, item in enumerate(items):
        if item.node.uid == uid:
            if index == 0:
                return items
            mark = Item(items[0].node, -1, TRUNCATED)
            result.repairs.append(
                Repair(
                    "truncated",
                    uid,
                    f"{index} earlier steps are left out of this request.",
                    {"covered": index},
                )
            )
            result.changes.append(Change(-1, NEVER))
            return [mark, *items[index:]]
    result.repairs.append(Repair("summary_mismatch", uid, "The place to cut off before is not in the view."))
    return items


# -- context edits


def _edits(path: Sequence[PathNode]) -> tuple[dict[str, _Edit], dict[str, int]]:
    """uid → the edit that holds for it (the latest on the path), and compactions that are expanded again."""
    edits: dict[str, _Edit] = {}
    expanded: dict[str, int] = {}
    for pos, node in enumerate(path):
        if node.kind is not NodeKind.CONTEXT_EDIT:
            continue
        detail = node.detail
        raw = detail.get("targets") or [detail.get("target")]
        targets = [t for t in raw if isinstance(t, str) and t]
        if detail.get("expand") is True:
            expanded.update(dict.fromkeys(targets, pos))
            continue
        replacement = detail.get("replacement")
        text = replacement if isinstance(replacement, str) and replacement.strip() else None
        edit = _Edit(pos, node.uid, text, detail.get("restore") is True)
        for target in targets:
            for index, uid in enumerate(
                _turn(path, target, pos) if detail.get("scope") == "turn" else [target]
            ):
                # A note stands once for the whole turn.
                edits[uid] = edit if index == 0 else _Edit(pos, node.uid, None, edit.restore)
    return edits, expanded


def _calls(node: PathNode) -> list[str]:
    content = (node.message or {}).get("content")
    blocks = content if isinstance(content, list) else []
    return [str(b.get("id")) for b in blocks if isinstance(b, dict) and b.get("type") == "tool_use"]


def _turn(path: Sequence[PathNode], uid: str, before: int) -> list[str]:
    """The turn of a node: the prompt before it and everything up to the next prompt."""
    at = next((i for i in range(before) if path[i].uid == uid), None)
    if at is None:
        return [uid]
    start = at
    while start > 0 and path[start].kind not in _PROMPTS:
        start -= 1
    end = at + 1
    while end < before and path[end].kind not in _PROMPTS:
        end += 1
    return [path[i].uid for i in range(start, end)]


def _edited(items: list[Item], edits: dict[str, _Edit], result: Selection) -> list[Item]:
    kept: list[Item] = []
    for item in items:
        edit = edits.get(item.node.uid)
        if edit is None or item.pos < 0:
            kept.append(item)
            continue
        result.changes.append(Change(item.pos, edit.pos))
        if edit.restore:
            kept.append(item)
            continue
        kind = "left_out" if edit.replacement is None else "replaced"
        what = "left out" if edit.replacement is None else "replaced by a note"
        result.repairs.append(
            Repair(kind, item.node.uid, f"On this branch this step is {what}.", {"edit": edit.uid})
        )
        if item.node.kind in _TOOLS:
            # The call stays, so it needs a result: the note, or the fact that it was left out.
            kept.append(Item(item.node, item.pos, None, edit.replacement or EDIT_LEFT_OUT))
            continue
        if item.node.kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT):
            result.gone_calls.update(_calls(item.node))
        if edit.replacement is not None:
            kept.append(Item(item.node, item.pos, edit.replacement))
    return kept
