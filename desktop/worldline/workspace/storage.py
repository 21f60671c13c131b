"""How much room the states take, and giving room back without touching a state that is kept."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace import after_power
from worldline.workspace.model import ProgressCall
from worldline.workspace.objects import COMMIT, MODE_DIR, MODE_GITLINK, TREE, PackWriter
from worldline.workspace.store import Store


@dataclass(slots=True, frozen=True)
class PruneReport:
    freed: int
    """Bytes."""
    states_removed: int
    states_kept: int


def _is_state(data: bytes) -> bool:
    return b"\nauthor Worldline <worldline@localhost> " in data


def states(store: Store) -> set[str]:
    """Ids of all states in the store."""
    return set(states_made(store))


def states_made(store: Store) -> dict[str, int]:
    """All states in the store, and when each was made (seconds)."""
    found = {}
    for oid in store.repo:
        kind, data = store.repo.read(oid)
        if kind == COMMIT and _is_state(data):
            found[str(oid)] = int(data.split(b"\ncommitter ", 1)[1].split(b"\n", 1)[0].split(b" ")[-2])
    return found


def _size(store: Store) -> int:
    return sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())


def _reach(store: Store, wanted: set[str]) -> dict[bytes, int]:
    """Everything the states need: object → its kind. Raises `WorkspaceError` when a part of one is missing."""
    needed: dict[bytes, int] = {}

    def tree(oid: bytes, place: str) -> None:
        if oid in needed:
            return
        needed[oid] = TREE
        for entry in store.tree(oid):
            if not goes_along(place, entry.name):
                continue
            if entry.mode == MODE_DIR:
                tree(entry.oid, below(place, entry.name))
            elif entry.mode != MODE_GITLINK:
                needed[entry.oid] = 3

    # Those that came in a bundle last: they have less of what they may share with others.
    for bundled, state in sorted((store.is_bundled(state), state) for state in wanted):
        oid = bytes.fromhex(state)
        raw = store.read(oid)
        needed[oid] = COMMIT
        tree(bytes.fromhex(raw[5:45].decode("ascii")), "top" if bundled else "")
    return needed


def below(place: str, name: str) -> str:
    """Where a tree in a state stands that lies at `name` in one at `place`: "top" → "roots" → "root", "" = elsewhere."""
    return {"top": "roots" if name == "roots" else "", "roots": "root"}.get(place, "")


def goes_along(place: str, name: str) -> bool:
    """Whether this part of a state is carried to another machine. See `bundle.objects_of`."""
    return place != "root" or name == "index"


def prune(store: Store, keep: set[str], progress: ProgressCall | None = None) -> PruneReport:
    """Remove all states that are not in `keep`. What is kept is written anew first and only then the old files go, so a
    kill or a full disk in between loses nothing. Raises `WorkspaceError` when a kept state is not whole."""
    store.lock()
    store.discard()
    before = _size(store)
    all_states = states(store)
    unknown = keep - all_states
    if unknown:
        raise WorkspaceError(
            f"{len(unknown)} of the states to be kept are not in the store; nothing was removed.",
            "Run `worldline verify` on the session first.",
            kind="missing_state",
        )
    needed = _reach(store, keep)
    folder = store.path / "objects"
    old = [*(folder / "pack").glob("pack-*"), *folder.glob("[0-9a-f][0-9a-f]/*")]
    names: set[str] = set()
    if needed:
        writer = PackWriter(folder / "pack")
        try:
            for number, (oid, kind) in enumerate(needed.items()):
                if progress is not None and number % 200 == 0:
                    progress("prune", number, len(needed))
                writer.add(oid, kind, store.read(oid))
        except BaseException:
            writer.abort()
            raise
        name = writer.finish()
        names = {f"{name}.pack", f"{name}.idx"}
    shallow = sorted(state for state in keep if _parent(store, state) not in keep | {""})
    (store.path / "shallow").write_text("".join(f"{state}\n" for state in shallow), "ascii")
    for name, target in list(store.refs()):
        if target not in keep:
            store.delete_ref(name)
    for path in old:
        if path.name not in names:
            path.unlink(missing_ok=True)
    store.reopen()
    after_power.are_filled(store.path)
    store.has_gaps = False
    return PruneReport(max(0, before - _size(store)), len(all_states - keep), len(keep))


def prunable(store: Store, keep: set[str]) -> int:
    """About how many bytes `prune` with the same states would give back; nothing is changed. Raises `WorkspaceError` as
    `prune` does."""
    needed = {oid.hex() for oid in _reach(store, keep)}
    return sum(size for oid, size in _stored_sizes(store.path / "objects") if oid not in needed)


def _stored_sizes(objects: Path) -> Iterator[tuple[str, int]]:
    """Each stored object with the bytes it takes on disk."""
    for index in (objects / "pack").glob("pack-*.idx"):
        yield from _packed_sizes(index)
    for path in objects.glob("[0-9a-f][0-9a-f]/*"):
        if not path.name.startswith("tmp_"):
            yield path.parent.name + path.name, path.stat().st_size


def _packed_sizes(index: Path) -> Iterator[tuple[str, int]]:
    """An object of a pack reaches to the next one, the last to the checksum at the end of the pack."""
    data = index.read_bytes()
    count = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4], "big")
    names = 8 + 256 * 4
    small = struct.unpack_from(f">{count}I", data, names + 24 * count)
    large = names + 28 * count
    rows = []
    for at, offset in enumerate(small):
        if offset >> 31:
            offset = struct.unpack_from(">Q", data, large + 8 * (offset & 0x7FFFFFFF))[0]
        rows.append((offset, data[names + 20 * at : names + 20 * at + 20].hex()))
    rows.sort()
    ends = [offset for offset, _ in rows[1:]] + [index.with_suffix(".pack").stat().st_size - 20]
    for (offset, oid), end in zip(rows, ends, strict=True):
        yield oid, end - offset


def _parent(store: Store, state: str) -> str:
    for line in store.read(bytes.fromhex(state)).split(b"\n\n", 1)[0].split(b"\n"):
        if line.startswith(b"parent "):
            return line[7:].decode("ascii")
    return ""


def missing(store: Store, wanted: set[str]) -> dict[str, str]:
    """States that cannot be restored, and why (for `verify`)."""
    found = {}
    for state in wanted:
        try:
            for oid in _reach(store, {state}):
                if not store.has(oid):
                    raise WorkspaceError(f"object {oid.hex()} is missing")
        except (WorkspaceError, ValueError, pygit2.GitError) as error:
            found[state] = str(error)
    return found
