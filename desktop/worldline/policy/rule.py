"""One rule about commands, hosts, files or tools, and which commands it is about."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from worldline.policy.programs import HIDDEN_START, INTERPRETERS, LONG_OPTIONS, PACKAGE_MANAGERS, TELLING
from worldline.policy.shell import SimpleCommand

Decision = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `text` is as it was written; `where` says where it comes from (project, user, session, branch)."""

    kind: str
    pattern: str
    decision: Decision
    text: str
    where: str = ""

    def matches_command(self, command: SimpleCommand) -> bool:
        """For deny and ask: may the command be what the rule means? A word not known now may be anything."""
        return self._names_program(command, sure=False) and self._means(command, unknown=True)

    def is_command(self, command: SimpleCommand) -> bool:
        """For deny: the command is what the rule means, whatever the words are that are not known now."""
        known = command.program is not None and self._names_program(command, sure=False)
        return known and self._means(command, unknown=False)

    def allows_command(self, command: SimpleCommand) -> bool:
        if not self._names_program(command, sure=True) or None in command.words:
            return False
        wanted, more = pattern_words(self.pattern)
        words = [self._program(command), *command.words[1:]]
        return _match_plain(wanted, more, words, unknown=False) and not self._too_wide(command)

    def _means(self, command: SimpleCommand, *, unknown: bool) -> bool:
        """Options in another order or form, or of the program itself, hide nothing."""
        wanted, more = pattern_words(self.pattern)
        words = [self._program(command), *command.words[1:]]
        if any(word.startswith("-") for word in wanted) and _same_options(wanted, more, words, unknown):
            return True
        ways = (words, *_behind_options(wanted, words, unknown))
        return any(_match_plain(wanted, more, way, unknown) for way in ways)

    def _program(self, command: SimpleCommand) -> str | None:
        """The program in the words of the rule, once it is known to be meant."""
        wanted = pattern_words(self.pattern)[0]
        return wanted[0] if wanted and "/" in wanted[0] else command.program

    def _names_program(self, command: SimpleCommand, *, sure: bool) -> bool:
        """Whether the rule may be about this program by where it lies. A rule that names no folder allows only the program of
        the system: `./git` may be anything. One that names a folder allows what lies there, and denies what is called so."""
        wanted = (pattern_words(self.pattern)[0] or [""])[0]
        if "/" not in wanted:
            return not (sure and command.elsewhere)
        if command.started_by and sure:
            return False
        named = bool(command.written) and fnmatch.fnmatchcase(
            os.path.normpath(command.written), os.path.normpath(wanted)
        )
        return named or (not sure and command.program in (None, wanted.rsplit("/", 1)[-1]))

    def _too_wide(self, command: SimpleCommand) -> bool:
        """The rule ends in a wildcard, and what stands there decides what is really run."""
        words, wildcard = pattern_words(self.pattern)
        if not wildcard:
            return False
        program = command.program or ""
        options = HIDDEN_START.get(program)
        beyond = [word for word in command.words[len(words) :] if word is not None]
        if options is not None and any(
            options.fullmatch(word) or _shortened(word, options) for word in beyond
        ):
            return True
        if not words:
            return True
        if program not in PACKAGE_MANAGERS and not INTERPRETERS.fullmatch(program):
            return False
        given = " ".join(words[1:])
        if any(fnmatch.fnmatchcase(given, telling) for telling in TELLING.get(program, ())):
            return False
        module = len(words) > 2 and words[1] == "-m"
        script = (
            len(words) > 1
            and not words[1].startswith("-")
            and program not in PACKAGE_MANAGERS
            and "." in words[1]
        )
        return not (module or script)


def _shortened(word: str, options: re.Pattern[str]) -> bool:
    """The beginning of a long option: programs take it for the whole."""
    name = word.partition("=")[0]
    if not name.startswith("--") or len(name) < 4:
        return False
    return any(known.startswith(name) for known in re.findall(r"--[a-z-]+", options.pattern))


def pattern_words(pattern: str) -> tuple[list[str], bool]:
    """Words of a Bash pattern, and whether anything may follow them."""
    if pattern.endswith(":*"):
        return pattern[:-2].split(), True
    words = pattern.split()
    if words and words[-1] == "*":
        return words[:-1], True
    return words, False


def _match_plain(wanted: Sequence[str], more: bool, words: Sequence[str | None], unknown: bool) -> bool:
    """`unknown`: a word that is not known now may be the wanted one. Else it is none of them."""
    if unknown and _may_be(wanted, more, words):
        return True
    if len(words) < len(wanted) or (len(words) > len(wanted) and not more):
        # An unknown word may be several words.
        return unknown and None in words[: len(wanted)] and _prefix(wanted, words, unknown)
    return _prefix(wanted, words, unknown)


def _may_be(wanted: Sequence[str], more: bool, words: Sequence[str | None]) -> bool:
    """A word that is not known now may be no word at all: `git $x push`."""
    reached = {0}
    """How many of the wanted words those so far may be."""
    for word in words:
        if more and len(wanted) in reached:
            return True
        following = {
            at + 1 for at in reached if at < len(wanted) and (word is None or _is_word(word, wanted[at]))
        }
        reached = following | reached if word is None else following
    return len(wanted) in reached


def _behind_options(
    wanted: Sequence[str], words: Sequence[str | None], unknown: bool
) -> Iterator[Sequence[str | None]]:
    """`git -C x push` and `npm --silent publish` as `git push` and `npm publish`: options of the program itself, each with
    a value or none, stand before the word that says what it does. `unknown`: a word that is not known now may be one."""
    if len(wanted) < 2 or wanted[1].startswith("-"):
        return
    at = 1
    while at < len(words) and (words[at] or ("-" if unknown else "")).startswith("-"):
        at += 1
        yield [words[0], *words[at:]]
        if at < len(words) and not (words[at] or "").startswith("-"):
            at += 1
            yield [words[0], *words[at:]]


def _same_options(wanted: Sequence[str], more: bool, words: Sequence[str | None], unknown: bool) -> bool:
    """The same command with its options in another order or form: `rm -fr`, `rm -r -f`, `rm --recursive --force`."""

    def split(items: Sequence[str | None]) -> tuple[list[str | None], set[str]]:
        plain: list[str | None] = []
        options: set[str] = set()
        for item in items:
            if item is None or not item.startswith("-") or item == "-":
                plain.append(item)
            elif item.startswith("--"):
                options.add(LONG_OPTIONS.get(item, item))
            else:
                options |= {letter.lower() if letter == "R" else letter for letter in item[1:]}
        return plain, options

    want_plain, want_options = split(wanted)
    plain, options = split(words)
    if not want_options <= options or (not more and len(plain) != len(want_plain)):
        return False
    return len(plain) >= len(want_plain) and _prefix([word or "" for word in want_plain], plain, unknown)


def _prefix(wanted: Sequence[str], words: Sequence[str | None], unknown: bool) -> bool:
    for want, word in zip(wanted, words, strict=False):
        if word is None:
            if not unknown:
                return False
        elif not _is_word(word, want):
            return False
    return True


def _is_word(word: str, want: str) -> bool:
    return fnmatch.fnmatchcase(word, want) or word == want
