"""What dialogs say about a command line: which part does what, what kind of effect that is, which rule would remember it.

This is wording, drawn from the text; it decides nothing. What is really possible is decided by the sandbox and the rules.
"""

from __future__ import annotations

import re
from typing import Literal

from worldline.policy.shell import SimpleCommand, parse

Scope = Literal["once", "branch", "session", "always"]

_DELETES = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "mkfs", "wipe"})
_RIGHTS = frozenset({"sudo", "su", "doas", "pkexec", "chroot"})
_REMOTE = frozenset(
    {"ssh", "scp", "sftp", "rsync", "kubectl", "terraform", "aws", "gcloud", "az", "gh", "glab", "psql", "mysql", "redis-cli", "mongosh", "ansible", "helm", "flyctl", "vercel", "heroku"}
)  # fmt: skip
_NET = frozenset({"curl", "wget", "http", "nc", "ncat", "telnet", "ftp", "ping", "dig", "aria2c"})
_SERVICE = frozenset({"docker", "podman", "systemctl", "service", "crontab", "launchctl", "at", "nerdctl"})
_CODE = frozenset(
    {"node", "perl", "ruby", "php", "deno", "bun", "awk", "make", "source", ".", "eval", "sh", "bash"}
)
_PACKAGE = {
    "pip": ("install", "uninstall"), "pip3": ("install", "uninstall"), "npm": ("install", "i", "ci", "add", "uninstall", "update"),
    "pnpm": ("install", "i", "add", "remove"), "yarn": ("install", "add", "remove", ""), "uv": ("add", "sync", "pip"),
    "apt": ("install", "remove"), "apt-get": ("install", "remove"), "brew": ("install", "uninstall"), "cargo": ("install", "add"),
    "gem": ("install",), "go": ("get", "install"), "conda": ("install",), "poetry": ("add", "install"), "dnf": ("install",),
}  # fmt: skip
_PUBLISH = {
    "npm": ("publish", "unpublish"), "pnpm": ("publish",), "yarn": ("publish",), "cargo": ("publish", "yank"), "twine": ("upload",),
    "poetry": ("publish",), "uv": ("publish",), "gem": ("push",), "docker": ("push",), "hatch": ("publish",), "flit": ("publish",),
}  # fmt: skip
_GIT = {
    "push": "changes the remote repository", "fetch": "contacts the remote", "pull": "contacts the remote, changes files",
    "clone": "contacts a remote", "reset": "moves the branch, may drop changes", "clean": "deletes untracked files",
    "rebase": "rewrites history", "checkout": "changes files", "restore": "changes files", "commit": "makes a commit",
    "stash": "puts changes aside", "branch": "changes branches", "merge": "changes files, makes a commit",
}  # fmt: skip
_READS = frozenset(
    {"ls", "cat", "head", "tail", "grep", "rg", "wc", "pwd", "echo", "printf", "stat", "file", "which", "true", "date", "diff", "du", "df", "tree", "test", "["}
)  # fmt: skip
_READ_GIT = frozenset(
    {"status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog"}
)
_PREFIX_RULES = {
    "git": ("add", "commit", "status", "log", "diff", "show", "stash", "switch", "checkout", "merge", "branch", "fetch"),
    "npm": ("test",), "cargo": ("build", "test", "check", "clippy", "fmt"), "go": ("build", "test", "vet"),
    "make": ("test", "check", "lint", "build"), "dotnet": ("build", "test"),
}  # fmt: skip
_PREFIX_PROGRAMS = frozenset(
    {
        "pytest",
        "mypy",
        "ruff",
        "ls",
        "cat",
        "grep",
        "rg",
        "eslint",
        "tsc",
        "jest",
        "vitest",
        "prettier",
        "black",
    }
)

Kind = Literal[
    "reads", "files", "deletes", "code", "net", "remote", "publish", "package", "service", "rights", "unknown"
]
_EFFECT: dict[Kind, str] = {
    "reads": "Only reads.",
    "files": "Changes files. Inside the workspace that can be undone.",
    "deletes": "Deletes or overwrites files. Inside the workspace that can be undone; outside it cannot.",
    "code": "Runs code that can do anything you can do.",
    "net": "Sends data over the network. That cannot be undone.",
    "remote": "Changes something on another machine. That cannot be undone from here.",
    "publish": "Publishes to others. That cannot be undone.",
    "package": "Downloads and installs packages, and runs their install scripts.",
    "service": "Talks to a system service. What that does cannot be undone from here.",
    "rights": "Asks for rights of another user. What is done with them cannot be undone.",
    "unknown": "What it does is not known from its text.",
}
_PLAIN_WORD = re.compile(r"[^\s*?\[\]()\\]+")
_PUSH = "Changes the remote repository. This can be countered: the old position of its branch is noted first."
_ORDER: tuple[Kind, ...] = (
    "rights",
    "publish",
    "remote",
    "service",
    "net",
    "package",
    "deletes",
    "code",
    "unknown",
    "files",
    "reads",
)


def kind_of(command: SimpleCommand) -> tuple[Kind, str]:
    """What a simple command seems to do, and the words for it."""
    kind, says = _by_name(command)
    # A file of the workspace that is called like a harmless program may be anything.
    return ("code", "runs code") if command.elsewhere and kind in ("reads", "files") else (kind, says)


