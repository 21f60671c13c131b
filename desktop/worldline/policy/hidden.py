"""Programs that start another one and do more than that, or whose options are not known here to the last. What is behind them
concerns the rules that deny or ask; `policy.wrappers` has those that are sure."""

from __future__ import annotations

from dataclasses import dataclass

Words = list[str | None]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """`short` are the letters of options that take a value, `long` the names of such; `own` is the number of words that
    stand before the command."""

    short: str = ""
    long: frozenset[str] = frozenset()
    own: int = 0


def _of(*names: str) -> frozenset[str]:
    return frozenset(names)


HIDDEN_WRAPPERS: dict[str, Wrapper] = {
    "setpriv": Wrapper("", _of("reuid", "regid", "ruid", "euid", "rgid", "egid", "groups", "inh-caps", "ambient-caps", "bounding-set", "securebits", "pdeathsig", "ptracer", "selinux-label", "apparmor-profile", "landlock-access", "landlock-rule", "seccomp-filter")),
    "nsenter": Wrapper("tSG", _of("target", "setuid", "setgid")),
    "prlimit": Wrapper("po", _of("pid", "output")),
    "setarch": Wrapper(own=1), "linux32": Wrapper(), "linux64": Wrapper(), "i386": Wrapper(), "x86_64": Wrapper(),
    "fakeroot": Wrapper("lsib", _of("lib", "faked")), "eatmydata": Wrapper(), "catchsegv": Wrapper(), "unbuffer": Wrapper(),
    "dbus-run-session": Wrapper("", _of("config-file", "dbus-daemon")), "dbus-launch": Wrapper(), "ssh-agent": Wrapper("aEtP"),
    "xvfb-run": Wrapper("nsfewp", _of("server-num", "server-args", "auth-file", "error-file", "wait", "xauth-protocol")),
    "rlwrap": Wrapper("bCDfFgHlMopPqsStwz"), "numactl": Wrapper("NmCpiP", _of("cpunodebind", "membind", "physcpubind", "interleave", "preferred")),
    "cpulimit": Wrapper("lepcP", _of("limit", "exe", "pid", "cpu", "path")), "caffeinate": Wrapper("tw"), "tini": Wrapper("pe"), "dumb-init": Wrapper("r"),
    "gosu": Wrapper(own=1), "su-exec": Wrapper(own=1), "pkexec": Wrapper("", _of("user")), "runuser": Wrapper("ugGsw", _of("user", "group", "supp-group")),
    "systemd-run": Wrapper("pHMuE", _of("unit", "property", "description", "slice", "uid", "gid", "nice", "working-directory", "setenv", "on-active", "on-boot", "on-calendar", "host", "machine")),
    "systemd-inhibit": Wrapper("", _of("what", "who", "why", "mode")), "systemd-cat": Wrapper("tp", _of("identifier", "priority")),
    "firejail": Wrapper(), "bwrap": Wrapper(), "proot": Wrapper("rbqwv"), "torsocks": Wrapper("uP"), "torify": Wrapper(), "proxychains": Wrapper("f"), "proxychains4": Wrapper("f"),
    "ltrace": Wrapper("oepnsuaxlDFA", _of("output", "user")), "valgrind": Wrapper(), "gdb": Wrapper("xdse"), "lldb": Wrapper("soc"), "heaptrack": Wrapper("o"),
    "watchexec": Wrapper("ewfis"), "entr": Wrapper(), "hyperfine": Wrapper("wrmMpcsu"), "chronic": Wrapper(), "daemonize": Wrapper("aceopulE"),
    "daemon": Wrapper("nuUdFolr"), "start-stop-daemon": Wrapper("xapugcrRnNs", _of("exec", "startas", "pidfile", "user", "group", "chuid", "chroot", "chdir", "name", "nicelevel", "signal")),
    "noglob": Wrapper(), "nocorrect": Wrapper(), "cgexec": Wrapper("g"),
    "trickle": Wrapper("sdutlLwnP"), "aa-exec": Wrapper("pn", _of("profile", "namespace")), "capsh": Wrapper(), "dotenv": Wrapper("f", _of("file")), "dotenvx": Wrapper(), "sem": Wrapper("j"),
}  # fmt: skip


def behind_options(wrapper: Wrapper, words: Words) -> Words:
    """`words` from the first one that is the wrapped command."""
    rest = list(words)
    while rest and (word := rest[0]) is not None:
        if not word.startswith("-"):
            break
        rest.pop(0)
        if word == "--":
            break
        if rest and _takes_next(wrapper, word):
            rest.pop(0)
    return rest[wrapper.own :]


def _takes_next(wrapper: Wrapper, word: str) -> bool:
    """The value of this option stands in the next word."""
    if word.startswith("--"):
        name = word[2:]
        return "=" not in word and (name in wrapper.long or _begins_one(name, wrapper.long))
    taking = next((at for at, letter in enumerate(word[1:], 1) if letter in wrapper.short), 0)
    return taking == len(word) - 1 > 0


def _begins_one(name: str, names: frozenset[str]) -> bool:
    """Programs take the beginning of a long option for the whole, where it can be no other."""
    return len(name) > 2 and sum(known.startswith(name) for known in names) == 1
