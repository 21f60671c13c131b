"""What a confined call may do and what was seen of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from worldline.policy.sandbox.network import SessionNetwork
from worldline.policy.sandbox.places import GitPlaces

APPROVAL_TIMEOUT = "approval_timeout"
"""Why of a connection that waited for the person in vain."""
PUSH, PUBLISH = "git push", "publish"
"""Rule of an opening that an approved command of this kind brings with it."""
Label = Literal["complete", "partial", "none"]


@dataclass(slots=True, frozen=True)
class Grant:
    """One opening of the sandbox. `target`: an absolute path (write, read, socket), `host:port` (net), the address of the
    remote (push: this one push runs outside, with the person's keys), or "" (unconfined)."""

    kind: Literal["write", "read", "net", "socket", "push", "unconfined"]
    target: str
    rule: str = ""
    """The rule or the approval that gave it."""


@dataclass(slots=True)
class Denial:
    """Something that was refused, by name."""

    kind: Literal["write", "connect", "socket", "lookup"]
    target: str
    how: str = ""
    """System call or HTTP method."""
    program: str = ""
    count: int = 1
    why: str = ""
    """`approval_timeout` when the person was asked and did not answer in time."""


@dataclass(slots=True)
class Flow:
    """A connection that went, or wanted to go, through the proxy."""

    host: str
    port: int
    method: str
    path: str = ""
    allowed: bool = False
    why: str = ""
    sent: int = 0
    received: int = 0
    error: str = ""


HostPolicy = Callable[[str, int, str], str]
"""(host, port, method) → "" allow, else why not. Called on a thread of the proxy; may wait for the person."""


@dataclass(slots=True)
class Profile:
    """The openings of one call."""

    workspace: Path
    private_tmp: Path
    """Becomes /tmp inside; the command's own, kept for the session."""
    writable: list[Path] = field(default_factory=list)
    """More folders that belong to the workspace."""
    read_only: list[Path] = field(default_factory=list)
    """Inside the writable ones, but not to be changed."""
    git: GitPlaces = field(default_factory=GitPlaces)
    hidden: list[Path] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    host_policy: HostPolicy | None = None
    processes: int = 4096
    network: SessionNetwork | None = None
    """The network that all commands of the session share; None = one for this call alone."""
    outlives: bool = False
    """The command may leave something running when its shell ends: the sandbox stays as long as that does."""

    closed: list[Path] = field(default_factory=list)
    """What rules keep from being read: not to be opened, and said so. Unlike `hidden` also in the workspace itself."""

    covered: list[Path] | None = None
    """What of `hidden` and of the usual secret places is there; None = not looked for yet."""
    masked: list[Path] = field(default_factory=list)
    """Sockets and named pipes of others below the writable folders: not to be reached."""

    @property
    def private_objects(self) -> Path:
        """New git objects of commands, until they are taken over."""
        return self.private_tmp.with_name(f"{self.private_tmp.name}-objects")

    @property
    def private_refs(self) -> Path:
        """Refs of the session alone (its stash). Beside the objects, not in them: a command can write among those."""
        return self.private_tmp.with_name(f"{self.private_tmp.name}-refs")

    @property
    def control(self) -> Path:
        """What steers the confinement; no command can write there."""
        return self.private_tmp.with_name(f"{self.private_tmp.name}-control")


@dataclass(slots=True)
class Report:
    """What was enforced and what was seen. `label` is what may be claimed for this call."""

    label: Label
    denials: list[Denial] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    used: list[Grant] = field(default_factory=list)
    touched: dict[str, list[str]] = field(default_factory=dict)
    """Target of a used write or socket grant → the paths seen below it."""
    mounts: list[str] = field(default_factory=list)
    """Mounts below the workspace, which no state holds: bound read only under "complete"."""
    note: str = ""
    """Why the confinement is less than asked for."""
