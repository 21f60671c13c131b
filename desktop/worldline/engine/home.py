"""HEAD of a session that works in the person's own folder: off their branch while the agent works, and back.

The person's branches never move, and the agent must be able to commit. So before the first step of a run that may change
something HEAD goes on a branch of the session, at the same commit: no file and nothing staged is touched. "Return to
<branch>" brings it back, with the files as they lie here or as they were when HEAD left.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldline.core.errors import BadInput, WorkspaceError, WorldlineError
from worldline.core.kinds import OF_THE_PERSON
from worldline.engine.branches import next_branch, short
from worldline.engine.disk_node import save_disk
from worldline.engine.shared import Shared
from worldline.engine.worlds import newest_on
from worldline.policy.sandbox.places import branch_of
from worldline.protocol.commands import Jump, JumpAnswer, ReturnHome
from worldline.protocol.model import JumpResult
from worldline.workspace.model import NOT_CAPTURED

if TYPE_CHECKING:
    from worldline.engine.jumps import Jumps
    from worldline.workspace.engine import Workspace
    from worldline.workspace.headmove import Standing

logger = logging.getLogger(__name__)

OWN = "refs/heads/worldline/"
_DETACHED = "@"
"""For `Jumps.jump`: home is no branch but a commit. See `gitmove.DETACHED`."""


@dataclass(slots=True, frozen=True)
class Home:
    """Where HEAD was before it went on a branch of the session."""

    ref: str
    """"" = detached."""
    commit: str
    """"" = the branch had none, or it is not on record."""
    node: str
    """Where the session was; "" = not on record."""

    @property
    def name(self) -> str:
        """For people."""
        return short(self.ref) or self.commit[:10]


def home_of(shared: Shared) -> Home | None:
    """Where "Return" leads; None: this session has no such place."""
    doc = shared.doc
    if shared.info.workspace_mode != "in_place" or not len(doc.tree):
        return None
    for record in reversed(doc.records("home")):
        data = record.data
        if not data.get("returned"):
            ref = os.fsdecode(bytes.fromhex(data["raw"])) if data.get("raw") else str(data["ref"])
            return Home(ref, str(data["commit"]), str(data["node"]))
    ref = doc.header(doc.resolve("root")).branch
    return Home(ref, "", "") if ref and not ref.startswith(OWN) else None


def home_record(ref: str, commit: str, node: str) -> dict[str, str]:
    """What is on record when HEAD leaves a branch of the person. Git takes names that are no text, and JSON does not."""
    record = {"ref": ref, "commit": commit, "node": node}
    return record if ref.isprintable() else {**record, "raw": os.fsencode(ref).hex()}


def show_home(shared: Shared) -> None:
    """Show the branch, and the one to return to while HEAD is away from it."""
    home = home_of(shared) if shared.branch.startswith(OWN) else None
    shared.status.set(branch=short(shared.branch), home=home.name if home is not None else "")


async def find_head(shared: Shared) -> None:
    """Know where HEAD is now: somebody may have switched branches while the session was closed."""
    if shared.info.workspace_mode == "in_place" and shared.info.is_git and shared.work is not None:
        shared.branch = await asyncio.to_thread(branch_of, shared.root) or shared.branch
    show_home(shared)


async def take_own_branch(shared: Shared, mode: str) -> str:
    """Before a run: HEAD goes on a branch of the session if it is on none. Returns what the model is told of it.

    Where that cannot be done HEAD stays, which is on record: commands cannot commit to the person's branch then.
    """
    if mode == "plan" or shared.info.workspace_mode != "in_place" or shared.work is None:
        return ""
    from worldline.workspace import headmove

    seen = await shared.work.call(lambda w: headmove.look(w.work))
    if not seen.is_git:
        return ""
    shared.branch = seen.ref
    if seen.ref.startswith(OWN):
        show_home(shared)
        return ""
    where = short(seen.ref) or seen.commit[:10]
    homes = shared.doc.records("home")
    returned = homes[-1].data if homes else {}
    try:
        if seen.stays:
            raise WorkspaceError(f"{seen.stays[:1].upper()}{seen.stays[1:]}.")
        name = await _put_on_branch(shared, seen)
    except (OSError, WorldlineError) as error:
        sentence = f"HEAD stays on {where}: {error}"
        logger.info(sentence)
        shared.journal().diagnose("head", sentence, node=shared.doc.cursor)
        show_home(shared)
        return f"[Worldline: {sentence} {where} is the person's: do not commit to it now.]"
    note = f"[Worldline: the git branch is {name}, made at the commit of {where}. Commit there; {where} is the person's."
    if returned.get("ahead"):
        note += (
            f" The person had gone back to {where} with the files as they were: what you committed on "
            f"{returned['left']} is staged here and not committed."
        )
    return note + "]"


async def _put_on_branch(shared: Shared, seen: Standing) -> str:
    from worldline.workspace import headmove

    doc, work = shared.doc, shared.workspace()
    name = next_branch(shared)
    current = short(doc.header(doc.cursor).branch)
    ours = bool(seen.commit) and current.startswith(f"worldline/{shared.slug}/")
    if ours and await work.call(lambda w: headmove.is_at(w.work, current, seen.commit)):
        # The person looked at their branch and went on here: the same attempt, as long as nobody committed.
        name = current
    if not (_is_away(shared) and await _was_there(shared, seen.ref)):
        # First, so that a kill in between never leaves HEAD away with the way back unknown.
        doc.add_record("home", home_record(seen.ref, seen.commit, doc.cursor), node=doc.cursor)
    await work.call(lambda w: headmove.put_on(w.work, seen, name))
    doc.add_record("branch", {"name": name, "node": doc.cursor, "commit": seen.commit}, node=doc.cursor)
    shared.branch = f"refs/heads/{name}"
    show_home(shared)
    return name


def _is_away(shared: Shared) -> bool:
    """HEAD has left the person's branch and was not brought back by a command of theirs."""
    last = shared.doc.records("home")[-1:]
    return bool(last) and not last[0].data.get("returned")


