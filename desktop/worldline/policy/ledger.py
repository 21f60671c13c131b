"""What a confined call did outside the workspace: (what was opened) and (what was seen going through the opening).

Nothing here is guessed from the text of a command. A grant that was opened and not used gives no entry. Each effect is a
plain dict as it is stored in the session: kind, reversibility, evidence, summary, undo_label, detail.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from worldline.policy.sandbox.model import Flow, Grant, Report

Reversibility = Literal["undoable", "compensatable", "irreversible"]
Evidence = Literal["enforced", "observed", "assumed", "guessed"]
COPY_LIMIT = 50_000_000
"""Bytes of a folder that are copied before a command may write to it."""
_FETCH = frozenset({"GET", "HEAD"})
_SMALL_UPLOAD = 64_000
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


# --- copies before a write outside --------------------------------------------------------------------------------------


@dataclass(slots=True)
class SavedCopy:
    """What a granted path was before the command ran."""

    target: Path
    copy: Path | None
    """None: nothing was there, or it was not copied (`skipped` says why)."""
    existed: bool
    skipped: str = ""


class Copies:
    """Copies of paths outside the workspace, kept in the app's data until the session is pruned."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, target: Path) -> SavedCopy:
        """Copy a file or a folder (up to `COPY_LIMIT`) aside. Never raises for what cannot be read: it is said."""
        try:
            info = target.lstat()
        except FileNotFoundError:
            return SavedCopy(target, None, False)
        except OSError as error:
            return SavedCopy(target, None, True, error.strerror or "cannot be read")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = sum(1 for _ in self._folder.iterdir())
        place = self._folder / f"{number:05d}-{target.name[:60]}"
        try:
            if stat.S_ISDIR(info.st_mode):
                size = _size_of(target)
                if size > COPY_LIMIT:
                    return SavedCopy(target, None, True, f"larger than {COPY_LIMIT // 1_000_000} MB")
                shutil.copytree(target, place, symlinks=True)
            elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
                shutil.copy2(target, place, follow_symlinks=False)
            else:
                return SavedCopy(target, None, True, "not a file or a folder")
        except OSError as error:
            return SavedCopy(target, None, True, error.strerror or "cannot be copied")
        return SavedCopy(target, place, True)

    def restore(self, detail: dict[str, Any]) -> str:
        """Put one path back as it was; what is there now is copied aside first. Returns what was done, as a sentence.

        `detail` is that of an `outside_write` effect. Raises OSError when it cannot be done.
        """
        target = Path(detail["path"])
        self.save(target)
        copy = detail.get("copy")
        if not detail.get("existed"):
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
            return f"{target} was removed; it was not there before."
        if not copy or not os.path.lexists(copy):
            raise FileNotFoundError(f"the copy of {target} is gone")
        source = Path(copy)
        passing = target.with_name(f".{target.name}.restoring")
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, passing, symlinks=True)
            old = target.with_name(f".{target.name}.replaced")
            if target.exists():
                target.rename(old)
            passing.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            shutil.copy2(source, passing, follow_symlinks=False)
            passing.replace(target)
        return f"{target} is as it was before."


def _size_of(folder: Path) -> int:
    total = 0
    for base, _folders, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += (Path(base) / name).lstat().st_size
            if total > COPY_LIMIT:
                return total
    return total


def _same(copy: Path, target: Path) -> bool:
    """Are two files the same, bytes and mode? Links by their target, folders by all that is in them."""
    if copy.is_symlink() or target.is_symlink():
        return copy.is_symlink() and target.is_symlink() and copy.readlink() == target.readlink()
    if copy.is_dir() or target.is_dir():
        if not (copy.is_dir() and target.is_dir()):
            return False
        names = {p.name for p in copy.iterdir()} | {p.name for p in target.iterdir()}
        return all(
            os.path.lexists(copy / n) and os.path.lexists(target / n) and _same(copy / n, target / n)
            for n in names
        )
    if not target.is_file():
        return False
    a, b = copy.stat(), target.stat()
    return a.st_size == b.st_size and a.st_mode == b.st_mode and copy.read_bytes() == target.read_bytes()


