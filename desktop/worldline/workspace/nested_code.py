"""Programs that the git folder of a nested repository names: they run when the person (or their editor) runs git in there.

A command of the agent can make a repository inside the workspace, and its git folder is no file of the workspace that a
difference would show.
"""

from __future__ import annotations

import re

from worldline.core.errors import WorkspaceError
from worldline.workspace.objects import MODE_DIR, MODE_EXEC, MODE_LINK, TreeEntry
from worldline.workspace.states import RootState, State
from worldline.workspace.store import Store

MOST = 8
"""Programs that are named."""
_CONFIG_BYTES = 1 << 20
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_RUNS = re.compile(
    r"core\.(?:fsmonitor|hookspath|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)"
    r"|(?:filter\..*\.(?:clean|smudge|process))|diff\.external|diff\..*\.(?:command|textconv)|merge\..*\.driver"
    r"|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|sequence\.editor|interactive\.difffilter"
    r"|pager\..*|(?:difftool|mergetool|browser|man)\..*\.(?:cmd|path)|include\.path|includeif\..*\.path"
    r"|uploadpack\.packobjectshook|remote\..*\.(?:uploadpack|receivepack|vcs)|trailer\..*\.(?:command|cmd)"
    r"|submodule\..*\.update|alias\..*|protocol\..*allow|sendemail\..*cmd|imap\.tunnel|http\..*cookiefile"
)
_HARMLESS = {
    "",
    "true",
    "false",
    "yes",
    "no",
    "1",
    "0",
    "none",
    "merge",
    "rebase",
    "checkout",
    "never",
    "user",
}


def changed(old: State, new: State) -> dict[str, list[str]]:
    """Nested repository → the programs that it names now and did not before, in words for people; those without are left
    out."""
    before = {root.path: root for root in old.roots if root.path}
    found = {}
    for root in new.roots:
        if not root.path:
            continue
        known = before.get(root.path)
        had = set(programs(old.store, known)) if known is not None else set()
        more = [program for program in programs(new.store, root) if program not in had]
        if more:
            found[root.path] = more
    return found


def programs(store: Store, root: RootState) -> list[str]:
    """What the git folder of this repository would run."""
    if root.pointer:
        where = root.pointer.removeprefix("gitdir:").strip()
        return [f"what the git folder at {where} names"]  # that one may lie anywhere
    if not root.git:
        return []
    try:
        return _programs(store, root.git)
    except WorkspaceError:  # pruned, or never carried to this machine
        return []


def _programs(store: Store, folder: bytes) -> list[str]:
    entries = {entry.name.lower(): entry for entry in store.tree(folder)}
    found: list[str] = []
    for name in ("config", "config.worktree"):
        entry = entries.get(name)
        if entry is not None and entry.mode != MODE_DIR and store.size_of(entry.oid) <= _CONFIG_BYTES:
            found += in_config(store.read(entry.oid))
    hooks = entries.get("hooks")
    if hooks is not None and hooks.mode == MODE_DIR:
        found += [f"hook {e.name} {e.oid.hex()[:8]}" for e in store.tree(hooks.oid) if _is_hook(e)]
    modules = entries.get("modules")
    if modules is not None and modules.mode == MODE_DIR:
        for entry in store.tree(modules.oid):
            if entry.mode == MODE_DIR:
                found += _programs(store, entry.oid)
    return found


def _is_hook(entry: TreeEntry) -> bool:
    return entry.mode in (MODE_EXEC, MODE_LINK) and not entry.name.endswith(".sample")


def in_config(data: bytes) -> list[str]:
    """Settings of a git configuration that make git run a program or read more settings: `core.fsmonitor = x`."""
    found: list[str] = []
    section = ""
    text = re.sub(r"\\\r?\n", "", data.decode("utf-8", "replace"))
    for raw in text.splitlines():
        line = raw.strip()
        while (head := _SECTION.match(line)) is not None:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            line = line[head.end() :].strip()
        key = _KEY.match(line)
        if key is None or line[:1] in "#;":
            continue
        name, value = f"{section}.{key[1].lower()}", (key[2] or "").strip()
        if not _RUNS.fullmatch(name.lower()) or value.strip('"').lower() in _HARMLESS:
            continue
        if name.startswith("alias.") and not value.lstrip('"').startswith("!"):
            continue
        found.append(f"{name} = {value}"[:200])
    return found
