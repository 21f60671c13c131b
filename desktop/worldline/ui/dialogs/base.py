"""What all dialogs share: a title, a body, buttons; Escape leaves without harm; nothing dangerous is the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from worldline.ui import tab_order
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.focus_ring import FocusRing
from worldline.ui.labels import WrapLabel
from worldline.ui.plain import as_label
from worldline.ui.theme import theme

D = TypeVar("D", bound=QDialog)

Role = Literal["", "primary", "danger", "link"]
FRAME = 48
"""Pixels of the screen that a dialog leaves to its title and to the edges."""


class _Fitter(QObject):
    """Watches a dialog for another wish of its layout. An object of its own: an `event` of Python would be in the
    middle of being called when the dialog deletes itself."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and isinstance(watched, Dialog) and watched.isVisible():
            watched.fit()
        return False


class Dialog(QDialog):
    """Shown with `open()`; what follows hangs on `finished`. It deletes itself when closed."""

    names_width = 124

    def __init__(self, title: str, parent: QWidget | None = None, *, width: int = 560) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(min(width, 420))
        self.resize(width, 10)
        self._fitter = _Fitter(self)
        self.installEventFilter(self._fitter)
        self._ring = FocusRing(self)
        self._goes_on: dict[QLineEdit, QPushButton] = {}
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(20, 16, 20, 16)
        self._outer.setSpacing(12)
        self.heading = WrapLabel(title, self)
        self.heading.setFont(theme().font_ui(3, bold=True))
        self.heading.setWordWrap(True)
        self._outer.addWidget(self.heading)
        self.body = QVBoxLayout()
        self.body.setSpacing(8)
        self.area: QScrollArea | None = None
        """What the body scrolls in when the screen has no room for all of it."""
        self._outer.addLayout(self.body, 1)
        self.left_buttons = QHBoxLayout()
        self.right_buttons = QHBoxLayout()
        for side in (self.left_buttons, self.right_buttons):
            side.setSpacing(8)
        self._buttons = QHBoxLayout()
        self._buttons.addLayout(self.left_buttons)
        self._buttons.addStretch(1)
        self._buttons.addLayout(self.right_buttons)
        self._outer.addLayout(self._buttons)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return tab_order.step(self, None, forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the keyboard: Qt gives it to the default one unless the focused button may be
        the default itself, and who went to Remove with Tab cancelled by Enter."""
        focus = self.focusWidget()
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if enter and plain and isinstance(focus, QPushButton) and focus.isEnabled():
            if not event.isAutoRepeat():
                focus.click()
        elif enter and plain and isinstance(focus, QLineEdit):
            if not event.isAutoRepeat():
                self._entered(focus)
        else:
            super().keyPressEvent(event)

    def _entered(self, field: QLineEdit) -> None:
        """Whoever ends a line with Enter wants to go on, or only to have it read: not to leave by the default button,
        and lose what was written."""
        button = self._goes_on.get(field)
        if button is None:
            default = next((one for one in self.findChildren(QPushButton) if one.isDefault()), None)
            button = default if default is not None and default.property("role") == "primary" else None
        if button is not None and button.isEnabled():
            button.click()

    def enter_presses(self, field: QLineEdit, button: QPushButton) -> None:
        """Enter in this field is a press of this button, though it is not the default."""
        self._goes_on[field] = button

    def fit(self) -> None:
        """As wide as the buttons, and as high as the wrapped texts need: a layout alone takes the height they would have
        unwrapped. Where the screen is not as high the body scrolls: the buttons must be reached."""
        layout = self.layout()
        if layout is None:
            return
        # Buttons beside each other can be made narrower than their words.
        margins = self._outer.contentsMargins()
        wanted = self._buttons.sizeHint().width() + margins.left() + margins.right()
        if wanted > self.width():
            self.resize(min(wanted, self.screen().availableGeometry().width()), self.height())
        room = self.room()
        if self.area is None and layout.totalMinimumHeightForWidth(self.width()) > room:
            self._scroll_body()
        needed = min(layout.totalHeightForWidth(self.width()), room)
        if needed > self.height():
            self.resize(self.width(), needed)

    def room(self) -> int:
        """How high it may be."""
        return self.screen().availableGeometry().height() - FRAME

    def _scroll_body(self) -> None:
        at = self._outer.indexOf(self.body)
        self._outer.takeAt(at)
        inside = QWidget()
        QVBoxLayout(inside).addLayout(self.body)
        inside.layout().setContentsMargins(0, 0, 8, 0)  # type: ignore[union-attr]
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # What is in it can be reached; it scrolls to what has the focus.
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setWidget(inside)
        self._outer.insertWidget(at, self.area, 1)
        # The smallest size that the layout has set before is that of the whole body.
        self._outer.activate()
        self.resize(self.width(), self.room())

    def _gather(self) -> None:
        """Where nothing in the body wants the room that is left it stays below: in a large window lines would stand far
        from one another."""
        body = self.body
        for at in range(body.count()):
            item = body.itemAt(at)
            if body.stretch(at) or (
                item is not None and item.expandingDirections() & Qt.Orientation.Vertical
            ):
                return
        body.addStretch(1)

    def showEvent(self, event: QShowEvent) -> None:
        self._gather()
        self.fit()
        super().showEvent(event)

    def add_text(self, text: str, token: str = "text", layout: QVBoxLayout | None = None) -> ColorLabel:
        """A paragraph."""
        label = ColorLabel(text, token, self)
        label.setFont(theme().font_ui())
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        (layout or self.body).addWidget(label)
        return label

    def add_fact(self, name: str, text: str, token: str = "text") -> ColorLabel:
        """`Why asked   it reaches the network`. All names of a dialog are `names_width` wide."""
        line = QHBoxLayout()
        line.setSpacing(12)
        key = ColorLabel(name, "muted", self)
        key.setFont(theme().font_ui())
        key.setFixedWidth(self.names_width)
        key.setAlignment(Qt.AlignmentFlag.AlignTop)
        key.setWordWrap(True)
        value = ColorLabel(text, token, self)
        value.setFont(theme().font_ui())
        value.setWordWrap(True)
        value.setAlignment(Qt.AlignmentFlag.AlignTop)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        value.setAccessibleName(f"{name}: {text}")
        line.addWidget(key)
        line.addWidget(value, 1)
        self.body.addLayout(line)
        return value

    def add_button(
        self,
        text: str,
        call: Callable[[], object],
        *,
        role: Role = "",
        left: bool = False,
        default: bool = False,
    ) -> QPushButton:
        button = QPushButton(as_label(text), self)
        button.setAutoDefault(default)
        button.setDefault(default)
        if role:
            button.setProperty("role", role)
        button.clicked.connect(lambda _=False: call())
        (self.left_buttons if left else self.right_buttons).addWidget(button)
        return button

    def add_cancel(self, text: str = "") -> QPushButton:
        """The harmless way out, and the default: Enter alone does nothing that matters."""
        button = self.add_button(text or self.tr("Cancel"), self.reject, default=True)
        button.setFocus()
        return button


def in_front(parent: QWidget, kind: type[D]) -> D | None:
    """The dialog of this kind that this window shows already, brought to the front."""
    for dialog in parent.window().findChildren(kind):
        if dialog.isVisible():
            dialog.raise_()
            dialog.activateWindow()
            return dialog
    return None


def while_open(dialog: QWidget, call: Callable[..., object]) -> Callable[..., None]:
    """`call`, as long as the dialog is there: answers of the engine may come after it was closed."""

    def guarded(*args: object) -> None:
        if isValid(dialog):
            call(*args)

    return guarded


class Latest:
    """Of several questions only the answer to the last one counts: the engine answers some later than others."""

    def __init__(self) -> None:
        self._number = 0

    def ask(self) -> Callable[[Callable[..., object]], Callable[..., None]]:
        """A new question. What is returned wraps its callbacks: they are not called when another one was asked since."""
        self._number += 1
        number = self._number

        def of(call: Callable[..., object]) -> Callable[..., None]:
            def answered(*args: object) -> None:
                if number == self._number:
                    call(*args)

            return answered

        return of

    def forget(self) -> None:
        """No answer counts any more."""
        self._number += 1


def checked_value(group: QButtonGroup) -> str:
    """The property `value` of the button that is checked in a group that always has one."""
    button = group.checkedButton()
    return str(button.property("value")) if button is not None else ""


def clear_layout(layout: QLayout) -> None:
    """Take everything out of a layout and delete it."""
    while layout.count():
        item = layout.takeAt(0)
        if item is None:
            continue
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
        elif (inner := item.layout()) is not None:
            clear_layout(inner)
