"""Making and opening sessions: where the agent works, and what is found when a session is opened again."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.agent.capture import root_lacks
from worldline.core import paths
from worldline.core.errors import BadInput, SessionError, WorldlineError
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.engine import anew, stores
from worldline.engine.workthread import WorkThread
from worldline.protocol.model import SessionInfo
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.session.salvage import open_damaged
from worldline.workspace import folder_leases, leases
from worldline.workspace.model import NOT_CAPTURED

MOST_NOTES = 5
"""Of what could not be carried into a new worktree, so many are told at once."""


@dataclass(slots=True)
class OpenRequest:
    session: Path | None = None
    workspace: Path | None = None
    in_place: bool | None = None
    """None: isolated for git repositories, in place for other folders."""
    title: str = ""
    read_only: bool = False
    scripted: bool = False
    """The model is a rehearsal."""
    settings: dict[str, Any] = field(default_factory=dict)
    """On top of the settings files."""
    remake: bool = False
    """Make the folder anew where it is gone, see `engine.anew`."""
    remake_at: Path | None = None
    damaged: SessionError | None = None
    """Why the session cannot be read as it is: what is readable of it is opened instead."""


@dataclass(slots=True)
class Opened:
    doc: SessionDocument
    work: WorkThread | None
    info: SessionInfo
    slug: str
    branch: str
    """Full name of the checked-out git branch, "" = none."""
    created: bool
    worktree: Path | None = None
    """The worktree that this process holds a lease on."""
    in_use: Path | None = None
    """The lease on a folder of the person's own."""
    said: str = ""
    """What was done to open it, for the person."""

    def close(self) -> None:
        """Give back the lease and the document."""
        for lease in (self.worktree, self.in_use):
            if lease is not None:
                leases.release(lease)
        self.doc.close()


