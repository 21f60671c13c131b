"""`worldline rehearse`: serves until it is told to stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from worldline.rehearsal.cli import main, scenario_path


def test_it_serves_the_demo_and_stops_in_order() -> None:
    command = [sys.executable, "-m", "worldline", "rehearse", "demo", "--drill", "overloaded"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/v1/models", timeout=PATIENCE_S) as answer:
            assert json.load(answer)["data"][0]["id"] == "rehearsal-large"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and errors == ""
    finally:
        process.kill()
        process.communicate()


def test_what_cannot_be_served_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "missing.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["demo", "--drill", "nonesuch"]) == 2
    assert "no fault named" in capsys.readouterr().err
    assert main(["--faults"]) == 0
    assert "mid-reset" in capsys.readouterr().out


def test_a_file_comes_before_a_bundled_name(tmp_path: Path) -> None:
    assert scenario_path("demo").name == "demo.yaml"
    assert scenario_path(str(tmp_path / "x.yaml")) == tmp_path / "x.yaml"
