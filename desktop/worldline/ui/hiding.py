"""Hiding what may have the keyboard."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QWidget


def hide(widget: QWidget, heir: QWidget) -> None:
    """Hide a widget; if the keyboard was in it, `heir` has it from now on.

    Qt would hand it on to whatever comes next in the window, and that is the first button of the title line, *Back to
    where I was*: a space meant for scrolling would be a jump.
    """
    focus = QApplication.focusWidget()
    if focus is not None and (focus is widget or widget.isAncestorOf(focus)):
        heir.setFocus()
    widget.hide()


def show_if(on: bool, widget: QWidget, heir: QWidget) -> None:
    """Show a widget, or hide it as `hide` does."""
    if on:
        widget.show()
    else:
        hide(widget, heir)
