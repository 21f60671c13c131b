"""The whole plan of a restore: what becomes of every path and of the repositories inside, what the person should know of
it, and the token that names it. Nothing in the workspace is changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from worldline.workspace import gitagain
from worldline.workspace.model import KEPT, PlanItem, RestorePlan
from worldline.workspace.planning import Planner
from worldline.workspace.remarks import notes_of
from worldline.workspace.states import State

_STAYS = "a repository of its own that is not in that node; it stays"


def make(
    planner: Planner, *, last: str, safety_changed: bool, ignored: Callable[[], list[str]]
) -> RestorePlan:
    """`planner`: knows the state of now, which is the copy to return to, and the target. `last` and `safety_changed` as in
    `RestorePlan`. `ignored`: asked, where it matters, for files that are ignored now."""
    now, wanted = planner.now, planner.target
    items = planner.items()
    items += _ignored_items(now, wanted, items, ignored)
    items += [
        PlanItem(root.path, "not_captured", "a repository of its own: files, staging area and HEAD are put back, its history stays")
        for root in wanted.roots
        if root.path and not root.trouble
    ]  # fmt: skip
    dropped = gitagain.to_drop(now, wanted, planner.last, items)
    _name_staying(now, wanted, dropped, items)
    plan = RestorePlan(
        wanted.id,
        now.id,
        safety_changed,
        items,
        token_of(wanted.id, now, items, dropped),
        last=last,
        drop_git=dropped,
    )
    if now.main is not None:
        plan.head = now.main.head
    if wanted.main is not None:
        plan.branch_from = wanted.main.head
        has_commit = not wanted.main.trouble and now.main is not None and now.main.head != ""
        plan.unborn = has_commit and not wanted.main.head
    plan.notes = [
        f"{root.path or 'The repository'}: only files are put back, staging area and HEAD stay as they are: {root.trouble}."
        for root in wanted.roots
        if root.trouble
    ]
    plan.notes += [
        f"{path}: the repository there goes with its files; going back brings it back" for path in dropped
    ]
    plan.notes += [f"{note.path}: {note.reason}" for note in notes_of(wanted) if "case" in note.reason]
    return plan


def _name_staying(now: State, wanted: State, dropped: Sequence[str], items: list[PlanItem]) -> None:
    """Say of each repository that the target does not have and that does not go (the person made it since, say) that it
    stays: its folder does so too, also without its files."""
    said = {item.path: item for item in items}
    expected = {"", *dropped, *(root.path for root in wanted.roots)}
    for root in now.roots:
        item = said.get(root.path)
        if root.path in expected or (item is not None and item.action in KEPT):
            continue
        if item is None:
            item = PlanItem(root.path, "keep_foreign")
            items.append(item)
        elif item.action == "chmod":
            item.reason = item.reason or _STAYS  # the folder gets its permissions all the same
            continue
        elif item.action != "delete":
            continue  # it is decided what comes there
        item.action, item.choice, item.reason = "keep_foreign", "", _STAYS


def _ignored_items(
    now: State, wanted: State, items: list[PlanItem], ignored: Callable[[], list[str]]
) -> list[PlanItem]:
    """Files that are ignored now and would not be at the target: they stay, and the plan says so."""
    excludes = [[root.exclude for root in state.roots] for state in (now, wanted)]
    same_rules = now.meta["rules"] == wanted.meta["rules"] and excludes[0] == excludes[1]
    if same_rules and not any(item.path.rpartition("/")[2] == ".gitignore" for item in items):
        return []
    found = []
    said = {item.path for item in items}
    for path in ignored():
        if path not in said and not wanted.rules.ignored(path):
            found.append(PlanItem(path, "not_captured", "ignored now, so it was not captured; it stays"))
    return found[:200]


def token_of(target: str, now: State, items: Sequence[PlanItem], drop_git: Sequence[str]) -> str:
    """See `RestorePlan.token`."""
    deeds = sorted(
        (i.path, "keep" if i.action in KEPT else i.action, i.choice, i.blob, i.mode, i.expect, i.expect_mode)
        for i in items
    )
    # The staging area and what is in progress are replaced as well, and are nowhere else.
    heads = [(root.path, root.head, root.ref, root.index, root.operation) for root in now.roots]
    text = repr((target, heads, deeds, sorted(drop_git)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
