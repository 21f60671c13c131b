"""`packaging/dev.py test`: few failures are looked at again, and never passed over in silence."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def dev() -> ModuleType:
    spec = importlib.util.spec_from_file_location("worldline_dev_command", ROOT / "packaging" / "dev.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def runs(dev: ModuleType, monkeypatch: pytest.MonkeyPatch, failed: list[str], later: list[int]) -> list[Any]:
    """Lets the whole run fail with these names and the runs after it end with these codes. Returns the commands."""
    commands: list[Any] = []

    def run(command: list[Any], *, env: dict[str, str], quiet: bool = False) -> Any:
        commands.append(command)
        if "-n" in command:
            Path(env["WORLDLINE_FAILURES"]).write_text("".join(f"{name}\n" for name in failed))
            return SimpleNamespace(returncode=1 if failed else 0)
        return SimpleNamespace(returncode=later.pop(0))

    monkeypatch.setattr(dev, "run", run)
    monkeypatch.setattr(dev, "check", lambda: 0)
    return commands


def test_what_fails_once_and_passes_twice_is_named(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = runs(dev, monkeypatch, ["tests/a.py::b"], [0, 0])
    assert dev.test([]) == 0
    assert len(commands) == 3 and commands[-1][-1] == "tests/a.py::b"
    assert "UNSTABLE" in capsys.readouterr().out


@pytest.mark.parametrize("later", [[1], [0, 1]])
def test_what_fails_again_is_a_failure(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, later: list[int]
) -> None:
    runs(dev, monkeypatch, ["tests/a.py::b"], later)
    assert dev.test([]) == 1 and not later


def test_many_failures_are_not_looked_at_again(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = runs(dev, monkeypatch, [f"tests/a.py::b{n}" for n in range(dev.FEW + 1)], [])
    assert dev.test([]) == 1 and len(commands) == 1


def test_a_check_that_fails_stays_a_failure(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(dev, monkeypatch, ["tests/a.py::b"], [0, 0])
    monkeypatch.setattr(dev, "check", lambda: 1)
    assert dev.test([]) == 1


def test_a_run_leaves_the_names_of_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conftest.py").write_text(
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('whole', {str(ROOT / 'tests' / 'conftest.py')!r})\n"
        "whole = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(whole)\n"
        "pytest_terminal_summary = whole.pytest_terminal_summary\n"
    )
    (tmp_path / "test_two.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n):\n    assert n == 1\n\n\n"
        "@pytest.fixture\ndef torn():\n    yield\n    raise ValueError\n\ndef test_torn(torn):\n    pass\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("WORLDLINE_FAILURES", str(tmp_path / "failures.txt"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        "--basetemp",
        str(tmp_path / "t"),
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    names = (tmp_path / "failures.txt").read_text().splitlines()
    assert names == ["test_two.py::test_it[2]", "test_two.py::test_torn"]
