"""Start of the window process: options, looks, language, then the window; everything heavy comes after it is seen."""

from __future__ import annotations

import builtins
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace

TYPE_CHECKING = False
"""As `typing` has it, which takes 3 ms to import: it comes while Qt is being loaded."""
if TYPE_CHECKING:
    import argparse

    from worldline.ui.binding import Kept
    from worldline.ui.read_ahead import ReadAhead

VIEWS = ("main", "start", "compare", "compare-three", "approval", "approval-change", "jump-plan", "effects", "question",
         "recovery", "branch-summary", "bring-home", "first-start", "new-session", "settings", "settings-rules",
         "settings-grants", "sessions",
         "storage", "diagnostics", "as-model-sees", "status", "palette", "about", "folders")  # fmt: skip
NEEDED = ("inspect", "logging", "tempfile", "typing", "zipfile")
"""Modules that the binding imports, and take long."""
FRAME = (4, 32, 4, 8)
"""What the system draws around a window, at most: it is not known before the window is seen."""
SWITCH_S = 0.0005
"""How long another thread may go on while the window waits for the interpreter. One turn of the event loop asks for it
many times, whenever Qt calls Python; with the usual 5 ms a thread that imports, or reads what the engine sends, makes a
turn of 2 ms take 40. Before the first paint it is the same for the thread that reads the session in SQLite."""
THEMES = ("system", "light", "dark", "contrast", "contrast-dark")


def _several(allowed: tuple[str, ...]) -> Callable[[str], str]:
    """A check for a list with commas."""

    def check(text: str) -> str:
        import argparse

        unknown = [one for one in text.split(",") if text and one not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"invalid choice: {unknown[0]!r} (possible: {', '.join(allowed)})"
            )
        return text

    return check


NO_OPTIONS: dict[str, object] = {"path": "", "theme": "", "lang": "", "scale": 0.0, "size": "", "screenshot": "",
                                 "view": "main", "version": False}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    import argparse

    result = argparse.ArgumentParser(
        prog="worldline",
        description="Work with a coding agent and see the whole session as a tree.",
        epilog=f"Without a window, each with --help: {_commands()}.",
    )
    result.add_argument("path", nargs="?", metavar="PATH",
                        help="a folder, a repository, a *.worldline file, or the word demo")  # fmt: skip
    result.add_argument("--theme", type=_several(THEMES), metavar="THEME",
                        help=", ".join(THEMES))  # fmt: skip
    result.add_argument("--lang", choices=["en", "zh_CN"])
    result.add_argument("--scale", type=float, metavar="N", help="1.0 to 2.0")
    result.add_argument("--size", metavar="WxH")
    result.add_argument("--screenshot", metavar="FILE", help="paint the window into a picture and exit")
    result.add_argument(
        "--view", type=_several(VIEWS), metavar="VIEW",
        help="what the picture shows: " + ", ".join(VIEWS) + "; several with commas when FILE has {view} in its name, "
        "and several themes when it has {theme}",
    )  # fmt: skip
    result.add_argument("--version", action="store_true")
    result.set_defaults(**NO_OPTIONS)
    return result


def _size(text: str) -> tuple[int, int] | None:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    width, height = int(parts[0]), int(parts[1])
    return (width, height) if 320 <= width <= 7680 and 240 <= height <= 4320 else None


def _parsed(argv: Sequence[str]) -> argparse.Namespace | SimpleNamespace:
    if not argv or (len(argv) == 1 and not argv[0].startswith("-")):
        # The usual start is spared the 4 ms that the texts of the options take.
        return SimpleNamespace(**{**NO_OPTIONS, "path": "".join(argv)})
    return parser().parse_args(list(argv))


def _commands() -> str:
    """Those of the command line that are for people."""
    from worldline.core.commands import COMMANDS

    return ", ".join(sorted(COMMANDS - {"engine"}))


def _is_mistyped(path: str) -> bool:
    """A word alone that names nothing: somebody meant a command. Anything that looks like a path is explained in the window."""
    return path != "demo" and path.replace("-", "").isalpha() and not os.path.lexists(path)


