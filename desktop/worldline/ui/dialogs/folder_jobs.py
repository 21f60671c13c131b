"""The dialogs about folders of sessions joined to the process that looks and removes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from worldline.client.folders import FolderJob
from worldline.protocol.folders import FolderRemoved, SessionFolder
from worldline.ui.dialogs.base import while_open
from worldline.ui.dialogs.folders import FoldersDialog
from worldline.viewmodel import engine_words
from worldline.viewmodel.words import refusal


def open_folders(parent: QWidget | None) -> FoldersDialog:
    """The list of all, filled as it is looked at."""
    dialog = FoldersDialog(parent)

    def problem(error: dict[str, Any]) -> None:
        dialog.show_problem(refusal(engine_words.error(error)))

    def look(only: str = "") -> None:
        job = FolderJob.of_list(only, dialog)
        job.seen.connect(lambda raw: dialog.show_folder(folder_of(raw)))
        job.done.connect(lambda _answer: dialog.show_end())
        if not only:  # else it has gone meanwhile, as the person wished
            job.failed.connect(problem)
        dialog.finished.connect(lambda _code: job.stop())
        job.start()

    dialog.look_wanted.connect(look)
    dialog.remove_wanted.connect(
        lambda path, lose_id: remove_folder(
            path, lose_id, while_open(dialog, dialog.show_removed), while_open(dialog, problem)
        )
    )
    look()
    dialog.open()
    return dialog


def folder_of(raw: dict[str, Any]) -> SessionFolder:
    """What the process tells, in the language of the window."""
    return SessionFolder.model_validate(engine_words.message(raw))


def remove_folder(
    path: str,
    lose_id: str,
    removed: Callable[[FolderRemoved], object],
    refused: Callable[[dict[str, Any]], object],
) -> None:
    """Goes on when the dialog is closed: what was begun is finished."""
    job = FolderJob.of_removal(path, lose_id, QCoreApplication.instance())
    job.done.connect(lambda answer: removed(FolderRemoved.model_validate(answer)))
    job.failed.connect(refused)
    job.done.connect(lambda _answer: job.deleteLater())
    job.failed.connect(lambda _error: job.deleteLater())
    job.start()
