"""What the rules know about programs: which start others, and by which options and variables."""

from __future__ import annotations

import re

STEERING = re.compile(
    r"PATH|LD_\w+|DYLD_\w+|GIT_\w+|NODE_\w+|PYTHON\w+|PERL\w+|RUBY\w+|BASH_ENV|ENV|IFS|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND"
    r"|EDITOR|VISUAL|PAGER|LESS\w*|MANPAGER|BROWSER|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|GCONV_PATH|npm_config_\w+"
    r"|PIP_\w+|UV_\w+|CARGO_\w+|RUSTC\w*|MAKEFLAGS|SSH_\w+|HOME|TMPDIR|http_proxy|https_proxy|all_proxy",
    re.IGNORECASE,
)
"""Variables that change what a command starts or where it goes."""

INTERPRETERS = re.compile(
    r"(?:python[\d.]*|pypy[\d.]*|perl|ruby|node|deno|bun|php|lua\w*|tclsh|osascript|pwsh|powershell|java|rscript|awk|gawk"
    r"|mawk|sed|sh|bash|zsh|dash|ksh|ash|fish|eval|source|\.|exec|xargs|parallel|sem|env|ssh|sudo|su|doas|make|docker|podman|kubectl|find)"
)
PACKAGE_MANAGERS = frozenset(
    [
        "npm",
        "npx",
        "pnpm",
        "pnpx",
        "yarn",
        "bunx",
        "pip",
        "pip3",
        "pipx",
        "uv",
        "uvx",
        "poetry",
        "pdm",
        "hatch",
        "conda",
        "mamba",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "brew",
        "gem",
        "bundle",
        "cargo",
        "go",
        "composer",
        "mvn",
        "gradle",
        "dotnet",
        "nix",
        "cpan",
        "luarocks",
    ]
)
TELLING = {
    # program → first words after it that say what is run; a wildcard after these is no blank cheque
    "npm": ("run *", "test", "t", "ls", "view", "outdated"), "pnpm": ("run *", "test"), "yarn": ("run *", "test"),
    "cargo": ("build", "check", "test", "clippy", "fmt", "doc", "tree"), "go": ("build", "test", "vet", "fmt", "list", "doc"),
    "dotnet": ("build", "test"), "make": ("?*",), "find": ("* *",), "uv": ("run *",), "poetry": ("run *",),
    "mvn": ("test", "compile"), "gradle": ("test", "build"), "docker": ("ps", "images", "logs"),
    "kubectl": ("get", "describe", "logs"), "bundle": ("exec *",),
}  # fmt: skip
HIDDEN_START: dict[str, re.Pattern[str]] = {
    # options by which a program that looks harmless starts another one or writes elsewhere
    "git": re.compile(
        r"-c|-c.+|-C|-C.+|--exec-path.*|--git-dir.*|--work-tree.*|--config-env.*|--exec.*|-x|--upload-pack.*|--receive-pack.*"
        r"|-u|--output.*|--ext-diff|--textconv|--open-files-in-pager.*|-O.*|--paginate|-p|foreach|--extcmd.*|--tool.*|alias\..*"
    ),
    "go": re.compile(r"--?(?:exec|toolexec|vettool|overlay|modfile|C|o)(?:=.*)?"),
    "cargo": re.compile(r"--config.*|--manifest-path.*|-Z.*|-C.*|\+.*"),
    "make": re.compile(r"-f.*|--file.*|--makefile.*|-E.*|--eval.*|-C.*|--directory.*|-I.*|--include-dir.*|SHELL[:+?!]*=.*|[^=]*!=.*"),
    "npm": re.compile(r"--script-shell.*|--prefix.*|-C.*|--node-options.*|--userconfig.*|--globalconfig.*"),
    "tar": re.compile(r"-F.*|--info-script.*|--new-volume-script.*|-I.+|--to-command.*|--checkpoint-action.*|-I|--use-compress-program.*|--rsh-command.*"),
    "find": re.compile(r"-exec|-execdir|-ok|-okdir|-delete|-fprint.*|-fls"),
    "sort": re.compile(r"-o.*|--output.*|--compress-program.*"),
    "rg": re.compile(r"--pre.*|--hostname-bin.*"),
    "less": re.compile(r"\+.*|-o.*|-O.*"),
    "man": re.compile(r"-P.*|--pager.*|-H.*"),
    "rsync": re.compile(r"-e.*|--rsh.*|--rsync-path.*"),
    "zip": re.compile(r"-T.*|--unzip-command.*"),
    "date": re.compile(r"-s.*|--set.*"),
    "tree": re.compile(r"-o.*"),
    "curl": re.compile(r"-o.*|-O.*|--output.*|-K.*|--config.*|-T.*|-d.*|--data.*|-F.*"),
    "pytest": re.compile(r"-p|-p.+|--rootdir.*|-c|--confcutdir.*"),
}  # fmt: skip

LONG_OPTIONS = {"--recursive": "r", "--force": "f", "--delete": "d", "--all": "a", "--hard": "hard"}

HARMLESS = frozenset(
    {"true", "false", ":", "test", "[", "exit", "return", "break", "continue", "wait", "shift"}
)