def _by_name(command: SimpleCommand) -> tuple[Kind, str]:
    program = command.program
    if any(word in _RIGHTS for word in command.via.split()) or program in _RIGHTS:
        return "rights", "asks for other rights"
    if program is None:
        return "unknown", "known only when it runs"
    first = next((word for word in command.words[1:] if word is not None and not word.startswith("-")), "")
    if program.startswith("python") and command.words[1:2] == ["-m"] and len(command.words) > 3:
        module = command.words[2]
        if module in _PUBLISH or module in _PACKAGE:
            program, first = module, command.words[3] or ""
    if program in _PUBLISH and first in _PUBLISH[program]:
        return "publish", "publishes"
    if program in _PACKAGE and first in _PACKAGE[program]:
        return "package", "installs packages"
    if program == "git":
        if first in _READ_GIT and not any(w in ("-c", "-C") for w in command.words):
            return "reads", "reads"
        says = _GIT.get(first, "")
        return (
            "remote" if first == "push" else "net" if "remote" in says else "files"
        ), says or "works on the repository"
    if program in _REMOTE and _stays_here(program, command.words):
        return "reads", "reads"
    tables: tuple[tuple[frozenset[str], Kind, str], ...] = (
        (_DELETES, "deletes", "deletes or overwrites"),
        (_REMOTE, "remote", "acts on another machine"),
        (_NET, "net", "uses the network"),
        (_SERVICE, "service", "talks to a system service"),
        (_CODE, "code", "runs code"),
    )
    for names, kind, says in tables:
        if program in names:
            return kind, says
    if program.startswith("python"):
        return "code", "runs code"
    if program in _READS and not command.writes:
        return "reads", "reads"
    return (
        ("files", "writes files")
        if command.writes or program in ("cp", "mv", "mkdir", "touch", "tee", "sed", "chmod", "ln")
        else ("unknown", "")
    )


def _stays_here(program: str, words: list[str | None]) -> bool:
    """It only tells about itself, or copies on this machine."""
    known = [word for word in words[1:] if word is not None]
    if any(word in ("--version", "--help", "-h", "help", "version") for word in known[:2]):
        return True
    return (
        program in ("rsync", "scp")
        and len(known) == len(words) - 1
        and not any(":" in word for word in known)
    )


def marks(line: str) -> list[tuple[int, int, str]]:
    """Parts of the line to underline, in order, each with what it does. Plain readers are not marked."""
    found: list[tuple[int, int, str]] = []
    for command in parse(line).commands:
        kind, says = kind_of(command)
        if command.words and kind != "reads" and says:
            found.append(
                (command.start, command.end, says + (f" (through {command.via})" if command.via else ""))
            )
        for target in command.writes:
            if target != "/dev/null":
                found.append(
                    (command.start, command.end, f"writes {target or 'a file known only when it runs'}")
                )
    return sorted(dict.fromkeys(found))


def effect(line: str) -> tuple[Kind, str]:
    """The gravest kind of effect that the line seems to have, and a sentence for it."""
    parsed = parse(line)
    if parsed.problem:
        return "unknown", f"The line could not be parsed ({parsed.problem}). {_EFFECT['unknown']}"
    kinds = {kind_of(command)[0] for command in parsed.commands if command.words} or {"unknown"}
    worst = next(kind for kind in _ORDER if kind in kinds)
    far = [command for command in parsed.commands if command.words and kind_of(command)[0] == "remote"]
    if worst == "remote" and all(command.program == "git" for command in far):
        return worst, _PUSH
    return worst, _EFFECT[worst]


def remember(line: str) -> tuple[list[Scope], str]:
    """How long a grant for this line may last, and the rule that "always" would write ("" = not offered)."""
    kind, _ = effect(line)
    if kind == "rights":
        return ["once"], ""
    if kind in ("publish", "remote", "service", "net", "unknown", "code"):
        rule = ""
        commands = parse(line).commands
        if (
            kind == "remote"
            and len(commands) == 1
            and commands[0].words[:2] == ["git", "push"]
            and commands[0].fixed
        ):
            rule = _exactly(commands[0]) if len(commands[0].words) >= 4 else ""
        return (
            (["once", "branch", "session", "always"], rule) if rule else (["once", "branch", "session"], "")
        )
    commands = parse(line).commands
    if (
        len(commands) != 1
        or not commands[0].fixed
        or commands[0].assigns
        or commands[0].writes
        or commands[0].via
    ):
        return ["once", "branch", "session"], ""
    program, words = commands[0].program or "", commands[0].words
    if commands[0].elsewhere:  # a rule that names the program alone would be about another
        rule = _exactly(commands[0])
        return (
            (["once", "branch", "session", "always"], rule) if rule else (["once", "branch", "session"], "")
        )
    if program in _PREFIX_PROGRAMS:
        return ["once", "branch", "session", "always"], f"Bash({program}:*)"
    if len(words) > 1 and words[1] in _PREFIX_RULES.get(program, ()):
        return ["once", "branch", "session", "always"], f"Bash({program} {words[1]}:*)"
    rule = _exactly(commands[0])
    return (["once", "branch", "session", "always"], rule) if rule else (["once", "branch", "session"], "")


def _exactly(command: SimpleCommand) -> str:
    """The rule for exactly this command; "" where it cannot be written: words with spaces or wildcards in them would be
    other words, or many."""
    words = [command.written or command.words[0] or "", *(word or "" for word in command.words[1:])]
    return f"Bash({' '.join(words)})" if all(_PLAIN_WORD.fullmatch(word) for word in words) else ""
