"""What a crash left, found when a session is opened again, and what is done about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from worldline.core import paths
from worldline.engine.shared import Shared
from worldline.session.document import SessionDocument

_ASKED = "asked"


def waits_for_the_person(shared: Shared, node: str) -> None:
    """On record before it is asked: a call that waits is stored as one that runs. Raises SessionError."""
    if node:
        shared.doc.add_record(_ASKED, {}, node=node)


def sentence_about_crash(shared: Shared) -> str:
    """Calls that were running when the program ended; the document has marked them already."""
    calls = shared.doc.interrupted_on_open
    if calls:
        waiting = _unanswered(shared.doc) & set(calls)
        told = [_in_the_middle(shared.doc, [call for call in calls if call not in waiting])]
        told.append(_waited(shared.doc, [call for call in calls if call in waiting]))
        return " ".join(filter(None, told))
    if shared.doc.runs_ended_on_open:  # told once, not at each opening until the next run
        return "The program ended while the model was answering. Everything that was stored is here."
    return ""


def _unanswered(doc: SessionDocument) -> set[str]:
    """Nodes about which the person was asked last, and has not answered."""
    answered = {record.node: record.seq for record in doc.records("approval")}
    return {record.node for record in doc.records(_ASKED) if record.seq > answered.get(record.node, 0)}


def _names(doc: SessionDocument, calls: list[str]) -> str:
    return ", ".join(doc.header(uid).preview for uid in calls[:3])


def _in_the_middle(doc: SessionDocument, calls: list[str]) -> str:
    if not calls:
        return ""
    if len(calls) == 1:
        return (
            f"The program ended in the middle of 1 step ({_names(doc, calls)}). "
            "What it did by then is not known; nothing before is lost."
        )
    return (
        f"The program ended in the middle of {len(calls)} steps ({_names(doc, calls)}). "
        "What they did by then is not known; nothing before is lost."
    )


def _waited(doc: SessionDocument, calls: list[str]) -> str:
    if not calls:
        return ""
    if len(calls) == 1:
        return (
            f"The program ended while 1 step waited for your answer ({_names(doc, calls)}). It was not run."
        )
    return f"The program ended while {len(calls)} steps waited for your answer ({_names(doc, calls)}). They were not run."


async def recover_workspace(shared: Shared) -> str:
    """Finish or undo a jump that was interrupted, so that files, branch and cursor agree again."""
    home = await _recover_home(shared)
    work = shared.workspace()
    if not work.has_journal():
        return home
    state = shared.state(shared.doc.cursor)
    report = await work.call(lambda w: w.recover(state))
    return " ".join(note for note in (home, report.note if report is not None else "") if note)


def home_store(shared: Shared) -> Path:
    """Where the copies of the person's own folder lie that are made before something is brought into it."""
    return paths.stores_dir() / f"{shared.slug}-home"


async def _recover_home(shared: Shared) -> str:
    """Take back what was being brought into the person's own folder when the program ended."""
    store, root = home_store(shared), Path(shared.info.root)
    if shared.info.workspace_mode != "isolated":
        return ""

    def recover() -> str:
        if not (store / "restore").exists() or not root.is_dir():
            return ""
        from worldline.workspace.engine import Workspace

        home = Workspace(root, store, watch=False)
        try:
            report = home.recover()
        finally:
            home.close()
        return f"In {root}: {report.note}" if report is not None else ""

    return await asyncio.to_thread(recover)
