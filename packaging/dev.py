#!/usr/bin/env python3
"""One command for everything: set up what is missing, then start the app, run the tests, or measure.

    python3 packaging/dev.py demo              set up and open the app with its demo
    python3 packaging/dev.py app [PATH ...]    set up and open the app
    python3 packaging/dev.py test [ARGS ...]   set up and pass the checks and the tests
    python3 packaging/dev.py check             style, types and layers only
    python3 packaging/dev.py bench [NAME ...]  the benchmarks, as tables
    python3 packaging/dev.py crash-campaign    hundreds of kills; prints their number and the result
    python3 packaging/dev.py screenshots       render every view into resources/screenshots
    python3 packaging/dev.py i18n              collect and compile the translations
    python3 packaging/dev.py setup             only set up

Needs Python 3.11 or newer and nothing else. Standard library only. Makes `.venv` in this folder and installs the exact
versions of `packaging/constraints.txt` there. On Debian and Ubuntu it installs the system libraries that Qt, git and the
sandbox need when some are missing and it may; elsewhere, or when it may not, it prints the one command to run.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
STAMP = VENV / "worldline-setup.txt"
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"

# Debian package -> the library that shows it is there. From the NEEDED entries of the Qt wheels (core, gui, xcb).
DEBIAN_LIBRARIES = {
    "libegl1": "libEGL.so.1",
    "libgl1": "libGL.so.1",
    "libopengl0": "libOpenGL.so.0",
    "libglib2.0-0": "libglib-2.0.so.0",
    "libdbus-1-3": "libdbus-1.so.3",
    "libfontconfig1": "libfontconfig.so.1",
    "libfreetype6": "libfreetype.so.6",
    "libx11-6": "libX11.so.6",
    "libx11-xcb1": "libX11-xcb.so.1",
    "libxkbcommon0": "libxkbcommon.so.0",
    "libxkbcommon-x11-0": "libxkbcommon-x11.so.0",
    "libxcb1": "libxcb.so.1",
    "libxcb-cursor0": "libxcb-cursor.so.0",
    "libxcb-icccm4": "libxcb-icccm.so.4",
    "libxcb-image0": "libxcb-image.so.0",
    "libxcb-keysyms1": "libxcb-keysyms.so.1",
    "libxcb-randr0": "libxcb-randr.so.0",
    "libxcb-render0": "libxcb-render.so.0",
    "libxcb-render-util0": "libxcb-render-util.so.0",
    "libxcb-shape0": "libxcb-shape.so.0",
    "libxcb-shm0": "libxcb-shm.so.0",
    "libxcb-sync1": "libxcb-sync.so.1",
    "libxcb-util1": "libxcb-util.so.1",
    "libxcb-xfixes0": "libxcb-xfixes.so.0",
    "libxcb-xkb1": "libxcb-xkb.so.1",
    "libxcb-glx0": "libxcb-glx.so.0",
    "libzstd1": "libzstd.so.1",
}
DEBIAN_PROGRAMS = {"git": "git", "bubblewrap": "bwrap", "ripgrep": "rg"}
DEBIAN_FONTS = {
    "fonts-dejavu-core": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    # Without a CJK font the Chinese interface is a row of boxes.
    "fonts-noto-cjk": "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
}
FEW = 3
"""So many failed tests are looked at again; more are a broken product."""


def say(text: str) -> None:
    print(f"worldline: {text}", flush=True)


def fail(text: str) -> None:
    print(f"worldline: {text}", file=sys.stderr, flush=True)
    raise SystemExit(1)


def run(
    command: list[str | Path], *, env: dict[str, str] | None = None, quiet: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the project folder. With `quiet` its output is collected instead of shown."""
    output = subprocess.PIPE if quiet else None
    error = subprocess.STDOUT if quiet else None
    return subprocess.run([str(c) for c in command], cwd=ROOT, env=env, stdout=output, stderr=error)


# --- system libraries ---------------------------------------------------------------------------------------


