"""What a confined call did outside the workspace: (what was opened) and (what was seen going through the opening).

Nothing here is guessed from the text of a command. A grant that was opened and not used gives no entry. Each effect is a
plain dict as it is stored in the session: kind, reversibility, evidence, summary, undo_label, detail.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from worldline.policy import wording
from worldline.policy.copies import SavedCopy, same
from worldline.policy.sandbox.model import PUBLISH, PUSH, Flow, Grant, Label, Report
from worldline.policy.sandbox.places import refs_of

Reversibility = Literal["undoable", "compensatable", "irreversible"]
Evidence = Literal["enforced", "observed", "assumed", "guessed"]
_FETCH = frozenset({"GET", "HEAD"})
_SMALL_UPLOAD = 64_000
_SMALL_REQUEST = 16_000
"""Bytes sent with a GET; more is taken for an upload."""
_REGISTRIES = (
    "pypi.",
    "files.pythonhosted.",
    "registry.npmjs.",
    "static.crates.",
    "index.crates.",
    "proxy.golang.",
    "deb.",
)


def effect(
    kind: str,
    reversibility: Reversibility,
    evidence: Evidence,
    summary: str,
    *,
    undo_label: str = "",
    **detail: Any,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "reversibility": reversibility,
        "evidence": evidence,
        "summary": summary,
        "undo_label": undo_label,
        "detail": detail,
    }


@dataclass(slots=True)
class CallEffects:
    effects: list[dict[str, Any]] = field(default_factory=list)
    unused: list[Grant] = field(default_factory=list)


@dataclass(slots=True)
class Remote:
    """A repository on this machine that an approved push may write to, and its refs before."""

    path: Path
    before: dict[str, str]

    @classmethod
    def at(cls, path: Path) -> Remote:
        return cls(path, refs_of(_git_folder(path)))

    def effects(self) -> list[dict[str, Any]]:
        after = refs_of(_git_folder(self.path))
        return [
            pushed(name, self.before.get(name, ""), after.get(name, ""), str(self.path), 0)
            for name in sorted(self.before.keys() | after.keys())
            if self.before.get(name, "") != after.get(name, "")
        ]


def _git_folder(path: Path) -> Path:
    return path / ".git" if (path / ".git").is_dir() else path


def effects_of(
    report: Report,
    grants: Sequence[Grant],
    copies: Iterable[SavedCopy],
    refs: tuple[dict[str, str], dict[str, str]],
    command: str,
    remotes: Iterable[Remote] = (),
) -> CallEffects:
    """Effects of one call. `refs`: all refs of the repository before and after it."""
    result = CallEffects()
    kind, _ = wording.effect(command)
    local = [entry for remote in remotes for entry in remote.effects()]
    flows = [f for f in report.flows if f.allowed and not f.error and f.sent]
    push = next((g.target for g in grants if g.kind == "net" and g.rule == PUSH), "")
    pushed = [f for f in flows if f"{f.host}:{f.port}" == push]
    before, after = (_movable(named, report.label) for named in refs)
    moved = _of_refs(
        before, after, remote=push if pushed else "", sent=sum(f.sent for f in pushed), local=bool(local)
    )
    if any(e["kind"] == "vcs_remote" for e in moved):
        flows = [f for f in flows if f not in pushed]  # that is how the push went
    publishing = {g.target for g in grants if g.kind == "net" and g.rule == PUBLISH}
    result.effects += [_of_flow(flow, kind, publishing) for flow in _joined(flows)]
    touched = {target for target in report.touched if report.touched[target]}
    for saved in copies:
        changed = write_effect(saved, str(saved.target) in touched, kind == "package")
        if changed is not None:
            result.effects.append(changed)
    for grant in report.used:
        if grant.kind == "socket":
            result.effects.append(
                effect("service", "irreversible", "observed", f"Spoke to {grant.target}", target=grant.target)
            )
    result.effects += [*local, *moved]
    if any(g.kind == "unconfined" for g in grants):
        result.effects.append(
            effect(
                "unknown",
                "irreversible",
                "assumed",
                f"Ran without the sandbox: {command[:200]}",
                command=command,
            )
        )
    opened = [g for g in grants if g.kind in ("net", "socket")]
    result.unused = [g for g in opened if g not in report.used]
    return result


def _joined(flows: Iterable[Flow]) -> list[Flow]:
    """Many connections to one host for one purpose are one thing that was done."""
    found: dict[tuple[str, int, bool], Flow] = {}
    for flow in flows:
        key = (flow.host, flow.port, _reads(flow))
        known = found.get(key)
        if known is None:
            found[key] = replace(flow)
        else:
            known.sent += flow.sent
            known.received += flow.received
    return list(found.values())


def _reads(flow: Flow) -> bool:
    # TLS hides the method; a small upload to a package registry is taken for a download, and said to be seen only.
    return (flow.method in _FETCH and flow.sent < _SMALL_REQUEST) or (
        flow.host.startswith(_REGISTRIES)
        and flow.sent < _SMALL_UPLOAD
        and flow.method in ("CONNECT", *_FETCH)
    )


def _of_flow(flow: Flow, kind: str, publishing: set[str]) -> dict[str, Any]:
    target = f"{flow.host}:{flow.port}"
    amount: dict[str, Any] = {
        "sent": flow.sent,
        "received": flow.received,
        "method": flow.method,
        "target": target,
    }
    if target in publishing:
        return effect(
            "publish", "irreversible", "observed", f"Published to {target} ({flow.sent:,} bytes)", **amount
        )
    if _reads(flow):
        return effect(
            "net_fetch", "undoable", "observed", f"Read from {target} ({flow.received:,} bytes)", **amount
        )
    name = "remote_state" if kind == "remote" else "net_send"
    return effect(name, "irreversible", "observed", f"Sent {flow.sent:,} bytes to {target}", **amount)


def write_effect(saved: SavedCopy, touched: bool = True, installs: bool = False) -> dict[str, Any] | None:
    """What became of a path that was copied before. `touched`: a write to it was seen, for what has no copy."""
    exists = os.path.lexists(saved.target)
    if not saved.existed and not exists:
        return None
    path = str(saved.target)
    if saved.existed and saved.copy is None:
        # Nothing to compare with: what was seen there decides.
        if not touched and exists:
            return None
        return effect(
            "outside_write",
            "irreversible",
            "observed" if not exists else "assumed",
            f"{'Changed' if exists else 'Deleted'} {path} (no copy: {saved.skipped})",
            path=path,
        )
    if saved.copy is not None and exists and same(saved.copy, saved.target):
        return None
    verb = "Created" if not saved.existed else "Changed" if exists else "Deleted"
    return effect(
        "package" if installs else "outside_write",
        "undoable",
        "observed",
        f"Installed into {path}" if installs else f"{verb} {path}",
        undo_label="Put it back",
        path=path,
        copy=str(saved.copy or ""),
        existed=saved.existed,
    )


def pushed(ref: str, old: str, new: str, remote: str, sent: int) -> dict[str, Any]:
    """The effect of a push of one ref; `old` or `new` "" = it was not there."""
    short = ref.removeprefix("refs/heads/").removeprefix("refs/")
    counter = f"Push {old[:9]} back" if old else f"Delete {short} there"
    verb = "Pushed" if new else "Deleted"
    return effect(
        "vcs_remote", "compensatable", "observed", f"{verb} {short} {'to' if new else 'at'} {remote}",
        undo_label=counter, ref=ref, old=old, new=new, remote=remote, sent=sent,
    )  # fmt: skip


def _movable(refs: dict[str, str], label: Label) -> dict[str, str]:
    """Those that a command could move. Walls keep it from the person's branches and tags, whatever was opened for it: what
    moved there meanwhile was the person, who commits beside it."""
    if label != "complete":
        return refs
    return {name: place for name, place in refs.items() if name.startswith("refs/remotes/")}


def _of_refs(
    before: dict[str, str], after: dict[str, str], *, remote: str, sent: int, local: bool
) -> list[dict[str, Any]]:
    """What moved in the repository. A remote branch that moves while a push spoke to its host was pushed; one that
    moves along with a push to a folder is entered there; else it was fetched."""
    effects = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old == new or name.startswith("refs/heads/worldline/") or name == "refs/stash":
            continue
        short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("refs/")
        if name.startswith("refs/remotes/") and (remote or local):
            if remote:
                branch = short.partition("/")[2]
                effects.append(pushed(f"refs/heads/{branch}", old, new, remote, sent))
                effects[-1]["detail"]["name"] = short.partition("/")[0]
            continue
        verb = "created" if not old else "deleted" if not new else "moved"
        effects.append(effect("vcs_local", "undoable", "observed", f"{short} was {verb}", undo_label="Move it back",
                              ref=name, old=old, new=new))  # fmt: skip
    return effects


def hard_link_effects(root: Path, changed: Iterable[str]) -> list[dict[str, Any]]:
    """Changed files of the workspace that have another name somewhere else: that file was changed as well."""
    linked: dict[tuple[int, int], tuple[str, int]] = {}
    for name in changed:
        with contextlib.suppress(OSError):
            info = (root / name).lstat()
            if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                linked.setdefault((info.st_dev, info.st_ino), (name, info.st_nlink))
    if not linked:
        return []
    inside = _names_inside(root, linked.keys())
    return [
        effect(
            "outside_write", "irreversible", "observed", f"{name} has another name outside: it changed there as well",
            path=str(root / name), links=links - inside.get(key, 1),
        )
        for key, (name, links) in linked.items()
        if links > inside.get(key, 1)
    ]  # fmt: skip


def _names_inside(root: Path, wanted: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How many names each of these files has in the workspace."""
    found: dict[tuple[int, int], int] = {}
    for base, _folders, files in os.walk(root):
        for file in files:
            with contextlib.suppress(OSError):
                info = (Path(base) / file).lstat()
                key = (info.st_dev, info.st_ino)
                if key in wanted:
                    found[key] = found.get(key, 0) + 1
    return found
