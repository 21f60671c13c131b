"""What a walk over the workspace knows of its folders, and what it has to know beside them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.workspace.filesig import FileSig
from worldline.workspace.ignore import RuleSet, Stack
from worldline.workspace.store import Store
from worldline.workspace.watch import Dirty

STAGING = ".worldline-restore-"
_STAGING = re.compile(re.escape(STAGING) + r"[0-9a-f]{16,64}")


def is_staging(name: str) -> bool:
    """Whether a folder of this name in the workspace's root is a restore at work, or what one has left; never captured. What
    people give a name that only begins alike is theirs."""
    return name.startswith(STAGING) and _STAGING.fullmatch(name) is not None


CHOSEN_CAP = 1 << 20
"""Largest ignored file that is captured because its name was chosen."""

IGNORED = "ignored"
RULING = (".git", ".gitignore")
"""Names that decide about others."""


class Dir:
    """What is known of one folder."""

    __slots__ = (
        "clash",
        "dirs",
        "edited",
        "files",
        "in_ignored",
        "included",
        "ino",
        "linked",
        "made",
        "mode",
        "perms",
        "places",
        "raw",
        "repo",
        "restless",
        "rules",
        "sig",
        "skipped",
        "stale",
        "tree",
    )

    def __init__(self) -> None:
        self.files: dict[str, FileSig] = {}
        self.dirs: dict[str, Dir] = {}
        self.restless: set[str] = set()
        """Names of folders in it that must be listed again, whatever is told of them. Where a walk is not told, or names in
        here were listed, all are looked at anyway."""
        self.linked: set[str] = set()
        """Files that have other names: whoever writes to one by another name is not told of here."""
        self.skipped: dict[str, str] = {}
        """Names that are not captured, and why (`IGNORED` or words for people)."""
        self.sig: tuple[int, int, int, int] | None = None
        """None: list it again."""
        self.stale = True
        """What is ignored here must be judged anew, also for names that are known."""
        self.tree = b""
        """Id of its git tree; b"": to be made."""
        self.perms = b""
        """Id of the record of unusual permissions below it, b"" when there are none."""
        self.raw = b""
        """The git tree as it was made last, b"" = never."""
        self.places: dict[str, int] = {}
        """Where in `raw` the entry of a name begins, as far as it was looked for. Contents change it nowhere."""
        self.made: tuple[bytes, bytes, int] = (b"", b"", 0)
        """Its id, that of the permissions, and the mode of the folder: what the folder above was made with."""
        self.edited: dict[str, FileSig] | None = None
        """Files whose content or mode is another than in `raw`, and what they are there; None: anything may differ."""
        self.rules: RuleSet | None = None
        self.repo = False
        self.in_ignored = False
        self.included = False
        """Ignored, but asked for as a whole (`Context.include`)."""
        self.mode = 0
        self.ino = 0
        self.clash: tuple[str, ...] = ()
        """Names that differ only by case from another one here."""

    @property
    def is_simple(self) -> bool:
        """Whether all that is in it is captured or ignored, so that a file alone does not change what is told of others."""
        return not (self.clash or any(reason != IGNORED for reason in self.skipped.values()))

    def below(self, prefix: str) -> Dir | None:
        """The folder at "" or "a/b/" below this one, None when it is not known."""
        node: Dir | None = self
        for part in prefix.split("/")[:-1]:
            node = node.dirs.get(part) if node is not None else None
        return node

    def update(self, new: dict[str, FileSig]) -> bool:
        """Take over what was found of files that were known; whether that changes the tree."""
        old = self.files
        changed = differing(new, old)
        if self.edited is not None:
            for name in changed:
                self.edited.setdefault(name, old[name])
        old.update(new)
        return bool(changed)


def differing(new: dict[str, FileSig], old: dict[str, FileSig]) -> list[str]:
    """Files of `new` whose content or mode is not that of `old`."""
    return [name for name, sig in new.items() if sig[5] != old[name][5] or sig[4] != old[name][4]]


@dataclass(slots=True)
class Context:
    """What one walk needs to know beside the folders."""

    store: Store
    tracked: set[str] = field(default_factory=set)
    tracked_dirs: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    """Submodules: folders that are tracked as one, ignored or not."""
    chosen: tuple[str, ...] = ()
    max_bytes: int = 50 << 20
    file_perm: int = 0o644
    dir_perm: int = 0o755
    include: RuleSet | None = None
    """Ignored files that are wanted all the same."""
    enter_root: Callable[[str], Stack] | None = None
    """Called for a folder that is a repository of its own; returns the rules that hold inside."""
    is_linked: Callable[[str], bool] | None = None
    """Whether that folder is another worktree of a repository above it."""
    watch: Callable[[str], None] | None = None
    """Told of each folder before it is looked at."""
    dirty: Dirty | None = None
    """What changed; None: not known, look at all."""
    learned: dict[int, FileSig] = field(default_factory=dict)
    """Files that were read elsewhere since the last walk, by inode; their content is in the store."""
    special: dict[str, Dir] = field(default_factory=dict)
    """Folders (as prefixes) with something to tell: left out, a repository, names that clash, files with other
    names. May hold folders that are
    gone."""
    tick: Callable[[], None] | None = None
    kinds: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """By st_mode: the mode in a git tree, and whether the permissions are unusual."""
    device: int = 0
    base: Stack = ()

    def is_chosen(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.chosen)