def missing_debian_packages() -> list[str]:
    shown = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    have = {line.strip().split(" ", 1)[0] for line in shown.splitlines()}
    missing = [package for package, library in DEBIAN_LIBRARIES.items() if library not in have]
    missing += [package for package, program in DEBIAN_PROGRAMS.items() if shutil.which(program) is None]
    missing += [package for package, file in DEBIAN_FONTS.items() if not Path(file).exists()]
    if importlib.util.find_spec("ensurepip") is None:  # Debian keeps it apart from python3
        missing.append(f"python3.{sys.version_info.minor}-venv")
    return missing


def install_system_libraries() -> None:
    if sys.platform == "darwin" or WINDOWS:
        if shutil.which("git") is None:
            how = "winget install --id Git.Git" if WINDOWS else "xcode-select --install"
            fail(f"git is missing. Run: {how}")
        return
    if not Path("/etc/debian_version").exists() or shutil.which("apt-get") is None:
        needed = [program for program in DEBIAN_PROGRAMS.values() if shutil.which(program) is None]
        if needed:
            say(f"not found: {', '.join(needed)}. Install them with your package manager (git is required).")
        return
    missing = missing_debian_packages()
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    as_root = os.geteuid() == 0
    if not as_root and not _may_sudo():
        say("system packages are missing and I may not install them. Run this, then start again:")
        print(f"    sudo {' '.join(command)}", flush=True)
        raise SystemExit(1)
    prefix = [] if as_root else ["sudo", "-n", "--preserve-env=DEBIAN_FRONTEND"]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    say(f"installing system packages: {' '.join(missing)}")
    run([*prefix, "apt-get", "update", "-qq"], env=env, quiet=True)
    done = run([*prefix, *command], env=env, quiet=True)
    if done.returncode != 0:
        print((done.stdout or b"").decode(errors="replace")[-3000:], file=sys.stderr)
        fail(f"that did not work. Try it by hand: sudo {' '.join(command)}")


def _may_sudo() -> bool:
    return (
        bool(shutil.which("sudo"))
        and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    )


# --- Python packages ----------------------------------------------------------------------------------------


def fingerprint() -> str:
    """Changes when something that decides what is installed changes."""
    digest = hashlib.sha256()
    for part in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(part.read_bytes())
    digest.update(f"{sys.version} {ROOT}".encode())
    return digest.hexdigest()


def setup() -> None:
    """Make everything ready; quick when nothing is to do."""
    if sys.version_info < (3, 11):  # noqa: UP036  whoever starts this may have an older one
        fail(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
    started = time.monotonic()
    install_system_libraries()
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted and PYTHON.exists():
        return
    if not PYTHON.exists():
        say("making the virtual environment .venv")
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)])
        if made.returncode != 0:
            fail("the virtual environment could not be made. On Debian: sudo apt-get install python3-venv")
    say("installing the Python packages (some minutes the first time)")
    pip: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    done = run([*pip, "install", "--quiet", "-c", CONSTRAINTS, "-e", ".[dev]"], quiet=True)
    if done.returncode != 0:
        print((done.stdout or b"").decode(errors="replace")[-4000:], file=sys.stderr)
        fail("the packages could not be installed; see above. Is there a network connection?")
    STAMP.write_text(wanted)
    say(f"ready after {time.monotonic() - started:.0f} s")


# --- commands -----------------------------------------------------------------------------------------------


def headless_env() -> dict[str, str]:
    env = dict(os.environ)
    env.setdefault("QT_QPA_PLATFORM", "offscreen")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "desktop"), env.get("PYTHONPATH", "")]))
    return env


