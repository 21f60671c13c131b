"""`worldline`: one program, two sides. The side that is asked for is imported, never both."""

from __future__ import annotations

import sys

from worldline.core.commands import COMMANDS


def main() -> int:
    argv = sys.argv[1:]
    if argv and argv[0] in COMMANDS:
        from worldline.cli.main import main as cli_main

        return cli_main(argv)
    from worldline.app import main as app_main

    return app_main(argv)


def main_gui() -> int:
    return main()


if __name__ == "__main__":
    sys.exit(main())
