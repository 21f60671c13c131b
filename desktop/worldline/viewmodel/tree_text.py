"""What a row of the tree says: glyph, words, what it did, badges; and the same as one sentence for screen readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.viewmodel import run_ends
from worldline.viewmodel.engine_words import say
from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.tree_words import (
    error_word,
    flag_words,
    kind_word,
    outcome_word,
    sign,
    stored_verb,
    verb,
)
from worldline.viewmodel.unmarked import unmarked
from worldline.viewmodel.visible import settled
from worldline.viewmodel.words import language, translate

_COUNTS = re.compile(r"\s*·?\s*\+\d+ [−-]\d+$")

_RESULT = re.compile(
    r"(?<= )(?:\d+ passed, \d+ failed|exit -?\d+|timed out|not run|cancelled"
    r"|[\d,]+ (?:lines|files|matches|entries|pages|notes|processes|bytes))$"
)
"""What an ended step says of its result, at the end of its preview."""
_SINGULAR = {
    "1 lines": "1 line", "1 files": "1 file", "1 matches": "1 match", "1 entries": "1 entry", "1 pages": "1 page",
    "1 notes": "1 note", "1 processes": "1 process", "1 bytes": "1 byte",
}  # fmt: skip
"""English only: in other languages these are translated before."""
_ERROR = re.compile(r"(?<=\s)[a-z]+(?:_[a-z]+)+$")
_CHECKS = re.compile(r"([\d,]+) passed, ([\d,]+) failed")

_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)
_COLOURS = {
    Outcome.OK: "ok",
    Outcome.FAILED: "bad",
    Outcome.DENIED: "bad",
    Outcome.STOPPED: "warn",
    Outcome.ABORTED: "muted",
    Outcome.INTERRUPTED: "warn",
    Outcome.RUNNING: "accent",
    Outcome.WAITING: "warn",
}
_MARKS = {
    Outcome.OK: "ok",
    Outcome.FAILED: "failed",
    Outcome.DENIED: "denied",
    Outcome.STOPPED: "stopped",
    Outcome.ABORTED: "aborted",
    Outcome.INTERRUPTED: "interrupted",
    Outcome.RUNNING: "running",
    Outcome.WAITING: "waiting",
}


@dataclass(slots=True, eq=False, repr=False)
class RowText:
    """`glyph` is a shape of `ui.tree.glyphs`; colours are tokens."""

    glyph: str
    color: str
    text: str
    strong: bool = False
    muted: bool = False
    mark: str = ""
    """Shape of the outcome, drawn after the words."""
    mark_color: str = ""
    side: list[tuple[str, str]] = field(default_factory=list)
    """(text, token) drawn at the right: `+30`, `−9`."""
    badges: list[tuple[str, str]] = field(default_factory=list)
    """(text, token): `⇄`, `⚠`, a label."""
    label: str = ""
    label_color: str = ""


_OURS = (NodeKind.COMPACTION, NodeKind.JUMP, NodeKind.EXTERNAL_CHANGE, NodeKind.CONTEXT_EDIT)
"""Kinds whose preview is a sentence of the engine; others show what somebody said or did."""


_SHAPES = {
    NodeKind.COMPACTION: ("compaction", True),
    NodeKind.IMPORTED_COMPACTION: ("compaction", True),
    NodeKind.BRANCH_SUMMARY: ("summary", True),
    NodeKind.IMPORTED_SUMMARY: ("summary", True),
    NodeKind.JUMP: ("change", True),
    NodeKind.EXTERNAL_CHANGE: ("change", True),
    NodeKind.ASSISTANT: ("ring", False),
    NodeKind.IMPORTED_ASSISTANT: ("ring", False),
}
"""Kind → glyph, and whether its words stand back."""


def _counted(result: str) -> str:
    """A result as it is said: of one thing not as of many."""
    # In the catalogue results stand in brackets: without them they would be the end of many a sentence.
    said = say(f"({result})").strip("()")
    return _SINGULAR.get(said, said)


def _result_said(preview: str) -> str:
    return _RESULT.sub(lambda found: _counted(found[0]), preview)


def tool_words(tool: str, preview: str, *, running: bool = False) -> str:
    """A tool step in words: `run pytest -q 3 passed, 2 failed`."""
    # Previews usually begin with the tool's own name; the verb of the window replaces it.
    for prefix in (tool, stored_verb(tool)):
        if prefix and preview.lower().startswith(prefix.lower()):
            preview = preview[len(prefix) :].lstrip(" :·")
            break
    # What it did is drawn beside the words; the preview of an ended step repeats it.
    preview = _COUNTS.sub("", preview)
    return f"{verb(tool)} {preview if running else _result_said(preview)}".strip()


def ended_tool_words(tool: str, preview: str, outcome: Outcome) -> str:
    """The same with how it failed in words, where nothing stands beside them: `edit a.py · no match`."""
    error = _error_in(preview, outcome)
    word = error_word(error)
    return tool_words(tool, preview.removesuffix(error).rstrip()) + (f" · {word}" if word else "")


def plain_note(note: str) -> str:
    """A fact that the model is told, without the marks that are meant for it."""
    plain = note.removeprefix("[Worldline: ").removesuffix("]")
    return plain[:1].upper() + plain[1:]


def title(model: TreeModel, row: int) -> str:
    """The words of a node without marks."""
    preview = settled(model.preview(row).strip())
    kind = model.kind_of(row)
    if kind in (NodeKind.TOOL, NodeKind.IMPORTED_TOOL):
        preview = preview.removesuffix(_error_of(model, row)).rstrip()
        return tool_words(model.tool(row), preview, running=model.outcome_of(row) is Outcome.RUNNING)
    if not preview:
        if kind is NodeKind.ASSISTANT and model.outcome_of(row) is Outcome.RUNNING:
            return translate("tree", "thinking…")
        return kind_word(kind)
    if kind is NodeKind.USER and model.flags[row] & NodeFlag.HIDDEN:
        return translate("tree", "To the model: {note}").format(note=plain_note(preview))
    if kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT):
        return unmarked(preview)
    return say(preview) if kind in _OURS else preview


def short_title(model: TreeModel, row: int, limit: int = 60) -> str:
    """The words of a node for a sentence: cut at a length, and seen to be cut."""
    words = (
        translate("tree", "Start of the session")
        if model.kind_of(row) is NodeKind.ROOT
        else title(model, row)
    )
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _error_of(model: TreeModel, row: int) -> str:
    """The kind of error at the end of the preview of a step that failed: a word for programs."""
    return (
        _error_in(model.preview(row).strip(), model.outcome_of(row))
        if model.kind_of(row) is NodeKind.TOOL
        else ""
    )


def _error_in(preview: str, outcome: Outcome) -> str:
    found = _ERROR.search(preview) if outcome in (Outcome.FAILED, Outcome.DENIED) else None
    return found[0] if found else ""


def _result_of(model: TreeModel, row: int) -> str:
    """What an ended step says of its result at the end of its preview, "" when it says nothing."""
    if model.outcome_of(row) is Outcome.RUNNING:
        return ""
    found = _RESULT.search(_COUNTS.sub("", model.preview(row).strip()))
    return found[0] if found else ""


def _short_result(said: str) -> str:
    """A result in as few words as say it: of checks the part that one has to know."""
    checks = _CHECKS.fullmatch(said)
    if checks is None:
        return _counted(said)
    passed, failed = int(checks[1].replace(",", "")), int(checks[2].replace(",", ""))
    if failed:
        return translate("tree", "{n} failed").format(n=failed)
    return translate("tree", "{n} passed").format(n=passed)


def row_text(model: TreeModel, row: int) -> RowText:
    kind, outcome = model.kind_of(row), model.outcome_of(row)
    flags = model.flags_of(row)
    result = RowText("ring", "muted", title(model, row))
    said = _result_of(model, row) if kind in (NodeKind.TOOL, NodeKind.IMPORTED_TOOL) else ""
    if said:
        # At the right, where it is never cut off: what came of a step is what one looks for.
        whole = _result_said(said if said.startswith(" ") else f" {said}").strip()
        result.text = result.text.removesuffix(whole).rstrip()
        result.side.append((_short_result(said), "bad" if outcome is Outcome.FAILED else "muted"))
    elif error := error_word(_error_of(model, row)):
        result.side.append((error, "bad"))
    if kind in _PROMPTS and flags & NodeFlag.HIDDEN:
        result.glyph, result.muted = "event", True
    elif kind in _PROMPTS:
        result.glyph, result.color, result.strong = "prompt", "text", True
    elif kind in (NodeKind.TOOL, NodeKind.IMPORTED_TOOL):
        result.glyph = f"tool-{sign(model.tool(row))}"
        result.color = _COLOURS.get(outcome, "muted")
        if outcome is Outcome.OK:
            result.color = "muted"
    elif kind is NodeKind.ROOT:
        result.glyph, result.muted = "root", True
        result.text = translate("tree", "Start of the session")
    else:
        result.glyph, result.muted = _SHAPES.get(kind, ("event", True))
    # A reply that simply worked needs no tick on every row: the steps and the ends of runs carry it.
    quiet = outcome is Outcome.OK and kind is not NodeKind.TOOL and model.children[row]
    if outcome is not Outcome.NONE and not quiet:
        result.mark, result.mark_color = _MARKS[outcome], _COLOURS[outcome]
    _numbers(result, model.added[row], model.removed[row])
    # The mark of a failed step says already that its checks failed.
    if outcome in (Outcome.OK, Outcome.FAILED):
        flags &= ~(NodeFlag.CHECKS_PASSED | NodeFlag.CHECKS_FAILED)
    if flags & NodeFlag.IRREVERSIBLE and model.uid(row) in model.countered:
        flags &= ~NodeFlag.IRREVERSIBLE
        result.badges.append(("↶", "muted"))
    _badges(result, flags)
    ended = model.ends.get(row)
    if ended:
        result.side.clear()
        result.side.append((f"■ {run_ends.words(ended)}", "warn"))
    label = model.labels.get(row)
    if label is not None:
        result.label = label.label or label.bookmark
        result.label_color = label.color
        if label.note:
            result.badges.append(("✎", "muted"))
    return result


def _numbers(result: RowText, added: int, removed: int) -> None:
    if added:
        result.side.append((f"+{added}", "ok"))
    if removed:
        result.side.append((f"−{removed}", "bad"))


def _badges(result: RowText, flags: NodeFlag) -> None:
    if not flags:
        return
    for flag, text, token in (
        (NodeFlag.IRREVERSIBLE, "⚠", "warn"),
        (NodeFlag.FALLBACK, "⇄", "info"),
        (NodeFlag.REPAIR, "✚", "info"),
        (NodeFlag.NOT_CAPTURED, "∅", "warn"),
        (NodeFlag.CHECKS_PASSED, "✓✓", "ok"),
        (NodeFlag.CHECKS_FAILED, "✗✗", "bad"),
        (NodeFlag.CODE_RUNS_LATER, "↯", "warn"),
        (NodeFlag.INCOMPLETE, translate("tree", "cut off"), "warn"),
        (NodeFlag.GUESSED_PARENT, "?", "muted"),
        (NodeFlag.SIDE_BRANCH, "↳", "muted"),
    ):
        if flags & flag:
            result.badges.append((text, token))


_LONG_RUN = 200
_folds: WeakKeyDictionary[TreeModel, dict[tuple[int, int, int, int], RowText]] = WeakKeyDictionary()
"""Words of long folded runs: an imported session has runs of a hundred thousand steps, and each picture shows them."""


def fold_text(model: TreeModel, rows: range) -> RowText:
    """A folded run: `7 steps: read 4, edit 2, run 1`."""
    if len(rows) < _LONG_RUN:
        return _fold_text(model, rows)
    known = _folds.setdefault(model, {})
    key = (rows.start, rows.stop, model.changes, language())
    found = known.get(key)
    if found is None:
        for old in [old for old in known if old[2:] != key[2:]]:
            del known[old]
        found = known[key] = _fold_text(model, rows)
    return found


def _fold_text(model: TreeModel, rows: Sequence[int]) -> RowText:
    tools = Counter(verb(model.tool(row)) for row in rows if model.tool(row))
    parts = ", ".join(f"{word} {count}" for word, count in tools.most_common(4))
    steps = translate("tree", "{n} steps").format(n=len(rows))
    result = RowText("fold", "muted", f"{steps}: {parts}" if parts else steps, muted=True)
    _numbers(result, sum(model.added[row] for row in rows), sum(model.removed[row] for row in rows))
    return result


def marks_of(model: TreeModel, row: int) -> list[str]:
    """The badges of a row in words."""
    flags = model.flags_of(row)
    if flags & NodeFlag.IRREVERSIBLE and model.uid(row) in model.countered:
        rest = flag_words(flags & ~NodeFlag.IRREVERSIBLE)
        return [translate("tree", "did something outside, which was countered"), *rest]
    return flag_words(flags)


def sentence(model: TreeModel, row: int, *, cursor: bool = False) -> str:
    """The node in words: kind, text, how it ended, what it changed, badges, label, "you are here"."""
    parts = [f"{kind_word(model.kind_of(row))}: {title(model, row)}"]
    word = outcome_word(model.outcome_of(row))
    if word:
        parts.append(word)
    if model.added[row] or model.removed[row]:
        parts.append(
            translate("tree", "{a} lines added, {r} removed").format(a=model.added[row], r=model.removed[row])
        )
    parts.extend(marks_of(model, row))
    if row in model.ends:
        parts.append(
            translate("tree", "the run ended here: {why}").format(why=run_ends.words(model.ends[row]))
        )
    label = model.labels.get(row)
    if label is not None and (label.label or label.note):
        parts.append(translate("tree", "label {text}").format(text=label.label or label.note))
    if model.children[row] > 1:
        parts.append(translate("tree", "{n} branches start here").format(n=model.children[row]))
    if cursor:
        parts.append(translate("tree", "you are here"))
    return ", ".join(parts)
