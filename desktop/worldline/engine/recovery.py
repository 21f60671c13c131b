"""What a crash left, found when a session is opened again, and what is done about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from worldline.core import paths
from worldline.core.stop import StopReason
from worldline.engine.shared import Shared


def sentence_about_crash(shared: Shared) -> str:
    """Calls that were running when the program ended; the document has marked them already."""
    calls = shared.doc.interrupted_on_open
    runs = shared.doc.runs()
    if calls:
        names = ", ".join(h.preview for h in (shared.doc.header(u) for u in calls[:3]))
        return (
            f"The program ended in the middle of {len(calls)} step{'s' if len(calls) > 1 else ''} ({names}). "
            "What they did by then is not known; nothing before is lost."
        )
    if runs and runs[-1].stop_reason is StopReason.INTERRUPTED and shared.doc.cursor == _newest(shared):
        return "The program ended while the model was answering. Everything that was stored is here."
    return ""


def _newest(shared: Shared) -> str:
    return shared.doc.uid(len(shared.doc.tree)) if len(shared.doc.tree) else ""


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
