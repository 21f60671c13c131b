"""Pages of the settings: each is a form over one part of the values and says what it would change."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.theme import theme

translate = QCoreApplication.translate
NAMES = 160
NUMBER = 150
WIDE = 420
"""Fields wider than this are no easier to read."""


class Page(QWidget):
    """`changed` carries what to merge into the settings. `words` is what the search looks through."""

    changed = Signal(dict)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(4, 0, 4, 0)
        self._layout.setSpacing(10)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(12)
        self._grid.setColumnStretch(1, 1)
        self._layout.addLayout(self._grid)

    def row(self, name: str, widget: QWidget, hint: str = "") -> None:
        widget.setAccessibleName(name)
        if hint:
            widget.setAccessibleDescription(hint)
        if isinstance(widget, QComboBox):
            # Choices arrive later than the first show; the box has its room from the start.
            widget.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            widget.setMinimumContentsLength(12)
            widget.setMaximumWidth(WIDE)
        if isinstance(widget, QAbstractSpinBox):
            widget.setFixedWidth(NUMBER)
        column = QVBoxLayout()
        column.setSpacing(3)
        if widget.maximumWidth() < 10_000:
            line = QHBoxLayout()
            line.addWidget(widget, 1000)
            line.addStretch(1)
            column.addLayout(line)
        else:
            column.addWidget(widget)
        if hint:
            self.hint(hint, column)
        key = QLabel(name, self)
        key.setBuddy(widget)
        key.setContentsMargins(0, 5, 0, 0)
        key.setWordWrap(True)
        key.setFixedWidth(NAMES)
        at = self._grid.rowCount()
        self._grid.addWidget(key, at, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addLayout(column, at, 1)

    def hint(self, text: str, column: QVBoxLayout | None = None) -> ColorLabel:
        """A quiet sentence under a field, or in a row of its own."""
        label = ColorLabel(text, "muted", self)
        label.setWordWrap(True)
        if column is not None:
            column.addWidget(label)
        else:
            self._grid.addWidget(label, self._grid.rowCount(), 1)
        return label

    def choice(
        self, name: str, key: str, choices: list[tuple[str, str]], hint: str = "", default: str = ""
    ) -> QComboBox:
        """A setting with a few values; `load_choice` shows what it is."""
        box = QComboBox(self)
        for value, text in choices:
            box.addItem(text, value)
        box.setProperty("key", key)
        box.setProperty("default", default)
        box.activated.connect(lambda _at: self.changed.emit({key: box.currentData()}))
        self.row(name, box, hint)
        return box

    @staticmethod
    def load_choice(box: QComboBox, values: dict[str, Any]) -> None:
        value = str(values.get(str(box.property("key"))) or box.property("default"))
        if box.findData(value) < 0:
            # Written by hand, or by a newer version: it is shown as it is and not replaced.
            box.addItem(value, value)
        box.setCurrentIndex(box.findData(value))

    @staticmethod
    def _is_written(field: QLineEdit | None) -> bool:
        """Somebody is writing in it: what was saved before must not take the place of that."""
        return field is not None and field.hasFocus() and field.isModified()

    def finish(self) -> None:
        self._layout.addStretch(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # A scroll area asks for the height without a width: wrapped hints would be squeezed.
        self.setMinimumHeight(max(0, self._layout.totalHeightForWidth(self.width())))

    @property
    def words(self) -> str:
        texts = [label.text() for label in self.findChildren(QLabel)]
        texts += [box.text() for box in self.findChildren(QCheckBox)]
        texts += [box.itemText(at) for box in self.findChildren(QComboBox) for at in range(box.count())]
        return " ".join([self.title, *texts]).lower()

    @abstractmethod
    def load(self, values: dict[str, Any]) -> None:
        """Show these settings; what is not among them has its default."""


class ModelPage(Page):
    """Model, fallback chain, effort, service address."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Model"), parent)
        self.model = QComboBox(self)
        self.model.activated.connect(lambda _at: self.changed.emit({"model": self.model.currentData() or ""}))
        self.row(self.tr("Model"), self.model, self.tr("Asked first, in every new run."))
        self._own_chain = False
        """The order is the person's; else it is the one of the engine."""
        self.chain = QListWidget(self)
        self.chain.setMaximumHeight(110)
        self.chain.setDragDropMode(QListWidget.DragDropMode.InternalMove)
        self.chain.model().rowsMoved.connect(self._chain_moved)
        self.chain.installEventFilter(self)
        self.row(self.tr("If it cannot answer"), self.chain,
                 self.tr("Tried in this order when a model is overloaded or refused. Drag or Alt+↑ Alt+↓ change the order."))  # fmt: skip
        self.effort = self.choice(
            self.tr("Effort"), "effort",
            [("", self.tr("as the model does")), ("low", self.tr("low")), ("medium", self.tr("medium")),
             ("high", self.tr("high"))],
            self.tr("More effort thinks longer and costs more."),
        )  # fmt: skip
        self.mode = self.choice(
            self.tr("Mode of new sessions"), "mode",
            [("plan", self.tr("plan: reads only")), ("ask", self.tr("ask before everything")),
             ("work", self.tr("work: unasked inside the sandbox"))],
            default="ask",
        )  # fmt: skip
        self.compact = QCheckBox(self.tr("Compact the context before it is full"), self)
        self.compact.clicked.connect(lambda on: self.changed.emit({"auto_compact": on}))
        self.row(self.tr("Context"), self.compact)
        self.ready = QCheckBox(self.tr("Keep a copy of large repositories ready"), self)
        self.ready.clicked.connect(lambda on: self.changed.emit({"ready_copy": on}))
        self.row(self.tr("New sessions"), self.ready,
                 self.tr("So they begin sooner. Made when nothing else goes on; takes 2 GB at most. Listed with the folders of "
                         "sessions, under Storage."))  # fmt: skip
        self.base_url = QLineEdit(self)
        # The engine takes it from there when nothing is said here. Its value may hold a password.
        by_environment = bool(os.environ.get("ANTHROPIC_BASE_URL"))
        self.base_url.setPlaceholderText(
            "$ANTHROPIC_BASE_URL" if by_environment else "https://api.anthropic.com"
        )
        self.base_url.editingFinished.connect(
            lambda: self.changed.emit({"base_url": self.base_url.text().strip()})
        )
        self.row(self.tr("Address of the service"), self.base_url,
                 self.tr("Empty = the address in ANTHROPIC_BASE_URL. A local server that speaks the Messages API works as well.")
                 if by_environment
                 else self.tr("Empty = Anthropic. A local server that speaks the Messages API works as well."))  # fmt: skip
        self.full_api = QCheckBox(self.tr("The local server knows the whole API"), self)
        self.full_api.clicked.connect(lambda on: self.changed.emit({"full_api": on}))
        self.row(self.tr("Local server"), self.full_api,
                 self.tr("Off: extras that small servers refuse are left out."))  # fmt: skip
        self.finish()

    def set_models(self, models: list[dict[str, Any]], chain: list[str]) -> None:
        current = self.model.currentData()
        self.model.clear()
        for one in models:
            price = f"  ·  {one['price']}" if one.get("price") else ""
            self.model.addItem(f"{one.get('name') or one['id']}{price}", one["id"])
        self._show_model(str(current or ""))
        if not self._own_chain:
            self._show_chain(chain)

    def _show_model(self, model: str) -> None:
        """A model that the service does not name is shown as it is: it may not answer now, or be written by hand."""
        if model and self.model.findData(model) < 0:
            self.model.addItem(model, model)
        self.model.setCurrentIndex(max(0, self.model.findData(model)) if self.model.count() else -1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # The order by keyboard as well.
        if (
            watched is self.chain
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.modifiers() & Qt.KeyboardModifier.AltModifier
            and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)
        ):
            self._move(-1 if event.key() == Qt.Key.Key_Up else 1)
            return True
        return super().eventFilter(watched, event)

    def _move(self, by: int) -> None:
        row = self.chain.currentRow()
        if row >= 0 and 0 <= row + by < self.chain.count():
            self.chain.insertItem(row + by, self.chain.takeItem(row))
            self.chain.setCurrentRow(row + by)
            self._chain_moved()

    def _show_chain(self, chain: Sequence[Any]) -> None:
        """Names of models, or a model with the address of another service: that stays with it when it is moved."""
        self.chain.clear()
        for entry in chain:
            words = (
                [str(entry.get("model", "")), str(entry.get("base_url", ""))]
                if isinstance(entry, dict)
                else [str(entry)]
            )
            item = QListWidgetItem(" · ".join(filter(None, words)))
            item.setData(Qt.ItemDataRole.UserRole, entry)
            self.chain.addItem(item)

    def chain_entries(self) -> list[Any]:
        return [self.chain.item(at).data(Qt.ItemDataRole.UserRole) for at in range(self.chain.count())]

    def _chain_moved(self) -> None:
        self._own_chain = True
        self.changed.emit({"chain": self.chain_entries()})

    def load(self, values: dict[str, Any]) -> None:
        self._show_model(str(values.get("model") or ""))
        chain = values.get("chain") or []
        if isinstance(chain, list) and chain:
            self._own_chain = True
            if chain != self.chain_entries():
                self._show_chain(chain)
        self.load_choice(self.mode, values)
        self.load_choice(self.effort, values)
        self.compact.setChecked(bool(values.get("auto_compact", True)))
        self.ready.setChecked(bool(values.get("ready_copy", True)))
        if not self._is_written(self.base_url):
            self.base_url.setText(str(values.get("base_url") or ""))
        self.full_api.setChecked(values.get("full_api") is True)


