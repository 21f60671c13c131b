"""Where states to be compared come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from worldline.core.errors import WorkspaceError
from worldline.workspace.model import NOT_CAPTURED, CaptureResult, _Disk
from worldline.workspace.states import State

if TYPE_CHECKING:
    from worldline.workspace.store import Store


class Source(Protocol):
    """Where states are read from."""

    store: Store

    def state(self, state: str) -> State: ...


class CaptureSource(Source, Protocol):
    """The disk can be compared too."""

    def capture(self, parent: str | None, label: str = "") -> CaptureResult: ...


Ref = str | _Disk


def load(workspace: Source, ref: Ref, near: str = "") -> State:
    """A state by id; for `DISK` what is there now is captured (what is unchanged since `near` costs nothing).

    Raises `WorkspaceError`: `missing_state`, `not_captured`.
    """
    if isinstance(ref, _Disk):
        result = cast("CaptureSource", workspace).capture(near or None, "for a diff")
        if result.state == NOT_CAPTURED:
            raise WorkspaceError(
                f"What is on disk cannot be read: {result.error}.",
                "Remove the cause and try again.",
                kind="not_captured",
            )
        return workspace.state(result.state)
    if ref == NOT_CAPTURED or not ref:
        raise WorkspaceError(
            "The files of this step were not captured, so there is nothing to compare.",
            "Choose a node before or after it.",
            kind="not_captured",
        )
    return workspace.state(ref)