def slug_of(text: str) -> str:
    """For names of branches: ASCII letters, digits and dashes, never empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:32].strip("-") or "session"


def open_session(request: OpenRequest) -> Opened:
    """Open `request.session`, or make it for `request.workspace`. Raises BadInput, SessionError, WorkspaceError."""
    if request.session is not None and (request.session.exists() or request.workspace is None):
        return _open_existing(request.session, request)
    if request.workspace is None:
        raise BadInput("Neither a session nor a folder was named.", "Give --session FILE or --workspace DIR.")
    return _create(request, request.workspace)


def open_for_reading(request: OpenRequest) -> Opened:
    """Open for the questions of the command line: also beside a writer, and when the folder is gone."""
    assert request.session is not None
    return _open_existing(request.session, request, need_folder=False)


def _open_existing(path: Path, request: OpenRequest, *, need_folder: bool = True) -> Opened:
    doc, facts, why = _document(path, request)
    place = facts["workspace"]
    work_path = Path(place.get("path", ""))
    work: WorkThread | None = None
    said = ""
    if place.get("mode") in ("isolated", "in_place"):
        if not work_path.is_dir() and need_folder:
            try:
                if not request.remake:
                    raise anew.gone(path, work_path)
                place, said = anew.remake(doc, place, request.remake_at)
                work_path = Path(place["path"])
            except BaseException:
                doc.close()
                raise
        if work_path.is_dir():
            if need_folder:
                _refuse(doc, work_path, str(place.get("slug", "")))
            work = WorkThread(work_path, Path(place["store"]))
            if not doc.read_only:
                stores.note(work.store_path, path.absolute(), str(facts["title"]), str(place.get("root", "")))
    worktree = None
    if work is not None and place.get("worktree") and not doc.read_only:
        worktree = Path(place["worktree"])
        try:
            leases.take(worktree, str(place.get("slug", "")))
        except WorldlineError:
            doc.close()
            raise
        _note(worktree, path)
    in_use = None
    if work is not None and need_folder and worktree is None and not doc.read_only and os.name == "posix":
        try:
            in_use = folder_leases.take(work_path, str(place.get("slug", "")))
        except WorldlineError:
            doc.close()
            raise
    info = _info(doc, facts, place, request, read_only_why=why or str(facts.get("read_only_why", "")))
    return Opened(
        doc,
        work,
        info,
        str(place.get("slug", "session")),
        _branch(doc, place),
        created=False,
        worktree=worktree,
        in_use=in_use,
        said=said,
    )


def _note(worktree: Path, session: Path) -> None:
    """For the list of folders: whose it is."""
    from worldline.workspace import worktrees

    if worktree.parent == paths.worktrees_dir():
        worktrees.note_session(worktree, session.absolute())


def _refuse(doc: SessionDocument, folder: Path, slug: str) -> None:
    """A file that came from elsewhere names the folder: it must be one that a new session could be made for."""
    from worldline.workspace import guard

    try:
        guard.refuse(folder, session_id=slug)
    except WorldlineError:
        doc.close()
        raise


def _document(path: Path, request: OpenRequest) -> tuple[SessionDocument, dict[str, Any], str]:
    """The document, what is known of it as a whole, and why it is open for reading only where that was not asked for."""
    try:
        if request.damaged is not None:
            raise request.damaged
        return *_with_facts(SessionDocument.open(path, mode="read" if request.read_only else "write")), ""
    except SessionError as error:
        if error.kind == "damaged":
            # Never written to. What is readable is shown, the rest is named.
            return *_with_facts(open_damaged(path, error)), ""
        if error.kind not in ("locked", "newer_schema"):
            raise
        why = error.message if error.kind == "locked" else str(error)
        return *_with_facts(SessionDocument.open(path, mode="read")), why


def _with_facts(doc: SessionDocument) -> tuple[SessionDocument, dict[str, Any]]:
    try:
        facts = doc.info()
        doc.records("branch")  # these are wanted for opening, so damage in them is met here
        doc.runs()
    except BaseException:
        doc.close()
        raise
    return doc, facts


def _branch(doc: SessionDocument, place: dict[str, Any]) -> str:
    names = [str(r.data.get("name", "")) for r in doc.records("branch")]
    name = names[-1] if names else str(place.get("branch", ""))
    return f"refs/heads/{name}" if name and not name.startswith("refs/") else name


def _create(request: OpenRequest, folder: Path) -> Opened:
    # Only for a new session: opening one must not wait for libgit2.
    from worldline.workspace import guard

    guard.platform()
    source = folder.expanduser().resolve()
    if not source.is_dir():
        raise BadInput(f"{folder} is not a folder.", "Name the folder or repository to work in.")
    guard.refuse(source)
    session_id = secrets.token_hex(4)
    slug = f"{slug_of(request.title or source.name)}-{session_id[:4]}"
    path = request.session or paths.sessions_dir() / f"{slug}.worldline"
    if not path.parent.is_dir():
        raise BadInput(f"The folder {path.parent} is not there.", "Make it, or choose another file.")
    place, undo = _place(source, slug, request.in_place)
    in_use = folder_leases.take(source, slug) if place["mode"] == "in_place" else None
    workspace = {**place, "slug": slug, "id": session_id}
    work_path, store_path = Path(workspace["path"]), Path(workspace["store"])
    try:
        doc = _made(path, request.title or source.name, workspace)
    except BaseException:
        undo()  # no session would ever find its worktree
        if in_use is not None:
            leases.release(in_use)
        raise
    work = WorkThread(work_path, store_path)
    worktree = Path(workspace["worktree"]) if workspace["mode"] == "isolated" else None
    if worktree is not None:
        _note(worktree, path)
    info = _info(doc, doc.info(), workspace, request, read_only_why="")
    branch = f"refs/heads/{workspace['branch']}" if workspace["branch"] else ""
    said = _carried_over(int(workspace.get("uncommitted", 0)), workspace.get("notes") or [])
    return Opened(doc, work, info, slug, branch, created=True, worktree=worktree, in_use=in_use, said=said)


def _made(path: Path, title: str, workspace: dict[str, Any]) -> SessionDocument:
    """A file that was named where none can be made is bad input; a full or broken disk is not."""
    try:
        return SessionDocument.create(path, title=title, workspace=workspace)
    except SessionError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        why = cause.strerror or str(cause)
        raise BadInput(f"No session can be made at {path}: {why}.", "Choose another file.") from error


def _carried_over(files: int, notes: list[str]) -> str:
    """What the person is told of the work that was not committed when a worktree was made; "" = there was none."""
    first = [note if note.endswith(".") else f"Not carried over: {note}." for note in notes[:MOST_NOTES]]
    if files:
        along = (
            "Your uncommitted work came along: 1 file."
            if files == 1
            else f"Your uncommitted work came along: {files} files."
        )
        first[:0] = [along, "The agent works in a worktree of its own; your folder stays as it is."]
    return " ".join(first)


def _place(source: Path, slug: str, in_place: bool | None) -> tuple[dict[str, Any], Callable[[], None]]:
    """Where the agent works: a worktree of its own for a git repository, the folder itself otherwise or by choice. And
    what takes back what was made for it."""
    is_git = any((folder / ".git").exists() for folder in (source, *source.parents))
    if in_place or not is_git:
        return {
            "mode": "in_place",
            "root": str(source),
            "path": str(source),
            "store": str(paths.stores_dir() / slug),
            "is_git": is_git,
            "base_commit": "",
            "base_branch": "",
            "branch": "",
        }, lambda: None
    from worldline.workspace.isolate import prepare, take_back

    # The session's name is what its branches and its worktree are named after.
    place = prepare(source, slug)
    return {
        "mode": "isolated",
        "root": str(source),
        "path": str(place.path),
        "worktree": str(place.root),
        "store": str(paths.stores_dir() / slug),
        "is_git": True,
        "base_commit": place.base_commit,
        "base_branch": place.base_branch,
        "branch": place.branch,
        "included": place.included,
        "notes": place.notes,
        "uncommitted": place.uncommitted,
    }, lambda: take_back(source, slug, place)


async def plant_root(opened: Opened) -> None:
    """The first node of a session: the files before anything was asked."""
    assert opened.work is not None
    result = await opened.work.capture(None, "start")
    doc = opened.doc
    stores.note(opened.work.store_path, doc.path, opened.info.title, opened.info.root)
    detail: dict[str, Any] = {**root_lacks(result), "head": result.head}
    if result.state == NOT_CAPTURED:
        detail["not_captured_why"] = result.error
    if result.branch and not opened.branch:
        opened.branch = f"refs/heads/{result.branch}"
    with doc.transaction():
        header = doc.append(
            NodeDraft(
                kind=NodeKind.ROOT,
                parent=None,
                preview=opened.info.title,
                detail=detail,
                state=result.state,
                branch=opened.branch,
                flags=NodeFlag.NOT_CAPTURED if result.state == NOT_CAPTURED else NodeFlag(0),
            )
        )
        if opened.branch.startswith("refs/heads/worldline/"):
            doc.add_record("branch", {"name": opened.branch.removeprefix("refs/heads/"), "node": header.uid})


def _info(
    doc: SessionDocument,
    facts: dict[str, Any],
    place: dict[str, Any],
    request: OpenRequest,
    *,
    read_only_why: str,
) -> SessionInfo:
    return SessionInfo(
        path=str(doc.path),
        title=str(facts.get("title", "")),
        created=int(facts.get("created", 0)),
        workspace_mode=place.get("mode", "none"),
        root=str(place.get("root", "")),
        work_path=str(place.get("path", "")),
        is_git=bool(place.get("is_git")),
        base_branch=str(place.get("base_branch", "")),
        read_only=doc.read_only,
        read_only_why=read_only_why if doc.read_only else "",
        damaged=bool(doc.damage),
        imported_from=str(facts.get("imported_from", "")),
        scripted_model=request.scripted,
    )
