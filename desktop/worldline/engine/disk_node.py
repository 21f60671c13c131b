"""A node of the path for what is on disk and in no node yet."""

from __future__ import annotations

from worldline.agent.capture import doubt, lacks, partly
from worldline.core.background import while_ran
from worldline.core.errors import WorkspaceError
from worldline.core.kinds import NodeKind
from worldline.engine.shared import Shared
from worldline.engine.worlds import same_but_for_branch, same_inside
from worldline.session.model import NodeDraft
from worldline.workspace.model import NOT_CAPTURED


async def save_disk(shared: Shared, why: str, *, by_others: bool = True, safety: str = "") -> str:
    """A node for what is on disk and in no node yet; its uid, "" = there is nothing new. Raises `WorkspaceError`
    (`not_captured`). Not `by_others`: a command of the person's, that was carried out just now, has put it there. `safety`: a
    state of just now, which gets the node where only the git folders of repositories inside differ from before."""
    work = shared.workspace()
    before = shared.good_state(shared.doc.cursor)
    seen = await shared.meanwhile.look()
    commands = seen.commands if by_others else ()
    now = await work.capture(before or None, why)
    if now.state == NOT_CAPTURED:
        raise WorkspaceError(
            f"What is on disk now cannot be saved ({now.error}), so nothing is changed.", "Remove the cause, then try again.",
            kind="not_captured",
        )  # fmt: skip
    after = now.state
    if not now.changed or (before and await work.call(lambda w: same_but_for_branch(w, before, after))):
        if not before or not safety or await work.call(lambda w: same_inside(w, before, safety)):
            shared.meanwhile.settle(seen)
            return ""
        after = safety
    lack = lacks(now, shared.doc, shared.doc.cursor)
    counted = "1 file changed" if now.files == 1 else f"{now.files} files changed"
    if after != now.state:
        counted = "a repository in the workspace changed"
    draft = NodeDraft(
        kind=NodeKind.JUMP,
        parent=shared.doc.cursor,
        state=after,
        detail={"paths": now.paths, **doubt(commands), **lack},
        flags=partly(lack),
        preview=f"{why}: {counted} {while_ran(commands, mark=',')}" if commands else f"{why}: {counted}",
        added=now.added,
        removed=now.removed,
        files=now.files,
    )
    journal = shared.journal()
    with shared.doc.transaction():
        header = journal.append(draft, announce=False)
        shared.meanwhile.settle(seen)
    journal.announce(header)
    shared.status.after_files(header.uid)
    return header.uid
