"""The self-test decides what may be claimed; a machine without a sandbox says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worldline.policy.sandbox import bubblewrap, selftest
from worldline.policy.sandbox.model import Label


def test_the_label_is_what_was_tried(best_label: Label) -> None:
    result = selftest.run()
    assert result.label == best_label
    if result.label == "complete":
        assert result.could == [] and "workspace" in result.why


def test_without_bubblewrap_the_label_is_lower_and_says_how_to_fix_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = selftest.run()
    assert result.label in ("partial", "none") and "bubblewrap" in result.fix


def test_a_bubblewrap_that_fails_is_never_taken_for_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert bubblewrap.program() == str(fake)
    result = selftest.run()
    assert result.label != "complete"


def test_a_bubblewrap_that_confines_nothing_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    # Runs the command without any wall: everything after `--`, with the helper where it really is.
    fake.write_text(
        "#!/bin/bash\nwhile [ \"$1\" != -- ]; do shift; done; shift\n"
        f"args=(); for a in \"$@\"; do args+=(\"${{a/\\/run\\/worldline/{bubblewrap.INSIDE!s}}}\"); done\n"
        'exec "${args[@]}"\n'
    )  # fmt: skip
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    result = selftest.run()
    assert result.label != "complete"
