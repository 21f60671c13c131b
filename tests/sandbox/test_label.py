"""The self-test decides what may be claimed; a machine without a sandbox says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worldline.policy.sandbox import bubblewrap, seatbelt, selftest
from worldline.policy.sandbox.model import Grant, Label, Profile
from worldline.policy.sandbox.places import git_places
from worldline.viewmodel import engine_words


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


@pytest.mark.parametrize(("platform", "word"), [("win32", "WSL2"), ("darwin", "not tested")])
def test_elsewhere_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch, platform: str, word: str) -> None:
    monkeypatch.setattr("sys.platform", platform)
    result = selftest.run()
    assert (
        result.label == "none" and word in result.why + result.fix and "every command is asked" in result.why
    )


def test_the_profile_for_macos_names_what_is_open(tmp_path: Path, own_home: Path) -> None:
    (own_home / ".ssh").mkdir()
    workspace = tmp_path / 'a "b'
    (workspace / ".git" / "hooks").mkdir(parents=True)
    profile = Profile(
        workspace, tmp_path / "tmp", git=git_places(workspace), grants=[Grant("write", "/opt/x")]
    )
    lines = seatbelt.text(profile, 3128, "mark").splitlines()
    assert lines.count("(") == 0 and all(line.count("(") == line.count(")") for line in lines)
    inside = str(workspace).replace('"', '\\"')
    assert (
        f'(allow file-write* (subpath "{inside}"))' in lines
        and '(allow file-write* (subpath "/opt/x"))' in lines
    )
    assert lines.index(f'(deny file-write* (subpath "{inside}/.git/hooks"))') > lines.index(
        '(allow file-write* (subpath "/opt/x"))'
    )
    assert f'(deny file-write-unlink (literal "{inside}/.git"))' in lines
    assert f'(deny file-read* (subpath "{own_home}/.ssh"))' in lines


def test_what_is_said_without_a_shared_network_is_said_in_every_language() -> None:
    said = (
        "Commands can change only the workspace and reach no network unless you allow it. "
        "A server that one command leaves running cannot be reached by the next one here (no nsenter)."
    )
    engine_words.use("zh_CN")
    try:
        assert "can" not in engine_words.say(said) and "no nsenter" in engine_words.say(said)
    finally:
        engine_words.use("en")
