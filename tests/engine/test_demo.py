"""The demo: made by the real loop, served by one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests_support import git
from worldline.core.errors import BadInput
from worldline.engine.demo import seed_demo
from worldline.session.document import SessionDocument
from worldline_engine import Engine


@pytest.mark.slow
def test_both_attempts_are_really_made(tmp_path: Path) -> None:
    seeded = seed_demo(tmp_path / "demo")
    doc = SessionDocument.open(seeded.session, mode="read")
    reasons = [r.stop_reason.value for r in doc.runs() if r.stop_reason]
    assert reasons == ["repeated_failures", "completed"]
    prompts = [h for h in doc.headers() if h.kind.value == "user"]
    assert len(prompts) == 2 and prompts[0].parent == prompts[1].parent
    assert doc.tree.is_ancestor(doc.seq(prompts[1].uid), doc.seq(doc.cursor))
    work = Path(doc.info()["workspace"]["path"])
    doc.close()
    assert (work / "NOTES.md").exists()
    done = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=work, capture_output=True)
    assert done.returncode == 0
    assert git(seeded.repository, "branch", "--show-current") == "main"


@pytest.mark.slow
def test_the_engine_serves_it_while_it_grows(own_temp: Path) -> None:
    one = Engine("--demo")
    try:
        hello = one.ask("hello", protocol=1)["result"]
        assert hello["session"]["scripted_model"] is True
        assert hello["session"]["workspace_mode"] == "isolated"
        while sum(name == "run_ended" for name, _ in one.events) < 2:
            one.read()
        assert one.ask("runs")["result"]["runs"][-1]["stop_reason"] == "completed"
        assert one.ask("drill", fault="unauthorized")["result"] == {}
        one.events.clear()
        one.ask("prompt", text="hello", mode="ask")
        assert one.until("run_ended")["run"]["stop_reason"] == "auth_error"
        assert one.ask("drill", fault="no such")["error"]["code"] == 1
    finally:
        assert one.end() == 0


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        seed_demo(tmp_path / "file" / "demo")