def check() -> int:
    """Style, types, layers. All are run, so that one look shows everything."""
    steps: list[tuple[str, list[str | Path]]] = [
        ("style (ruff)", [PYTHON, "-m", "ruff", "check", "desktop", "tests", "packaging"]),
        ("format (ruff)", [PYTHON, "-m", "ruff", "format", "--check", "desktop", "tests", "packaging"]),
        ("types (mypy)", [PYTHON, "-m", "mypy"]),
    ]
    failed = []
    for name, command in steps:
        started = time.monotonic()
        done = run(command, env=headless_env(), quiet=True)
        say(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'} ({time.monotonic() - started:.0f} s)")
        if done.returncode != 0:
            print((done.stdout or b"").decode(errors="replace"), flush=True)
            failed.append(name)
    return 1 if failed else 0


def test(args: list[str]) -> int:
    """Checks, then the tests; with arguments only pytest with these arguments. The layers are one of the tests."""
    if args:
        return run([PYTHON, "-m", "pytest", *args], env=headless_env()).returncode
    checked = check()
    # A third of the time tests wait for processes and for limits of time: one more of them than there are processors.
    at_once = min(4, (os.cpu_count() or 1) + 1)
    workers = ["-n", str(at_once), "--dist", "loadgroup", "--durations", "15"]
    with tempfile.TemporaryDirectory(prefix="worldline-test-") as folder:
        failures = Path(folder) / "failures.txt"
        env = {**headless_env(), "WORLDLINE_FAILURES": str(failures)}
        tested = run([PYTHON, "-m", "pytest", *workers], env=env).returncode
        failed = failures.read_text("utf-8").splitlines() if failures.exists() else []
    if tested == 1 and 0 < len(failed) <= FEW:
        tested = again(failed)
    return checked or tested


def again(failed: list[str]) -> int:
    """Few failures among thousands are run twice more, alone, to tell a broken product from a test that depends on
    the load or the order. The latter lets the run pass and is named at its end: it is a defect of its own.
    """
    say(f"{len(failed)} failed; alone and in order, two times more:")
    for _ in range(2):
        done = run([PYTHON, "-m", "pytest", "-p", "no:randomly", *failed], env=headless_env()).returncode
        if done != 0:
            return done
    for name in failed:
        say(f"UNSTABLE, failed once and passed twice, to be mended: {name}")
    return 0


def bench(args: list[str]) -> int:
    scripts = sorted((ROOT / "tests" / "benchmarks").glob("bench_*.py"))
    if args:
        scripts = [s for s in scripts if s.stem.removeprefix("bench_") in args]
        if not scripts:
            fail(f"no such benchmark: {' '.join(args)}")
    worst = 0
    for script in scripts:
        say(f"benchmark {script.stem.removeprefix('bench_')}")
        worst = max(worst, run([PYTHON, script], env=headless_env()).returncode)
    return worst


def open_window(command: str, args: list[str]) -> int:
    env = dict(os.environ)
    env["PYTHONPATH"] = headless_env()["PYTHONPATH"]
    shown = bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or env.get("QT_QPA_PLATFORM"))
    picture = any(word.startswith("--screenshot") for word in args)
    if sys.platform.startswith("linux") and not shown and not picture:
        fail(
            "there is no display here, so no window can be opened. A picture of it can be made:\n"
            "    python3 packaging/dev.py demo --screenshot worldline.png"
        )
    words = ["demo", *args] if command == "demo" else args
    return run([PYTHON, "-m", "worldline", *words], env=env).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py", description="Set up, start, test and measure Worldline.")
    commands = ["demo", "app", "test", "check", "bench", "crash-campaign", "screenshots", "i18n", "setup"]
    parser.add_argument("command", choices=commands)
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    rest: list[str] = options.args
    setup()
    if options.command in ("demo", "app"):
        return open_window(options.command, rest)
    if options.command == "test":
        return test(rest)
    if options.command == "check":
        return check()
    if options.command == "bench":
        return bench(rest)
    if options.command == "crash-campaign":
        return run([PYTHON, "-m", "tests.crash", *rest], env=headless_env()).returncode
    if options.command == "screenshots":
        return run([PYTHON, ROOT / "packaging" / "screenshots.py", *rest], env=headless_env()).returncode
    if options.command == "i18n":
        return run([PYTHON, ROOT / "packaging" / "translations.py", *rest], env=headless_env()).returncode
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
