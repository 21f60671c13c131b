"""Of the gallery: what is kept on disk (sessions, storage, folders) and the questions before any of it goes."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from worldline.ui import gallery_data as sample
from worldline.viewmodel import words


def sessions() -> QWidget:
    from pathlib import Path

    from worldline.ui.dialogs.session_files import SessionFile
    from worldline.ui.dialogs.sessions import SessionsDialog

    dialog = SessionsDialog(folder=Path("/nowhere"))
    for at, (title, root, nodes) in enumerate(sample.SESSIONS):
        when = sample.T0 / 1000 - at * at * 90_000
        file = Path(f"/data/{at}.worldline")
        dialog.add(SessionFile(file, title, when, 240_000 + 3_100 * nodes, root, nodes))
    dialog.add(
        SessionFile(
            Path("/data/old.worldline"),
            "Old notes",
            sample.T0 / 1000 - 9e6,
            12_400,
            problem=words.translate("Sessions", "it is damaged, or no session at all"),
        )
    )
    dialog.set_note("")
    return dialog


def storage() -> QWidget:
    from worldline.ui.dialogs.storage import StorageDialog

    dialog = StorageDialog()
    dialog.old.setChecked(True)
    dialog.show_storage(sample.storage())
    dialog.show_plan(*sample.pruning())
    dialog.show_retention(90)
    return dialog


def _alone(dialog: QWidget, question: QWidget | None) -> QWidget:
    """The question of a dialog, without the dialog."""
    assert question is not None
    question.setParent(None)
    dialog.deleteLater()
    return question


def storage_question() -> QWidget:
    from worldline.ui.dialogs.storage import StorageDialog

    dialog = storage()
    assert isinstance(dialog, StorageDialog)
    dialog._ask()
    return _alone(dialog, dialog.question)


def folders() -> QWidget:
    from worldline.ui.dialogs.folders import FoldersDialog

    dialog = FoldersDialog()
    for folder in sample.folders():
        dialog.show_folder(folder)
    dialog.show_end()
    dialog.table.selectRow(1)
    return dialog


def folders_question() -> QWidget:
    from worldline.ui.dialogs.folders import FoldersDialog

    dialog = folders()
    assert isinstance(dialog, FoldersDialog)
    dialog.ask()
    return _alone(dialog, dialog.question)


def session_delete() -> QWidget:
    from pathlib import Path

    from worldline.ui.dialogs.session_delete import SessionDeleteDialog
    from worldline.ui.dialogs.session_files import SessionFile

    title, root, nodes = sample.SESSIONS[0]
    folder = sample.folders()[0]
    dialog = SessionDeleteDialog(
        SessionFile(
            Path("/data/0.worldline"), title, sample.T0 / 1000, 240_000, root, nodes, folder=folder.path
        )
    )
    dialog.show_folder(folder)
    return dialog