# --- from a report to effects -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class CallEffects:
    effects: list[dict[str, Any]] = field(default_factory=list)
    unused: list[Grant] = field(default_factory=list)


def effects_of(
    report: Report,
    grants: Sequence[Grant],
    copies: Iterable[SavedCopy],
    refs: tuple[dict[str, str], dict[str, str]],
    command: str,
) -> CallEffects:
    """Effects of one call. `refs`: all refs of the repository before and after it."""
    result = CallEffects()
    for flow in report.flows:
        if flow.allowed and not flow.error:
            result.effects.append(_of_flow(flow))
    for saved in copies:
        changed = _of_copy(saved)
        if changed is not None:
            result.effects.append(changed)
    for grant in report.used:
        if grant.kind == "socket":
            result.effects.append(
                effect("service", "irreversible", "observed", f"Spoke to {grant.target}", target=grant.target)
            )
    result.effects += _of_refs(*refs, command)
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


def _of_flow(flow: Flow) -> dict[str, Any]:
    registry = flow.host.startswith(_REGISTRIES)
    target = f"{flow.host}:{flow.port}"
    amount: dict[str, Any] = {
        "sent": flow.sent,
        "received": flow.received,
        "method": flow.method,
        "target": target,
    }
    if flow.method in _FETCH or (registry and flow.sent < _SMALL_UPLOAD):
        # TLS hides the method; a small upload to a package registry is taken for a download, and said to be seen only.
        return effect(
            "net_fetch", "undoable", "observed", f"Read from {target} ({flow.received:,} bytes)", **amount
        )
    return effect("net_send", "irreversible", "observed", f"Sent {flow.sent:,} bytes to {target}", **amount)


def _of_copy(saved: SavedCopy) -> dict[str, Any] | None:
    exists = os.path.lexists(saved.target)
    if not saved.existed and not exists:
        return None
    if saved.copy is not None and exists and _same(saved.copy, saved.target):
        return None
    path = str(saved.target)
    if saved.existed and saved.copy is None:
        return effect(
            "outside_write",
            "irreversible",
            "assumed",
            f"May have changed {path} (no copy: {saved.skipped})",
            path=path,
        )
    verb = "Created" if not saved.existed else "Changed" if exists else "Deleted"
    return effect(
        "outside_write",
        "undoable",
        "observed",
        f"{verb} {path}",
        undo_label="Put it back",
        path=path,
        copy=str(saved.copy or ""),
        existed=saved.existed,
    )


def _of_refs(before: dict[str, str], after: dict[str, str], command: str) -> list[dict[str, Any]]:
    """What moved in the repository. Remote branches move by fetching as well; the words of the command tell which."""
    effects = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old == new or name.startswith("refs/heads/worldline/") or name == "refs/stash":
            continue
        short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("refs/")
        if name.startswith("refs/remotes/"):
            if "push" not in command:
                continue
            counter = f"Push {old[:9]} back" if old else "Delete the remote branch"
            summary = f"Pushed to {short}"
            effects.append(effect("vcs_remote", "compensatable", "observed", summary, undo_label=counter,
                                  ref=name, old=old, new=new))  # fmt: skip
            continue
        verb = "created" if not old else "deleted" if not new else "moved"
        effects.append(effect("vcs_local", "undoable", "observed", f"{short} was {verb}", undo_label="Move it back",
                              ref=name, old=old, new=new))  # fmt: skip
    return effects


def hard_link_effects(root: Path, changed: Iterable[str]) -> list[dict[str, Any]]:
    """Changed files of the workspace that have another name somewhere else: that file was changed as well."""
    effects = []
    for name in changed:
        path = root / name
        with contextlib.suppress(OSError):
            info = path.lstat()
            if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                effects.append(
                    effect(
                        "outside_write",
                        "irreversible",
                        "observed",
                        f"{name} has another name outside: it changed there as well",
                        path=name,
                        links=info.st_nlink,
                    )
                )
    return effects