async def _was_there(shared: Shared, ref: str) -> bool:
    """The agent's last step since HEAD was moved left it there: it was not the person who went to this branch, so home
    stays what it was."""
    doc = shared.doc
    moves = doc.records("branch")
    moved = doc.seq(moves[-1].node) if moves and moves[-1].node else 0
    state = ""
    for seq in reversed(doc.tree.path(doc.seq(doc.cursor))):
        if seq <= moved or state:
            break
        if doc.tree.kind(seq) not in OF_THE_PERSON:
            # Its own, not the one that it has from a step before.
            known = doc.header(doc.uid(seq)).state
            state = known if known != NOT_CAPTURED else ""

    def same(workspace: Workspace) -> bool:
        main = workspace.state(state).main if state else None
        return main is not None and main.ref == ref

    return await shared.workspace().call(same)


async def return_home(
    shared: Shared, jumps: Jumps, settle: Callable[[], Awaitable[None]], command: ReturnHome
) -> JumpAnswer:
    """Back to the person's own branch. `settle` stops a run that goes on. Where HEAD never left, that is said."""
    shared.writable()
    home = home_of(shared)
    if shared.info.workspace_mode == "in_place":
        shared.branch = await asyncio.to_thread(branch_of, shared.root)
    show_home(shared)
    note = ""
    if shared.info.workspace_mode != "in_place":
        note = "Your own folder was never touched: the agent works in a folder beside it. Bring the work home instead."
    elif not shared.info.is_git:
        note = "The folder of this session is in no git repository: there is no branch to return to."
    elif home is None:
        note = "Your folder was on no branch when the session began, so there is none to return to."
    elif not shared.branch.startswith(OWN):
        note = f"You are on {short(shared.branch) or 'no branch of the session'} already."
    if note or home is None:
        return JumpAnswer(result=_stayed(shared, note))
    if command.files == "keep":
        async with shared.turnstile:
            await settle()
            return JumpAnswer(result=await _with_files(shared, jumps, home))
    node = home.node or await newest_on(shared, short(home.ref))
    if shared.state(node) in ("", NOT_CAPTURED):
        raise BadInput(
            f"The files of the step where {home.name} was left were not captured.",
            "Return with the files as they are here instead.",
        )
    return await jumps.jump(Jump(node=node, fork=False), home=short(home.ref) or _DETACHED)


async def _with_files(shared: Shared, jumps: Jumps, home: Home) -> JumpResult:
    """HEAD goes back; no file and nothing staged is touched."""
    from worldline.workspace import headmove

    doc, left = shared.doc, short(shared.branch)
    safety = await save_disk(shared, f"before the return to {home.name}")
    done = await shared.workspace().call(lambda w: headmove.go_home(w.work, home.ref, home.commit))
    with doc.transaction():
        doc.add_record("home", {"returned": True, "left": left, "ahead": done.ahead}, node=doc.cursor)
        doc.add_record("branch", {"name": short(home.ref), "node": doc.cursor, "commit": ""}, node=doc.cursor)
    shared.branch = home.ref
    notes = [f"You are on {home.name} with the files as they were."]
    if done.ahead:
        notes.append(
            f"What was committed on {left} ({done.ahead} commits up to {done.commit[:10]}) is staged here; the commits stay on that branch."
        )
        try:
            await save_disk(shared, f"returned to {home.name}", by_others=False)
        except WorkspaceError as error:  # HEAD is where it was wanted; the next capture finds it
            notes.append(str(error))
    jumps.announce()
    return _stayed(shared, " ".join(notes), safety)


def _stayed(shared: Shared, note: str, safety: str = "") -> JumpResult:
    here = shared.doc.cursor
    return JumpResult(
        node=here, cursor=here, branch=short(shared.branch), verified=0, of=0, note=note, safety_node=safety
    )
