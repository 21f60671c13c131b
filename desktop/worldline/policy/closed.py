"""What rules keep from being read, as places that commands must not see: tools ask the rules about each path, a command in
the sandbox asks nobody.

A rule that asks before something is read closes it too, until that is granted. Only what is there can be covered: a file
that comes to such a place later is closed to the commands that start after it.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from worldline.policy.rule import Rule
from worldline.policy.rules import Judgement, RuleSet
from worldline.policy.sandbox.below import MOST_ENTRIES, Below
from worldline.policy.sandbox.bubblewrap import needed_places
from worldline.policy.sandbox.places import git_places
from worldline.policy.shell import has_glob, parse
from worldline.policy.where import meant, meant_names, split_pattern

MOST_PLACES = 1000
"""Each one is a mount, which takes its time."""
_MOST_INSIDE = 20_000
"""Files of closed folders that are looked at for other names they have."""
_MOST_NAMED = 1000
"""Files that a wildcard of a command names."""
_HOLDS_WORKSPACE = "it covers the workspace itself"
_NEEDED = "commands need what it covers in order to run"
_TOO_MANY = f"it names more than {MOST_PLACES:,} places"
_NOT_ALL_SEEN = "there are too many files where it would have to be looked for"


@dataclass(slots=True)
class Closed:
    """`places` are real and there. Nothing is known of what comes later."""

    rules: list[Rule] = field(default_factory=list)
    """The rules about reading, strictest first."""
    places: list[Path] = field(default_factory=list)
    open: list[tuple[Rule, str]] = field(default_factory=list)
    """Rules that no sandbox keeps for a command, and why: such a command has to be asked about."""
    kept: list[Path] = field(default_factory=list)
    """What is there in the workspace and rules keep from being written."""
    names: dict[Path, Rule] = field(default_factory=dict)
    """Other names (hard links) of closed files, which are places too, and the rule about the file."""
    other_names: int = 0
    """Closed files that have a name (a hard link) where it was not looked for."""


def closed_to_commands(rules: RuleSet, copies: Sequence[Path] = ()) -> Closed:
    """Blocking. `copies` are other folders with the same files (worktrees of other sessions): with a rule about the
    workspace they are closed as a whole."""
    found = Closed([*rules.of("Read", "deny"), *rules.of("Read", "ask")])
    places, about_workspace = _places_of(found.rules, rules, found.open)
    if about_workspace:
        places |= {place: found.rules[0] for place in copies if place.is_dir()}
    _settle(places, rules, found)
    unwritten, _ = _places_of(rules.of("Write", "deny"), rules, [])
    for path, rule in unwritten.items():
        place = Path(os.path.realpath(path))
        if rules.root.is_relative_to(place):
            found.open.append((rule, _HOLDS_WORKSPACE))
        elif place.is_relative_to(rules.root) and len(found.kept) < MOST_PLACES:
            found.kept.append(place)
    return found


def _places_of(
    given: Sequence[Rule], rules: RuleSet, not_seen: list[tuple[Rule, str]]
) -> tuple[dict[Path, Rule], bool]:
    """What is there of what these rules name, and whether one of them is about the workspace. `not_seen` is added to."""
    places: dict[Path, Rule] = {}
    searches: dict[tuple[Path, bool, bool], list[tuple[str, Rule]]] = {}
    about_workspace = False
    for rule in given:
        for name in _names_of(rule, rules):
            base, rest = split_pattern(name)
            about_workspace = about_workspace or _touches(base, rules)
            if not rest:
                if os.path.lexists(base):
                    places.setdefault(base, rule)
            else:
                deep = "**" in rest or any("**" in part for part in rest)
                searches.setdefault((base, ".git" in rest, deep or len(rest) > 1), []).append((name, rule))
    for (base, into_git, deep), patterns in searches.items():
        finder = _finder(tuple(name for name, _ in patterns), into_git, deep)
        there, whole = finder.find(base, MOST_ENTRIES)
        if not whole:
            not_seen += [(rule, _NOT_ALL_SEEN) for rule in dict.fromkeys(rule for _, rule in patterns)]
        for path in there:
            rule = next(rule for name, rule in patterns if meant(name).fullmatch(str(path)))
            places.setdefault(path, rule)
    return places, about_workspace


def _names_of(rule: Rule, rules: RuleSet) -> Iterable[str]:
    """The pattern as whole paths, with the same place in the twin. What is said of all in a folder is said of it."""
    for name in meant_names(rule.pattern or "*", rules.root):
        while name.endswith(("/**", "/*")):
            name = name.rpartition("/")[0] or "/"
        yield name
        base, rest = split_pattern(name)
        other = rules.other(base)
        if other is not None:
            yield str(Path(os.path.realpath(other), *rest))


def _touches(base: Path, rules: RuleSet) -> bool:
    roots = [root for root in (rules.root, rules.twin) if root is not None]
    return any(base.is_relative_to(root) or root.is_relative_to(base) for root in roots)


@lru_cache(maxsize=64)
def _finder(patterns: tuple[str, ...], into_git: bool, deep: bool) -> Below:
    """One for the same patterns: it knows which folders did not change since the last command."""
    named = re.compile("|".join(f"(?:{meant(name).pattern})" for name in patterns), re.DOTALL)
    return Below(
        lambda entry: named.fullmatch(entry.path) is not None,
        enter=lambda entry: deep and (into_git or entry.name != ".git"),
    )


def _settle(places: dict[Path, Rule], rules: RuleSet, found: Closed) -> None:
    """Keep what can be covered, by its real place, and say the rest."""
    real: dict[Path, Rule] = {}
    git = git_places(rules.root)
    needed = [*needed_places(), *(folder for folder in (git.git_dir, git.common_dir) if folder is not None)]
    for path, rule in places.items():
        place = Path(os.path.realpath(path))
        if not os.path.lexists(place):
            continue  # a link that leads nowhere
        if rules.root.is_relative_to(place):
            found.open.append((rule, _HOLDS_WORKSPACE))
        elif any(need.is_relative_to(place) for need in needed):
            found.open.append((rule, _NEEDED))
        else:
            real.setdefault(place, rule)
    kept = [place for place in real if not any(parent in real for parent in place.parents)]
    if len(kept) > MOST_PLACES:
        found.open += [(rule, _TOO_MANY) for rule in dict.fromkeys(real[p] for p in kept[MOST_PLACES:])]
        kept = kept[:MOST_PLACES]
    found.names = _other_names({place: real[place] for place in kept}, rules, found)
    if len(kept) + len(found.names) > MOST_PLACES:  # whose file has which name is not known
        found.open += [(rule, _TOO_MANY) for rule in dict.fromkeys(real.values())]
    found.places = [*kept, *found.names][:MOST_PLACES]
    found.open = list(dict.fromkeys(found.open))


def _other_names(places: Mapping[Path, Rule], rules: RuleSet, found: Closed) -> dict[Path, Rule]:
    """Other names (hard links) of closed files in the workspace and its twin. Elsewhere it is not looked for them."""
    wanted = _linked(places)
    if not wanted:
        return {}
    names: dict[Path, Rule] = {}
    inside, inodes = {str(place) for place in places}, {inode for _, inode in wanted}
    finder = Below(
        lambda entry: entry.inode() in inodes and not entry.is_dir(follow_symlinks=False),
        enter=lambda entry: entry.path not in inside,
    )
    for root in (rules.root, rules.twin):
        for path in finder.find(root)[0] if root is not None else ():
            info = _stat(path)
            key = (info.st_dev, info.st_ino) if info is not None else None
            if key in wanted and str(path) not in inside and path not in names:
                left, names[path] = wanted[key]
                wanted[key] = (left - 1, names[path])
    found.other_names = sum(1 for left, _ in wanted.values() if left > 0)
    return names


def _linked(places: Mapping[Path, Rule]) -> dict[tuple[int, int], tuple[int, Rule]]:
    """(device, inode) of closed files → how many names they have beside those that are closed, and the strictest rule."""
    found: dict[tuple[int, int], tuple[int, Rule]] = {}
    for place, rule in places.items():
        for path in _files_of(place):
            info = _stat(path)
            if info is not None and stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                key = (info.st_dev, info.st_ino)
                left, first = found.get(key, (info.st_nlink, rule))
                found[key] = (left - 1, first if first.decision == "deny" else rule)
    return {key: (left, rule) for key, (left, rule) in found.items() if left > 0}


def _files_of(place: Path) -> Iterable[Path]:
    if not place.is_dir():
        return (place,)
    everything = Below(lambda entry: not entry.is_dir(follow_symlinks=False), enter=lambda entry: True)
    return everything.find(place, _MOST_INSIDE)[0]


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:  # gone meanwhile
        return None


def second_name(path: Path, rules: RuleSet) -> Judgement | None:
    """What is said of a file that a rule closes by another name. Blocking; a file with one name costs a look at it."""
    info = _stat(path)
    if info is None or info.st_nlink < 2 or not stat.S_ISREG(info.st_mode):
        return None
    rule = closed_to_commands(rules).names.get(path)
    if rule is None:
        return None
    why = f"{path} is another name of a file that {rule.text} is about"
    return Judgement("deny" if rule.decision == "deny" else "ask", rule, why, strict=True)


def names_closed(line: str, rules: RuleSet, cwd: Path) -> Judgement | None:
    """What the rules say of reading a file that a word of the line names, where they deny it or ask. It is for the answer
    alone: a file can be read without its name."""
    asked: Judgement | None = None
    for command in parse(line).commands:
        for word in (*command.words[1:], *command.reads):
            for path in _named_by(word or "", cwd):
                judged = rules.path("Read", path)
                if judged.decision == "deny":
                    rule = judged.rule.text if judged.rule is not None else ""
                    why = f"the rule {rule} denies reading {path}"
                    return Judgement("deny", judged.rule, why, (command.start, command.end))
                if judged.strict and asked is None:
                    asked = judged
    return asked


def _named_by(word: str, cwd: Path) -> Iterable[Path]:
    """`x`, `--file=x`, `-fx`, `@x`, `HEAD:x`: files that a word may mean, as it says and where that leads."""
    said = [word, word.partition("=")[2], word.partition(":")[2], word.removeprefix("@")]
    if word.startswith("-") and not word.startswith("--"):
        said.append(word[2:])
    for text in dict.fromkeys(text for text in said if text and not text.startswith("-")):
        try:
            path = cwd / Path(text).expanduser()
            known = list(itertools.islice(glob.iglob(str(path)), _MOST_NAMED)) if has_glob(text) else []
            for name in (str(path), *known):
                yield from dict.fromkeys((Path(os.path.normpath(name)), Path(os.path.realpath(name))))
        except (OSError, ValueError, RuntimeError):
            continue  # nothing that can be a path: nobody's home, a NUL, a loop of links
