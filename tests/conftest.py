"""What every test gets: a data folder of its own, a masked git configuration, no way to a real service."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_MS = 120_000
"""Guards against a hang; says nothing of speed."""

# By default an example that takes 200 ms is a failure: that is the load of the machine and nothing of ours. The same
# examples each time: the run of a change judges that change, and not what happens to be drawn. `WORLDLINE_CAMPAIGN=1`
# draws others.
settings.register_profile(
    "worldline",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("WORLDLINE_CAMPAIGN"),
    database=None,
)
settings.load_profile("worldline")

# Child processes (engine, command line) must find the package and must not open a window.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT / "desktop"), os.environ.get("PYTHONPATH", "")])
)
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# A test that forgets to name its server must fail at once instead of reaching the real one.
for name in list(os.environ):
    if name.startswith("ANTHROPIC_"):
        del os.environ[name]
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Leaves the names of what failed to `packaging/dev.py test`, which looks at few of them again."""
    file = os.environ.get("WORLDLINE_FAILURES")
    if file:
        reports = [report for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
        Path(file).write_text(
            "".join(f"{name}\n" for name in dict.fromkeys(r.nodeid for r in reports)), "utf-8"
        )


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Data folder, home folder and git configuration of this test alone."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("WORLDLINE_HOME", str(home / "worldline"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n"
    )
    yield home


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files of this test's processes: for tests that open the demo."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Whoever sets up logging (the command line does, fixtures of a module too) must not take it away from later tests."""
    logger = logging.getLogger("worldline")

    def fresh() -> None:
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)

    fresh()
    yield
    fresh()


class PatientBot(QtBot):
    """Waits for minutes: what must come is waited for, however busy the machine is."""

    def addWidget(self, widget: Any, *, before_close_func: Any = None) -> None:
        """A pane that stands alone has no window that lets go of its session before it is deleted."""

        def before(closing: Any) -> None:
            let_go = getattr(getattr(closing, "state", None), "let_go", None)
            if let_go is not None and type(closing).__name__ != "MainWindow":
                let_go()
            if before_close_func is not None:
                before_close_func(closing)

        super().addWidget(widget, before_close_func=before)

    def waitUntil(self, callback: Any, *, timeout: int = 0) -> None:
        super().waitUntil(callback, timeout=max(timeout, PATIENCE_MS))

    def waitSignal(self, signal: Any, *, timeout: int = 0, **more: Any) -> Any:
        return super().waitSignal(signal, timeout=max(timeout, PATIENCE_MS), **more)

    def waitSignals(self, signals: Any, *, timeout: int = 0, **more: Any) -> Any:
        return super().waitSignals(signals, timeout=max(timeout, PATIENCE_MS), **more)


@pytest.fixture
def qtbot(qapp: Any, request: pytest.FixtureRequest) -> PatientBot:
    return PatientBot(request)


@pytest.fixture
def python() -> str:
    return sys.executable
