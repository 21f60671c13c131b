"""Every view and dialog with sample data, by name: for pictures, tests and looking at one thing alone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from worldline.ui import gallery_data as sample
from worldline.ui import gallery_kept
from worldline.viewmodel import engine_words, tree_text
from worldline.viewmodel.diff_files import by_path

Factory = Callable[[], QWidget]


def chat() -> QWidget:
    from worldline.ui.chat.view import ChatView
    from worldline.viewmodel.chat import ChatModel

    model = ChatModel()
    view = ChatView(model)
    model.set_path(sample.path(), forks={f"{2:016x}": 2})
    model.set_bodies(sample.bodies())
    model.set_runs([sample.run_stopped()])
    model.run_changed(sample.run_stopped(), ["go_on", "backtrack", "settings"])
    model.approval_asked(sample.approval())
    model.question_asked(sample.question())
    view.resize(560, 2600)
    return view


def empty_chat() -> QWidget:
    from worldline.ui.chat.view import ChatView
    from worldline.viewmodel.chat import ChatModel

    model = ChatModel()
    view = ChatView(model)
    model.set_path(sample.path()[:1])
    view.resize(620, 560)
    return view


def composer() -> QWidget:
    from worldline.ui.chat.composer import Composer

    widget = Composer()
    widget.choices.set_models(
        [{"id": "claude-sonnet-5-5", "name": "Sonnet 5.5", "efforts": ["low", "medium", "high"]}], ""
    )
    widget.set_context(41_000)
    widget.set_running(True)
    widget.set_queue([{"id": 1, "text": "and update the notes", "when": "next_step"}])
    widget.edit.set_text("Then make the error say the column.\nSee @src/shop/parser.py")
    widget.resize(640, widget.sizeHint().height())
    return widget


def diff() -> QWidget:
    from worldline.ui.diff.file_diff_panel import FileDiffPanel

    panel = FileDiffPanel()
    panel._split.setChecked(False)
    panel.show_diff(sample.parser_diff())
    panel.resize(560, 460)
    return panel


def diff_side_by_side() -> QWidget:
    from worldline.ui.diff.file_diff_panel import FileDiffPanel

    panel = FileDiffPanel()
    panel.view.set_side_by_side(True)
    panel.show_diff(sample.parser_diff())
    panel.resize(980, 460)
    return panel


def files() -> QWidget:
    from worldline.ui.diff.file_list import FileList

    view = FileList()
    view.set_changes(by_path(sample.changes()))
    view.resize(420, 240)
    return view


def approval() -> QWidget:
    from worldline.ui.dialogs.approval import ApprovalDialog

    return ApprovalDialog(sample.approval(), 2)


def approval_write() -> QWidget:
    from worldline.ui.dialogs.approval import ApprovalDialog

    return ApprovalDialog(sample.approval_write())


def jump_plan() -> QWidget:
    from worldline.ui.dialogs.jump_plan import JumpPlanDialog

    return JumpPlanDialog(sample.jump_plan(), "Fix the parser")


def question() -> QWidget:
    from worldline.ui.dialogs.small import QuestionDialog

    return QuestionDialog(sample.question())


def branch_summary() -> QWidget:
    from worldline.ui.dialogs.small import BranchSummaryDialog

    return BranchSummaryDialog(14)


def recovery() -> QWidget:
    from worldline.ui.dialogs.small import RecoveryDialog

    return RecoveryDialog(
        engine_words.say("A jump was interrupted; the files are as they were before it."),
        [tree_text.tool_words("bash", "npm run build")],
    )


def lossy() -> QWidget:
    from worldline.ui.dialogs.small import LossyDialog

    return LossyDialog(
        engine_words.say("From here the model knows the first 212 messages only as a summary.")
    )


def about() -> QWidget:
    from worldline.ui.dialogs.small import AboutDialog

    return AboutDialog()


def bring_home() -> QWidget:
    from worldline.protocol.commands import BringHomeResult
    from worldline.ui.dialogs.bring_home import BringHomeDialog

    dialog = BringHomeDialog("n", "main", "Fix the parser, tests must pass")
    entries = [{"path": change.path, "action": "overwrite"} for change in sample.changes()[:5]]
    dialog.show_preview(
        BringHomeResult.model_validate({"entries": entries, "conflicts": ["src/shop/parser.py"]})
    )
    return dialog


def first_start() -> QWidget:
    from worldline.ui.dialogs.first_start import FirstStartDialog

    return FirstStartDialog()


def new_session() -> QWidget:
    from pathlib import Path

    from worldline.ui.dialogs.new_session import NewSessionDialog

    return NewSessionDialog(str(Path(__file__).parent))


def settings() -> QWidget:
    from worldline.ui.dialogs.settings import SettingsDialog

    dialog = SettingsDialog()
    dialog.model_page.set_models(
        [
            {"id": "claude-sonnet-5-5", "name": "Sonnet 5.5", "price": "$3 / $15"},
            {"id": "claude-opus-5-5", "name": "Opus 5.5"},
        ],
        ["claude-sonnet-5-5", "claude-haiku-5"],
    )
    dialog.load(
        {
            "mode": "ask",
            "permissions": {"deny": ["Bash(npm publish:*)"], "ask": ["Bash(git push:*)"], "allow": []},
        }
    )
    return dialog


def settings_grants() -> QWidget:
    given: list[dict[str, object]] = [
        {
            "id": "b", "scope": "session", "tool": "tickets__close", "what": "close of tickets",
            "reach": "every call of tickets__close, with any arguments", "at": 1_767_000_000_000,
        },
        {
            "id": "a", "scope": "branch", "tool": "bash", "what": "make integration | tee result.txt",
            "reach": "exactly this command, in this folder and confined no less than now", "at": 1_766_999_000_000,
        },
    ]  # fmt: skip
    dialog = settings()
    dialog.show_page("grants")
    dialog.grants_page.show_grants(engine_words.message({"grants": given}))
    return dialog


def settings_rules() -> QWidget:
    dialog = settings()
    dialog.show_page("rules")
    dialog.rules_page.show_verdict(
        engine_words.message(
            {
                "decision": "ask",
                "parts": [
                    {"part": "git add .", "decision": "allow", "rule": "", "why": "stays in the sandbox"},
                    {
                        "part": "git push origin main",
                        "decision": "ask",
                        "rule": "Bash(git push:*)",
                        "why": "",
                    },
                ],
            }
        )
    )
    return dialog


def diagnostics() -> QWidget:
    from worldline.protocol.model import Diagnostic
    from worldline.ui.dialogs.diagnostics import DiagnosticsDialog

    dialog = DiagnosticsDialog()
    rows = (
        ("retry", "Overloaded. Trying again in 8 s (2 of 5)."),
        ("fallback", "Opus 5.5 is overloaded; Sonnet 5.5 answers for now."),
        ("repair", "A late tool result was moved to its call."),
        ("cache_miss", "The prompt cache was missed: the system text changed."),
    )
    dialog.pane.set_items([
        sample.said(Diagnostic(id=at, kind=kind, at=sample.T0 + at * 9000, detail=detail)) for at, (kind, detail) in enumerate(rows)
    ])  # fmt: skip
    return dialog


def model_view() -> QWidget:
    from worldline.protocol.commands import View
    from worldline.protocol.model import Diagnostic
    from worldline.ui.dialogs.model_view import ModelViewDialog

    request = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 32000,
        "system": "You are a coding agent …",
        "tools": [{"name": "bash"}, {"name": "edit"}],
        "messages": [
            {"role": "user", "content": "Summary of the first 212 messages: the parser was repaired …"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "pytest"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "interrupted"}],
            },
            {"role": "user", "content": "Now make the error say the column"},
        ],
    }
    view = View(
        request=request,
        origin=["", "n2", "n3", "n4"],
        diagnostics=[
            sample.said(
                Diagnostic(
                    id=1, kind="repair", node="n3", at=0, detail="A second result for one call is not sent."
                )
            )
        ],
        tokens=41_000,
        bytes=310_000,
    )
    titles = {
        "n2": tree_text.tool_words("bash", "pytest -q"),
        "n3": "pytest -q",
        "n4": "Now make the error say the column",
    }
    return ModelViewDialog(view, lambda node: titles.get(node, ""))


def effects() -> QWidget:
    from worldline.protocol.commands import Effects
    from worldline.ui.dialogs.effects import EffectsDialog

    dialog = EffectsDialog()
    here, elsewhere = sample.effects()[:1], sample.effects()[1:]
    dialog.show_effects(
        Effects(cursor="c", here=here, elsewhere=elsewhere, processes=sample.jump_plan().processes)
    )
    return dialog


def compare() -> QWidget:
    from worldline.ui.compare.dialog import CompareDialog

    dialog = CompareDialog(sample.compare(), {header.uid: header for header in sample.path()})
    dialog.view.show_diff(sample.parser_diff())
    return dialog


PARTS: dict[str, Factory] = {
    "chat": chat,
    "empty-chat": empty_chat,
    "composer": composer,
    "diff": diff,
    "diff-side-by-side": diff_side_by_side,
    "files": files,
}
DIALOGS: dict[str, Factory] = {
    "approval": approval,
    "approval-write": approval_write,
    "jump-plan": jump_plan,
    "question": question,
    "branch-summary": branch_summary,
    "recovery": recovery,
    "lossy": lossy,
    "about": about,
    "effects": effects,
    "bring-home": bring_home,
    "first-start": first_start,
    "new-session": new_session,
    "settings": settings,
    "settings-rules": settings_rules,
    "settings-grants": settings_grants,
    "sessions": gallery_kept.sessions,
    "diagnostics": diagnostics,
    "as-model-sees": model_view,
    "storage": gallery_kept.storage,
    "storage-question": gallery_kept.storage_question,
    "folders": gallery_kept.folders,
    "folders-question": gallery_kept.folders_question,
    "session-delete": gallery_kept.session_delete,
    "compare": compare,
}
GALLERY = {**PARTS, **DIALOGS}
"""name → factory. Names that `worldline demo --screenshot --view` knows are the same here."""
