"""Texts of any length and of any kind, from models, files and people: they neither deceive nor break the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QRadioButton, QVBoxLayout, QWidget

from worldline.protocol.model import Approval, Question
from worldline.ui import gallery_data as sample
from worldline.ui.chat.ask_rows import ApprovalRow, QuestionForm
from worldline.ui.chat.row_base import RowSignals
from worldline.ui.dialogs.approval import ApprovalDialog
from worldline.ui.labels import WrapLabel
from worldline.ui.main_window import MainWindow
from worldline.ui.markdown.prose import Prose
from worldline.ui.notices import Notices
from worldline.ui.palette import Palette
from worldline.ui.plain import as_label, of_label
from worldline.ui.syntax.code_view import CodeView
from worldline.ui.syntax.lines import line_painter
from worldline.viewmodel.chat_markdown import pieces
from worldline.viewmodel.chat_rows import ChatRow, RowKind
from worldline.viewmodel.visible import visible

from .mouse import move_to

LONG = "/home/me/" + "very-long-name" * 40 + ".md"
SEEN = "\u202e"


def approval(**changes: Any) -> Approval:
    return sample.approval().model_copy(update={"marks": [], **changes})


@pytest.fixture
def open_dialog(qtbot: Any) -> Callable[..., ApprovalDialog]:
    def make(**changes: Any) -> ApprovalDialog:
        made = ApprovalDialog(approval(**changes))
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(made)
        made.show()
        qtbot.waitExposed(made)
        return made

    return make


# Pictures -----------------------------------------------------------------------------------------------------------


def test_a_message_opens_no_file_of_this_computer(qtbot: Any, tmp_path: Path) -> None:
    picture = QImage(40, 40, QImage.Format.Format_RGB32)
    picture.fill(QColor("red"))
    place = tmp_path / "secret.png"
    assert picture.save(str(place))
    prose = Prose()
    qtbot.addWidget(prose)
    prose.resize(300, 100)
    shown = QImage(300, 100, QImage.Format.Format_RGB32)
    # What the parser makes of it, and what Qt would make of markup that came another way.
    for markup in (pieces(f"![look]({place})")[0].text, f'<p><img src="{place}"></p>'):
        prose.set_html(markup)
        shown.fill(QColor("white"))
        prose.render(shown)
        assert not any(
            shown.pixelColor(x, y) == QColor("red") for x in range(0, 300, 4) for y in range(0, 100, 4)
        )


def test_a_picture_is_named_with_where_it_is() -> None:
    assert "<img" not in pieces("![a](/dev/zero) ![b](https://example.org/b.png)")[0].text
    assert '<a href="https://example.org/b.png">▣ b</a>' in pieces("![b](https://example.org/b.png)")[0].text
    assert "▣ a (/dev/zero)" in pieces("![a](/dev/zero)")[0].text
    assert "&lt;b&gt;" in pieces("![<b>](x.png)")[0].text


def test_a_link_says_where_it_leads(qtbot: Any) -> None:
    prose = Prose()
    qtbot.addWidget(prose)
    prose.resize(300, 60)
    prose.set_html(pieces("[https://good.example](https://other.example/x)")[0].text)
    prose.show()
    place = next(
        point
        for x in range(2, 200, 4)
        for point in [prose.rect().topLeft() + type(prose.rect().topLeft())(x, 8)]
        if prose._anchor(point.toPointF())
    )
    move_to(prose, place)
    assert prose.toolTip() == "https://other.example/x"


# What one agrees to -------------------------------------------------------------------------------------------------


def test_hidden_characters_are_seen_where_one_decides() -> None:
    command = f"rm -rf {SEEN}txt.exe\u200b\x1b[2K"
    shown = visible(command)
    assert len(shown) == len(command) and SEEN not in shown and "\u200b" not in shown and "\x1b" not in shown
    assert line_painter().layout(command).text() == shown
    # Scripts and pictures that are written with joiners stay what they are.
    assert visible("👩\u200d💻 می\u200cخواهم\tx\n") == "👩\u200d💻 می\u200cخواهم\tx\n"


def test_a_rule_is_shown_letter_by_letter(open_dialog: Callable[..., ApprovalDialog]) -> None:
    rule = 'Bash(make && echo "R&D" *)'
    dialog = open_dialog(scopes=["once", "always"], rule=rule)
    always = next(one for one in dialog.findChildren(QRadioButton) if one.property("scope") == "always")
    assert of_label(always.text()).endswith(rule)
    assert QKeySequence.mnemonic(always.text()).isEmpty()


def test_every_argument_of_a_call_is_shown_whole(open_dialog: Callable[..., ApprovalDialog]) -> None:
    arguments = {f"argument {n}": f"{n} " + "v" * 900 for n in range(12)}
    dialog = open_dialog(command="", diff=None, input=arguments)
    shown = "".join(view.text().replace("\n", "") for view in dialog.findChildren(CodeView))
    assert all(value in shown for value in arguments.values())
    assert not any(view._bar.isVisible() for view in dialog.findChildren(CodeView))


def test_the_buttons_stay_on_the_screen_and_a_long_call_is_read_to_its_end(
    open_dialog: Callable[..., ApprovalDialog], qtbot: Any
) -> None:
    dialog = open_dialog(command="\n".join(f"echo {n}" for n in range(400)))
    screen = dialog.screen().availableGeometry()
    assert dialog.height() <= screen.height()
    assert dialog.allow_button.mapTo(dialog, dialog.allow_button.rect().bottomLeft()).y() < dialog.height()
    qtbot.waitUntil(lambda: not dialog._grace.isActive(), timeout=3000)
    answers: list[dict[str, Any]] = []
    dialog.answered.connect(answers.append)
    QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert answers == [] and not dialog.allow_button.isEnabled() and dialog.allow_button.toolTip()
    assert dialog.area is not None
    bar = dialog.area.verticalScrollBar()
    bar.setValue(bar.maximum())
    qtbot.waitUntil(dialog.allow_button.isEnabled, timeout=3000)
    QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert [one["decision"] for one in answers] == ["allow"]


def test_in_the_chat_nothing_is_allowed_that_it_does_not_show(qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)

    def row(**changes: Any) -> ApprovalRow:
        shown = ChatRow("approval:1", RowKind.APPROVAL, approval=approval(command="", diff=None, **changes))
        return ApprovalRow(shown, RowSignals(owner), owner)

    short, long = row(input={"to": "me@example.org"}), row(input={"text": "word " * 500})
    assert "me@example.org" in "".join(view.text() for view in short.findChildren(CodeView))
    allow = {one: one.allow_button for one in (short, long)}
    qtbot.waitUntil(allow[short].isEnabled, timeout=3000)
    assert not allow[long].isEnabled() and allow[long].toolTip()


def test_choices_of_a_question_are_shown_and_answered_as_they_are(qtbot: Any) -> None:
    choices = ["R&D", "a very long choice " * 12, "<b>bold</b>"]
    form = QuestionForm(Question(id="q", node="n", text="Which?", choices=choices, multiple=False))
    qtbot.addWidget(form)
    buttons = form.findChildren(QRadioButton)
    assert of_label(buttons[0].text()) == "R&D" and [one.accessibleName() for one in buttons] == choices
    assert form.sizeHint().width() < 600
    for button, choice in zip(buttons, choices, strict=True):
        button.setChecked(True)
        answer = form.answer()
        assert answer is not None and answer["choices"] == [choice]


# Long texts ---------------------------------------------------------------------------------------------------------


def test_a_long_word_is_broken_and_copied_whole(qtbot: Any) -> None:
    label = WrapLabel(LONG)
    qtbot.addWidget(label)
    label.setWordWrap(True)
    assert label.text() == LONG and label.minimumSizeHint().width() < 400
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setSelection(0, 10_000)
    label.copy()
    assert QApplication.clipboard().text() == LONG
    label.setText("short")
    assert label.text() == "short"


def test_a_notice_never_makes_the_window_wide(qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    layout = QVBoxLayout(owner)
    notices = Notices(owner)
    layout.addWidget(notices)
    notice = notices.say("export", f"Exported to {LONG}.", buttons=[("Back to R&D", lambda: None)])
    assert layout.minimumSize().width() < 700
    assert of_label(notice.buttons[0].text()) == "Back to R&D"


def test_no_title_and_no_sentence_makes_the_window_wide(
    window_of: Callable[..., MainWindow], qtbot: Any
) -> None:
    long = "word " * 200
    window = window_of(
        width=1000,
        session={"title": long, "root": LONG},
        status={"state": "waiting", "sentence": long, "branch": "refs/heads/" + "b" * 300},
    )
    qtbot.waitUntil(lambda: window.status.first.segment.text.startswith("word"), timeout=5000)
    body = window.centralWidget()
    body.layout().activate()
    assert body.minimumSizeHint().width() <= 1000
    assert window.status.first.width() >= 200
    assert long.strip() in window.status.first.toolTip()


def test_an_action_with_an_ampersand_has_its_name_in_the_palette(qtbot: Any, settings: QSettings) -> None:
    from PySide6.QtGui import QAction

    owner = QWidget()
    qtbot.addWidget(owner)
    ran: list[str] = []
    action = QAction(as_label("Return to R&D…"), owner)
    action.triggered.connect(lambda: ran.append("ran"))
    palette = Palette(owner, [action])
    qtbot.addWidget(palette)
    palette.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    item = palette.list.item(0)
    assert item.data(Qt.ItemDataRole.AccessibleTextRole) == "Return to R&D…"
    # Where one click opens, Qt emits both signals for it.
    palette.list.itemClicked.emit(item)
    palette.list.itemActivated.emit(item)
    assert ran == ["ran"]


def test_a_command_is_found_by_its_english_name_in_any_language(qtbot: Any) -> None:
    from PySide6.QtGui import QAction

    owner = QWidget()
    qtbot.addWidget(owner)
    actions = [QAction(text, owner) for text in ("导出…", "存储…")]
    for action, name in zip(actions, ("export", "storage"), strict=True):
        action.setObjectName(name)
    palette = Palette(owner, actions)
    qtbot.addWidget(palette)
    palette.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    palette.edit.setText("expo")
    shown = [palette.list.item(at).data(Qt.ItemDataRole.UserRole) for at in range(palette.list.count())]
    assert shown == actions[:1]


def test_a_direction_mark_turns_nothing_but_is_seen(window_of: Callable[..., MainWindow], qtbot: Any) -> None:
    window = window_of(session={"title": f"a {SEEN}b"})
    assert SEEN not in window.windowTitle() and window.windowTitle().endswith("— Worldline")
    assert SEEN not in window.title_label.text()
    prose = Prose()
    qtbot.addWidget(prose)
    prose.set_html(pieces(f"see {SEEN}evil and שלום\u200f, soft\u00adhyphen")[0].text)
    assert SEEN not in prose.text() and "שלום\u200f" in prose.text() and "soft\u00adhyphen" in prose.text()


def test_a_command_of_megabytes_is_not_laid_out_for_one_line(qtbot: Any) -> None:
    from worldline.core.headers import NodeHeader
    from worldline.core.kinds import NodeKind, Outcome
    from worldline.protocol.model import Body
    from worldline.ui.chat.tool_card import SUBJECT, ToolCard

    command = "x" * 2_000_000
    header = NodeHeader(1, "a" * 16, 0, NodeKind.TOOL, 1, "bash x", tool="bash", outcome=Outcome.OK)
    body = Body(uid="a" * 16, kind="tool", call={"id": "t", "name": "bash", "input": {"command": command}})
    card = ToolCard(ChatRow("a", RowKind.TOOL, header, body), RowSignals())
    qtbot.addWidget(card)
    assert len(card._subject.text()) <= SUBJECT
    card._copy.click()
    assert QApplication.clipboard().text() == command