class KeyPage(Page):
    """The key lives in the keyring of the system; it is written here and never shown again."""

    credential_wanted = Signal(str)
    test_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Key"), parent)
        self.state = ColorLabel("", "text", self)
        self.state.setFont(theme().font_ui())
        self.row(self.tr("Now"), self.state)
        self.secret = QLineEdit(self)
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self.secret.setPlaceholderText("sk-ant-…")
        self.row(
            self.tr("New key"),
            self.secret,
            self.tr("Kept in the keyring of your system, never in a file or a session."),
        )
        line = QHBoxLayout()
        for text, call in (
            (self.tr("Save key"), self._save),
            (self.tr("Remove key"), lambda: self.credential_wanted.emit("")),
            (self.tr("Test the connection"), self.test_wanted.emit),
        ):
            button = QPushButton(text, self)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, call=call: call())
            line.addWidget(button)
        line.addStretch(1)
        self._layout.addLayout(line)
        self.result = ColorLabel("", "muted", self)
        self.result.setFont(theme().font_ui())
        self.result.setWordWrap(True)
        self._layout.addWidget(self.result)
        self.finish()

    def _save(self) -> None:
        secret = self.secret.text().strip()
        if secret:
            self.credential_wanted.emit(secret)

    def kept(self, state: dict[str, Any]) -> None:
        """The keyring has what was given to it: only now the field lets go of it."""
        self.secret.clear()
        self.show_credential(state)

    def show_credential(self, state: dict[str, Any]) -> None:
        words = {
            "keyring": self.tr("A key is in the keyring."),
            "environment": self.tr("The key comes from ANTHROPIC_API_KEY."),
            "none": self.tr("There is no key yet."),
            "not_needed": self.tr("This service needs no key."),
        }
        self.state.setText(
            " ".join(filter(None, [words.get(state.get("source", ""), ""), state.get("note", "")]))
        )

    def show_result(self, ok: bool, sentence: str) -> None:
        self.result.set(("✓ " if ok else "✗ ") + sentence, "ok" if ok else "bad")

    def load(self, values: dict[str, Any]) -> None:
        return
