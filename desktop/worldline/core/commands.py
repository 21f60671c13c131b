"""The words that mean the command line. Apart, since both sides name them and neither may import the other."""

COMMANDS = frozenset(
    {
        "run",
        "inspect",
        "view",
        "jump",
        "return",
        "diff",
        "import",
        "export",
        "verify",
        "recover",
        "remake-folder",
        "effects",
        "worktrees",
        "engine",
        "rehearse",
        "seed-demo",
    }
)
"""Anything else opens the window."""
