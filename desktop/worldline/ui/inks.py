"""Colours of the text in lists and tables by the name of their token, looked up while painting: they follow the theme.

A colour that an item is given itself stays what it is when the theme changes."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidgetItem,
)

from worldline.ui.theme import theme

INK = Qt.ItemDataRole.UserRole + 61


class _InkDelegate(QStyledItemDelegate):
    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        token = index.data(INK)
        if token:
            palette: QPalette = option.palette
            palette.setColor(QPalette.ColorRole.Text, theme().tokens.color(token))


def inked(view: QAbstractItemView) -> None:
    """Have a list or table paint its items in the inks that `ink` gives them."""
    view.setItemDelegate(_InkDelegate(view))


def ink(item: QListWidgetItem | QTableWidgetItem, token: str) -> None:
    """The text of this item is in the colour of a token, whatever the theme."""
    item.setData(INK, token)