def run(argv: Sequence[str]) -> int:
    """Open the window on what `argv` names and run it until it is closed. Returns the exit code."""
    # Importing makes many objects that stay; looking through them for garbage is put off until the window is seen.
    gc.disable()
    try:
        options = _parsed(argv)
    except SystemExit as end:
        return int(end.code or 0)
    if options.version:
        from worldline import __version__

        sys.stdout.write(f"worldline {__version__}\n")
        return 0
    if _is_mistyped(options.path):
        sys.stderr.write(
            f"worldline: {options.path} is neither a command nor a folder here.\nCommands: {_commands()}.\n"
        )
        return 2
    size = _size(options.size) if options.size else None
    if options.size and size is None:
        sys.stderr.write("--size must look like 1280x800.\n")
        return 2
    if options.scale and not 0.5 <= options.scale <= 3:
        sys.stderr.write("--scale must be between 0.5 and 3.\n")
        return 2
    for what in ("view", "theme"):
        if "," in getattr(options, what) and f"{{{what}}}" not in options.screenshot:
            sys.stderr.write(
                f"Several of --{what} need --screenshot with {{{what}}} in the name of the file.\n"
            )
            return 2
    if options.screenshot:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    if options.scale:
        os.environ["QT_SCALE_FACTOR"] = str(options.scale)
    return _run(options, size)


def _run(options: argparse.Namespace | SimpleNamespace, size: tuple[int, int] | None) -> int:
    from worldline.ui import libraries

    sys.setswitchinterval(SWITCH_S)
    ahead = _Ahead(options.path)
    libraries.link()
    kept, reader = ahead.result()
    plain_import = builtins.__import__
    from PySide6.QtCore import QMargins, Qt, QTimer
    from PySide6.QtWidgets import QApplication

    # The binding reads the source of every module that is imported after it, to find out whether the module may ask
    # for other spellings of Qt's names (`from __feature__ import …`). None of ours does.
    builtins.__import__ = plain_import

    QApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    # The style is named here: QApplication.setStyle gives it back as an object, whose class has 570 names to make.
    app = QApplication(["worldline", "-style", "fusion"])

    from worldline.ui import first_paint, i18n, preferences
    from worldline.ui.theme import theme
    from worldline.ui.windows import Windows

    kept.end()
    app.setApplicationName("Worldline")
    app.setDesktopFileName("worldline")
    app.setQuitOnLastWindowClosed(False)
    settings = preferences.settings()
    i18n.install(
        app, options.lang or os.environ.get("WORLDLINE_LANG", "") or str(settings.value("language", ""))
    )
    chosen = options.theme.partition(",")[0] or str(settings.value("theme", "system"))
    theme().styled = True
    theme().name = chosen.removesuffix("-dark")  # type: ignore[assignment]
    preferences.apply_looks(settings)
    theme().follow_system()
    _catch_defects(app)

    windows = Windows(settings, ahead=reader)
    if options.screenshot:
        from worldline.ui.screenshot import take

        gc.enable()
        return take(windows, options, size or (1280, 800))
    windows.room = app.primaryScreen().availableSize().shrunkBy(QMargins(*FRAME))
    first_paint.hold()
    # Whatever happens to the first window: the collector is on again soon.
    QTimer.singleShot(5_000, app, gc.enable)
    windows.painted.connect(_after_first_paint)
    windows.painted.connect(windows.heed_logout)
    if options.path == "demo":
        windows.open_demo()
    elif options.path:
        windows.open(options.path)
    else:
        windows.show_start()
    if size is not None and windows.sessions:
        windows.sessions[0].resize(*size)
    code = app.exec()
    windows.close_all()
    return code


class _Ahead(threading.Thread):
    """Imports what needs no Qt, while this process has Qt linked, and begins to read the rows when `path` names a session
    file. Nothing else may be imported until `result` has returned: a module that looks whether another one is there
    already (`dataclasses` and `typing`) can find half of it."""

    def __init__(self, path: str) -> None:
        super().__init__(name="ahead", daemon=True)
        self._path = path
        self._reader: ReadAhead | None = None
        self.start()

    def run(self) -> None:
        from worldline.ui import binding

        self._kept = binding.Kept(binding.default_file())
        self._kept.begin()
        if self._path.endswith(".worldline"):
            from pathlib import Path

            from worldline.ui.read_ahead import ReadAhead

            self._reader = ReadAhead(Path(self._path).expanduser().absolute())
        for name in NEEDED:
            __import__(name)

    def result(self) -> tuple[Kept, ReadAhead | None]:
        """Waits for the imports. No reader when `path` is no session file."""
        self.join()
        return self._kept, self._reader


def _after_first_paint() -> None:
    """What nobody sees: 10 ms that the window need not wait for."""
    gc.enable()
    from worldline.core import log

    log.setup("window")


def _catch_defects(app: object) -> None:
    """An exception in a slot is a defect: it is logged and shown, and the window goes on."""
    import logging
    import traceback
    from types import TracebackType

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        logging.getLogger("worldline.ui").error("defect: %s", text)
        sys.stderr.write(text)
        if not issubclass(kind, KeyboardInterrupt):
            from worldline.ui.defects import show_defect  # with the log, 7 ms

            show_defect(text)

    sys.excepthook = hook
