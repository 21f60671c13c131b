"""What is told about the folders of sessions in the app's data folder (`worldline worktrees`)."""

from __future__ import annotations

from typing import Literal

from worldline.protocol.wire import Message


class SessionFolder(Message):
    """A worktree in the data folder, a copy that is kept ready to become one, or a store that no session is left for. Of one
    that was not `looked` at yet only the facts above that field are known."""

    kind: Literal["folder", "store"] = "folder"
    """A store holds the files of the steps of a deleted session; of one all that is said is about these."""
    path: str
    name: str
    session: Literal["there", "trash", "none", "ready"] = "none"
    """Where the session file is that works in it; "none" = no session file is known any more, "ready" = the next session
    takes it."""
    title: str = ""
    session_file: str = ""
    repository: str = ""
    """The person's folder that it was made from, "" = not known."""
    branch: str = ""
    """Short name of the branch that is checked out; it stays in the repository."""
    there: bool = True
    """False: the folder is gone, only its registration in the repository is left."""
    in_use: str = ""
    """Who works in it now, as a sentence; "" = nobody."""
    problem: str = ""
    """Why it is not removed from here, or could not be looked at, as a sentence."""
    looked: bool = False
    bytes: int = 0
    bytes_complete: bool = True
    """False: there was no time to see all files, it is larger."""
    lose: list[str] = []
    """What would be nowhere any more, a line each; the first ones where there are very many."""
    lose_more: int = 0
    """So many more lines there are."""
    lose_id: str = ""
    """Stands for all the lines; "" = nothing would be lost. Who removes the folder names it."""
    kept: int = 0
    """Files in no commit that nodes of the session keep."""
    note: str = ""
    """What removing it means for the session, as sentences."""


class FolderRemoved(Message):
    path: str
    bytes: int
    """About so many are free now."""
    lost: list[str] = []
    """What was named and is lost."""
